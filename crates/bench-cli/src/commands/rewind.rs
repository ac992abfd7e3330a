//! `bench rewind` and `bench switch`.

use std::io::Write;

use clap::Args;
use ledger::Moved;
use ledger::core::log::Standing;
use ledger::core::{EventId, TreePath};
use ledger::replay::Step;
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, WhoArgs};
use crate::error::CommandError;
use crate::output::{Output, Paint};
use crate::text;

/// Go back to a point, and on from there on a new branch
///
/// Unrecorded changes of tracked files are recorded first, so nothing is lost; other files are not
/// touched.
#[derive(Debug, Args)]
pub(crate) struct RewindArgs {
    /// Where to
    #[arg(value_name = "REF", required_unless_present_any = ["resume", "abort"])]
    to: Option<String>,
    /// The new branch (default: rewind-evt-NNNNNN)
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Finish a rewind that was interrupted
    #[arg(long = "continue", conflicts_with_all = ["to", "branch", "dry_run", "abort"])]
    resume: bool,
    /// Undo a rewind that was interrupted
    #[arg(long, conflicts_with_all = ["to", "branch", "dry_run"])]
    abort: bool,
    #[command(flatten)]
    who: WhoArgs,
}

/// Go to the tip of another branch
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// The branch
    branch: String,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    who: WhoArgs,
}

impl RewindArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let workspace = &context.workspace;
            if self.resume || self.abort {
                let standing = match self.resume {
                    true => workspace.continue_move()?,
                    false => workspace.abort_move()?,
                };
                let done = if self.resume { "finished" } else { "undone" };
                return interrupted(done, &standing, out);
            }
            let target = context.event(self.to.as_deref().unwrap_or("@"))?;
            let provenance = self.who.provenance();
            let branch = self.branch.as_deref();
            let moved = workspace.rewind(target, branch, &provenance, self.dry_run)?;
            report(&moved, self.dry_run, out)?;
            Ok(Done::Ok)
        })
    }
}

impl SwitchArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let provenance = self.who.provenance();
            let moved = context
                .workspace
                .switch(&self.branch, &provenance, self.dry_run)?;
            report(&moved, self.dry_run, out)?;
            Ok(Done::Ok)
        })
    }
}

#[derive(Serialize)]
struct Json<'a> {
    dry_run: bool,
    from: &'a Standing,
    to: &'a Standing,
    target: EventId,
    steps: Vec<JsonStep<'a>>,
    kept: &'a [EventId],
    unrecorded: &'a [TreePath],
}

#[derive(Serialize)]
struct JsonStep<'a> {
    path: &'a TreePath,
    change: &'static str,
}

impl<'a> From<&'a Step> for JsonStep<'a> {
    fn from(step: &'a Step) -> Self {
        let (path, change) = (&step.path, change_word(step));
        JsonStep { path, change }
    }
}

fn interrupted(done: &'static str, standing: &Standing, out: &mut Output) -> CommandResult {
    if out.json {
        out.json_value(standing)?;
    } else {
        let (branch, event) = (&standing.branch, standing.event);
        writeln!(
            out,
            "the interrupted rewind is {done}: on branch {branch} at {event}"
        )?;
    }
    Ok(Done::Ok)
}

fn report(moved: &Moved, dry_run: bool, out: &mut Output) -> Result<(), CommandError> {
    if out.json {
        out.json_value(&Json {
            dry_run,
            from: &moved.from,
            to: &moved.to,
            target: moved.target,
            steps: moved.steps.iter().map(JsonStep::from).collect(),
            kept: &moved.kept,
            unrecorded: &moved.unrecorded,
        })?;
        return Ok(());
    }
    human(moved, dry_run, out)?;
    Ok(())
}

fn human(moved: &Moved, dry_run: bool, out: &mut Output) -> std::io::Result<()> {
    let style = out.style;
    let would = if dry_run { "would be " } else { "" };
    if !moved.unrecorded.is_empty() {
        let files = text::count(moved.unrecorded.len(), "file");
        match moved.kept.as_slice() {
            [] => writeln!(out, "unrecorded changes of {files} {would}kept:")?,
            [first, .., last] => writeln!(
                out,
                "unrecorded changes of {files} are kept as {first} to {last}:"
            )?,
            [only] => writeln!(out, "unrecorded changes of {files} are kept as {only}:")?,
        }
        for path in &moved.unrecorded {
            writeln!(out, "  {path}")?;
        }
    }
    for step in &moved.steps {
        let word = change_word(step);
        let paint = match word {
            "new" => Paint::Added,
            "deleted" => Paint::Deleted,
            _ => Paint::Hunk,
        };
        writeln!(
            out,
            "{}  {}",
            style.paint(paint, &format!("{word:<8}")),
            step.path
        )?;
    }
    let branch = style.paint(Paint::Strong, &moved.to.branch);
    let files = text::count(moved.steps.len(), "file");
    let event = style.paint(Paint::Id, &moved.to.event.to_string());
    match dry_run {
        true => writeln!(
            out,
            "would stand on branch {branch} with the state of {}, {files} changed",
            moved.target
        ),
        false => writeln!(
            out,
            "on branch {branch} at {event}, with the state of {}; {files} changed",
            moved.target
        ),
    }
}

fn change_word(step: &Step) -> &'static str {
    match (&step.before, &step.after) {
        (None, _) => "new",
        (_, None) => "deleted",
        _ => "modified",
    }
}
