//! Moving the working tree from one state to another, so that nothing is ever overwritten.
//!
//! The life of a move: *plan* the paths that differ; *stage* each new file in the journal's directory
//! and make it durable; write in the journal that the *swap* begins; then, path by path, exchange the
//! staged file with what stands there (or move away what is to be deleted), and look at what came
//! back. If that is not what the plan expected, somebody saved it meanwhile, and the host records it
//! before the move goes on. In the end the host *concludes* (a rewind records its event), and the
//! journal goes.
//!
//! The journal's directory, `.user/ledger/rewind/`, holds `journal.json`, `stage/N` (what step N puts in
//! place, and after the exchange what it put out of place) and `aside/N` (what step N deleted).
//! Whoever finds a journal finishes the move, or takes it back; both can be killed and begun again.
//!
//! **Invariant:** until the journal says `swap`, nothing outside its directory was touched. From then
//! on, `stage/N` either has the content that step N puts in place, or what stood there before.

mod journal;
mod plan;
mod swap;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use ledger_core::log::Standing;
use ledger_core::storage::{
    Durability, OpenMode, PRIVATE_DIR, RenameMode, Storage, StorageError, create_dirs, if_present,
};
use ledger_core::{Mode, TreePath, layout};

pub use journal::{Journal, Purpose, Step};
pub use plan::{Obstacle, obstacles, plan};

use crate::recipe::RebuildError;
use crate::state::State;
use journal::Phase;

/// Steps from which on they are staged on several threads, and on how many.
const STAGED_TOGETHER: usize = 64;
const STAGING_THREADS: usize = 8;

/// An error of whoever hosts a move.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A move did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The state to go to cannot be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// Something stands in the way that was never recorded.
    #[error(transparent)]
    Blocked(#[from] Obstacle),
    /// The journal of an earlier move cannot be read.
    #[error("{}: {why}", journal::path())]
    BadJournal {
        /// What is wrong with it.
        why: String,
    },
    /// The move is part of the history already, and can only be finished.
    #[error("the move is recorded already and can only be continued")]
    Concluded,
    /// The host failed.
    #[error("{what}")]
    Host {
        /// What it was doing.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: BoxError,
    },
}

/// What a move asks of the ledger that it is part of.
pub trait Host {
    /// Records what somebody saved at `path` while the move was under way, as a change of what the
    /// branch had there. It may be asked for the same content again after a crash.
    fn record_found(
        &mut self,
        journal: &Journal,
        path: &TreePath,
        mode: Mode,
        content: &[u8],
    ) -> Result<(), BoxError>;

    /// Makes the move part of the history, and says where the workspace stands from now on. It may be
    /// asked again after a crash.
    fn conclude(&mut self, journal: &Journal) -> Result<Standing, BoxError>;

    /// Whether [`Host::conclude`] has done its part.
    fn is_concluded(&mut self, journal: &Journal) -> Result<bool, BoxError>;
}

/// Moves the working tree. Whoever uses it holds `worktree.lock`.
pub struct Mover<'a> {
    storage: &'a dyn Storage,
    token: u64,
}

impl<'a> Mover<'a> {
    /// A mover of the tree on `storage`; `token` names its temporary files.
    pub fn new(storage: &'a dyn Storage, token: u64) -> Self {
        Mover { storage, token }
    }

    /// The journal of a move that was not finished.
    pub fn pending(storage: &dyn Storage) -> Result<Option<Journal>, MoveError> {
        Journal::read(storage)
    }

    /// Brings the files of the plan to `target`, and concludes.
    pub fn run(
        &self,
        journal: Journal,
        target: &State,
        host: &mut dyn Host,
    ) -> Result<Standing, MoveError> {
        self.clear_leftovers()?;
        create_dirs(
            self.storage,
            &journal::stage_dir(),
            PRIVATE_DIR,
            Durability::Durable,
        )?;
        create_dirs(
            self.storage,
            &journal::aside_dir(),
            PRIVATE_DIR,
            Durability::Durable,
        )?;
        journal.write(self.storage, self.token)?;
        self.resume(journal, target, host)
    }

