//! `bench branch`.

use std::io::Write;

use clap::Subcommand;
use ledger::core::EventId;
use ledger::core::bytes::printable;
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, Context, WhoArgs};
use crate::output::{Output, Paint};

/// List and open branches
#[derive(Debug, Subcommand)]
pub(crate) enum BranchCommand {
    /// List branches
    #[command(visible_alias = "ls")]
    List,
    /// Open a branch; the workspace stays where it is
    Create {
        /// The new branch
        name: String,
        /// Where it begins
        #[arg(value_name = "REF", default_value = "@")]
        at: String,
        #[command(flatten)]
        who: WhoArgs,
    },
}

#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    tip: EventId,
    current: bool,
    events_since_last_snapshot: u64,
}

impl BranchCommand {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| match &self {
            BranchCommand::List => list(context, out),
            BranchCommand::Create { name, at, who } => {
                let at = context.event(at)?;
                let provenance = who.provenance();
                let made = context.workspace.create_branch(name, at, &provenance)?;
                super::record::print_events(context, &made.events, out)?;
                Ok(Done::Ok)
            }
        })
    }
}

fn list(context: &Context, out: &mut Output) -> CommandResult {
    let view = context.workspace.view()?;
    let standing = context.workspace.standing()?;
    let branches = &view.heads().branches;
    let longest = branches.keys().map(String::len).max().unwrap_or(0);
    let style = out.style;
    for (name, head) in branches {
        let current = *name == standing.branch;
        if out.json {
            out.json_value(&Json {
                name,
                tip: head.tip,
                current,
                events_since_last_snapshot: head.changes,
            })?;
            continue;
        }
        let mark = if current { "*" } else { " " };
        let name = format!("{:<longest$}", printable(name.as_bytes()));
        let name = style.paint(if current { Paint::Added } else { Paint::Plain }, &name);
        let tip = style.paint(Paint::Id, &head.tip.to_string());
        writeln!(out, "{mark} {name}  {tip}")?;
    }
    Ok(Done::Ok)
}
