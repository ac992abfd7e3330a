//! Writing a tree under a root that does not hold it yet.

use std::collections::HashSet;
use std::io;
use std::sync::{PoisonError, RwLock};

use ledger_core::storage::{OpenMode, Storage, StorageError};
use ledger_core::{Mode, TreePath};

/// Permission bits of files and directories, from which the process's umask takes its share.
const FILE_BITS: u32 = 0o666;
const EXECUTABLE_BITS: u32 = 0o777;
const DIR_BITS: u32 = 0o777;

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeWriteError {
    /// Something stands there already: the root was not empty, one path is there twice, or the disk
    /// takes the names of two paths for the same (letter case, Unicode normal forms).
    #[error("{path} is taken already, or its name and another are one on this disk")]
    Taken {
        /// The file, or a directory above it.
        path: TreePath,
    },
    /// The disk failed.
    #[error("tree cannot be written")]
    Storage(#[from] StorageError),
}

/// Writes files under a root. It may be shared between threads; the order of files is free.
///
/// Nothing that exists is written over, and no link is followed: every directory on the way to a
/// file is one that this writer made.
pub struct TreeWriter<'a> {
    storage: &'a dyn Storage,
    made: RwLock<HashSet<TreePath>>,
}

impl<'a> TreeWriter<'a> {
    /// A writer into an empty root.
    pub fn new(storage: &'a dyn Storage) -> Self {
        TreeWriter {
            storage,
            made: RwLock::default(),
        }
    }

    /// Writes one file; the content of a link is its target. It is not synced.
    pub fn write(&self, path: &TreePath, mode: Mode, content: &[u8]) -> Result<(), TreeWriteError> {
        self.make_parents(path)?;
        let written = match mode {
            Mode::File => self.write_file(path, FILE_BITS, content),
            Mode::Executable => self.write_file(path, EXECUTABLE_BITS, content),
            Mode::Symlink => self.storage.create_link(path, content),
        };
        written.map_err(|error| taken(path, error))
    }

    fn write_file(&self, path: &TreePath, bits: u32, content: &[u8]) -> Result<(), StorageError> {
        let file = self.storage.open(path, OpenMode::CreateNew(bits))?;
        match content {
            b"" => Ok(()),
            content => file.write_at(content, 0),
        }
    }

    fn make_parents(&self, path: &TreePath) -> Result<(), TreeWriteError> {
        let parent = path.parent();
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        if parent.is_root() || made.contains(&parent) {
            return Ok(());
        }
        drop(made);
        // Held while directories are made: another thread must not find one that is not noted yet.
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        let mut missing: Vec<TreePath> = path
            .ancestors()
            .take_while(|dir| !made.contains(dir))
            .collect();
        while let Some(dir) = missing.pop() {
            self.storage
                .create_dir(&dir, DIR_BITS)
                .map_err(|error| taken(&dir, error))?;
            made.insert(dir);
        }
        Ok(())
    }
}

fn taken(path: &TreePath, error: StorageError) -> TreeWriteError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => TreeWriteError::Taken { path: path.clone() },
        _ => TreeWriteError::Storage(error),
    }
}
