//! The journal: what a move is about to do, and how far it has come.

use ledger_core::log::Standing;
use ledger_core::storage::{
    Durability, Storage, StorageError, if_present, read_file, write_atomically,
};
use ledger_core::{EventId, FileState, TreePath, layout};
use serde::{Deserialize, Serialize};

use super::MoveError;

/// Why the tree is moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Purpose {
    /// To go back, and on from there on a new branch.
    Rewind {
        /// The new branch.
        branch: String,
        /// The operation that the `rewind` event will belong to.
        operation_id: String,
    },
    /// To stand on another branch.
    Switch {
        /// The branch.
        branch: String,
    },
    /// To take in what others recorded on the branch that the workspace stands on.
    CatchUp {
        /// The branch.
        branch: String,
    },
}

/// What a move does to one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The path.
    pub path: TreePath,
    /// What stands there now, as it is recorded; nothing, where the file is to be made.
    pub before: Option<FileState>,
    /// What is to stand there; nothing, where the file is to go.
    pub after: Option<FileState>,
}

/// How far a move has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Phase {
    /// Files are being staged; the tree is as it was.
    Stage,
    /// Everything is staged; files are being exchanged.
    Swap,
}

/// A move that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    version: u32,
    pub(super) phase: Phase,
    /// Why the tree is moved.
    pub purpose: Purpose,
    /// Where the workspace stood.
    pub from: Standing,
    /// The event whose state it goes to.
    pub target: EventId,
    /// What is done, in order: deletions first.
    pub steps: Vec<Step>,
}

const VERSION: u32 = 1;

impl Journal {
    /// The journal of a move that has not begun.
    pub fn new(purpose: Purpose, from: Standing, target: EventId, steps: Vec<Step>) -> Self {
        Journal {
            version: VERSION,
            phase: Phase::Stage,
            purpose,
            from,
            target,
            steps,
        }
    }

    pub(super) fn read(storage: &dyn Storage) -> Result<Option<Self>, MoveError> {
        let Some(bytes) = if_present(read_file(storage, &path()))? else {
            return Ok(None);
        };
        let bad = |why: String| MoveError::BadJournal { why };
        let journal: Journal =
            serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        if journal.version != VERSION {
            return Err(bad(format!(
                "version {}, this one knows {VERSION}",
                journal.version
            )));
        }
        // A move never touches what is not tracked, whatever its journal says.
        let mut paths = journal.steps.iter().map(|step| &step.path);
        if let Some(path) = paths.find(|path| layout::is_reserved(path)) {
            return Err(bad(format!("{path} is never tracked")));
        }
        Ok(Some(journal))
    }

    /// Writes the journal; durable when it returns.
    pub(super) fn write(&self, storage: &dyn Storage, token: u64) -> Result<(), StorageError> {
        // Paths, ids and digests always serialise.
        let json = serde_json::to_vec(self).unwrap_or_default();
        write_atomically(storage, &path(), &json, token, Durability::Durable)
    }
}

/// A name in the journal's directory.
fn within(name: &str) -> TreePath {
    layout::rewind_dir()
        .join(name)
        .unwrap_or_else(|_| layout::rewind_dir())
}

pub(super) fn path() -> TreePath {
    within("journal.json")
}

pub(super) fn stage_dir() -> TreePath {
    within("stage")
}

pub(super) fn aside_dir() -> TreePath {
    within("aside")
}

pub(super) fn staged(step: usize) -> TreePath {
    within(&format!("stage/{step}"))
}

pub(super) fn aside(step: usize) -> TreePath {
    within(&format!("aside/{step}"))
}
