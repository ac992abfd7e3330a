//! The append path: what makes rows, and what makes them durable.

use std::sync::Arc;

use super::keys::Keys;
use super::lock::LockError;
use super::scan::{Mark, Stop};
use super::standing::{Standing, StandingError};
use super::tip::Tip;
use super::view::{ReadError, View};
use super::written::WrittenRows;
use super::{Notice, Seams};
use crate::digest::Digest;
use crate::event::{Action, BatchPlace, Body, Event, Format};
use crate::id::{EventId, InvalidName, check_name};
use crate::layout;
use crate::path::TreePath;
use crate::storage::{OpenMode, PRIVATE_FILE, StorageError, StorageFile, read_range};
use crate::wire::{self, ROW_MAX, RowFault};

/// Rows that count together or not at all.
#[derive(Debug, Clone)]
pub struct Batch {
    /// What the rows say, in order, all on one branch.
    pub bodies: Vec<Body>,
    /// What they build on.
    pub on: On,
    /// The caller's name for the batch, so that it can be sent again.
    pub key: Option<Key>,
}

/// What a batch builds on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The tip of its branch, whatever it is by then.
    Tip,
    /// The tip, provided that no event after this one concerns the files of the batch.
    TipUnchangedSince(EventId),
    /// This event, whose state the branch that the batch opens begins with.
    NewBranch(EventId),
}

/// An idempotency key, and a digest of everything that was asked for under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub text: String,
    /// Digest of the request.
    pub digest: Digest,
}

/// The events of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Their ids, in order.
    pub events: Vec<EventId>,
    /// The hashes of their rows; empty when the batch was found instead of written.
    pub hashes: Vec<Digest>,
    /// Whether an earlier batch with the same key was found instead of writing this one.
    pub repeated: bool,
}

