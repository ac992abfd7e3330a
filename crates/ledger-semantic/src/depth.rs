//! Texts nested too deeply for the scanners of the grammars.
//!
//! tree-sitter gives a scanner 1,024 bytes for its state, and ends the *process* when it needs more.
//! YAML's scanner needs 10 bytes and 4 for each block that is open, so the 254th ends it. Python's needs
//! 2, one for each string (255 at most) and 2 for each indent, and passes the limit only at an odd
//! number of strings, from the 384th indent on. Both keep far more than people write, yet such a text
//! is a matter of a moment to make, so depth is bounded from above before parsing.
//!
//! The bounds must hold while a scanner recovers from errors too, when it takes for an indicator what
//! only looks like one, in a string or a comment.

use crate::language::Language;

/// Most blocks of YAML that may be open at once.
const MAX_BLOCKS: usize = 200;
/// Most indents of Python.
const MAX_INDENTS: usize = 300;
/// Columns are 16-bit numbers in YAML's scanner; past this one they say nothing.
const MAX_COLUMN: usize = 32_000;

/// Whether a text may be nested too deeply to be parsed.
pub(crate) fn may_exceed(language: Language, text: &str) -> bool {
    match language {
        Language::Python => indent_bound(text) > MAX_INDENTS,
        Language::Yaml => block_bound(text) > MAX_BLOCKS,
        // Without a scanner of its own.
        Language::Json => false,
    }
}

/// How many indents can be open at most: they grow strictly, so no more than there are widths.
fn indent_bound(text: &str) -> usize {
    let mut widths: Vec<usize> = text.split('\n').map(indent_width).collect();
    // A backslash joins the white space before it to that of the next line.
    let mut joined = 0;
    for (line, width) in text.split('\n').zip(&mut widths) {
        *width += joined;
        joined = if line.trim() == "\\" { *width } else { 0 };
    }
    widths.sort_unstable();
    widths.dedup();
    widths.len()
}

/// The width of a line's indent as Python's scanner counts it.
fn indent_width(line: &str) -> usize {
    let mut width = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => width += 1,
            b'\t' => width += 8,
            b'\r' | 0x0c => width = 0,
            _ => break,
        }
    }
    width
}

/// How many blocks of YAML can be open at most.
///
/// A block is opened by an indicator. One that was opened on a line is closed by a later line that
/// begins no further to the right, unless that line begins with a tab, which closes nothing.
fn block_bound(text: &str) -> usize {
    // Lines not yet closed: their indents, and how many blocks there are up to and with them.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut never_closed = 0;
    let mut most = 0;
    for line in text.split(['\n', '\r']) {
        let bytes = line.as_bytes();
        let Some(indent) = bytes.iter().position(|&b| b != b' ') else {
            continue;
        };
        if bytes[indent] != b'\t' {
            while open.pop_if(|&mut (other, _)| other >= indent).is_some() {}
        }
        let opened = indicators(bytes);
        if bytes.len() > MAX_COLUMN {
            never_closed += opened;
        }
        let below = open.last().map_or(0, |&(_, blocks)| blocks);
        // One more, as a line that begins between two blocks leaves the outer one open.
        open.push((indent, below + opened + 1));
        most = most.max(below + opened + 1);
    }
    most + never_closed
}

/// How many blocks a line can open: a `-`, `?` or `:` before white space, and what looks like the head
/// of a block scalar.
fn indicators(line: &[u8]) -> usize {
    let opens = |(at, &byte): (usize, &u8)| {
        let next = line.get(at + 1).copied().unwrap_or(b' ');
        let before_space = matches!(next, b' ' | b'\t');
        match byte {
            b'-' | b'?' | b':' => before_space,
            b'|' | b'>' => before_space || matches!(next, b'+' | b'-' | b'1'..=b'9'),
            _ => false,
        }
    };
    line.iter().enumerate().filter(|&at| opens(at)).count()
}
