//! Why an import stops.

use std::path::PathBuf;

use ledger_core::log::{AppendError, LockError, ReadError, StandingError};
use ledger_core::storage::StorageError;
use ledger_core::{EventId, TreePath};
use ledger_replay::{MoveError, RebuildError};

use super::oid::Oid;
use crate::record::RecordError;

/// An import stopped. What was recorded before are whole commits; another import goes on after them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The git program cannot be run.
    #[error("the program git cannot be run")]
    NoGit(#[source] std::io::Error),
    /// There is no repository.
    #[error("{path} is not a git repository: {why}")]
    NotARepository {
        /// Where it was looked for.
        path: PathBuf,
        /// What git says.
        why: String,
    },
    /// The repository belongs to somebody whom git is not told to trust.
    #[error("git does not trust the repository {path}: {why}")]
    NotTrusted {
        /// The repository.
        path: PathBuf,
        /// What git says.
        why: String,
    },
    /// A revision names no commit.
    #[error("{revision:?} names no commit of the repository")]
    NoCommit {
        /// The revision.
        revision: String,
    },
    /// The commit to begin after is not on the line of first parents.
    #[error("{from:?} is not on the line of first parents of {to:?}")]
    NotOnMainline {
        /// The revision to begin after.
        from: String,
        /// The revision to end with.
        to: String,
    },
    /// A git command failed.
    #[error("git {command} failed: {why}")]
    Git {
        /// The command.
        command: &'static str,
        /// What it says.
        why: String,
    },
    /// A git command answered in a way that is not understood.
    #[error("git {command} answered what is not understood: {what}")]
    Answer {
        /// The command.
        command: &'static str,
        /// What is wrong with the answer.
        what: String,
    },
    /// A file's content is not in the repository, as in a partial clone.
    #[error("commit {commit}: the content of {path} ({object}) is not in the repository")]
    Missing {
        /// The commit.
        commit: String,
        /// The file.
        path: TreePath,
        /// Git's name of the content.
        object: String,
    },
    /// The tree of a commit is one that no disk can hold.
    #[error("commit {commit}: {path}: {why}")]
    BadTree {
        /// The commit.
        commit: String,
        /// The file.
        path: TreePath,
        /// What is wrong.
        why: String,
    },
    /// Somebody else changed files on the branch while commits were imported to it.
    #[error("branch {branch:?} was changed by {by} meanwhile")]
    BranchMoved {
        /// The branch.
        branch: String,
        /// The event.
        by: EventId,
    },
    /// Events could not be made.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The ledger could not be appended to.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A state could not be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The working tree could not be brought to the tip.
    #[error(transparent)]
    Move(#[from] MoveError),
}

impl ImportError {
    pub(super) fn answer(command: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        ImportError::Answer { command, what }
    }

    pub(super) fn bad_tree(commit: Oid, path: &TreePath, why: impl Into<String>) -> Self {
        ImportError::BadTree {
            commit: commit.to_string(),
            path: path.clone(),
            why: why.into(),
        }
    }
}

impl From<ReadError> for ImportError {
    fn from(error: ReadError) -> Self {
        ImportError::Append(error.into())
    }
}

impl From<LockError> for ImportError {
    fn from(error: LockError) -> Self {
        ImportError::Append(error.into())
    }
}

impl From<StandingError> for ImportError {
    fn from(error: StandingError) -> Self {
        ImportError::Append(error.into())
    }
}
