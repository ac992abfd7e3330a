//! Bringing operations into normal form.

use super::{LineEdit, LineOp};
use crate::diff::{count_lines, is_terminated, split_lines};

/// The most lines that either text of an edit may have up to its last change. With it, no sum of
/// line numbers overflows, also when two edits are combined.
pub(super) const LINES_MAX: u64 = u32::MAX as u64;

/// Why operations are no [`LineEdit`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEdit {
    /// A deleted line without a newline is followed by more lines of the old text.
    #[error("line {line} of the old text has no newline, yet more lines follow")]
    OldUnterminated {
        /// The line, counted from 1.
        line: u64,
    },
    /// An inserted line without a newline is followed by more lines of the new text.
    #[error("line {line} of the new text has no newline, yet more lines follow")]
    NewUnterminated {
        /// The line, counted from 1.
        line: u64,
    },
    /// More lines than any text has.
    #[error("edit reaches beyond line {LINES_MAX}")]
    TooManyLines,
}

/// Collects operations from the top; [`Builder::finish`] makes an edit in normal form of them.
#[derive(Debug, Default)]
pub(super) struct Builder {
    ops: Vec<LineOp>,
    /// Of the change at hand: everything since the last retained line.
    retained: u64,
    deleted: Vec<u8>,
    inserted: Vec<u8>,
    old_lines: u64,
    new_lines: u64,
    old_ended: bool,
    new_ended: bool,
    keeps_equal: bool,
}

impl Builder {
    /// One that also retains lines which a change deletes and puts back, at its top and bottom.
    pub(super) fn keeping_equal() -> Self {
        Builder {
            keeps_equal: true,
            ..Builder::default()
        }
    }

    pub(super) fn retain(&mut self, lines: u64) -> Result<(), InvalidEdit> {
        if lines == 0 {
            return Ok(());
        }
        self.old_goes_on(lines)?;
        self.new_goes_on(lines)?;
        self.flush();
        self.retained += lines;
        Ok(())
    }

    pub(super) fn delete(
        &mut self,
        lines: impl AsRef<[u8]> + Into<Vec<u8>>,
    ) -> Result<(), InvalidEdit> {
        let bytes = lines.as_ref();
        if bytes.is_empty() {
            return Ok(());
        }
        self.old_goes_on(count_lines(bytes))?;
        self.old_ended = !is_terminated(bytes);
        append(&mut self.deleted, lines);
        Ok(())
    }

    pub(super) fn insert(
        &mut self,
        lines: impl AsRef<[u8]> + Into<Vec<u8>>,
    ) -> Result<(), InvalidEdit> {
        let bytes = lines.as_ref();
        if bytes.is_empty() {
            return Ok(());
        }
        self.new_goes_on(count_lines(bytes))?;
        self.new_ended = !is_terminated(bytes);
        append(&mut self.inserted, lines);
        Ok(())
    }

    pub(super) fn finish(mut self) -> LineEdit {
        self.flush();
        LineEdit { ops: self.ops }
    }

    fn old_goes_on(&mut self, lines: u64) -> Result<(), InvalidEdit> {
        if self.old_ended {
            let line = self.old_lines;
            return Err(InvalidEdit::OldUnterminated { line });
        }
        self.old_lines = add_lines(self.old_lines, lines)?;
        Ok(())
    }

    fn new_goes_on(&mut self, lines: u64) -> Result<(), InvalidEdit> {
        if self.new_ended {
            let line = self.new_lines;
            return Err(InvalidEdit::NewUnterminated { line });
        }
        self.new_lines = add_lines(self.new_lines, lines)?;
        Ok(())
    }

    /// Writes the change at hand, if there is one.
    fn flush(&mut self) {
        let mut deleted = std::mem::take(&mut self.deleted);
        let mut inserted = std::mem::take(&mut self.inserted);
        let mut equal_below = 0;
        if self.keeps_equal {
            self.retained += take_equal_top(&mut deleted, &mut inserted);
            equal_below = take_equal_bottom(&mut deleted, &mut inserted);
        }
        if deleted.is_empty() && inserted.is_empty() {
            return;
        }
        if self.retained > 0 {
            self.ops.push(LineOp::Retain(self.retained));
        }
        if !deleted.is_empty() {
            self.ops.push(LineOp::Delete(deleted));
        }
        if !inserted.is_empty() {
            self.ops.push(LineOp::Insert(inserted));
        }
        self.retained = equal_below;
    }
}

fn add_lines(sum: u64, lines: u64) -> Result<u64, InvalidEdit> {
    sum.checked_add(lines)
        .filter(|&sum| sum <= LINES_MAX)
        .ok_or(InvalidEdit::TooManyLines)
}

fn append(buffer: &mut Vec<u8>, lines: impl AsRef<[u8]> + Into<Vec<u8>>) {
    if buffer.is_empty() {
        *buffer = lines.into();
    } else {
        buffer.extend_from_slice(lines.as_ref());
    }
}

/// Takes the lines off that both begin with, and counts them.
fn take_equal_top(deleted: &mut Vec<u8>, inserted: &mut Vec<u8>) -> u64 {
    let (lines, bytes) = count_equal(split_lines(deleted), split_lines(inserted));
    deleted.drain(..bytes);
    inserted.drain(..bytes);
    lines
}

/// Takes the lines off that both end with, and counts them.
fn take_equal_bottom(deleted: &mut Vec<u8>, inserted: &mut Vec<u8>) -> u64 {
    let (lines, bytes) = count_equal(split_lines(deleted).rev(), split_lines(inserted).rev());
    deleted.truncate(deleted.len() - bytes);
    inserted.truncate(inserted.len() - bytes);
    lines
}

/// How many pairs are equal before the first that is not, and how many bytes one side has in them.
fn count_equal<'t>(
    old: impl Iterator<Item = &'t [u8]>,
    new: impl Iterator<Item = &'t [u8]>,
) -> (u64, usize) {
    old.zip(new)
        .take_while(|(old, new)| old == new)
        .fold((0, 0), |(lines, bytes), (line, _)| {
            (lines + 1, bytes + line.len())
        })
}
