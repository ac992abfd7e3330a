//! Many objects at once: written one by one, made durable together.
//!
//! An object costs several syncs when it has to be durable before anything else is done. Where many
//! belong to rows that are written later, they can share them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{compress, get};
use crate::digest::Digest;
use crate::event::ObjectRef;
use crate::layout;
use crate::storage::{
    Durability, OpenMode, PRIVATE_DIR, Storage, StorageError, create_dirs, write_atomically,
};

/// Syncs that are under way at once: the disk, not the processor, is what they wait for.
const SYNCS: usize = 8;

/// Objects that are written now and durable from the next [`Staging::sync`] on. Usable from many
/// threads at once.
pub struct Staging<'a> {
    storage: &'a dyn Storage,
    token: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Every object that was put, so that none is written twice.
    put: HashSet<Digest>,
    /// Those that are written and not yet synced.
    unsynced: Vec<Digest>,
}

impl std::fmt::Debug for Staging<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Staging")
    }
}

impl<'a> Staging<'a> {
    /// Objects of the ledger on `storage`; `token` names temporary files.
    pub fn new(storage: &'a dyn Storage, token: u64) -> Self {
        Staging {
            storage,
            token,
            state: Mutex::default(),
        }
    }

    /// Writes `bytes` as an object. No row may refer to it before [`Staging::sync`].
    pub fn put(&self, bytes: &[u8]) -> Result<ObjectRef, StorageError> {
        let hash = Digest::of(bytes);
        let object = ObjectRef {
            hash,
            bytes: bytes.len() as u64,
        };
        if !self.state().put.insert(hash) {
            return Ok(object);
        }
        // What is there already, and whole, may be from a writer that was killed before its sync.
        if get(self.storage, object).is_err() {
            let path = layout::object(&hash);
            let derived = Durability::Derived;
            create_dirs(self.storage, &path.parent(), PRIVATE_DIR, derived)?;
            let compressed =
                compress(bytes).map_err(|source| StorageError::new("compress", &path, source))?;
            write_atomically(self.storage, &path, &compressed, self.token, derived)?;
        }
        self.state().unsynced.push(hash);
        Ok(object)
    }

    /// Makes durable what was put so far. After an error the objects may be durable or not, and no row
    /// may refer to them.
    pub fn sync(&self) -> Result<(), StorageError> {
        let written = std::mem::take(&mut self.state().unsynced);
        if written.is_empty() {
            return Ok(());
        }
        self.sync_files(&written)?;
        let dirs: HashSet<_> = written
            .iter()
            .map(|hash| layout::object(hash).parent())
            .collect();
        for dir in &dirs {
            self.storage.sync_dir(dir)?;
        }
        // The names of those directories, and of all above.
        self.storage.sync_dir(&layout::objects_dir())?;
        let durable = Durability::Durable;
        create_dirs(self.storage, &layout::objects_dir(), PRIVATE_DIR, durable)
    }

    fn sync_files(&self, written: &[Digest]) -> Result<(), StorageError> {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(hash) = written.get(next.fetch_add(1, Ordering::Relaxed)) {
                let path = layout::object(hash);
                self.storage.open(&path, OpenMode::Read)?.sync()?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let helpers = SYNCS.min(written.len()) - 1;
            let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut result = work();
            for helper in helpers {
                let theirs = helper.join().unwrap_or_else(|panic| {
                    std::panic::resume_unwind(panic);
                });
                result = result.and(theirs);
            }
            result
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
