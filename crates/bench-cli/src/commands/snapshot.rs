//! `bench snapshot`.

use std::io::Write;

use clap::Subcommand;
use ledger::SnapshotInfo;
use ledger::core::bytes::printable;
use ledger::core::{EventId, SnapshotId, Timestamp};
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, Context, WhoArgs};
use crate::error::{CommandError, DAMAGED};
use crate::output::{Output, Paint};
use crate::progress::Progress;
use crate::text;
use crate::times::Times;

/// Take, list and check snapshots
#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Take a snapshot of the current branch, and name it
    Save {
        /// The name: a bookmark of the snapshot
        name: String,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// List snapshots, newest first
    #[command(visible_alias = "ls")]
    List,
    /// Show what a snapshot holds
    Show {
        /// The snapshot, or a bookmark of it
        #[arg(value_name = "SNAPSHOT")]
        which: String,
    },
    /// Read snapshots whole, and check them against what was recorded
    Verify {
        /// The snapshots (default: all that are there)
        #[arg(value_name = "SNAPSHOT")]
        which: Vec<String>,
    },
}

#[derive(Serialize)]
struct Json<'a> {
    id: SnapshotId,
    base_event_id: EventId,
    event: EventId,
    ts: Timestamp,
    branch: &'a str,
    reason: &'a str,
    bytes: u64,
    present: bool,
    bookmarks: &'a [String],
}

impl<'a> From<&'a SnapshotInfo> for Json<'a> {
    fn from(info: &'a SnapshotInfo) -> Self {
        Json {
            id: info.id,
            base_event_id: info.base,
            event: info.event,
            ts: info.ts,
            branch: &info.branch,
            reason: &info.reason,
            bytes: info.bytes,
            present: info.present,
            bookmarks: &info.bookmarks,
        }
    }
}

#[derive(Serialize)]
struct JsonCheck<'a> {
    id: SnapshotId,
    ok: bool,
    files: Option<usize>,
    bytes: Option<u64>,
    error: Option<&'a str>,
}

impl SnapshotCommand {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| match &self {
            SnapshotCommand::Save { name, who } => save(context, name, who, out),
            SnapshotCommand::List => list(context, out),
            SnapshotCommand::Show { which } => {
                show(context, snapshot_id(context, which)?, out)?;
                Ok(Done::Ok)
            }
            SnapshotCommand::Verify { which } => verify(context, which, out),
        })
    }
}

/// The snapshot that a ref names.
fn snapshot_id(context: &Context, text: &str) -> Result<SnapshotId, CommandError> {
    let point = context.point(text)?;
    point.snapshot.ok_or_else(|| {
        CommandError::failed(format!("{text:?} is an event, no snapshot"))
            .with_hint("`bench snapshot list` shows the snapshots there are")
    })
}

fn save(context: &Context, name: &str, who: &WhoArgs, out: &mut Output) -> CommandResult {
    let progress = Progress::waiting("taking a snapshot");
    let taken = context.workspace.save_snapshot(name, &who.provenance())?;
    drop(progress);
    if out.json {
        if let Some(info) = context.workspace.snapshot_info(taken.id)? {
            out.json_value(&Json::from(&info))?;
        }
        return Ok(Done::Ok);
    }
    let id = out.style.paint(Paint::Id, &taken.id.to_string());
    let (files, size) = (text::count(taken.files, "file"), text::size(taken.bytes));
    writeln!(
        out,
        "{id} of {}, named {name}: {files} ({size})",
        taken.base
    )?;
    Ok(Done::Ok)
}

fn list(context: &Context, out: &mut Output) -> CommandResult {
    let times = Times::local();
    let style = out.style;
    for info in context.workspace.snapshots_taken()? {
        if out.json {
            out.json_value(&Json::from(&info))?;
            continue;
        }
        let gone = if info.present { "" } else { "removed by gc" };
        let named = info.bookmarks.join(", ");
        let parts = [
            (Paint::Id, info.id.to_string()),
            (Paint::Plain, format!("of {}", info.base)),
            (Paint::Plain, times.short(info.ts)),
            (Paint::Plain, format!("{:>8}", text::size(info.bytes))),
            (Paint::Plain, printable(info.reason.as_bytes())),
            (Paint::Strong, printable(named.as_bytes())),
            (Paint::Deleted, gone.to_owned()),
        ];
        let line = text::fit(&parts, out.columns(), style);
        writeln!(out, "{line}")?;
    }
    Ok(Done::Ok)
}

/// Shows what a snapshot is; as JSON, like `list`.
pub(super) fn show(
    context: &Context,
    id: SnapshotId,
    out: &mut Output,
) -> Result<(), CommandError> {
    let workspace = &context.workspace;
    let Some(info) = workspace.snapshot_info(id)? else {
        return Err(CommandError::failed(format!("there is no snapshot {id}")));
    };
    if out.json {
        return Ok(out.json_value(&Json::from(&info))?);
    }
    let mut fields = vec![
        ("snapshot", out.style.paint(Paint::Id, &info.id.to_string())),
        ("of", info.base.to_string()),
        ("taken by", info.event.to_string()),
        ("date", Times::local().long(info.ts)),
        ("branch", printable(info.branch.as_bytes())),
        ("reason", printable(info.reason.as_bytes())),
        ("bookmarks", printable(info.bookmarks.join(", ").as_bytes())),
        ("size", text::size(info.bytes)),
    ];
    if info.present {
        let manifest = workspace.manifest(id)?;
        let tree = manifest.files.values().map(|stored| stored.entry.size);
        let (files, size) = (manifest.files.len(), text::size(tree.sum()));
        fields.push(("tree", format!("{} ({size})", text::count(files, "file"))));
        fields.push(("archive", printable(manifest.tar_uri.as_bytes())));
        fields.push(("digest", manifest.archive.hash.to_string()));
    } else {
        fields.push((
            "archive",
            "removed by gc; its states are rebuilt".to_owned(),
        ));
    }
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "{name:<10} {value}")?;
    }
    Ok(())
}

fn verify(context: &Context, which: &[String], out: &mut Output) -> CommandResult {
    let workspace = &context.workspace;
    let ids = match which {
        [] => {
            let taken = workspace.snapshots_taken()?.into_iter();
            taken
                .filter(|info| info.present)
                .map(|info| info.id)
                .collect()
        }
        named => named
            .iter()
            .map(|text| snapshot_id(context, text))
            .collect::<Result<Vec<_>, _>>()?,
    };
    let mut damaged = false;
    for id in ids {
        let progress = Progress::waiting("reading a snapshot");
        let checked = workspace.check_snapshot(id).map_err(CommandError::from);
        drop(progress);
        let error = match &checked {
            Ok(_) => None,
            Err(error) if error.status() == DAMAGED => Some(error.message()),
            Err(_) => return Err(checked.err().unwrap_or_else(|| CommandError::failed(id))),
        };
        damaged |= error.is_some();
        let found = checked.ok();
        if out.json {
            out.json_value(&JsonCheck {
                id,
                ok: error.is_none(),
                files: found.as_ref().map(|check| check.files),
                bytes: found.as_ref().map(|check| check.bytes),
                error: error.as_deref(),
            })?;
        } else if let Some(error) = error {
            let error = printable(error.as_bytes());
            writeln!(
                out,
                "{id}  {}  {error}",
                out.style.paint(Paint::Error, "damaged")
            )?;
        } else if let Some(check) = found {
            writeln!(out, "{id}  ok  {}", text::count(check.files, "file"))?;
        }
    }
    Ok(match damaged {
        true => Done::Status(DAMAGED),
        false => Done::Ok,
    })
}
