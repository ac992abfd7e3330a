//! A consistent look at the ledger: the rows up to one of them, and what follows from them.

use std::sync::Arc;

use super::cursor::Cursor;
use super::heads::{self, BranchHead, Heads};
use super::scan::{self, Break, Mark, Stop};
use super::tip::Tip;
use crate::event::Event;
use crate::id::{EventId, SnapshotId};
use crate::layout;
use crate::storage::{OpenMode, Storage, StorageError, StorageFile};
use crate::wire::{self, RowFault};

/// The ledger cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no ledger here.
    #[error("there is no ledger here")]
    NoLedger,
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Bytes that were recorded once are gone or altered.
    #[error("the ledger is damaged: {0}")]
    Damaged(Damage),
    /// The format is not one that this version reads.
    #[error("the ledger has format {found}, and this version reads {known}")]
    Version {
        /// Name and version on the first row.
        found: String,
        /// Name and version of this library.
        known: String,
    },
    /// There is no such event.
    #[error("there is no event {0}")]
    NoEvent(EventId),
}

/// What is damaged, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, byte {offset}{}: {why}", .id.map(|id| format!(" ({id})")).unwrap_or_default())]
pub struct Damage {
    /// The file, relative to the root.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// The event concerned.
    pub id: Option<EventId>,
    /// What is wrong.
    pub why: String,
}

impl Damage {
    fn in_events(offset: u64, id: Option<EventId>, why: impl Into<String>) -> ReadError {
        let file = layout::events().to_string();
        ReadError::Damaged(Damage {
            file,
            offset,
            id,
            why: why.into(),
        })
    }
}

impl From<Break> for Damage {
    fn from(found: Break) -> Self {
        Damage {
            file: layout::events().to_string(),
            offset: found.offset,
            id: Some(found.expected),
            why: found.why,
        }
    }
}

/// An event, the bytes of its row, and where they are.
#[derive(Debug, Clone)]
pub struct Row {
    /// Offset of its first byte.
    pub offset: u64,
    /// The row as stored, without its newline.
    pub line: Box<[u8]>,
    /// What it says.
    pub event: Event,
}

/// The rows of a ledger up to one of them. Cheap to clone; does not change.
#[derive(Clone)]
pub struct View {
    pub(super) file: Arc<dyn StorageFile>,
    pub(super) inode: u64,
    pub(super) mark: Mark,
    /// Up to where rows are known to be durable.
    pub(super) durable_end: u64,
    /// Rows since the cached heads were written.
    pub(super) uncached: u64,
    pub(super) heads: Arc<Heads>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("mark", &self.mark)
            .finish_non_exhaustive()
    }
}

/// A view, and what stands behind its last row: nothing, or a tail that does not count.
pub(super) struct Loaded {
    pub view: View,
    pub stop: Stop,
    pub len: u64,
}

impl View {
    /// Opens the ledger for reading. Takes no lock and changes nothing; a torn tail is left out.
    pub(super) fn load(storage: &dyn Storage, mode: OpenMode) -> Result<Loaded, ReadError> {
        let tip = Tip::read(storage)?;
        let file: Arc<dyn StorageFile> = match storage.open(&layout::events(), mode) {
            Ok(file) => Arc::from(file),
            Err(error) if error.is_absent() => return Err(ReadError::NoLedger),
            Err(error) => return Err(error.into()),
        };
        let stat = file.stat()?;
        let durable = tip
            .map(|tip| check_tip(file.as_ref(), stat.size, tip))
            .transpose()?;
        check_format(file.as_ref(), stat.size)?;
        // Where the cached heads do not fit, every row is read again.
        let (covered, heads) = match heads::load(storage)? {
            Some((mark, heads)) if mark.end <= stat.size && is_row_end(file.as_ref(), &mark)? => {
                (mark, heads)
            }
            _ => (Mark::START, Heads::default()),
        };
        let mut view = View {
            file,
            inode: stat.inode,
            mark: covered,
            durable_end: tip.map_or(0, |tip| tip.end),
            uncached: 0,
            heads: Arc::new(heads),
        };
        // Up to the tip every row has to be there; after it, what chains counts.
        if let Some(durable) = durable.filter(|durable| covered.end < durable.end) {
            let stop = view.extend(durable.end)?;
            if view.mark != durable {
                let why = "the rows before the last durable one do not chain to it";
                return Err(match stop {
                    Stop::Broken(found) => ReadError::Damaged(found.into()),
                    _ => Damage::in_events(view.mark.end, None, why),
                });
            }
        }
        let stop = view.extend(stat.size)?;
        if view.mark.above.is_none() {
            return Err(Damage::in_events(
                0,
                Some(EventId::GENESIS),
                "there is no whole first row",
            ));
        }
        Ok(Loaded {
            view,
            stop,
            len: stat.size,
        })
    }

