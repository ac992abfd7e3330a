//! The log: `events.jsonl`, and what keeps it whole.
//!
//! One file of rows, each chained to the one above by its hash; appended to by one writer at a time,
//! read by anybody without a lock. `docs/durability.md` tells what holds after which fault.
//!
//! **Invariant:** nothing is acknowledged, or built upon by this process, before its row is durable.
//! **Invariant:** no reader changes anything.

mod append;
mod audit;
mod cursor;
mod heads;
mod history;
mod keys;
mod lock;
mod scan;
mod standing;
mod tip;
mod view;
mod written;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use append::{AppendError, Appended, Batch, Key, On};
pub use audit::{Audit, Tail, audit};
pub use heads::{Bookmark, BranchHead, Heads};
pub use history::{History, Query};
pub use lock::{Lock, LockError};
pub use standing::{Standing, StandingError};
pub use view::{Ancestors, Damage, ReadError, Row, View};

use crate::layout;
use crate::path::TreePath;
use crate::storage::{Durability, OpenMode, PRIVATE_DIR, PRIVATE_FILE, Storage, create_dirs};
use crate::time::{Clock, Ids};
use append::{AfterFailure, Writer};

/// How long a lock is waited for unless told otherwise.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Rows after which the cached heads are renewed.
const HEADS_RENEWED_EVERY: u64 = 250;

/// Everything that a ledger has of the world outside.
#[derive(Clone)]
pub struct Seams {
    /// The disk.
    pub storage: Arc<dyn Storage>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Fresh names.
    pub ids: Arc<dyn Ids>,
    /// How long a lock is waited for.
    pub lock_timeout: Duration,
}

impl std::fmt::Debug for Seams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seams")
            .field("lock_timeout", &self.lock_timeout)
            .finish_non_exhaustive()
    }
}

/// Something that its user should be told of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// What a writer that was stopped had left behind the last whole batch was moved aside.
    #[error("{bytes} bytes after the last whole row (byte {offset}) were moved to {moved_to}")]
    TornTail {
        /// Where the tail began.
        offset: u64,
        /// Its length.
        bytes: u64,
        /// The file that holds it now.
        moved_to: TreePath,
    },
}

/// A ledger's log, open for reading and, from the first append on, for writing.
///
/// It may be used from many threads: appends that wait for each other go out as one write and one sync.
pub struct Log {
    seams: Seams,
    seen: Mutex<View>,
    queue: Mutex<Queue>,
    turn: Condvar,
    /// Touched only by the thread that has the turn.
    writer: Mutex<Option<Writer>>,
    notices: Mutex<Vec<Notice>>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<Ticket>>,
    /// Whether a thread has the turn.
    busy: bool,
}

/// A batch that waits to be written, then what became of it.
struct Ticket {
    batch: Batch,
    outcome: Mutex<Option<Result<Appended, AppendError>>>,
}

