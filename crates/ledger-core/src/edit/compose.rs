//! Joining two edits, one after the other, into one.

use super::build::Builder;
use super::{ApplyError, InvalidEdit, LineEdit, LineOp};
use crate::diff::{count_lines, end_of_lines, split_lines};

/// Why two edits do not follow one another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// The second one deletes what the first one did not insert, or puts lines where the first one
    /// left no newline. Lines are those of the text between them.
    #[error("second edit does not apply to the text that the first one makes")]
    Apply(#[from] ApplyError),
    /// Together they would be no edit.
    #[error("the edits do not make one together")]
    Invalid(#[from] InvalidEdit),
}

impl LineEdit {
    /// One edit that does what this one and then `next` do.
    ///
    /// For every text `t` that both apply to, `self.compose(next)` makes of it what `next` makes
    /// of what `self` makes of it. Lines that are changed and changed back are retained.
    ///
    /// # Errors
    ///
    /// [`ComposeError`] if `next` cannot apply to any text that this edit makes.
    pub fn compose(&self, next: &LineEdit) -> Result<LineEdit, ComposeError> {
        let mut joined = Builder::keeping_equal();
        let mut first = Cursor::of(self);
        let mut second = Cursor::of(next);
        // Lines of the text between the two edits that are behind us.
        let mut line = 0;
        loop {
            if let Some(Part::Delete(lines)) = first.next {
                joined.delete(lines)?;
                first.load();
                continue;
            }
            if let Some(Part::Insert(lines)) = second.next {
                joined.insert(lines)?;
                second.load();
                continue;
            }
            let lines = match (first.next, second.next) {
                (None, None) => return Ok(joined.finish()),
                (Some(_), None) => first.lines,
                (None, Some(_)) => second.lines,
                (Some(_), Some(_)) => first.lines.min(second.lines),
            };
            match (first.take(lines), second.take(lines)) {
                (Part::Insert(inserted), Part::Delete(deleted)) => {
                    check_same(line, inserted, deleted)?;
                }
                (Part::Insert(inserted), _) => joined.insert(inserted)?,
                (_, Part::Delete(deleted)) => joined.delete(deleted)?,
                _ => joined.retain(lines)?,
            }
            line += lines;
        }
    }
}

fn check_same(line: u64, inserted: &[u8], deleted: &[u8]) -> Result<(), ApplyError> {
    if inserted == deleted {
        return Ok(());
    }
    let mut pairs = (line + 1..).zip(split_lines(inserted).zip(split_lines(deleted)));
    match pairs.find(|(_, (actual, expected))| actual != expected) {
        Some((line, (actual, expected))) => Err(ApplyError::mismatch(line, expected, actual)),
        None => Ok(()),
    }
}

/// What an operation does to lines, and those of them that are still to come.
#[derive(Debug, Clone, Copy)]
enum Part<'a> {
    Retain,
    Delete(&'a [u8]),
    Insert(&'a [u8]),
}

/// Walks over the operations of an edit, by any number of lines at a time.
struct Cursor<'a> {
    ops: std::slice::Iter<'a, LineOp>,
    /// `None` past the last operation, where everything is retained.
    next: Option<Part<'a>>,
    /// Lines of `next`, counted once: an operation may be taken in very many steps.
    lines: u64,
}

impl<'a> Cursor<'a> {
    fn of(edit: &'a LineEdit) -> Self {
        let mut cursor = Cursor {
            ops: edit.ops.iter(),
            next: None,
            lines: 0,
        };
        cursor.load();
        cursor
    }

    fn load(&mut self) {
        (self.next, self.lines) = match self.ops.next() {
            None => (None, 0),
            Some(LineOp::Retain(lines)) => (Some(Part::Retain), *lines),
            Some(LineOp::Delete(lines)) => (Some(Part::Delete(lines)), count_lines(lines)),
            Some(LineOp::Insert(lines)) => (Some(Part::Insert(lines)), count_lines(lines)),
        };
    }

    /// Takes `lines` lines off; the next operation has at least as many.
    fn take(&mut self, lines: u64) -> Part<'a> {
        let Some(next) = self.next else {
            return Part::Retain;
        };
        let split = |text: &'a [u8]| text.split_at(end_of_lines(text, lines).unwrap_or(text.len()));
        let (taken, rest) = match next {
            Part::Retain => (Part::Retain, Part::Retain),
            Part::Delete(text) => {
                let (taken, rest) = split(text);
                (Part::Delete(taken), Part::Delete(rest))
            }
            Part::Insert(text) => {
                let (taken, rest) = split(text);
                (Part::Insert(taken), Part::Insert(rest))
            }
        };
        self.lines = self.lines.saturating_sub(lines);
        match self.lines {
            0 => self.load(),
            _ => self.next = Some(rest),
        }
        taken
    }
}
