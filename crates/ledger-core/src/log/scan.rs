//! Following the chain forward: which rows count, and where they end.

use crate::digest::Digest;
use crate::event::BatchPlace;
use crate::id::EventId;
use crate::storage::{StorageError, StorageFile, read_range};
use crate::wire::{self, ROW_MAX, RowFault};

/// How much is read at a time.
const CHUNK: usize = 1024 * 1024;

/// A place between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Offset of the byte after the row's newline; 0 before the first row.
    pub end: u64,
    /// The row above: its id and hash. Absent before the first row.
    pub above: Option<(EventId, Digest)>,
}

impl Mark {
    /// Before the first row.
    pub const START: Mark = Mark {
        end: 0,
        above: None,
    };

    fn next_id(&self) -> EventId {
        self.above.map_or(EventId::GENESIS, |(id, _)| id.next())
    }
}

/// Why a scan went no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// There are no more bytes.
    End,
    /// The next line is not a whole row, or not one that follows.
    Broken(Break),
    /// The rows chain to the end of the file, but the last batch is not whole.
    HalfBatch,
}

/// Where the chain breaks, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// Offset of the line.
    pub offset: u64,
    /// The id that should stand there.
    pub expected: EventId,
    /// What is wrong.
    pub why: String,
}

/// Is given the offset of a row, and its line.
pub type Visit<'a, E> = dyn FnMut(u64, &[u8]) -> Result<(), E> + 'a;

/// What a scan found: the end of the last complete batch, and why it stopped there.
#[derive(Debug)]
pub struct Scanned {
    pub mark: Mark,
    pub stop: Stop,
}

/// Follows the chain from `from` (the end of a complete batch) as far as it goes, up to `limit`.
///
/// `visit` is given each row of a complete batch: its offset, and its line without the newline.
pub fn scan<E: From<StorageError>>(
    file: &dyn StorageFile,
    from: Mark,
    limit: u64,
    visit: &mut Visit<'_, E>,
) -> Result<Scanned, E> {
    let mut whole = from;
    let mut at = from;
    let mut held: Vec<u8> = Vec::new();
    let mut held_at = from.end;
    // Rows of a batch that is not complete yet, as offsets in the file.
    let mut waiting: Vec<(u64, usize)> = Vec::new();
    let mut place: Option<BatchPlace> = None;
    loop {
        let consumed = (at.end - held_at) as usize;
        let Some(length) = memchr::memchr(b'\n', &held[consumed..]) else {
            let unread = held.len() - consumed;
            // What is not part of an open batch is done with.
            held.drain(..(whole.end - held_at) as usize);
            held_at = whole.end;
            let read_from = held_at + held.len() as u64;
            let left = usize::try_from(limit.saturating_sub(read_from)).unwrap_or(usize::MAX);
            let more = match unread > ROW_MAX {
                true => Vec::new(),
                false => read_range(file, read_from, CHUNK.min(left))?,
            };
            if !more.is_empty() {
                held.extend_from_slice(&more);
                continue;
            }
            let stop = match (unread, place) {
                (0, None) => Stop::End,
                (0, Some(_)) => Stop::HalfBatch,
                (1..=ROW_MAX, _) => Stop::Broken(broken(&at, "the line has no end")),
                _ => Stop::Broken(broken(&at, "the line is longer than a row can be")),
            };
            return Ok(Scanned { mark: whole, stop });
        };
        let line = &held[consumed..consumed + length];
        let (link, hash) = match follow(line, &at, place) {
            Ok(found) => found,
            Err(why) => {
                let stop = Stop::Broken(broken(&at, &why));
                return Ok(Scanned { mark: whole, stop });
            }
        };
        waiting.push((at.end, length));
        at = Mark {
            end: at.end + length as u64 + 1,
            above: Some((link.id, hash)),
        };
        let batch = link.batch.unwrap_or(BatchPlace::ALONE);
        place = Some(batch);
        if batch.is_last() {
            for (offset, length) in waiting.drain(..) {
                let start = (offset - held_at) as usize;
                visit(offset, &held[start..start + length])?;
            }
            whole = at;
            place = None;
        }
    }
}

/// Checks that `line` is the row after `at`, within the batch that is open, if one is.
fn follow(
    line: &[u8],
    at: &Mark,
    place: Option<BatchPlace>,
) -> Result<(wire::Link, Digest), String> {
    let hash = wire::check_hash(line).map_err(|fault| fault.to_string())?;
    let link = wire::link(line).map_err(|fault: RowFault| fault.to_string())?;
    if link.id != at.next_id() {
        return Err(format!("the row is {}", link.id));
    }
    if link.prev != at.above.map(|(_, hash)| hash) {
        return Err("the row does not follow the one above it".to_owned());
    }
    let batch = link.batch.unwrap_or(BatchPlace::ALONE);
    let expected = place.map_or(1, |open| open.i + 1);
    if batch.i != expected || place.is_some_and(|open| open.n != batch.n) || batch.i > batch.n {
        return Err(format!(
            "the row is {} of {} of its batch",
            batch.i, batch.n
        ));
    }
    Ok((link, hash))
}

fn broken(at: &Mark, why: &str) -> Break {
    Break {
        offset: at.end,
        expected: at.next_id(),
        why: why.to_owned(),
    }
}
