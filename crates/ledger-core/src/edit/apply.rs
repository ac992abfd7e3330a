//! Applying an edit to a text.

use super::{LineEdit, LineOp};
use crate::bytes::printable;
use crate::diff::{count_lines, end_of_lines, is_terminated, split_lines};

/// Why an edit does not apply to a text. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The text holds another line than the one to be deleted.
    #[error("line {line} is {actual:?}, expected {expected:?}")]
    Mismatch {
        /// The line.
        line: u64,
        /// What the edit deletes, shortened.
        expected: String,
        /// What stands there, shortened.
        actual: String,
    },
    /// The edit goes on where the text has ended.
    #[error("edit changes line {line} of a text of {lines} lines")]
    PastEnd {
        /// The first line that is missing, or the one that lines are to be put before.
        line: u64,
        /// How many there are.
        lines: u64,
    },
    /// Lines would be put after a last line that has no newline, and so become part of it.
    #[error("line {line} has no newline, so no line can be put after it")]
    NoNewline {
        /// The last line of the text.
        line: u64,
    },
    /// A line without a newline would be put where it is not the last one.
    #[error("line without newline cannot be put before line {line}")]
    NotLast {
        /// The line of the old text that would follow.
        line: u64,
    },
}

const SHOWN_BYTES: usize = 80;

impl ApplyError {
    pub(super) fn mismatch(line: u64, expected: &[u8], actual: &[u8]) -> Self {
        let shown = |text: &[u8]| printable(&text[..text.len().min(SHOWN_BYTES)]);
        ApplyError::Mismatch {
            line,
            expected: shown(expected),
            actual: shown(actual),
        }
    }
}

impl LineEdit {
    /// The new text, from the old one.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] if `text` is not one that the edit was made for, as far as the edit knows
    /// it: deleted lines are compared, retained ones only counted.
    pub fn apply(&self, text: &[u8]) -> Result<Vec<u8>, ApplyError> {
        let mut new = Vec::with_capacity(text.len() + self.inserted_bytes());
        let mut rest = text;
        let mut line = 0;
        for op in &self.ops {
            match op {
                LineOp::Retain(lines) => {
                    let end = end_of_lines(rest, *lines).ok_or(ApplyError::PastEnd {
                        line: line + lines + 1,
                        lines: count_lines(text),
                    })?;
                    new.extend_from_slice(&rest[..end]);
                    rest = &rest[end..];
                    line += lines;
                }
                LineOp::Delete(lines) => {
                    rest = delete(rest, lines, line)?;
                    line += count_lines(lines);
                }
                LineOp::Insert(lines) => {
                    if !is_terminated(&new) {
                        return Err(ApplyError::NoNewline { line });
                    }
                    new.extend_from_slice(lines);
                }
            }
        }
        if !is_terminated(&new) && !rest.is_empty() {
            return Err(ApplyError::NotLast { line: line + 1 });
        }
        new.extend_from_slice(rest);
        Ok(new)
    }
}

/// Takes `lines` off the top of `rest`, whose first line is number `line` from 0.
fn delete<'t>(rest: &'t [u8], lines: &[u8], line: u64) -> Result<&'t [u8], ApplyError> {
    match rest.strip_prefix(lines) {
        Some(rest) if rest.is_empty() || is_terminated(lines) => return Ok(rest),
        _ => {}
    }
    let mut actual = split_lines(rest);
    for (number, expected) in (line + 1..).zip(split_lines(lines)) {
        match actual.next() {
            Some(actual) if actual == expected => {}
            Some(actual) => return Err(ApplyError::mismatch(number, expected, actual)),
            None => {
                let lines = number - 1;
                return Err(ApplyError::PastEnd {
                    line: number,
                    lines,
                });
            }
        }
    }
    Ok(&rest[lines.len().min(rest.len())..])
}