    /// The view before the first row, of a file that may be written.
    pub(super) fn empty(storage: &dyn Storage) -> Result<View, StorageError> {
        let file: Arc<dyn StorageFile> =
            Arc::from(storage.open(&layout::events(), OpenMode::Write)?);
        Ok(View {
            inode: file.stat()?.inode,
            file,
            mark: Mark::START,
            durable_end: 0,
            uncached: 0,
            heads: Arc::default(),
        })
    }

    /// Takes in the complete batches between the last row and `limit`.
    pub(super) fn extend(&mut self, limit: u64) -> Result<Stop, ReadError> {
        let heads = Arc::make_mut(&mut self.heads);
        let mut rows = 0;
        let scanned = scan::scan(self.file.as_ref(), self.mark, limit, &mut |offset, line| {
            rows += 1;
            heads
                .apply(offset, line)
                .map_err(|fault| damaged_row(offset, None, fault))
        })?;
        self.mark = scanned.mark;
        self.uncached += rows;
        Ok(scanned.stop)
    }

    /// What follows from the rows: branches, bookmarks.
    pub fn heads(&self) -> &Heads {
        &self.heads
    }

    /// The last event.
    pub fn last(&self) -> EventId {
        self.mark.above.map_or(EventId::GENESIS, |(id, _)| id)
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.mark.end
    }

    /// A cursor over the rows.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self.file.as_ref(), self.mark.end)
    }

    /// Reads one event.
    pub fn event(&self, id: EventId) -> Result<Row, ReadError> {
        let offset = self.offset_of(id)?;
        read_row(&mut self.cursor(), offset, id)
    }

    /// The events from `id` back to the first, by its own line of parents; `id` comes first.
    pub fn line_of(&self, id: EventId) -> Result<Ancestors<'_>, ReadError> {
        let at = self.offset_of(id)?;
        Ok(Ancestors {
            view: self,
            cursor: self.cursor(),
            next: Some((id, Some(at))),
        })
    }

    /// Where the row of `id` begins, found by bisecting the file.
    pub fn offset_of(&self, id: EventId) -> Result<u64, ReadError> {
        if self.mark.above.is_none_or(|(last, _)| id > last) {
            return Err(ReadError::NoEvent(id));
        }
        let is_tip = |head: &&BranchHead| head.tip == id;
        if let Some(head) = self.heads.branches.values().find(is_tip) {
            return Ok(head.tip_at);
        }
        let mut cursor = self.cursor();
        // The row begins at or after `low`, and before `high`.
        let (mut low, mut high) = (0, self.mark.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let start = match middle {
                0 => 0,
                _ => match cursor.line_at(middle - 1)? {
                    Some(rest) => middle + rest.len() as u64,
                    None => return Err(Damage::in_events(middle, None, "the line has no end")),
                },
            };
            if start >= high {
                high = middle;
                continue;
            }
            let line = cursor.line_at(start)?;
            let found = line.and_then(id_of).ok_or_else(|| {
                Damage::in_events(start, None, "the line does not begin with an event's id")
            })?;
            let length = line.map_or(0, <[u8]>::len) as u64;
            match found.cmp(&id) {
                std::cmp::Ordering::Equal => return Ok(start),
                std::cmp::Ordering::Less => low = start + length + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(Damage::in_events(
            low,
            Some(id),
            "the row is not where its id belongs",
        ))
    }

    /// The `snapshot_create` event of a snapshot, found by reading back from the newest row.
    pub fn snapshot_event(&self, snapshot: SnapshotId) -> Result<Option<Row>, ReadError> {
        let query = super::history::Query {
            snapshot: Some(snapshot),
            ..Default::default()
        };
        let mut found = self.history(query);
        found.next().transpose()
    }
}

/// Walks from an event back over its parents.
pub struct Ancestors<'a> {
    view: &'a View,
    cursor: Cursor<'a>,
    next: Option<(EventId, Option<u64>)>,
}

