//! Differences of two texts, by lines.
//!
//! A line is bytes up to and including `\n`; nothing else separates lines, and only the last one
//! of a text may lack its `\n`. A hunk is a maximal run of changed lines without context, so
//! between two hunks there is always an unchanged line.

mod bounded;
mod lines;
mod unified;

use std::ops::Range;

pub use lines::Lines;
pub(crate) use lines::{count_lines, end_of_lines, is_terminated, split_lines};
pub use unified::{DiffLine, LineKind, UnifiedHunk};

/// The longest content that counts as text, in bytes.
pub const TEXT_MAX: usize = 16 << 20;

/// Whether `content` is recorded by lines: no NUL byte in it, and at most [`TEXT_MAX`] long.
///
/// Encoding plays no part: lines are bytes.
pub fn is_text(content: &[u8]) -> bool {
    content.len() <= TEXT_MAX && memchr::memchr(0, content).is_none()
}

/// A maximal run of changed lines: those of `old` became those of `new`. Indexes start at 0.
///
/// One of the ranges may be empty, never both; the empty one says where the lines of the other
/// would stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hunk {
    /// Lines of the old text.
    pub old: Range<u32>,
    /// Lines of the new text.
    pub new: Range<u32>,
}

/// How many lines a change adds and deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// Lines of the new text that were not in the old one.
    pub added: u64,
    /// Lines of the old text that are not in the new one.
    pub deleted: u64,
}

/// Compares two texts: git's histogram diff with its indent heuristic, from top to bottom.
///
/// Time is bounded also for texts made to be slow: large ones are first cut at lines that both
/// hold exactly once, and what stays large and repetitive is compared window by window, so the
/// hunks are then correct but not the fewest possible.
pub fn hunks(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let Some(core) = Core::of(old, new) else {
        return Vec::new();
    };
    let first = u32::try_from(core.lines_above).unwrap_or(u32::MAX);
    bounded::compare(core.old, core.new)
        .into_iter()
        .map(|hunk| Hunk {
            old: shift(hunk.old, first),
            new: shift(hunk.new, first),
        })
        .collect()
}

fn shift(lines: Range<u32>, by: u32) -> Range<u32> {
    lines.start.saturating_add(by)..lines.end.saturating_add(by)
}

/// The parts of two texts that are worth looking at: what is left without the lines which both
/// begin and end with.
struct Core<'a> {
    old: &'a [u8],
    new: &'a [u8],
    lines_above: u64,
}

/// Equal lines that stay on each side of the core, so that a hunk can still slide to where the
/// indent heuristic wants it (which looks at 100 positions) and see the lines around it.
const LINES_KEPT: usize = 128;

impl<'a> Core<'a> {
    /// `None` if the texts are equal.
    fn of(old: &'a [u8], new: &'a [u8]) -> Option<Self> {
        let same = common_prefix(old, new);
        if same == old.len() && same == new.len() {
            return None;
        }
        let start = line_starts_back(old, same, LINES_KEPT);
        let (old_rest, new_rest) = (&old[same..], &new[same..]);
        let tail = common_suffix(old_rest, new_rest);
        let tail_text = &old_rest[old_rest.len() - tail..];
        // The line that the equal tail begins in may differ further up: it belongs to the core.
        let kept = end_of_lines(tail_text, LINES_KEPT as u64 + 1).unwrap_or(tail);
        let cut = tail - kept;
        Some(Core {
            old: &old[start..old.len() - cut],
            new: &new[start..new.len() - cut],
            lines_above: count_lines(&old[..start]),
        })
    }
}

/// The start of the line that lies `lines` above the one that holds the byte at `at`.
fn line_starts_back(text: &[u8], at: usize, lines: usize) -> usize {
    memchr::memrchr_iter(b'\n', &text[..at])
        .nth(lines)
        .map_or(0, |newline| newline + 1)
}

const CHUNK: usize = 64;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.chunks_exact(CHUNK).zip(b.chunks_exact(CHUNK));
    let same = CHUNK * chunks.take_while(|(a, b)| a == b).count();
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.rchunks_exact(CHUNK).zip(b.rchunks_exact(CHUNK));
    let same = CHUNK * chunks.take_while(|(a, b)| a == b).count();
    let rest = a[..a.len() - same].iter().rev();
    let rest = rest.zip(b[..b.len() - same].iter().rev());
    same + rest.take_while(|(a, b)| a == b).count()
}

/// Two texts and the hunks between them: everything that a rendering, or an edit, is made from.
#[derive(Debug, Clone)]
pub struct TextDiff<'a> {
    old: Lines<'a>,
    new: Lines<'a>,
    hunks: Vec<Hunk>,
}

impl<'a> TextDiff<'a> {
    /// Compares two texts; see [`hunks`].
    pub fn between(old: &'a [u8], new: &'a [u8]) -> Self {
        TextDiff {
            old: Lines::of(old),
            new: Lines::of(new),
            hunks: hunks(old, new),
        }
    }

    /// Takes hunks that are already known, so that nothing needs to be compared again.
    ///
    /// `None` if they are not the difference of these texts: out of order, touching, out of
    /// range, or the lines between them differ.
    pub fn with_hunks(old: &'a [u8], new: &'a [u8], hunks: Vec<Hunk>) -> Option<Self> {
        let diff = TextDiff {
            old: Lines::of(old),
            new: Lines::of(new),
            hunks,
        };
        diff.is_consistent().then_some(diff)
    }

    fn is_consistent(&self) -> bool {
        let (mut old, mut new) = (0, 0);
        for (i, hunk) in self.hunks.iter().enumerate() {
            let gap = old..hunk.old.start;
            let apart = i == 0 || !gap.is_empty();
            let empty = hunk.old.is_empty() && hunk.new.is_empty();
            let same = self.old.range(gap) == self.new.range(new..hunk.new.start);
            let within = self.old.range(hunk.old.clone()).is_some()
                && self.new.range(hunk.new.clone()).is_some();
            if !apart || empty || !same || !within {
                return false;
            }
            (old, new) = (hunk.old.end, hunk.new.end);
        }
        old <= self.old.len()
            && self.old.range(old..self.old.len()) == self.new.range(new..self.new.len())
    }

    /// The old text.
    pub fn old_text(&self) -> &Lines<'a> {
        &self.old
    }

    /// The new text.
    pub fn new_text(&self) -> &Lines<'a> {
        &self.new
    }

    /// The hunks, top to bottom.
    pub fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// How many lines were added and deleted.
    pub fn stat(&self) -> Stat {
        self.hunks.iter().fold(Stat::default(), |sum, hunk| Stat {
            added: sum.added + hunk.new.len() as u64,
            deleted: sum.deleted + hunk.old.len() as u64,
        })
    }
}
