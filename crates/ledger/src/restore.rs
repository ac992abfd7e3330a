//! Recorded states beside the workspace: one file, a whole tree, or what one event changed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ledger_core::storage::OsStorage;
use ledger_core::{Digest, Event, EventId, TreePath};
use ledger_replay::{FileAt, RebuildError, State, file_at};
use ledger_snapshot::{ArchiveError, FileEntry, TreeWriteError, TreeWriter};

use crate::compare::{FileContent, FileDiff};
use crate::scan::all_cores;
use crate::workspace::Workspace;

/// A tree was not restored, or not whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The state cannot be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// The snapshot that it begins with is damaged.
    #[error("the snapshot is damaged")]
    Archive(#[from] ArchiveError),
    /// There are files in the directory.
    #[error("{} is not an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// The directory cannot be made or opened.
    #[error("cannot make the directory {}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("a file cannot be restored")]
    Write(#[from] TreeWriteError),
}

/// What was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Files and links.
    pub files: usize,
    /// Bytes of their contents.
    pub bytes: u64,
}

impl Workspace {
    /// One file as of an event, without looking at the rest of the tree; `None` where there is none.
    pub fn file(&self, event: EventId, path: &TreePath) -> Result<Option<FileAt>, RebuildError> {
        file_at(self.snapshots(), &self.view()?, event, path, self.recent())
    }

    /// What an event did to its files, from the states before and after it.
    pub fn event_diff(&self, event: &Event) -> Result<Vec<FileDiff>, RebuildError> {
        let side = |at: Option<EventId>, path: &TreePath| {
            let found = at.map(|at| self.file(at, path)).transpose()?.flatten();
            Ok::<_, RebuildError>(found.map(|file| FileContent {
                mode: file.state.mode,
                content: file.content,
            }))
        };
        let diff = |edit: &std::sync::Arc<ledger_core::FileEdit>| {
            Ok(FileDiff {
                path: edit.path.clone(),
                from: edit.from.clone(),
                before: side(event.parent, edit.from.as_ref().unwrap_or(&edit.path))?,
                after: side(Some(event.id), &edit.path)?,
            })
        };
        event.body.edits.iter().map(diff).collect()
    }

    /// Writes the whole tree as of an event into `dir`, which is made, or is there and empty.
    ///
    /// Every content is checked against its recorded digest before it is written. `progress` is told
    /// how many files are done, and of how many, from several threads. Nothing is synced.
    pub fn restore(
        &self,
        event: EventId,
        dir: &Path,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Restored, RestoreError> {
        let state = self.state(event)?;
        let storage = empty_dir(dir)?;
        let total = state.tree().len();
        let done = AtomicUsize::new(0);
        let writer = TreeWriter::new(&storage);
        let write = |path: &TreePath, entry: &FileEntry, content: &[u8]| {
            writer.write(path, entry.mode, content)?;
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok::<_, RestoreError>(())
        };
        write_unchanged(&state, &write)?;
        write_changed(&state, &write)?;
        Ok(Restored {
            files: total,
            bytes: state.tree().iter().map(|(_, entry)| entry.size).sum(),
        })
    }
}

type Write<'a> = &'a (dyn Fn(&TreePath, &FileEntry, &[u8]) -> Result<(), RestoreError> + Sync);

/// Writes the files that are as in the snapshot, frame by frame on all cores.
fn write_unchanged(state: &State, write: Write<'_>) -> Result<(), RestoreError> {
    let wanted = || {
        let files = state.tree().iter();
        files.filter(|(path, _)| state.is_in_snapshot(path))
    };
    let written = AtomicUsize::new(0);
    state.archive().visit_parallel(|file| {
        let entry = state.tree().get(file.path);
        let Some(entry) = entry.filter(|_| state.is_in_snapshot(file.path)) else {
            return Ok(());
        };
        let actual = Digest::of(file.content);
        if actual != entry.hash || file.mode != entry.mode {
            return Err(RestoreError::Rebuild(RebuildError::WrongContent {
                path: file.path.clone(),
                event: state.event(),
                expected: entry.hash,
                actual,
            }));
        }
        written.fetch_add(1, Ordering::Relaxed);
        write(file.path, entry, file.content)
    })?;
    if written.into_inner() == wanted().count() {
        return Ok(());
    }
    // The archive has fewer files than its manifest: asking for each finds out which.
    for (path, _) in wanted() {
        state.content(path)?;
    }
    Ok(())
}

/// Writes the files that events after the snapshot made or changed, on all cores.
fn write_changed(state: &State, write: Write<'_>) -> Result<(), RestoreError> {
    let files = state.tree().iter();
    let next = Mutex::new(files.filter(|(path, _)| !state.is_in_snapshot(path)));
    let failed: Mutex<Option<RestoreError>> = Mutex::new(None);
    let one = |path: &TreePath, entry: &FileEntry| match state.content(path)? {
        Some(content) => write(path, entry, &content),
        None => Ok(()),
    };
    let work = || {
        loop {
            let file = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((path, entry)) = file else { return };
            if let Err(error) = one(path, entry) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..all_cores().get() {
            // Where the system has no thread to give, there is this one.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}

/// Makes a directory, or opens one that is there and empty.
fn empty_dir(dir: &Path) -> Result<OsStorage, RestoreError> {
    let failed = |source| RestoreError::Directory {
        dir: dir.to_path_buf(),
        source,
    };
    let taken = match std::fs::read_dir(dir) {
        Ok(entries) => entries.count() > 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotADirectory,
    };
    if taken {
        return Err(RestoreError::NotEmpty(dir.to_path_buf()));
    }
    std::fs::create_dir_all(dir).map_err(failed)?;
    OsStorage::open(dir).map_err(failed)
}
