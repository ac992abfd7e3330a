//! Contents and differences, as they are shown.

mod event;
mod side;
mod stat;
mod unified;

use std::io::{self, Write};

use ledger::FileDiff;
use ledger::core::bytes::printable;

pub(crate) use event::event;
pub(crate) use side::side_by_side;
pub(crate) use stat::Stats;
pub(crate) use unified::unified;

use crate::output::Output;

/// Shows a text on a terminal: line by line, with what is unsafe escaped.
pub(crate) fn text(content: &[u8], out: &mut Output) -> io::Result<()> {
    for line in content.split_inclusive(|&byte| byte == b'\n') {
        let (line, end) = match line.strip_suffix(b"\n") {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        write!(out, "{}{end}", line_text(line))?;
    }
    Ok(())
}

/// A line, safe to show; tabs stay, since they only move to the right.
fn line_text(line: &[u8]) -> String {
    let parts = line.split(|&byte| byte == b'\t').map(printable);
    parts.collect::<Vec<_>>().join("\t")
}

/// What happened to a file, in a word.
pub(crate) fn change_word(file: &FileDiff) -> &'static str {
    match (&file.before, &file.after) {
        (None, _) => "new",
        (_, None) => "deleted",
        (Some(before), Some(after)) if before.mode.is_symlink() != after.mode.is_symlink() => {
            "type"
        }
        (Some(before), Some(after)) if before.content == after.content => match &file.from {
            Some(_) => "renamed",
            None => "mode",
        },
        _ => "modified",
    }
}
