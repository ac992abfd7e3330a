//! `bench bookmark`.

use std::io::Write;

use clap::{Args, Subcommand};
use ledger::core::bytes::printable;
use ledger::{BookmarkChange, BookmarkTarget};
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, Context, WhoArgs};
use crate::error::CommandError;
use crate::output::{Output, Paint};

/// Name events and snapshots
#[derive(Debug, Subcommand)]
pub(crate) enum BookmarkCommand {
    /// Name an event or a snapshot
    Add {
        /// The new name
        name: String,
        #[command(flatten)]
        target: TargetArgs,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// List bookmarks
    #[command(visible_alias = "ls")]
    List,
    /// Take a name away; what it stood for stays
    #[command(visible_alias = "rm")]
    Remove {
        /// The bookmark
        name: String,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// Give a bookmark another name
    #[command(visible_alias = "mv")]
    Rename {
        /// The bookmark
        name: String,
        /// Its new name
        to: String,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// Let a bookmark name something else
    Move {
        /// The bookmark
        name: String,
        #[command(flatten)]
        target: TargetArgs,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// Keep a bookmark from being moved, renamed or removed
    Lock {
        /// The bookmark
        name: String,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// Let a bookmark be changed again
    Unlock {
        /// The bookmark
        name: String,
        #[command(flatten)]
        who: WhoArgs,
    },
}

/// What a bookmark stands for.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct TargetArgs {
    /// The event, as any ref (default: @)
    #[arg(long, value_name = "REF")]
    event: Option<String>,
    /// The snapshot
    #[arg(long, value_name = "ID")]
    snapshot: Option<String>,
}

impl TargetArgs {
    fn target(&self, context: &Context) -> Result<BookmarkTarget, CommandError> {
        let Some(snapshot) = &self.snapshot else {
            let event = self.event.as_deref().unwrap_or("@");
            return Ok(BookmarkTarget::Event(context.event(event)?));
        };
        let point = context.point(snapshot)?;
        point
            .snapshot
            .map(BookmarkTarget::Snapshot)
            .ok_or_else(|| CommandError::failed(format!("{snapshot:?} is no snapshot")))
    }
}

#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    target: &'a str,
    locked: bool,
}

impl BookmarkCommand {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let (name, change, who) = match &self {
                BookmarkCommand::List => return list(context, out),
                BookmarkCommand::Add { name, target, who } => {
                    (name, BookmarkChange::Add(target.target(context)?), who)
                }
                BookmarkCommand::Move { name, target, who } => {
                    (name, BookmarkChange::Move(target.target(context)?), who)
                }
                BookmarkCommand::Rename { name, to, who } => {
                    (name, BookmarkChange::Rename(to.clone()), who)
                }
                BookmarkCommand::Remove { name, who } => (name, BookmarkChange::Remove, who),
                BookmarkCommand::Lock { name, who } => (name, BookmarkChange::Lock, who),
                BookmarkCommand::Unlock { name, who } => (name, BookmarkChange::Unlock, who),
            };
            let provenance = who.provenance();
            let event = context
                .workspace
                .change_bookmark(name, &change, &provenance)?;
            super::record::print_events(context, &[event], out)?;
            Ok(Done::Ok)
        })
    }
}

fn list(context: &Context, out: &mut Output) -> CommandResult {
    let view = context.workspace.view()?;
    let bookmarks = &view.heads().bookmarks;
    let longest = bookmarks.keys().map(String::len).max().unwrap_or(0);
    let style = out.style;
    for (name, bookmark) in bookmarks {
        let (target, locked) = (bookmark.target.as_str(), bookmark.locked);
        if out.json {
            out.json_value(&Json {
                name,
                target,
                locked,
            })?;
            continue;
        }
        let name = format!("{:<longest$}", printable(name.as_bytes()));
        let target = style.paint(Paint::Id, &printable(target.as_bytes()));
        let locked = if locked { "  locked" } else { "" };
        writeln!(
            out,
            "{}  {target}{locked}",
            style.paint(Paint::Strong, &name)
        )?;
    }
    Ok(Done::Ok)
}
