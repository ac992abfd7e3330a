//! `--stat`: lines added and deleted, a file a line.

use std::io::{self, Write};

use ledger::FileDiff;
use unicode_width::UnicodeWidthStr;

use crate::output::{Output, Paint};
use crate::text::{count, cut};

/// What is to be said of one file.
struct Line {
    name: String,
    /// Lines added and deleted; none for what is not text.
    lines: Option<(u64, u64)>,
    /// Bytes before and after.
    bytes: (usize, usize),
}

/// Columns of a name before it is cut.
const NAME_MIN: usize = 20;

/// The files of a comparison, counted.
#[derive(Default)]
pub(crate) struct Stats(Vec<Line>);

impl Stats {
    pub fn add(&mut self, file: &FileDiff) {
        let (old, new) = file.contents();
        let name = match &file.from {
            Some(from) => format!("{from} => {}", file.path),
            None => file.path.to_string(),
        };
        let stat = file.stat();
        self.0.push(Line {
            name,
            lines: stat.map(|stat| (stat.added, stat.deleted)),
            bytes: (old.len(), new.len()),
        });
    }

    pub fn print(&self, out: &mut Output) -> io::Result<()> {
        let sums = self.0.iter().filter_map(|line| line.lines);
        let (added, deleted) = sums.fold((0, 0), |sum, (a, d)| (sum.0 + a, sum.1 + d));
        let most = self.0.iter().filter_map(|line| line.lines);
        let most = most.map(|(added, deleted)| added + deleted).max();
        let digits = most.unwrap_or(0).to_string().len().max(3);
        let columns = out.layout_columns();
        let longest = self.0.iter().map(|line| line.name.width()).max();
        let room = columns.saturating_sub(digits + 14).max(NAME_MIN);
        let names = longest.unwrap_or(0).min(room);
        let bar = columns.saturating_sub(names + digits + 5).max(8) as u64;
        let style = out.style;
        for line in &self.0 {
            let name = cut(&line.name, names);
            let padding = " ".repeat(names - name.width().min(names));
            let Some((added, deleted)) = line.lines else {
                let (old, new) = line.bytes;
                writeln!(
                    out,
                    " {name}{padding} | {:>digits$} {old} -> {new} bytes",
                    "Bin"
                )?;
                continue;
            };
            let scaled = |lines: u64| match most {
                Some(most) if most > bar && lines > 0 => (lines * bar / most).max(1),
                _ => lines,
            };
            let plus = style.paint(Paint::Added, &"+".repeat(scaled(added) as usize));
            let minus = style.paint(Paint::Deleted, &"-".repeat(scaled(deleted) as usize));
            let total = added + deleted;
            writeln!(out, " {name}{padding} | {total:>digits$} {plus}{minus}")?;
        }
        let files = count(self.0.len(), "file");
        writeln!(out, " {files} changed, {added} added, {deleted} deleted")
    }
}
