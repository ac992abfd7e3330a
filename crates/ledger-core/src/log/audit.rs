//! Checking every row, and the end, without relying on anything derived.

use super::scan::{Break, Mark, Stop, scan};
use super::tip::Tip;
use super::view::{ReadError, Row, decode_row};
use crate::id::EventId;
use crate::layout;
use crate::storage::{OpenMode, Storage};

/// What stands after the last whole batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// Where it begins.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Where the first thing is that is wrong with it: its begin, or a later row of its first batch.
    pub broken_at: u64,
    /// What is wrong there.
    pub why: String,
    /// Whether it holds rows that were durable once: then it is damage, and not what a writer that
    /// was stopped left behind.
    pub acknowledged: bool,
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Whole rows that chain from the first.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last of them.
    pub last: Option<EventId>,
    /// What stands after them.
    pub tail: Option<Tail>,
    /// Whether the tip is missing or does not check out.
    pub tip_invalid: bool,
    /// Whether rows that were durable once are missing at the end.
    pub cut_short: Option<String>,
}

/// Follows the chain from the first row to its end, giving each row to `visit`: what it says, or why
/// it cannot be read though its hash is right.
pub fn audit<E: From<ReadError> + From<crate::storage::StorageError>>(
    storage: &dyn Storage,
    visit: &mut dyn FnMut(u64, Result<Row, ReadError>) -> Result<(), E>,
) -> Result<Audit, E> {
    let file = match storage.open(&layout::events(), OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.is_absent() => return Err(ReadError::NoLedger.into()),
        Err(error) => return Err(error.into()),
    };
    // The tip first: what it names was durable before the file was measured.
    let tip = Tip::read(storage)?;
    let len = file.stat()?.size;
    let mut rows = 0;
    let mut tip_met = false;
    let scanned = scan::<E>(file.as_ref(), Mark::START, len, &mut |offset, line| {
        rows += 1;
        let row = decode_row(offset, line);
        if let (Some(tip), Ok(row)) = (tip, &row) {
            let end = offset + line.len() as u64 + 1;
            tip_met |= tip.end == end && tip.id == row.event.id && tip.hash == row.event.hash;
        }
        visit(offset, row)
    })?;
    let Mark { end, above } = scanned.mark;
    let acknowledged = tip.is_some_and(|tip| tip.end > end);
    let (broken_at, why) = match scanned.stop {
        Stop::Broken(Break { offset, why, .. }) => (offset, why),
        Stop::HalfBatch => (end, "the last batch is not whole".to_owned()),
        Stop::End => (end, "the file grew while it was read".to_owned()),
    };
    let tail = (len > end).then(|| Tail {
        offset: end,
        bytes: len - end,
        broken_at,
        why,
        acknowledged,
    });
    let cut_short = match tip {
        Some(tip) if tip.end > len => Some(format!(
            "the file has {len} bytes, and {} were durable",
            tip.end
        )),
        Some(tip) if tip.end <= end && !tip_met => Some(format!(
            "the row that the tip names, {}, is not there",
            tip.id
        )),
        _ => None,
    };
    Ok(Audit {
        rows,
        bytes: end,
        last: above.map(|(id, _)| id),
        tail,
        tip_invalid: tip.is_none(),
        cut_short,
    })
}
