//! `bench record`.

mod stdin;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ledger::core::EventId;
use ledger::{Options, RecordTree};

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, Context, OperationArgs, WhoArgs};
use crate::error::CommandError;
use crate::output::Output;
use crate::text;

/// Record what changed in the workspace
///
/// Without PATH everything that is not ignored is looked at. A path that is named is recorded even if
/// it is ignored.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Files and directories to record
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Take changes as JSON from the standard input: one object a line, each answered by a line
    ///
    /// A line has a `path` and what the file became: `content`, `content_b64`, `"delete": true` or
    /// `rename_to`; `mode` ("100644", "100755", "120000") beside them or alone. Several files in one
    /// batch: `"files": [{...}, ...]`. Optional: `author` {name, version, kind}, `rationale`,
    /// `operation_id`, `run_id`, `branch`, `base` (the event that the content was made from), `key` (to
    /// send the line again safely), `artifacts`, and `in_workspace`: true when the file on disk is so
    /// already. Without that, the next `bench record` brings the change to the disk.
    #[arg(long, conflicts_with_all = ["paths", "boundary"])]
    stdin: bool,
    #[command(flatten)]
    who: WhoArgs,
    #[command(flatten)]
    operation: OperationArgs,
}

impl RecordArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        let options = Options {
            // What follows a line must not hold up the answer to the next.
            background: self.stdin,
            ..global.options()
        };
        global.with_options(options, out, |context, out| {
            let provenance = self.operation.complete(context, self.who.provenance())?;
            if self.stdin {
                return stdin::serve(&context.workspace, &provenance, out);
            }
            let request = RecordTree {
                paths: context.tree_paths(&self.paths)?,
                provenance,
            };
            let recorded = context.workspace.record_tree(&request)?;
            if recorded.events.is_empty() && !out.json {
                writeln!(out, "nothing changed")?;
            }
            print_events(context, &recorded.events, out)?;
            Ok(Done::Ok)
        })
    }
}

/// Prints what events did, or their rows.
pub(super) fn print_events(
    context: &Context,
    events: &[EventId],
    out: &mut Output,
) -> Result<(), CommandError> {
    let view = context.workspace.view()?;
    for &id in events {
        let row = view.event(id)?;
        match out.json {
            true => out.json_line(&row.line)?,
            false => {
                let style = out.style;
                writeln!(out, "{}", text::done(&row.event, style))?;
            }
        }
    }
    Ok(())
}
