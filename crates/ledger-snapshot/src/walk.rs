//! The files below a root that are to be tracked.
//!
//! Every regular file and link is, hidden ones too, except what is ignored. Patterns are git's, and
//! come from three places, the strongest first:
//!
//! 1. the configuration, each pattern as a line of a file at the root: as strong as those of git's
//!    command line;
//! 2. `.benchignore` files, the deeper the stronger;
//! 3. `.gitignore` files, likewise.
//!
//! The strongest that has a matching pattern decides, by its last one; `!` takes back in. So a
//! `.benchignore` can take in what a `.gitignore` left out, at any depth. As in git, a directory that
//! is ignored is not entered: nothing below it can be taken back in.
//!
//! Never entered: `.git`, other repositories below the root, and what is the ledger's own.

mod glob;
mod rules;
mod traverse;

use std::fmt;
use std::num::NonZeroUsize;

use ignore::gitignore::Gitignore;
use ledger_core::TreePath;
use ledger_core::storage::{FileKind, Stat, Storage, StorageError, if_present};

use crate::parallel::{Ordered, all_cores};

/// Lists the files of a workspace.
pub struct Walker<'a> {
    storage: &'a dyn Storage,
    configured: Gitignore,
    warnings: Vec<IgnoreWarning>,
    threads: NonZeroUsize,
}

/// A file or link that a walk came upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it stands.
    pub path: TreePath,
    /// What the system says of it.
    pub stat: Stat,
}

/// What a walk came upon; each list is in path order.
#[derive(Debug, Default)]
pub struct Walk {
    /// Files and links that are not ignored.
    pub files: Vec<Found>,
    /// Repositories, and workspaces with a ledger of their own, below the root: they were not entered.
    pub nested: Vec<TreePath>,
    /// Devices, sockets and pipes that are not ignored: they cannot be tracked.
    pub others: Vec<TreePath>,
    /// Directories that may not be read. What is in them is unknown, not gone.
    pub unreadable: Vec<StorageError>,
    /// Patterns that are not in force.
    pub warnings: Vec<IgnoreWarning>,
}

/// Why a path is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exclusion {
    /// It belongs to the ledger: `.user`, `results/diffs`, `results/artifacts`.
    Ledger,
    /// It is git's own: a `.git`, or in one.
    Git,
    /// It lies in another repository.
    Nested {
        /// The directory of that repository.
        repository: TreePath,
    },
    /// A pattern ignores it, or a directory above it. Such a file can be tracked when it is asked for.
    Ignored,
}

/// A pattern, or a whole file of them, that is not in force.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IgnoreWarning {
    /// The file; none for the configuration.
    pub file: Option<TreePath>,
    /// The line, counted from 1; 0 for all of them.
    pub line: usize,
    /// Why not.
    pub why: String,
}

impl fmt::Display for IgnoreWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IgnoreWarning { file, line, why } = self;
        match (file, line) {
            (Some(file), 0) => write!(f, "{file} is not in force: {why}"),
            (Some(file), line) => write!(f, "line {line} of {file} is not in force: {why}"),
            (None, 0) => write!(
                f,
                "ignore patterns of the configuration are not in force: {why}"
            ),
            (None, line) => {
                write!(
                    f,
                    "ignore pattern {line} of the configuration is not in force: {why}"
                )
            }
        }
    }
}

impl<'a> Walker<'a> {
    /// A walker below the root of `storage`, with the patterns of the configuration.
    pub fn new(storage: &'a dyn Storage, patterns: &[String]) -> Self {
        let mut warnings = Vec::new();
        let lines = patterns.iter().map(|pattern| pattern.as_bytes());
        let configured = rules::compile(None, lines, &mut warnings);
        Walker {
            storage,
            configured,
            warnings,
            threads: all_cores(),
        }
    }

