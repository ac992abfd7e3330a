//! Hunks with lines of context around them, as they are shown and as patches hold them.

use std::fmt;
use std::ops::Range;

use super::{Hunk, TextDiff};

/// What a line of a shown diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// In both texts.
    Context,
    /// In the old text only.
    Delete,
    /// In the new text only.
    Insert,
}

/// A line of a shown diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// Which of the texts has it.
    pub kind: LineKind,
    /// Its number in the old text, from 1.
    pub old: Option<u32>,
    /// Its number in the new text, from 1.
    pub new: Option<u32>,
    /// Its bytes; without `\n` at the end only if it is the last one of a text that ends so.
    pub text: &'a [u8],
}

/// Hunks close to one another, with the context around and between them: what stands under one
/// `@@` line.
#[derive(Debug, Clone)]
pub struct UnifiedHunk<'d> {
    diff: &'d TextDiff<'d>,
    hunks: &'d [Hunk],
    old: Range<u32>,
    new: Range<u32>,
}

impl TextDiff<'_> {
    /// The hunks with up to `context` unchanged lines around each; those whose context would meet
    /// are put together, as git does.
    pub fn unified(&self, context: u32) -> impl Iterator<Item = UnifiedHunk<'_>> {
        let apart = context.saturating_mul(2);
        self.hunks
            .chunk_by(move |above, below| below.old.start - above.old.end <= apart)
            .filter_map(move |hunks| {
                let (first, last) = (hunks.first()?, hunks.last()?);
                let above = context.min(first.old.start).min(first.new.start);
                let below = context.min(self.old.len().saturating_sub(last.old.end));
                Some(UnifiedHunk {
                    diff: self,
                    hunks,
                    old: first.old.start - above..last.old.end + below,
                    new: first.new.start - above..last.new.end + below,
                })
            })
    }

    /// Appends the hunks as a unified diff with `context` lines, without a header for the file.
    pub fn write_unified(&self, context: u32, out: &mut Vec<u8>) {
        for hunk in self.unified(context) {
            out.extend_from_slice(hunk.to_string().as_bytes());
            out.push(b'\n');
            for line in hunk.lines() {
                out.push(line.kind.sign());
                out.extend_from_slice(line.text);
                if !line.text.ends_with(b"\n") {
                    out.extend_from_slice(b"\n\\ No newline at end of file\n");
                }
            }
        }
    }
}

impl LineKind {
    /// The character that a unified diff puts before such a line.
    pub fn sign(self) -> u8 {
        match self {
            LineKind::Context => b' ',
            LineKind::Delete => b'-',
            LineKind::Insert => b'+',
        }
    }
}

impl<'d> UnifiedHunk<'d> {
    /// Its lines in the old text, from 0.
    pub fn old_lines(&self) -> Range<u32> {
        self.old.clone()
    }

    /// Its lines in the new text, from 0.
    pub fn new_lines(&self) -> Range<u32> {
        self.new.clone()
    }

    /// The changes in it, without context.
    pub fn hunks(&self) -> &'d [Hunk] {
        self.hunks
    }

    /// Its lines, top to bottom; in each change the deleted ones first.
    pub fn lines(&self) -> impl Iterator<Item = DiffLine<'d>> + use<'d> {
        let diff = self.diff;
        let old_end = self.old.end;
        let starts = std::iter::once((self.old.start, self.new.start));
        let context_starts = starts.chain(self.hunks.iter().map(|h| (h.old.end, h.new.end)));
        let context_ends = self.hunks.iter().map(|hunk| hunk.old.start);
        let changes = self.hunks.iter().map(Some).chain([None]);
        let contexts: Vec<_> = context_starts
            .zip(context_ends.chain([old_end]))
            .zip(changes)
            .collect();
        contexts
            .into_iter()
            .flat_map(move |(((old, new), end), change)| {
                let context = (old..end).zip(new..).map(move |(old, new)| DiffLine {
                    kind: LineKind::Context,
                    old: Some(old + 1),
                    new: Some(new + 1),
                    text: diff.old.get(old).unwrap_or_default(),
                });
                context.chain(change.into_iter().flat_map(|hunk| changed(diff, hunk)))
            })
    }
}

fn changed<'d>(
    diff: &'d TextDiff<'d>,
    hunk: &Hunk,
) -> impl Iterator<Item = DiffLine<'d>> + use<'d> {
    let deleted = hunk.old.clone().map(|line| DiffLine {
        kind: LineKind::Delete,
        old: Some(line + 1),
        new: None,
        text: diff.old.get(line).unwrap_or_default(),
    });
    let inserted = hunk.new.clone().map(|line| DiffLine {
        kind: LineKind::Insert,
        old: None,
        new: Some(line + 1),
        text: diff.new.get(line).unwrap_or_default(),
    });
    deleted.chain(inserted)
}

/// The `@@ -1,4 +1,5 @@` line, without a newline.
impl fmt::Display for UnifiedHunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@@ -{} +{} @@", Count(&self.old), Count(&self.new))
    }
}

/// A range of lines as unified diffs write it: the first line from 1, or the one before it where
/// there is none, and how many, unless that is one.
struct Count<'a>(&'a Range<u32>);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            0 => write!(f, "{},0", self.0.start),
            1 => write!(f, "{}", self.0.start + 1),
            lines => write!(f, "{},{lines}", self.0.start + 1),
        }
    }
}
