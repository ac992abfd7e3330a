//! Finding events, newest first, reading no more of the file than needed.

use memchr::memmem::Finder;

use super::view::{ReadError, Row, View, damaged_row, decode_row};
use crate::event::Event;
use crate::id::{EventId, SnapshotId};
use crate::path::TreePath;
use crate::storage::read_range;
use crate::time::Timestamp;
use crate::wire::{ROW_MAX, RowFault, safe_json};

/// How much is read at a time, going back; the first block is small, for those who want few events.
const BLOCK_FIRST: usize = 16 * 1024;
const BLOCK_MAX: usize = 1024 * 1024;

/// Which events are wanted: all conditions that are given have to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Changes this file, or one below it; or renames it from or to this name.
    pub file: Option<TreePath>,
    /// Has an author of this name.
    pub author: Option<String>,
    /// Is on this branch.
    pub branch: Option<String>,
    /// Falls in this semantic block: its id, the last parts of its id, or `kind:id`.
    pub symbol: Option<String>,
    /// Belongs to this run.
    pub run: Option<String>,
    /// Belongs to this operation.
    pub operation: Option<String>,
    /// Belongs to an operation whose id begins so.
    pub operation_prefix: Option<String>,
    /// Is of this action type.
    pub action: Option<String>,
    /// Made this snapshot.
    pub snapshot: Option<SnapshotId>,
    /// Was made at this moment or later.
    pub since: Option<Timestamp>,
    /// Was made at this moment or earlier.
    pub until: Option<Timestamp>,
    /// Is this event or a later one.
    pub from: Option<EventId>,
    /// Is this event or an earlier one.
    pub up_to: Option<EventId>,
    /// Was recorded under an idempotency key.
    pub keyed: bool,
}

impl Query {
    fn matches(&self, event: &Event) -> bool {
        let body = &event.body;
        let is = |wanted: &Option<String>, actual: Option<&str>| {
            wanted
                .as_deref()
                .is_none_or(|wanted| actual == Some(wanted))
        };
        let operation = body.operation_id.as_deref();
        is(&self.author, Some(&body.author.name))
            && is(&self.branch, Some(&body.branch))
            && is(&self.run, body.run_id.as_deref())
            && is(&self.operation, operation)
            && is(&self.action, Some(body.action.as_str()))
            && self
                .file
                .as_ref()
                .is_none_or(|path| body.touches(path) || path.is_root())
            && self.operation_prefix.as_deref().is_none_or(|prefix| {
                operation.is_some_and(|operation| operation.starts_with(prefix))
            })
            && self.symbol.as_deref().is_none_or(|wanted| {
                body.semantic_block.as_ref().is_some_and(|block| {
                    let is_last = block.id.strip_suffix(wanted);
                    is_last.is_some_and(|above| above.is_empty() || above.ends_with(['.', '/']))
                        || wanted
                            .strip_prefix(&block.kind)
                            .and_then(|rest| rest.strip_prefix(':'))
                            == Some(&block.id)
                })
            })
            && self
                .snapshot
                .is_none_or(|wanted| body.snapshot_ref == Some(wanted) && body.snapshot.is_some())
            && (!self.keyed || event.key.is_some())
            && self.since.is_none_or(|since| event.made_at() >= since)
            && self.until.is_none_or(|until| event.made_at() <= until)
    }

    /// Bytes that every matching row holds, so that others need not be parsed: the rarest first.
    fn needle(&self) -> Option<Vec<u8>> {
        let field = |name: &str, value: &str| {
            let value = safe_json(&value).ok()?;
            Some([b"\"", name.as_bytes(), b"\":", &value].concat())
        };
        if let Some(path) = self.file.as_ref().filter(|path| !path.is_root()) {
            // Without the closing quote it stands in the names of what is below, too.
            let mut needle = safe_json(path).ok()?;
            if std::str::from_utf8(path.as_bytes()).is_ok() {
                needle.pop();
            }
            return Some(needle);
        }
        if let Some(operation) = &self.operation {
            return field("operation_id", operation);
        }
        if let Some(prefix) = &self.operation_prefix {
            let mut needle = field("operation_id", prefix)?;
            needle.pop();
            return Some(needle);
        }
        if let Some(snapshot) = self.snapshot {
            return field("snapshot_ref", &snapshot.to_string());
        }
        if let Some(symbol) = &self.symbol {
            let id = symbol.split_once(':').map_or(symbol.as_str(), |(_, id)| id);
            // A prefix of the id's JSON serves both readings of the symbol.
            let mut needle = safe_json(&id).ok()?;
            needle.remove(0);
            return Some(needle);
        }
        if let Some(run) = &self.run {
            return field("run_id", run);
        }
        if let Some(action) = &self.action {
            return field("action_type", action);
        }
        if self.keyed {
            return Some(b"\"key\":".to_vec());
        }
        self.author
            .as_ref()
            .and_then(|author| field("name", author))
    }
}