impl Iterator for Ancestors<'_> {
    type Item = Result<Row, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (id, at) = self.next.take()?;
        let row = match at {
            Some(offset) => read_row(&mut self.cursor, offset, id),
            None => self.view.event(id),
        };
        if let Ok(row) = &row
            && let Some(parent) = row.event.parent
        {
            // A parent is older: what says otherwise would have us walk for ever.
            let older = parent < id && row.event.parent_at.is_none_or(|at| at < row.offset);
            if !older {
                let why = format!("its parent {parent} is not an older event");
                return Some(Err(Damage::in_events(row.offset, Some(id), why)));
            }
            self.next = Some((parent, row.event.parent_at));
        }
        Some(row)
    }
}

/// Reads and checks the row at `offset`, which has to be that of `id`.
fn read_row(cursor: &mut Cursor<'_>, offset: u64, id: EventId) -> Result<Row, ReadError> {
    let Some(line) = cursor.line_at(offset)? else {
        return Err(Damage::in_events(offset, Some(id), "there is no whole row"));
    };
    let row = decode_row(offset, line)?;
    if row.event.id != id {
        let why = format!("the row is {}", row.event.id);
        return Err(Damage::in_events(offset, Some(id), why));
    }
    Ok(row)
}

/// Checks and reads a line.
pub(super) fn decode_row(offset: u64, line: &[u8]) -> Result<Row, ReadError> {
    let hash = wire::check_hash(line).map_err(|fault| damaged_row(offset, id_of(line), fault))?;
    let event =
        wire::decode(line, hash).map_err(|fault| damaged_row(offset, id_of(line), fault))?;
    Ok(Row {
        offset,
        line: line.into(),
        event,
    })
}

pub(super) fn damaged_row(offset: u64, id: Option<EventId>, fault: RowFault) -> ReadError {
    Damage::in_events(offset, id, fault.to_string())
}

/// The id that a line begins with.
pub(super) fn id_of(line: &[u8]) -> Option<EventId> {
    let rest = line.strip_prefix(b"{\"id\":\"")?;
    let end = memchr::memchr(b'"', &rest[..rest.len().min(40)])?;
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// Checks that the file holds the row that the tip names, and that it ends where it should.
fn check_tip(file: &dyn StorageFile, len: u64, tip: Tip) -> Result<Mark, ReadError> {
    let mark = Mark {
        end: tip.end,
        above: Some((tip.id, tip.hash)),
    };
    if len < tip.end {
        let why = format!("the file has {len} bytes, and {} were durable", tip.end);
        return Err(Damage::in_events(len, Some(tip.id), why));
    }
    if !is_row_end(file, &mark)? {
        let why = "the last row that was durable is gone or altered";
        return Err(Damage::in_events(tip.end, Some(tip.id), why));
    }
    Ok(mark)
}

/// Whether the row that a mark names stands, whole, right before it.
pub(super) fn is_row_end(file: &dyn StorageFile, mark: &Mark) -> Result<bool, ReadError> {
    let Some((id, hash)) = mark.above else {
        return Ok(mark.end == 0);
    };
    let mut cursor = Cursor::new(file, mark.end);
    Ok(cursor
        .line_before(mark.end)?
        .is_some_and(|(_, line)| id_of(line) == Some(id) && wire::check_hash(line) == Ok(hash)))
}

/// Refuses a ledger of another format.
fn check_format(file: &dyn StorageFile, len: u64) -> Result<(), ReadError> {
    let mut cursor = Cursor::new(file, len);
    let Some(line) = cursor.line_at(0)? else {
        return Err(Damage::in_events(
            0,
            Some(EventId::GENESIS),
            "there is no whole first row",
        ));
    };
    let row = decode_row(0, line)?;
    let Some(format) = row.event.format else {
        return Err(Damage::in_events(
            0,
            Some(row.event.id),
            "the first row does not say the format",
        ));
    };
    if format.name != wire::FORMAT_NAME || format.version != wire::FORMAT_VERSION {
        return Err(ReadError::Version {
            found: format!(
                "{} {}",
                crate::bytes::printable(format.name.as_bytes()),
                format.version
            ),
            known: format!("{} {}", wire::FORMAT_NAME, wire::FORMAT_VERSION),
        });
    }
    Ok(())
}