    /// Works on so many threads. The result is the same.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Lists all files that are not left out.
    pub fn walk(&self) -> Result<Walk, StorageError> {
        let mut walk = traverse::walk(self.storage, &self.configured, self.threads)?;
        walk.warnings.extend(self.warnings.iter().cloned());
        walk.warnings.sort();
        Ok(walk)
    }

    /// Why a walk would leave out `path`, which need not exist; `None` when it would not.
    pub fn exclusion(
        &self,
        path: &TreePath,
        is_dir: bool,
    ) -> Result<Option<Exclusion>, StorageError> {
        if path.components().any(|name| name == DOT_GIT) {
            return Ok(Some(Exclusion::Git));
        }
        if is_own(path) || path.ancestors().any(|dir| is_own(&dir)) {
            return Ok(Some(Exclusion::Ledger));
        }
        let mut downwards: Vec<TreePath> = path.ancestors().collect();
        downwards.reverse();
        downwards.push(path.clone());
        let mut layer = None;
        let mut dir = TreePath::root();
        for next in downwards {
            let repository =
                !dir.is_root() && (self.has_git(&dir)? || has_ledger(self.storage, &dir));
            if repository {
                let repository = dir;
                return Ok(Some(Exclusion::Nested { repository }));
            }
            layer = rules::Layer::load(self.storage, &dir, layer, &mut Vec::new())?;
            let is_dir = is_dir || next != *path;
            if rules::is_ignored(&self.configured, layer.as_deref(), &next, is_dir) {
                return Ok(Some(Exclusion::Ignored));
            }
            dir = next;
        }
        match is_dir && (self.has_git(path)? || has_ledger(self.storage, path)) {
            true => Ok(Some(Exclusion::Nested { repository: dir })),
            false => Ok(None),
        }
    }

    fn has_git(&self, dir: &TreePath) -> Result<bool, StorageError> {
        match dir.join(DOT_GIT) {
            Ok(path) => Ok(stat_if_present(self.storage, &path)?.is_some()),
            Err(_) => Ok(false),
        }
    }
}

const DOT_GIT: &[u8] = b".git";

/// Whether `dir` is a workspace with a ledger of its own: its files are that one's to remember.
fn has_ledger(storage: &dyn Storage, dir: &TreePath) -> bool {
    let ledger = dir.join(".user/ledger");
    let stat = ledger.ok().and_then(|path| storage.stat(&path).ok());
    stat.is_some_and(|stat| stat.kind == FileKind::Dir)
}

/// Whether `path` is one that the ledger keeps for itself.
fn is_own(path: &TreePath) -> bool {
    matches!(
        path.as_bytes(),
        b".user" | b"results/diffs" | b"results/artifacts"
    )
}

/// How many paths one thread looks at in one go.
const STAT_CHUNK: usize = 64;

/// Looks at many paths on all cores; `None` where nothing stands, or something that is reached only
/// through a link.
pub fn stat_many(
    storage: &dyn Storage,
    paths: &[TreePath],
    threads: NonZeroUsize,
) -> Result<Vec<Option<Stat>>, StorageError> {
    let chunks: Vec<_> = paths.chunks(STAT_CHUNK).collect();
    let mut stats = Vec::with_capacity(paths.len());
    let jobs = Ordered {
        count: chunks.len(),
        threads,
        budget: u64::MAX,
        weight: |_| 0,
    };
    jobs.run(
        |(): &mut (), chunk| {
            let stat = |path| stat_if_present(storage, path);
            chunks[chunk]
                .iter()
                .map(stat)
                .collect::<Result<Vec<_>, _>>()
        },
        |_, part| {
            stats.extend(part);
            Ok(())
        },
    )?;
    Ok(stats)
}

fn stat_if_present(storage: &dyn Storage, path: &TreePath) -> Result<Option<Stat>, StorageError> {
    match if_present(storage.stat(path)) {
        // A directory on the way is a link now: what was below it is gone.
        Err(error)
            if error.source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) =>
        {
            Ok(None)
        }
        result => result,
    }
}
