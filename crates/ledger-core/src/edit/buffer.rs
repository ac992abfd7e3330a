//! A text that takes one edit after the other.

use super::{ApplyError, EditHunk, LineEdit};
use crate::diff::{is_terminated, split_lines};

/// A text held by lines, for applying a long chain of edits to it.
///
/// An edit costs its own bytes and the moving of small handles between it and the edit before;
/// the bytes of other lines are not touched.
#[derive(Debug, Clone)]
pub struct LineBuffer {
    /// Bytes of all lines, in the order in which they came, and of some that are gone.
    bytes: Vec<u8>,
    lines: GapBuffer,
    /// Bytes of the lines that are there.
    live: usize,
}

/// Dead bytes that are always put up with.
const DEAD_BYTES: usize = 64 << 10;

impl LineBuffer {
    /// Takes a text.
    pub fn new(text: Vec<u8>) -> Self {
        let lines = spans(&text, 0).collect();
        LineBuffer {
            live: text.len(),
            bytes: text,
            lines: GapBuffer::of(lines),
        }
    }

    /// How many lines there are.
    pub fn line_count(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Line `index`, from 0, with its newline.
    pub fn line(&self, index: u64) -> Option<&[u8]> {
        let span = self.lines.get(usize::try_from(index).ok()?)?;
        Some(&self.bytes[span.start..span.end])
    }

    /// Makes the change.
    ///
    /// # Errors
    ///
    /// The one that [`LineEdit::apply`] has for this text, which is then as it was before.
    pub fn apply(&mut self, edit: &LineEdit) -> Result<(), ApplyError> {
        for hunk in edit.hunks() {
            self.check(&hunk)?;
        }
        for hunk in edit.hunks() {
            self.replace(&hunk);
        }
        if self.bytes.len() > 2 * self.live + DEAD_BYTES {
            *self = LineBuffer::new(self.to_bytes());
        }
        Ok(())
    }

    /// The whole text.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.live);
        for span in self.lines.iter() {
            text.extend_from_slice(&self.bytes[span.start..span.end]);
        }
        text
    }

    fn check(&self, hunk: &EditHunk<'_>) -> Result<(), ApplyError> {
        let lines = self.line_count();
        if hunk.old.start > lines {
            let line = hunk.old.start + 1;
            return Err(ApplyError::PastEnd { line, lines });
        }
        for (index, expected) in (hunk.old.start..).zip(split_lines(hunk.deleted)) {
            let line = index + 1;
            match self.line(index) {
                Some(actual) if actual == expected => {}
                Some(actual) => return Err(ApplyError::mismatch(line, expected, actual)),
                None => return Err(ApplyError::PastEnd { line, lines }),
            }
        }
        let above = hunk.old.start.checked_sub(1).and_then(|i| self.line(i));
        if !hunk.inserted.is_empty() && !is_terminated(above.unwrap_or_default()) {
            let line = hunk.old.start;
            return Err(ApplyError::NoNewline { line });
        }
        if !is_terminated(hunk.inserted) && hunk.old.end < lines {
            let line = hunk.old.end + 1;
            return Err(ApplyError::NotLast { line });
        }
        Ok(())
    }

    /// Makes one change that was checked; those above it are already made.
    fn replace(&mut self, hunk: &EditHunk<'_>) {
        let deleted = (hunk.old.end - hunk.old.start) as usize;
        self.lines.delete(hunk.new.start as usize, deleted);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(hunk.inserted);
        for span in spans(hunk.inserted, start) {
            self.lines.push(span);
        }
        self.live = self.live - hunk.deleted.len() + hunk.inserted.len();
    }
}

/// Where a line lies in the bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
}

/// The lines of `text`, which lies at `offset`.
fn spans(text: &[u8], offset: usize) -> impl Iterator<Item = Span> {
    let mut end = offset;
    split_lines(text).map(move |line| {
        let start = end;
        end += line.len();
        Span { start, end }
    })
}

/// A sequence with room at the place of the last change, where the next one is likely to be.
#[derive(Debug, Clone)]
struct GapBuffer {
    slots: Vec<Span>,
    gap_start: usize,
    gap_end: usize,
}

impl GapBuffer {
    fn of(spans: Vec<Span>) -> Self {
        let end = spans.len();
        GapBuffer {
            slots: spans,
            gap_start: end,
            gap_end: end,
        }
    }

    fn len(&self) -> usize {
        self.slots.len() - (self.gap_end - self.gap_start)
    }

    fn get(&self, index: usize) -> Option<Span> {
        let slot = match index < self.gap_start {
            true => index,
            false => index.checked_add(self.gap_end - self.gap_start)?,
        };
        self.slots.get(slot).copied()
    }

    fn iter(&self) -> impl Iterator<Item = &Span> {
        self.slots[..self.gap_start]
            .iter()
            .chain(&self.slots[self.gap_end..])
    }

    /// Moves the gap to `index`, and takes up into it the `count` elements from there on.
    fn delete(&mut self, index: usize, count: usize) {
        if index < self.gap_start {
            let moved = self.gap_start - index;
            self.slots
                .copy_within(index..self.gap_start, self.gap_end - moved);
            self.gap_end -= moved;
        } else {
            let moved = index - self.gap_start;
            self.slots
                .copy_within(self.gap_end..self.gap_end + moved, self.gap_start);
            self.gap_end += moved;
        }
        self.gap_start = index;
        self.gap_end += count;
    }

    /// Puts an element at the start of the gap, which goes behind it.
    fn push(&mut self, span: Span) {
        if self.gap_start == self.gap_end {
            let room = (self.slots.len() / 2).max(16);
            let old_len = self.slots.len();
            self.slots.resize(old_len + room, Span::default());
            self.slots
                .copy_within(self.gap_end..old_len, self.gap_end + room);
            self.gap_end += room;
        }
        self.slots[self.gap_start] = span;
        self.gap_start += 1;
    }
}
