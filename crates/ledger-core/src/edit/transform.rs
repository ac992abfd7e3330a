//! Moving two edits of one text past one another.

use std::fmt;
use std::ops::Range;

use super::{EditHunk, LineEdit, push_hunk};

/// Two edits change lines that overlap or touch, in different ways.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("both edits change {}", BaseLines(.lines))]
pub struct Overlap {
    /// The lines of the common base that the two changes cover together, from 0; empty where both
    /// only insert before that line.
    pub lines: Range<u64>,
}

struct BaseLines<'a>(&'a Range<u64>);

impl fmt::Display for BaseLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = *self.0;
        match end.saturating_sub(start) {
            0 => write!(f, "what is before line {}", start + 1),
            1 => write!(f, "line {end}"),
            _ => write!(f, "lines {}-{end}", start + 1),
        }
    }
}

impl LineEdit {
    /// Takes this edit and `other`, both made for the same text, to `(self', other')`: so that
    /// `self` and then `other'` make the same text as `other` and then `self'`.
    ///
    /// Agrees with `git merge-file` about the same hunks: a change that both make in the same way
    /// counts once, and is in neither of the results.
    ///
    /// # Errors
    ///
    /// [`Overlap`] for the first two different changes with no unchanged line between them.
    pub fn transform(&self, other: &LineEdit) -> Result<(LineEdit, LineEdit), Overlap> {
        let mut ours = Moved::default();
        let mut theirs = Moved::default();
        let mut our_hunks = self.hunks().peekable();
        let mut their_hunks = other.hunks().peekable();
        loop {
            let (a, b) = (our_hunks.peek(), their_hunks.peek());
            if let (Some(a), Some(b)) = (a, b) {
                if same_change(a, b) {
                    ours.pass(b);
                    theirs.pass(a);
                    our_hunks.next();
                    their_hunks.next();
                    continue;
                }
                if touch(&a.old, &b.old) {
                    let lines = a.old.start.min(b.old.start)..a.old.end.max(b.old.end);
                    return Err(Overlap { lines });
                }
            }
            match (a, b) {
                (Some(a), b) if b.is_none_or(|b| a.old.start < b.old.start) => {
                    ours.make(a);
                    theirs.pass(a);
                    our_hunks.next();
                }
                (_, Some(b)) => {
                    theirs.make(b);
                    ours.pass(b);
                    their_hunks.next();
                }
                _ => return Ok((ours.edit, theirs.edit)),
            }
        }
    }
}

fn same_change(a: &EditHunk<'_>, b: &EditHunk<'_>) -> bool {
    a.old == b.old && a.deleted == b.deleted && a.inserted == b.inserted
}

fn touch(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// An edit as it becomes once the changes it passes are made.
#[derive(Debug, Default)]
struct Moved {
    edit: LineEdit,
    /// Where the last change made ends, in the lines of the text that it is made to.
    end: u64,
    /// Lines that the changes passed so far insert and delete.
    inserted: u64,
    deleted: u64,
}

impl Moved {
    /// A change that is in the text already.
    fn pass(&mut self, hunk: &EditHunk<'_>) {
        self.inserted += hunk.new.end - hunk.new.start;
        self.deleted += hunk.old.end - hunk.old.start;
    }

    /// A change that is still to be made. What was passed lies above it, so never more lines are
    /// deleted than there are.
    fn make(&mut self, hunk: &EditHunk<'_>) {
        let moved = |line: u64| (line + self.inserted).saturating_sub(self.deleted);
        let (start, end) = (moved(hunk.old.start), moved(hunk.old.end));
        let retained = start.saturating_sub(self.end);
        push_hunk(&mut self.edit.ops, retained, hunk.deleted, hunk.inserted);
        self.end = end;
    }
}
