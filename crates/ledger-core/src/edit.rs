//! Edits: what one event does to one text, as line operations that can be undone, joined, and
//! moved past one another.
//!
//! **Invariants**, kept by every way to make a [`LineEdit`]:
//! - each operation holds whole lines, and at least one; neighbours are of different kinds;
//! - a change, which is what stands between two retained lines, deletes before it inserts;
//! - the last operation is no [`LineOp::Retain`]: what follows the last change stays, so an edit
//!   does not depend on how much that is;
//! - a deleted line without `\n` is the last one of the old text, an inserted one of the new text.
//!
//! So an edit has one form only, and the same edit is always written as the same JSON (see
//! `LineEdit`'s serde form): `[{"retain": 9}, {"delete": ["a\n"]}, {"insert": ["b\n", "c"]}]`.

mod apply;
mod buffer;
mod build;
mod compose;
mod transform;
mod wire;

use std::ops::Range;

pub use apply::ApplyError;
pub use buffer::LineBuffer;
pub use build::InvalidEdit;
pub use compose::ComposeError;
pub use transform::Overlap;

use crate::diff::{TextDiff, count_lines};
use build::Builder;

/// One step of a [`LineEdit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineOp {
    /// So many lines stay.
    Retain(u64),
    /// These lines, as they stand, are taken out.
    Delete(Vec<u8>),
    /// These lines are put in.
    Insert(Vec<u8>),
}

/// A change of one text, as line operations from its top. Its default changes nothing.
///
/// Its serde form is an array of `{"retain": N}`, `{"delete": [LINE, ...]}` and
/// `{"insert": [LINE, ...]}`, each line with its `\n` as a string, or as `{"b64": "..."}` where it
/// is not UTF-8. Only the one form that an edit is written in is read: any other is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineEdit {
    ops: Vec<LineOp>,
}

/// One change of a [`LineEdit`]: a maximal run of lines that go and lines that come.
///
/// Line indexes start at 0. The ranges are those of the text before and after the whole edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditHunk<'a> {
    /// Where the deleted lines stand in the old text; empty where nothing is deleted.
    pub old: Range<u64>,
    /// Where the inserted lines stand in the new text; empty where nothing is inserted.
    pub new: Range<u64>,
    /// The deleted lines.
    pub deleted: &'a [u8],
    /// The inserted lines.
    pub inserted: &'a [u8],
}

impl LineEdit {
    /// Brings operations into normal form: drops empty ones, joins neighbours of a kind, puts the
    /// deletions of each change before its insertions, and leaves off retained lines at the end.
    ///
    /// # Errors
    ///
    /// [`InvalidEdit`] if a line without `\n` is followed by more of the same text, or the lines
    /// are too many to count.
    pub fn from_ops(ops: impl IntoIterator<Item = LineOp>) -> Result<Self, InvalidEdit> {
        let mut builder = Builder::default();
        for op in ops {
            match op {
                LineOp::Retain(lines) => builder.retain(lines)?,
                LineOp::Delete(lines) => builder.delete(lines)?,
                LineOp::Insert(lines) => builder.insert(lines)?,
            }
        }
        Ok(builder.finish())
    }

    /// The edit that turns `old` into `new`, with the hunks of [`crate::diff::hunks`].
    pub fn between(old: &[u8], new: &[u8]) -> Self {
        LineEdit::from_diff(&TextDiff::between(old, new))
    }

    /// The edit that makes the change of `diff`, hunk by hunk.
    pub fn from_diff(diff: &TextDiff<'_>) -> Self {
        let mut ops = Vec::with_capacity(diff.hunks().len() * 3);
        let mut line = 0;
        for hunk in diff.hunks() {
            let deleted = diff.old_text().range(hunk.old.clone()).unwrap_or_default();
            let inserted = diff.new_text().range(hunk.new.clone()).unwrap_or_default();
            push_hunk(
                &mut ops,
                u64::from(hunk.old.start - line),
                deleted,
                inserted,
            );
            line = hunk.old.end;
        }
        LineEdit { ops }
    }

    /// The operations, top to bottom.
    pub fn ops(&self) -> &[LineOp] {
        &self.ops
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// How many bytes are inserted.
    pub fn inserted_bytes(&self) -> usize {
        let inserted = |op: &LineOp| match op {
            LineOp::Insert(lines) => lines.len(),
            _ => 0,
        };
        self.ops.iter().map(inserted).sum()
    }

    /// How many bytes are deleted.
    pub fn deleted_bytes(&self) -> usize {
        let deleted = |op: &LineOp| match op {
            LineOp::Delete(lines) => lines.len(),
            _ => 0,
        };
        self.ops.iter().map(deleted).sum()
    }

    /// The changes, top to bottom.
    pub fn hunks(&self) -> impl Iterator<Item = EditHunk<'_>> {
        let mut ops = self.ops.iter().peekable();
        let (mut old, mut new) = (0, 0);
        std::iter::from_fn(move || {
            if let Some(LineOp::Retain(lines)) = ops.peek() {
                old += lines;
                new += lines;
                ops.next();
            }
            let (mut deleted, mut inserted): (&[u8], &[u8]) = (&[], &[]);
            if let Some(LineOp::Delete(lines)) = ops.peek() {
                deleted = lines;
                ops.next();
            }
            if let Some(LineOp::Insert(lines)) = ops.peek() {
                inserted = lines;
                ops.next();
            }
            let (old_start, new_start) = (old, new);
            old += count_lines(deleted);
            new += count_lines(inserted);
            let hunk = EditHunk {
                old: old_start..old,
                new: new_start..new,
                deleted,
                inserted,
            };
            (!hunk.is_empty()).then_some(hunk)
        })
    }

    /// One edit per hunk, top to bottom, each for the text that the ones before it leave.
    ///
    /// Since what is above a hunk is already done when its turn comes, the lines that it inserts
    /// are at once those of the final text.
    pub fn split(&self) -> Vec<LineEdit> {
        self.hunks()
            .map(|hunk| {
                let mut ops = Vec::with_capacity(3);
                push_hunk(&mut ops, hunk.new.start, hunk.deleted, hunk.inserted);
                LineEdit { ops }
            })
            .collect()
    }

    /// The edit that takes this one back: from the new text to the old one.
    pub fn invert(&self) -> Self {
        let mut ops = Vec::with_capacity(self.ops.len());
        let mut line = 0;
        for hunk in self.hunks() {
            push_hunk(&mut ops, hunk.old.start - line, hunk.inserted, hunk.deleted);
            line = hunk.old.end;
        }
        LineEdit { ops }
    }
}

impl EditHunk<'_> {
    fn is_empty(&self) -> bool {
        self.deleted.is_empty() && self.inserted.is_empty()
    }
}

/// Appends one change, `retained` lines below the one before it.
fn push_hunk(ops: &mut Vec<LineOp>, retained: u64, deleted: &[u8], inserted: &[u8]) {
    if retained > 0 {
        ops.push(LineOp::Retain(retained));
    }
    if !deleted.is_empty() {
        ops.push(LineOp::Delete(deleted.to_vec()));
    }
    if !inserted.is_empty() {
        ops.push(LineOp::Insert(inserted.to_vec()));
    }
}