    /// Finishes a move from wherever it stopped.
    pub fn resume(
        &self,
        mut journal: Journal,
        target: &State,
        host: &mut dyn Host,
    ) -> Result<Standing, MoveError> {
        if journal.phase == Phase::Stage {
            self.stage(&journal, target)?;
            journal.phase = Phase::Swap;
            journal.write(self.storage, self.token)?;
        }
        if !host.is_concluded(&journal).map_err(asking)? {
            self.swap(&journal, host)?;
        }
        let standing = host.conclude(&journal).map_err(|source| MoveError::Host {
            what: "the move could not be recorded",
            source,
        })?;
        standing.write(self.storage, self.token)?;
        self.clear()?;
        Ok(standing)
    }

    /// Brings the files back to what they were before the move.
    pub fn abort(&self, journal: Journal, host: &mut dyn Host) -> Result<(), MoveError> {
        if host.is_concluded(&journal).map_err(asking)? {
            return Err(MoveError::Concluded);
        }
        if journal.phase == Phase::Swap {
            self.swap_back(&journal, host)?;
        }
        self.clear()
    }

    /// Removes the journal, then what it kept.
    fn clear(&self) -> Result<(), MoveError> {
        self.storage.remove_file(&journal::path())?;
        self.storage.sync_dir(&layout::rewind_dir())?;
        self.clear_leftovers()
    }

    /// Removes what a finished move left behind. There must be no journal.
    fn clear_leftovers(&self) -> Result<(), MoveError> {
        for dir in [journal::stage_dir(), journal::aside_dir()] {
            for entry in if_present(self.storage.list(&dir))?.unwrap_or_default() {
                let path = dir.join(&entry.name).map_err(|error| {
                    let source = io::Error::new(io::ErrorKind::InvalidData, error);
                    StorageError::new("list", &dir, source)
                })?;
                if_present(self.storage.remove_file(&path))?;
            }
        }
        Ok(())
    }

    /// Writes every new file into the journal's directory, durably.
    fn stage(&self, journal: &Journal, target: &State) -> Result<(), MoveError> {
        self.clear_stage(journal)?;
        let steps = &journal.steps;
        // Syncs of many files share the disk's writes; a few files are not worth the threads.
        let threads = match steps.len() {
            0..STAGED_TOGETHER => 1,
            _ => STAGING_THREADS,
        };
        let next = AtomicUsize::new(0);
        let stage_some = || -> Result<(), MoveError> {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                match steps.get(n) {
                    Some(step) => self.stage_file(n, step, target)?,
                    None => return Ok(()),
                }
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(stage_some)).collect();
            let mut outcome = stage_some();
            for other in others {
                // A panic of a thread goes on here.
                let joined = other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and(joined);
            }
            outcome
        })?;
        self.storage.sync_dir(&journal::stage_dir())?;
        Ok(())
    }

    /// Writes what a step puts in place, durably but for its name.
    fn stage_file(&self, n: usize, step: &Step, target: &State) -> Result<(), MoveError> {
        let Some(after) = step.after else {
            return Ok(());
        };
        let content = target
            .content(&step.path)?
            .ok_or_else(|| RebuildError::Inconsistent {
                path: step.path.clone(),
                event: target.event(),
                why: "the plan puts a file where the state has none".to_owned(),
            })?;
        let staged = journal::staged(n);
        if after.mode.is_symlink() {
            return Ok(self.storage.create_link(&staged, &content)?);
        }
        let bits = swap::permissions(self.storage, step, after.mode)?;
        let mode = OpenMode::CreateNew(bits.at_creation);
        let file = self.storage.open(&staged, mode)?;
        if let Some(exact) = bits.exact {
            file.set_mode(exact)?;
        }
        file.write_at(&content, 0)?;
        Ok(file.sync()?)
    }

    fn clear_stage(&self, journal: &Journal) -> Result<(), MoveError> {
        for n in 0..journal.steps.len() {
            if_present(self.storage.remove_file(&journal::staged(n)))?;
        }
        Ok(())
    }

    /// Renames, and says whether there was something to rename.
    fn rename_present(
        &self,
        from: &TreePath,
        to: &TreePath,
        mode: RenameMode,
    ) -> Result<bool, StorageError> {
        Ok(if_present(self.storage.rename(from, to, mode))?.is_some())
    }
}

fn asking(source: BoxError) -> MoveError {
    MoveError::Host {
        what: "the ledger could not be asked about the move",
        source,
    }
}
