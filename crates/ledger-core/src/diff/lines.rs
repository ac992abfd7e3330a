//! Texts as lines.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

/// A text and where its lines end.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    text: &'a [u8],
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the lines of `text`.
    pub fn of(text: &'a [u8]) -> Self {
        let mut ends: Vec<usize> = memchr_iter(b'\n', text).map(|at| at + 1).collect();
        if !is_terminated(text) {
            ends.push(text.len());
        }
        Lines { text, ends }
    }

    /// The whole text.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// How many lines there are.
    pub fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Line `index`, from 0, with its `\n`.
    pub fn get(&self, index: u32) -> Option<&'a [u8]> {
        self.range(index..index.checked_add(1)?)
    }

    /// The bytes of some consecutive lines; none for an empty range that lies within the text or
    /// at its end. `None` where there are no such lines.
    pub fn range(&self, lines: Range<u32>) -> Option<&'a [u8]> {
        if lines.start > lines.end || lines.end > self.len() {
            return None;
        }
        self.text
            .get(self.start(lines.start)..self.start(lines.end))
    }

    /// Where line `index` starts, which is where the one before it ends.
    fn start(&self, index: u32) -> usize {
        match index.checked_sub(1) {
            None => 0,
            Some(before) => self
                .ends
                .get(before as usize)
                .copied()
                .unwrap_or(self.text.len()),
        }
    }
}

/// The number of lines in `text`.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64 + u64::from(!is_terminated(text))
}

/// Whether no line of `text` lacks its newline; so it is for the empty text.
pub(crate) fn is_terminated(text: &[u8]) -> bool {
    text.last().is_none_or(|&last| last == b'\n')
}

/// The lines of `text`, each with its newline.
pub(crate) fn split_lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
}

/// Where the first `count` lines of `text` end; `None` if it has fewer.
pub(crate) fn end_of_lines(text: &[u8], count: u64) -> Option<usize> {
    let mut end = 0;
    for _ in 0..count {
        let rest = text.get(end..).filter(|rest| !rest.is_empty())?;
        end += memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
    }
    Some(end)
}
