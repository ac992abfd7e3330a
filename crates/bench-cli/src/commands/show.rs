//! `bench show`.

use std::io::Write;

use clap::Args;
use ledger::core::{EventId, SnapshotId};

use crate::Done;
use crate::args::Global;
use crate::commands::snapshot;
use crate::context::{CommandResult, Context};
use crate::error::CommandError;
use crate::output::Output;
use crate::render;

/// Show an event, a snapshot or a bookmark, with its rationale, artifacts and diff
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// What to show
    #[arg(value_name = "REF", default_value = "@")]
    what: String,
}

impl ShowArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let point = context.point(&self.what)?;
            out.page();
            if !out.json {
                name_bookmark(context, &self.what, out)?;
            }
            match point.snapshot {
                Some(id) => show_snapshot(context, id, out)?,
                None => show_event(context, point.event, out)?,
            }
            Ok(Done::Ok)
        })
    }
}

fn name_bookmark(context: &Context, name: &str, out: &mut Output) -> Result<(), CommandError> {
    let view = context.workspace.view()?;
    if let Some(bookmark) = view.heads().bookmarks.get(name) {
        let locked = if bookmark.locked { "  (locked)" } else { "" };
        let name = ledger::core::bytes::printable(name.as_bytes());
        let target = ledger::core::bytes::printable(bookmark.target.as_bytes());
        writeln!(out, "{:<10} {name} -> {target}{locked}", "bookmark")?;
    }
    Ok(())
}

fn show_event(context: &Context, id: EventId, out: &mut Output) -> Result<(), CommandError> {
    let workspace = &context.workspace;
    let row = workspace.view()?.event(id)?;
    if out.json {
        return Ok(out.json_line(&row.line)?);
    }
    let artifacts = workspace.artifacts_of(&row.event)?;
    render::event(&row.event, &artifacts, out)?;
    let files = workspace.event_diff(&row.event)?;
    if !files.is_empty() {
        writeln!(out)?;
    }
    for file in &files {
        render::unified(file, out)?;
    }
    Ok(())
}

fn show_snapshot(context: &Context, id: SnapshotId, out: &mut Output) -> Result<(), CommandError> {
    if !out.json {
        return snapshot::show(context, id, out);
    }
    let view = context.workspace.view()?;
    if let Some(row) = view.snapshot_event(id)? {
        out.json_line(&row.line)?;
    }
    Ok(())
}
