//! Unified diffs: for a terminal coloured and escaped, for everything else as `git apply` takes them.

use std::io::{self, Write};

use ledger::FileDiff;

use super::line_text;
use crate::output::{Output, Paint};

/// Shows what happened to a file.
pub(crate) fn unified(file: &FileDiff, out: &mut Output) -> io::Result<()> {
    let mut patch = Vec::new();
    file.write_patch(&mut patch);
    let style = out.style;
    if !out.terminal && style.paint(Paint::Strong, "x") == "x" {
        return out.write_all(&patch);
    }
    let mut in_hunk = false;
    for line in patch.split_inclusive(|&byte| byte == b'\n') {
        let (line, end) = match line.strip_suffix(b"\n") {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        // In a hunk each line begins with one of these; no line of a header does, but for two.
        let paint = match line.first() {
            Some(b'@') => Paint::Hunk,
            Some(b'+') if in_hunk => Paint::Added,
            Some(b'-') if in_hunk => Paint::Deleted,
            Some(b' ' | b'\\') if in_hunk => Paint::Plain,
            _ => Paint::Strong,
        };
        in_hunk = match line.first() {
            Some(b'@') => true,
            Some(b'd') => false,
            _ => in_hunk,
        };
        match out.terminal {
            true => write!(out, "{}{end}", style.paint(paint, &line_text(line)))?,
            // Coloured on request: the bytes stay what they are.
            false => {
                let coloured = style.paint(paint, "\u{0}");
                let (before, after) = coloured.split_once('\u{0}').unwrap_or(("", ""));
                out.write_all(before.as_bytes())?;
                out.write_all(line)?;
                out.write_all(after.as_bytes())?;
                out.write_all(end.as_bytes())?;
            }
        }
    }
    Ok(())
}
