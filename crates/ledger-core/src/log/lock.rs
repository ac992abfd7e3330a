//! Locks on files that are never removed, polled until they are had.

use std::time::Duration;

use crate::path::TreePath;
use crate::storage::{OpenMode, PRIVATE_FILE, Storage, StorageError, StorageFile};
use crate::time::{Clock, Ids};

/// First and longest wait between two tries.
const FIRST_WAIT: Duration = Duration::from_micros(50);
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// A lock was not to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else held it all the time.
    #[error("the lock {path} was held by another process for {waited_ms} ms")]
    TimedOut {
        /// The lock's file.
        path: TreePath,
        /// How long was waited.
        waited_ms: u128,
    },
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A lock that is held; dropping it lets go.
#[derive(Debug)]
pub struct Lock {
    _file: Box<dyn StorageFile>,
}

impl Lock {
    /// Takes the lock if nobody holds it.
    pub fn try_take(storage: &dyn Storage, path: &TreePath) -> Result<Option<Lock>, StorageError> {
        let file = storage.open(path, OpenMode::Create(PRIVATE_FILE))?;
        Ok(file.try_lock()?.then_some(Lock { _file: file }))
    }

    /// Takes the lock, waiting up to `timeout` for whoever holds it.
    pub fn take(
        storage: &dyn Storage,
        path: &TreePath,
        clock: &dyn Clock,
        ids: &dyn Ids,
        timeout: Duration,
    ) -> Result<Lock, LockError> {
        let file = storage.open(path, OpenMode::Create(PRIVATE_FILE))?;
        let mut waited = Duration::ZERO;
        let mut wait = FIRST_WAIT;
        loop {
            if file.try_lock()? {
                return Ok(Lock { _file: file });
            }
            if waited >= timeout {
                let path = path.clone();
                let waited_ms = waited.as_millis();
                return Err(LockError::TimedOut { path, waited_ms });
            }
            // Between half and all of the step, so that waiting processes do not march in step.
            let spread = wait.mul_f64(0.5 + (ids.random() % 1024) as f64 / 2048.0);
            clock.sleep(spread);
            waited += spread;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}
