//! A text as the grammars read it, and its lines.

use std::borrow::Cow;

/// Longest text that is parsed, in bytes.
const MAX_BYTES: usize = 512 * 1024;
/// Most lines of a text that is parsed.
const MAX_LINES: usize = 10_000;

/// A text within the limits, as UTF-8.
pub(crate) struct Source<'a> {
    text: Cow<'a, str>,
    lines: Vec<Line>,
}

/// Where a line begins.
struct Line {
    /// Offset of its first byte.
    start: usize,
    /// Offset of its first byte that is no filler.
    content: usize,
}

impl<'a> Source<'a> {
    /// Takes a text; nothing when it is beyond the limits of size.
    ///
    /// Bytes that are not UTF-8 are read as Latin-1. Line ends are ASCII, so no line moves, and a source
    /// with an old encoding in its comments and strings (or, in Latin-1, in its names) parses.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len() > MAX_BYTES {
            return None;
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(utf8_or_latin1(bytes)),
        };
        // To a scanner a NUL is the end of the text, and what follows would pass for blank.
        let text = match text.contains('\0') {
            true => Cow::Owned(text.replace('\0', "\u{fffd}")),
            false => text,
        };
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = start + line.len() - line.trim_start_matches(is_filler).len();
            lines.push(Line { start, content });
            start += line.len();
        }
        (lines.len() <= MAX_LINES).then_some(Source { text, lines })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Number of lines; an empty text has one.
    pub(crate) fn lines(&self) -> u32 {
        u32::try_from(self.lines.len().max(1)).unwrap_or(u32::MAX)
    }

    /// The text of a node.
    pub(crate) fn of(&self, node: tree_sitter::Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The lines that `start..end` has for itself: no other content stands beside it on them. The first
    /// is greater than the last when there are none.
    pub(crate) fn own_lines(&self, start: usize, end: usize) -> (u32, u32) {
        let end = start + self.slice(start, end).trim_end().len();
        let (first, last) = (self.line_at(start), self.line_at(end));
        let begins_alone = self
            .lines
            .get(first)
            .is_none_or(|line| line.content >= start);
        let line_end = self.lines.get(last + 1).map(|line| line.start);
        let after = self.slice(end, line_end.unwrap_or(self.text.len()));

        let first = first + usize::from(!begins_alone);
        let after = after.trim_start_matches(is_filler);
        let ends_alone = after.is_empty() || after.starts_with('#') || after.starts_with("//");
        // Counted from 1 outside: one more for the first line, none for a last one that is shared.
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (number(first + 1), number(last + usize::from(ends_alone)))
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Index of the line that holds the byte at `offset`.
    fn line_at(&self, offset: usize) -> usize {
        let after = self.lines.partition_point(|line| line.start <= offset);
        after.saturating_sub(1)
    }
}

/// What separates content, and is none.
fn is_filler(c: char) -> bool {
    c.is_whitespace() || c == ',' || c == '\u{feff}'
}

fn utf8_or_latin1(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 4);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|&byte| char::from(byte)));
    }
    text
}