/// A batch was not recorded, but for [`AppendError::InDoubt`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// There is a ledger already.
    #[error("there is a ledger here already")]
    Exists,
    /// The ledger cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The append lock was not to be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The disk failed before anything was written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// `workspace.json` cannot be used.
    #[error(transparent)]
    Standing(#[from] StandingError),
    /// An event after the one that the batch was made from concerns one of its files.
    #[error("{path} was changed by {by}")]
    Moved {
        /// The file.
        path: TreePath,
        /// The event.
        by: EventId,
    },
    /// There is no such branch.
    #[error("there is no branch {0:?}")]
    NoBranch(String),
    /// The name of a new branch is not free.
    #[error("the name {0:?} is taken")]
    NameTaken(String),
    /// The name of a new branch cannot be one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The key was used for something else.
    #[error("the key {key:?} was used for other content, by {first}")]
    KeyReused {
        /// The key.
        key: String,
        /// The first event recorded under it.
        first: EventId,
    },
    /// A row would be larger than a row can be.
    #[error("the row would have {bytes} bytes; a row has at most {ROW_MAX}")]
    RowTooLarge {
        /// Its size.
        bytes: usize,
    },
    /// A row cannot be written.
    #[error("the row cannot be written: {0}")]
    Row(RowFault),
    /// The write or its sync failed; it was cut back, and this handle records nothing more.
    #[error("the rows could not be made durable, and were cut back")]
    Failed(#[source] Arc<StorageError>),
    /// The write or its sync failed, and it could not be cut back: the rows may be there or not.
    #[error("the rows could not be made durable nor cut back; whether they are there is in doubt")]
    InDoubt(#[source] Arc<StorageError>),
    /// An earlier write through this handle failed.
    #[error("an earlier write through this handle failed; open the ledger again")]
    Poisoned,
}

impl AppendError {
    /// The same error, for another batch that met it.
    pub(super) fn for_another(&self) -> AppendError {
        match self {
            AppendError::Read(ReadError::Damaged(damage)) => {
                AppendError::Read(ReadError::Damaged(damage.clone()))
            }
            AppendError::Read(ReadError::Storage(error)) | AppendError::Storage(error) => {
                AppendError::Storage(error.for_another())
            }
            AppendError::Lock(LockError::TimedOut { path, waited_ms }) => {
                let (path, waited_ms) = (path.clone(), *waited_ms);
                AppendError::Lock(LockError::TimedOut { path, waited_ms })
            }
            AppendError::Lock(LockError::Storage(error)) => {
                AppendError::Storage(error.for_another())
            }
            _ => AppendError::Poisoned,
        }
    }
}

/// What becomes of the batches of a group after one that cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// They are others' and do not depend on it.
    GoOn,
    /// They build on it.
    Stop,
}

/// What only the one who holds the append lock touches.
pub(super) struct Writer {
    view: View,
    tip_file: Box<dyn StorageFile>,
    keys: Keys,
    written: WrittenRows,
    poisoned: bool,
}

impl Writer {
    /// Opens for appending. The caller holds the lock.
    pub fn open(seams: &Seams, notices: &mut Vec<Notice>) -> Result<Self, AppendError> {
        let loaded = View::load(seams.storage.as_ref(), OpenMode::Write)?;
        let tip_file = seams
            .storage
            .open(&layout::tip(), OpenMode::Create(PRIVATE_FILE))?;
        let mut writer = Writer {
            view: loaded.view,
            tip_file,
            keys: Keys::default(),
            written: WrittenRows::default(),
            poisoned: false,
        };
        writer.set_tail_aside(seams, loaded.stop, loaded.len, notices)?;
        Ok(writer)
    }

    /// Opens a ledger that has no row yet; a first batch that was torn is set aside.
    pub fn create(seams: &Seams) -> Result<Self, AppendError> {
        let storage = seams.storage.as_ref();
        let tip_file = storage.open(&layout::tip(), OpenMode::Write)?;
        if Tip::read_from(tip_file.as_ref())?.is_some() {
            return Err(AppendError::Exists);
        }
        let mut view = View::empty(storage)?;
        let len = view.file.stat()?.size;
        let stop = view.extend(len)?;
        if view.mark.above.is_some() {
            return Err(AppendError::Exists);
        }
        let mut writer = Writer {
            view,
            tip_file,
            keys: Keys::default(),
            written: WrittenRows::default(),
            poisoned: false,
        };
        writer.set_tail_aside(seams, stop, len, &mut Vec::new())?;
        Ok(writer)
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    /// Takes in what others have appended. The caller holds the lock.
    pub fn catch_up(
        &mut self,
        seams: &Seams,
        notices: &mut Vec<Notice>,
    ) -> Result<(), AppendError> {
        if self.poisoned {
            return Err(AppendError::Poisoned);
        }
        let stat = seams.storage.stat(&layout::events())?;
        let tip = Tip::read_from(self.tip_file.as_ref())?;
        let behind_tip = tip.is_some_and(|tip| tip.end > stat.size);
        if stat.inode != self.view.inode || stat.size < self.view.mark.end || behind_tip {
            // Not the file that was open: begin again, with all checks.
            *self = Writer::open(seams, notices)?;
            return Ok(());
        }
        self.view.durable_end = tip.map_or(0, |tip| tip.end);
        if stat.size > self.view.mark.end {
            let stop = self.view.extend(stat.size)?;
            self.set_tail_aside(seams, stop, stat.size, notices)?;
        }
        Ok(())
    }

    /// Moves what follows the last complete batch to a file of its own, then cuts it off.
    fn set_tail_aside(
        &mut self,
        seams: &Seams,
        stop: Stop,
        len: u64,
        notices: &mut Vec<Notice>,
    ) -> Result<(), AppendError> {
        let end = self.view.mark.end;
        if stop == Stop::End || len == end {
            return Ok(());
        }
        let storage = seams.storage.as_ref();
        let mut copy = 0;
        let (aside, file) = loop {
            let path = layout::torn(end, copy);
            match storage.open(&path, OpenMode::CreateNew(PRIVATE_FILE)) {
                Ok(file) => break (path, file),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => copy += 1,
                Err(error) => return Err(error.into()),
            }
        };
        const PIECE: usize = 1024 * 1024;
        let mut done = 0;
        while end + done < len {
            let piece = read_range(self.view.file.as_ref(), end + done, PIECE)?;
            if piece.is_empty() {
                break;
            }
            file.write_at(&piece, done)?;
            done += piece.len() as u64;
        }
        file.sync()?;
        storage.sync_dir(&layout::ledger_dir())?;
        self.view.file.set_len(end)?;
        notices.push(Notice::TornTail {
            offset: end,
            bytes: done,
            moved_to: aside,
        });
        Ok(())
    }

    /// Records batches in one write and one sync. The caller holds the lock and has caught up.
    ///
    /// Answers each batch in order, up to the one that it stopped at. An error of the write is that of
    /// all of them.
    pub fn commit(
        &mut self,
        seams: &Seams,
        batches: &[&Batch],
        after_failure: AfterFailure,
    ) -> Vec<Result<Appended, AppendError>> {
        let (start, durable_end) = (self.view.mark.end, self.view.durable_end);
        let mut bytes = Vec::new();
        let mut results = Vec::with_capacity(batches.len());
        // Before the first row of the group: after it, the view has rows that are not in the file yet.
        if batches.iter().any(|batch| batch.key.is_some())
            && let Err(error) = self.keys.read(&self.view)
        {
            let error = AppendError::Read(error);
            results.extend(batches.iter().map(|_| Err(error.for_another())));
            return results;
        }
        for batch in batches {
            let result = self.prepare(seams, batch, &mut bytes);
            let stop = result.is_err() && after_failure == AfterFailure::Stop;
            results.push(result);
            if stop {
                break;
            }
        }
        if bytes.is_empty() {
            return results;
        }
        if let Err(failure) = self.write(start, durable_end, &bytes) {
            for result in results.iter_mut().filter(|result| is_new(result)) {
                *result = Err(failure.error());
            }
        }
        results
    }

    /// Writes rows at `start` and makes them durable, or cuts them back and is of no more use.
    fn write(&mut self, start: u64, durable_end: u64, bytes: &[u8]) -> Result<(), WriteFailure> {
        let file = self.view.file.as_ref();
        // Rows of a writer that was killed before its sync: written once more, since after an I/O
        // error the kernel may hold their pages for clean.
        let written = rewrite(file, durable_end.min(start), start)
            .and_then(|()| file.write_at(bytes, start))
            .and_then(|()| file.sync());
        if let Err(error) = written {
            self.poisoned = true;
            self.written.clear();
            let error = Arc::new(error);
            return Err(match file.set_len(start) {
                Ok(()) => WriteFailure::CutBack(error),
                Err(_) => WriteFailure::InDoubt(error),
            });
        }
        if let Some((id, hash)) = self.view.mark.above {
            let tip = Tip {
                id,
                end: self.view.mark.end,
                hash,
            };
            // The rows are durable. A tip that stays behind costs the next opener a longer look.
            if let Err(error) = tip.write_to(self.tip_file.as_ref()) {
                tracing::warn!(%error, "the tip could not be raised");
            }
            self.view.durable_end = tip.end;
        }
        self.keys.forget_before(self.view.last());
        self.written.trim();
        Ok(())
    }

    /// Makes rows that nobody acknowledged durable, and raises the tip.
    pub fn settle_end(&mut self) -> Result<(), AppendError> {
        let (end, durable_end) = (self.view.mark.end, self.view.durable_end);
        self.write(end, durable_end, &[])
            .map_err(|failure| failure.error())
    }

    /// Makes the rows of one batch after those that stand in `bytes` already, and takes them in.
    fn prepare(
        &mut self,
        seams: &Seams,
        batch: &Batch,
        bytes: &mut Vec<u8>,
    ) -> Result<Appended, AppendError> {
        if let Some(key) = &batch.key
            && let Some(found) = self.keys.find(self.view.last(), &key.text)
        {
            if found.digest != Some(key.digest) {
                return Err(AppendError::KeyReused {
                    key: key.text.clone(),
                    first: found.first,
                });
            }
            let events = (0..found.count)
                .map(|i| EventId(found.first.0 + i))
                .collect();
            return Ok(Appended {
                events,
                hashes: Vec::new(),
                repeated: true,
            });
        }
        let Some(first) = batch.bodies.first() else {
            return Ok(Appended {
                events: Vec::new(),
                hashes: Vec::new(),
                repeated: false,
            });
        };
        let before = bytes.len();
        let appended = self.write_rows(seams, batch, &first.branch, bytes);
        if appended.is_err() {
            bytes.truncate(before);
        }
        appended
    }

    /// Appends the rows of a batch to `bytes`, which go to the end of the file.
    fn write_rows(
        &mut self,
        seams: &Seams,
        batch: &Batch,
        branch: &str,
        bytes: &mut Vec<u8>,
    ) -> Result<Appended, AppendError> {
        let start = self.view.mark;
        let origin = bytes.len();
        let mut place = self.place(seams, batch, branch)?;
        let n = batch.bodies.len() as u64;
        let mut lines = Vec::with_capacity(batch.bodies.len());
        let mut above = start.above;
        let mut events = Vec::with_capacity(batch.bodies.len());
        let mut hashes = Vec::with_capacity(batch.bodies.len());
        let now = seams.clock.now();
        let ts = now.max(self.view.heads.ts);
        for (i, body) in (1..).zip(&batch.bodies) {
            let id = above.map_or(EventId::GENESIS, |(id, _)| id.next());
            let offset = start.end + (bytes.len() - origin) as u64;
            let mut body = body.clone();
            body.in_workspace = body.in_workspace && place.in_workspace;
            place.in_workspace = body.in_workspace;
            let line_start = bytes.len();
            let event = Event {
                id,
                ts,
                clock: (ts != now).then_some(now),
                parent: place.parent.map(|(id, _)| id),
                parent_at: place.parent.map(|(_, at)| at),
                base_snapshot: place.base_snapshot,
                batch: BatchPlace { i, n },
                key: batch.key.as_ref().map(|key| key.text.clone()),
                key_digest: batch.key.as_ref().filter(|_| i == 1).map(|key| key.digest),
                format: above.is_none().then(|| Format {
                    name: wire::FORMAT_NAME.to_owned(),
                    version: wire::FORMAT_VERSION,
                }),
                prev: above.map(|(_, hash)| hash),
                hash: Digest::from_bytes([0; 32]),
                body,
            };
            let hash = wire::encode(&event, bytes).map_err(AppendError::Row)?;
            let length = bytes.len() - line_start;
            if length + 1 > ROW_MAX {
                return Err(AppendError::RowTooLarge { bytes: length + 1 });
            }
            self.written.add(&event, offset);
            lines.push((offset, line_start..bytes.len()));
            bytes.push(b'\n');
            if event.body.action == Action::SnapshotCreate {
                place.base_snapshot = event.body.snapshot_ref.or(place.base_snapshot);
            }
            place.parent = Some((id, offset));
            above = Some((id, hash));
            events.push(id);
            hashes.push(hash);
        }
        let heads = Arc::make_mut(&mut self.view.heads);
        for (offset, line) in &lines {
            heads
                .apply(*offset, &bytes[line.clone()])
                .map_err(AppendError::Row)?;
        }
        self.view.mark = Mark {
            end: start.end + (bytes.len() - origin) as u64,
            above,
        };
        self.view.uncached += n;
        self.keys
            .add(batch.key.as_ref(), events.first().copied(), n);
        Ok(Appended {
            events,
            hashes,
            repeated: false,
        })
    }

    /// What the first row of a batch builds on.
    fn place(&self, seams: &Seams, batch: &Batch, branch: &str) -> Result<Place, AppendError> {
        if self.view.mark.above.is_none() {
            return Ok(Place {
                parent: None,
                base_snapshot: None,
                in_workspace: true,
            });
        }
        if let On::NewBranch(parent) = batch.on {
            check_name(branch)?;
            if self.view.heads.has_name(branch) {
                return Err(AppendError::NameTaken(branch.to_owned()));
            }
            let (offset, base_snapshot) = self.written.place_after(&self.view, parent)?;
            return Ok(Place {
                parent: Some((parent, offset)),
                base_snapshot,
                in_workspace: true,
            });
        }
        let Some(head) = self.view.heads.branches.get(branch) else {
            return Err(AppendError::NoBranch(branch.to_owned()));
        };
        if let On::TipUnchangedSince(known) = batch.on {
            self.written
                .check_unchanged(&self.view, head.tip, known, &batch.bodies)?;
        }
        // Where nobody claims that the files on disk are so, it need not be asked where they stand.
        let in_workspace = batch.bodies.iter().any(|body| body.in_workspace) && {
            let standing = Standing::read(seams.storage.as_ref(), &self.view)?;
            standing.branch == branch && standing.event == head.tip
        };
        Ok(Place {
            parent: Some((head.tip, head.tip_at)),
            base_snapshot: head.base_snapshot,
            in_workspace,
        })
    }

    /// Rows that the cached heads are behind.
    pub fn uncached(&self) -> u64 {
        self.view.uncached
    }

    /// Notes that the heads were cached.
    pub fn set_cached(&mut self) {
        self.view.uncached = 0;
    }
}

/// What the next row builds on.
struct Place {
    parent: Option<(EventId, u64)>,
    base_snapshot: Option<crate::id::SnapshotId>,
    in_workspace: bool,
}

enum WriteFailure {
    CutBack(Arc<StorageError>),
    InDoubt(Arc<StorageError>),
}

impl WriteFailure {
    fn error(&self) -> AppendError {
        match self {
            WriteFailure::CutBack(source) => AppendError::Failed(Arc::clone(source)),
            WriteFailure::InDoubt(source) => AppendError::InDoubt(Arc::clone(source)),
        }
    }
}

fn is_new(result: &Result<Appended, AppendError>) -> bool {
    result
        .as_ref()
        .is_ok_and(|appended| !appended.repeated && !appended.events.is_empty())
}

/// Writes a range of a file again as it is.
fn rewrite(file: &dyn StorageFile, from: u64, to: u64) -> Result<(), StorageError> {
    const PIECE: u64 = 1024 * 1024;
    let mut at = from;
    while at < to {
        let piece = read_range(file, at, PIECE.min(to - at) as usize)?;
        if piece.is_empty() {
            break;
        }
        file.write_at(&piece, at)?;
        at += piece.len() as u64;
    }
    Ok(())
}
