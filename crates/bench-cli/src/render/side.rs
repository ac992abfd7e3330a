//! Two versions side by side.

use std::io::{self, Write};

use ledger::FileDiff;
use ledger::core::diff::{DiffLine, LineKind, TextDiff};
use unicode_width::UnicodeWidthStr;

use super::{change_word, line_text};
use crate::output::{Output, Paint};
use crate::text::cut;

const CONTEXT_LINES: u32 = 3;
const TAB: &str = "    ";
/// Columns of a line number, and of what stands between the sides.
const NUMBER: usize = 5;
const MIDDLE: &str = " │ ";

/// Shows both versions of a file beside each other.
pub(crate) fn side_by_side(file: &FileDiff, out: &mut Output) -> io::Result<()> {
    let style = out.style;
    let title = format!("{}  {}", change_word(file), file.path);
    writeln!(out, "{}", style.paint(Paint::Strong, &title))?;
    let (old, new) = file.contents();
    if !file.is_text() {
        return writeln!(out, "not text: {} -> {} bytes", old.len(), new.len());
    }
    let columns = out.layout_columns();
    let width = columns.saturating_sub(MIDDLE.chars().count() + 2 * NUMBER) / 2;
    let side = Sides { width };
    let diff = TextDiff::between(old, new);
    for hunk in diff.unified(CONTEXT_LINES) {
        writeln!(out, "{}", style.paint(Paint::Hunk, &hunk.to_string()))?;
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for line in hunk.lines() {
            match line.kind {
                LineKind::Delete => gone.push(line),
                LineKind::Insert => come.push(line),
                LineKind::Context => {
                    side.rows(&mut gone, &mut come, out)?;
                    side.row(Some(&line), Some(&line), out)?;
                }
            }
        }
        side.rows(&mut gone, &mut come, out)?;
    }
    Ok(())
}

struct Sides {
    width: usize,
}

impl Sides {
    /// Lines that went beside lines that came.
    fn rows(
        &self,
        gone: &mut Vec<DiffLine<'_>>,
        come: &mut Vec<DiffLine<'_>>,
        out: &mut Output,
    ) -> io::Result<()> {
        for row in 0..gone.len().max(come.len()) {
            self.row(gone.get(row), come.get(row), out)?;
        }
        gone.clear();
        come.clear();
        Ok(())
    }

    fn row(
        &self,
        left: Option<&DiffLine<'_>>,
        right: Option<&DiffLine<'_>>,
        out: &mut Output,
    ) -> io::Result<()> {
        let style = out.style;
        let paint = |line: Option<&DiffLine<'_>>| match line.map(|line| line.kind) {
            Some(LineKind::Delete) => Paint::Deleted,
            Some(LineKind::Insert) => Paint::Added,
            _ => Paint::Plain,
        };
        let old = self.cell(left, left.and_then(|line| line.old), true);
        let new = self.cell(right, right.and_then(|line| line.new), false);
        let old = style.paint(paint(left), &old);
        let new = style.paint(paint(right), new.trim_end());
        let row = format!("{old}{MIDDLE}{new}");
        writeln!(out, "{}", row.trim_end())
    }

    fn cell(&self, line: Option<&DiffLine<'_>>, number: Option<u32>, padded: bool) -> String {
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let text = line.map(|line| line.text.strip_suffix(b"\n").unwrap_or(line.text));
        let text = line_text(text.unwrap_or_default()).replace('\t', TAB);
        let text = cut(&text, self.width);
        let padding = match padded {
            true => " ".repeat(self.width - text.width().min(self.width)),
            false => String::new(),
        };
        format!("{number:>4} {text}{padding}")
    }
}