/// Whatever a thread left behind when it panicked is data that can be read.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Log {
    /// Makes a ledger in an existing root, beginning with the batch that `make` makes.
    ///
    /// The rows, and all files and directories that they depend on, are durable when it returns. What a
    /// creation that was stopped left behind is made use of; a ledger is [`AppendError::Exists`].
    pub fn create<E: From<AppendError>>(
        seams: Seams,
        make: impl FnOnce(&View) -> Result<Batch, E>,
    ) -> Result<Self, E> {
        let storage = seams.storage.as_ref();
        let prepare = || -> Result<(Lock, View, Writer), AppendError> {
            create_dirs(
                storage,
                &layout::ledger_dir(),
                PRIVATE_DIR,
                Durability::Durable,
            )?;
            let lock = take_lock(&seams)?;
            for path in [layout::worktree_lock(), layout::tip(), layout::events()] {
                storage
                    .open(&path, OpenMode::Create(PRIVATE_FILE))?
                    .sync()?;
            }
            storage.sync_dir(&layout::ledger_dir())?;
            let writer = Writer::create(&seams)?;
            Ok((lock, writer.view().clone(), writer))
        };
        let (lock, empty, mut writer) = prepare()?;
        let batch = make(&empty)?;
        let mut results = writer.commit(&seams, &[&batch], AfterFailure::Stop);
        results.pop().unwrap_or(Err(AppendError::Poisoned))?;
        drop(lock);
        Log::open(seams).map_err(|error| AppendError::from(error).into())
    }

    /// Opens a ledger. Takes no lock and changes nothing.
    pub fn open(seams: Seams) -> Result<Self, ReadError> {
        let view = View::load(seams.storage.as_ref(), OpenMode::Read)?.view;
        Ok(Log {
            seams,
            seen: Mutex::new(view),
            queue: Mutex::default(),
            turn: Condvar::new(),
            writer: Mutex::new(None),
            notices: Mutex::default(),
        })
    }

    /// The seams that it was opened with.
    pub fn seams(&self) -> &Seams {
        &self.seams
    }

    /// The rows as they are now.
    pub fn view(&self) -> Result<View, ReadError> {
        let storage = self.seams.storage.as_ref();
        let stat = storage.stat(&layout::events())?;
        let mut seen = locked(&self.seen);
        let shrunk = stat.size < seen.mark.end || stat.inode != seen.inode;
        if shrunk || !view::is_row_end(seen.file.as_ref(), &seen.mark)? {
            *seen = View::load(storage, OpenMode::Read)?.view;
        } else if stat.size > seen.mark.end {
            seen.extend(stat.size)?;
        }
        Ok(seen.clone())
    }

    /// Records a batch. Its rows are durable when it returns; it counts whole or not at all.
    pub fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let ticket = Arc::new(Ticket {
            batch,
            outcome: Mutex::new(None),
        });
        let mut queue = locked(&self.queue);
        queue.waiting.push(Arc::clone(&ticket));
        loop {
            if let Some(outcome) = locked(&ticket.outcome).take() {
                return outcome;
            }
            if !queue.busy {
                queue.busy = true;
                let group = std::mem::take(&mut queue.waiting);
                drop(queue);
                let turn = Turn(self);
                self.write_group(&group);
                drop(turn);
                queue = locked(&self.queue);
                continue;
            }
            queue = self
                .turn
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records the batch that `make` makes while nobody else can append.
    ///
    /// `make` sees all rows there are. What it returns is durable when this returns.
    pub fn append_exclusively<E: From<AppendError>>(
        &self,
        make: impl FnOnce(&View) -> Result<Batch, E>,
    ) -> Result<Appended, E> {
        let mut appended = self.append_in_order(|view| Ok::<_, E>(vec![make(view)?]))?;
        appended.pop().ok_or_else(|| E::from(AppendError::Poisoned))
    }

    /// Records the batches that `make` makes, in order, with one write and one sync, while nobody else
    /// can append.
    ///
    /// Each batch counts whole or not at all. After one that cannot be recorded none is; those before
    /// it are, also where this returns its error.
    pub fn append_in_order<E: From<AppendError>>(
        &self,
        make: impl FnOnce(&View) -> Result<Vec<Batch>, E>,
    ) -> Result<Vec<Appended>, E> {
        let _turn = self.take_turn();
        self.with_writer(|writer| {
            let batches = make(writer.view())?;
            let batches: Vec<&Batch> = batches.iter().collect();
            let results = writer.commit(&self.seams, &batches, AfterFailure::Stop);
            let appended: Result<Vec<Appended>, AppendError> = results.into_iter().collect();
            appended.map_err(E::from)
        })
    }

    /// Sets a torn tail aside, makes all whole rows durable, and raises the tip to the last of them.
    pub fn settle_end(&self) -> Result<(), AppendError> {
        let _turn = self.take_turn();
        self.with_writer(Writer::settle_end)
    }

    /// Waits until no thread of this process appends, and keeps others from it.
    fn take_turn(&self) -> Turn<'_> {
        let mut queue = locked(&self.queue);
        while queue.busy {
            queue = self
                .turn
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.busy = true;
        Turn(self)
    }

    /// What should be told to the user, since it was last asked.
    pub fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut locked(&self.notices))
    }

    fn write_group(&self, group: &[Arc<Ticket>]) {
        let batches: Vec<&Batch> = group.iter().map(|ticket| &ticket.batch).collect();
        let outcome =
            self.with_writer(|writer| Ok(writer.commit(&self.seams, &batches, AfterFailure::GoOn)));
        match outcome {
            Ok(results) => {
                for (ticket, result) in group.iter().zip(results) {
                    *locked(&ticket.outcome) = Some(result);
                }
            }
            Err(error) => {
                // One error for many: the first gets it as it is, the others in words.
                let mut error = Some(error);
                for ticket in group {
                    let next = error.as_ref().map(AppendError::for_another);
                    let this = std::mem::replace(&mut error, next);
                    *locked(&ticket.outcome) = this.map(Err);
                }
            }
        }
    }

    /// Calls `work` with the writer, under the lock and caught up.
    fn with_writer<T, E: From<AppendError>>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut slot = locked(&self.writer);
        let lock = take_lock(&self.seams)?;
        let mut notices = Vec::new();
        let opened = match slot.as_mut() {
            Some(writer) => writer.catch_up(&self.seams, &mut notices),
            None => Writer::open(&self.seams, &mut notices).map(|writer| *slot = Some(writer)),
        };
        locked(&self.notices).append(&mut notices);
        opened?;
        let writer = slot.as_mut().ok_or(AppendError::Poisoned)?;
        let result = work(writer);
        drop(lock);
        if writer.uncached() >= HEADS_RENEWED_EVERY {
            let view = writer.view();
            let token = self.seams.ids.random();
            match heads::store(self.seams.storage.as_ref(), &view.mark, view.heads(), token) {
                Ok(()) => writer.set_cached(),
                Err(error) => tracing::warn!(%error, "the heads could not be cached"),
            }
        }
        result
    }
}

/// The turn of one thread to append; passed on when dropped.
struct Turn<'a>(&'a Log);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        locked(&self.0.queue).busy = false;
        self.0.turn.notify_all();
    }
}

fn take_lock(seams: &Seams) -> Result<Lock, AppendError> {
    let lock = Lock::take(
        seams.storage.as_ref(),
        &layout::lock(),
        seams.clock.as_ref(),
        seams.ids.as_ref(),
        seams.lock_timeout,
    )?;
    Ok(lock)
}