impl View {
    /// The events that a query wants, newest first. Ends with the first error.
    pub fn history(&self, query: Query) -> History<'_> {
        let needle = query
            .needle()
            .map(|needle| Finder::new(&needle).into_owned());
        let bounds = || {
            let stop = query
                .up_to
                .map_or(Ok(self.mark.end), |id| self.end_of(id))?;
            let start = query.from.map_or(Ok(0), |id| self.start_of(id))?;
            Ok((start, stop))
        };
        let (start, block_at, failed) = match bounds() {
            Ok((start, stop)) => (start, stop.max(start), None),
            Err(error) => (0, 0, Some(error)),
        };
        History {
            view: self,
            query,
            needle,
            start,
            block: Vec::new(),
            block_at,
            unread: 0,
            next_size: BLOCK_FIRST,
            failed,
        }
    }

    /// The offset after the row of `id`, or the end when there is no such row yet.
    fn end_of(&self, id: EventId) -> Result<u64, ReadError> {
        self.start_of(id.next())
    }

    fn start_of(&self, id: EventId) -> Result<u64, ReadError> {
        match self.offset_of(id) {
            Ok(offset) => Ok(offset),
            Err(ReadError::NoEvent(_)) => Ok(self.mark.end),
            Err(error) => Err(error),
        }
    }
}

/// An iterator over events, newest first.
pub struct History<'a> {
    view: &'a View,
    query: Query,
    needle: Option<Finder<'static>>,
    /// Where the first row begins that may be wanted.
    start: u64,
    /// A part of the file that begins with a row, and where it is.
    block: Vec<u8>,
    block_at: u64,
    /// How much of the block has not been looked at, from its start.
    unread: usize,
    next_size: usize,
    failed: Option<ReadError>,
}

impl Iterator for History<'_> {
    type Item = Result<Row, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(row) => row.map(Ok),
            Err(error) => {
                self.block_at = self.start;
                self.unread = 0;
                Some(Err(error))
            }
        }
    }
}

impl History<'_> {
    fn advance(&mut self) -> Result<Option<Row>, ReadError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            if self.unread == 0 && !self.load_block()? {
                return Ok(None);
            }
            while self.unread > 0 {
                let unread = &self.block[..self.unread];
                // The end of the last line that may match.
                let line_end = match &self.needle {
                    None => Some(unread.len() - 1),
                    Some(needle) => last_match(needle, unread).map(|at| {
                        at + memchr::memchr(b'\n', &unread[at..]).unwrap_or(unread.len() - at)
                    }),
                };
                let Some(line_end) = line_end else {
                    self.unread = 0;
                    break;
                };
                let line_start = memchr::memrchr(b'\n', &unread[..line_end]).map_or(0, |at| at + 1);
                self.unread = line_start;
                let offset = self.block_at + line_start as u64;
                let row = decode_row(offset, &self.block[line_start..line_end])?;
                if self.query.matches(&row.event) {
                    return Ok(Some(row));
                }
            }
        }
    }

    /// Loads the rows before the block; false when there are none.
    fn load_block(&mut self) -> Result<bool, ReadError> {
        let end = self.block_at;
        if end <= self.start {
            return Ok(false);
        }
        let mut size = self.next_size as u64;
        loop {
            let from = end.saturating_sub(size).max(self.start);
            let bytes = read_range(self.view.file.as_ref(), from, (end - from) as usize)?;
            if bytes.len() as u64 != end - from || bytes.last() != Some(&b'\n') {
                let fault = RowFault::Malformed("the line has no end".to_owned());
                return Err(damaged_row(from, None, fault));
            }
            // The first line is whole only at the start.
            let head = match from == self.start {
                true => Some(0),
                false => memchr::memchr(b'\n', &bytes[..bytes.len() - 1]).map(|at| at + 1),
            };
            match head {
                Some(head) => {
                    self.block_at = from + head as u64;
                    self.block = bytes;
                    self.block.drain(..head);
                    self.unread = self.block.len();
                    self.next_size = (self.next_size * 2).min(BLOCK_MAX);
                    return Ok(true);
                }
                None if size > 2 * ROW_MAX as u64 => {
                    let fault =
                        RowFault::Malformed("the line is longer than a row can be".to_owned());
                    return Err(damaged_row(from, None, fault));
                }
                None => size *= 2,
            }
        }
    }
}

/// The last place where a needle stands, found by going through pieces from the end.
fn last_match(needle: &Finder<'_>, bytes: &[u8]) -> Option<usize> {
    const PIECE: usize = 16 * 1024;
    let overlap = needle.needle().len().saturating_sub(1);
    let mut end = bytes.len();
    loop {
        let start = end.saturating_sub(PIECE);
        let stop = (end + overlap).min(bytes.len());
        if let Some(last) = needle.find_iter(&bytes[start..stop]).last() {
            return Some(start + last);
        }
        if start == 0 {
            return None;
        }
        end = start;
    }
}
