//! `bench status`.

use std::io::Write;

use clap::Args;
use ledger::core::{EventId, TreePath};
use ledger::{Status, Unrecorded};
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::CommandResult;
use crate::output::{Output, Paint};
use crate::text;

/// Show the branch, what is unrecorded, and how large the ledger is
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {}

#[derive(Serialize)]
struct Json<'a> {
    branch: &'a str,
    tip: EventId,
    unrecorded: Vec<JsonChange>,
    events_since_last_snapshot: u64,
    bytes: u64,
    event: EventId,
    behind: u64,
    too_large: Vec<JsonLarge>,
    nested: &'a [TreePath],
    move_pending: bool,
}

#[derive(Serialize)]
struct JsonChange {
    path: TreePath,
    change: &'static str,
}

#[derive(Serialize)]
struct JsonLarge {
    path: TreePath,
    bytes: u64,
}

impl StatusArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let status = context.workspace.status()?;
            match out.json {
                true => json(&status, out)?,
                false => human(&status, out)?,
            }
            out.flush()?;
            global.warn_unread(&status.scan);
            Ok(Done::Ok)
        })
    }
}

fn json(status: &Status, out: &mut Output) -> std::io::Result<()> {
    let change = |file: &Unrecorded| JsonChange {
        path: file.path.clone(),
        change: change_word(file),
    };
    let large = |(path, bytes): &(TreePath, u64)| JsonLarge {
        path: path.clone(),
        bytes: *bytes,
    };
    let scan = &status.scan;
    out.json_value(&Json {
        branch: &status.standing.branch,
        tip: status.tip,
        unrecorded: scan.unrecorded.iter().map(change).collect(),
        events_since_last_snapshot: status.events_since_last_snapshot,
        bytes: status.bytes,
        event: status.standing.event,
        behind: status.behind,
        too_large: scan.too_large.iter().map(large).collect(),
        nested: &scan.nested,
        move_pending: status.move_pending,
    })
}

fn human(status: &Status, out: &mut Output) -> std::io::Result<()> {
    let style = out.style;
    let id = |event: EventId| style.paint(Paint::Id, &event.to_string());
    let standing = &status.standing;
    // A branch that is read from a ledger was checked: no character in it is unsafe.
    let branch = style.paint(Paint::Strong, &standing.branch);
    writeln!(out, "on branch {branch} at {}", id(standing.event))?;
    if status.behind > 0 {
        let behind = text::count(status.behind as usize, "event");
        writeln!(
            out,
            "behind by {behind}: the branch is at {}",
            id(status.tip)
        )?;
    }
    if status.move_pending {
        let what =
            "a rewind was interrupted: `bench rewind --continue` finishes it, --abort undoes it";
        writeln!(out, "{}", style.paint(Paint::Error, what))?;
    }
    match status.scan.unrecorded.as_slice() {
        [] => writeln!(out, "nothing unrecorded")?,
        files => {
            writeln!(out, "unrecorded:")?;
            for file in files {
                let word = change_word(file);
                let paint = match word {
                    "new" => Paint::Added,
                    "deleted" => Paint::Deleted,
                    _ => Paint::Hunk,
                };
                writeln!(
                    out,
                    "  {}  {}",
                    style.paint(paint, &format!("{word:<8}")),
                    file.path
                )?;
            }
        }
    }
    for (path, bytes) in &status.scan.too_large {
        writeln!(out, "not tracked: {path} has {}", text::size(*bytes))?;
    }
    for dir in &status.scan.nested {
        writeln!(out, "left alone: {dir} is a repository of its own")?;
    }
    let events = text::count(status.events_since_last_snapshot as usize, "event");
    let size = text::size(status.bytes);
    writeln!(
        out,
        "{events} since the last snapshot; the ledger has {size}"
    )
}

/// What became of a file, in a word.
fn change_word(file: &Unrecorded) -> &'static str {
    match (&file.before, &file.after) {
        (None, _) => "new",
        (_, None) => "deleted",
        (Some(before), Some(after)) if before.mode.is_symlink() != after.mode.is_symlink() => {
            "type"
        }
        (Some(before), Some(after)) if after.hash.is_none_or(|hash| hash == before.hash) => "mode",
        _ => "modified",
    }
}
