//! `bench diff`.

use std::path::PathBuf;

use clap::Args;
use ledger::core::{Mode, TreePath};
use ledger::{FileDiff, Side};
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, Context};
use crate::error::CommandError;
use crate::output::Output;
use crate::render::{self, Stats};

/// Show what differs between two points
///
/// With one REF: between that point and the files on disk. With none: what is unrecorded. Piped, the
/// output is a patch that `git apply` takes.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first point, or A..B
    #[arg(value_name = "A")]
    from: Option<String>,
    /// The second point
    #[arg(value_name = "B")]
    to: Option<String>,
    /// Only this file, or what is below this directory; may be given again
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// As a unified diff (the default)
    #[arg(short = 'u', long, conflicts_with_all = ["side_by_side", "stat"])]
    unified: bool,
    /// As two columns
    #[arg(short = 'y', long, conflicts_with = "stat")]
    side_by_side: bool,
    /// Only how many lines changed in which file
    #[arg(long)]
    stat: bool,
    /// Exit with status 1 if there is a difference
    #[arg(long)]
    exit_code: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    path: &'a TreePath,
    status: &'static str,
    /// Lines; none for what is not text.
    added: Option<u64>,
    deleted: Option<u64>,
    mode_before: Option<Mode>,
    mode_after: Option<Mode>,
    bytes_before: Option<usize>,
    bytes_after: Option<usize>,
}

impl DiffArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let sides = self.sides(context)?;
            let paths = context.tree_paths(&self.files)?;
            out.page();
            let mut stats = Stats::default();
            let mut differs = false;
            let show = &mut |file: FileDiff| -> Result<(), CommandError> {
                differs = true;
                if out.json {
                    json(&file, out)?;
                } else if self.stat {
                    stats.add(&file);
                } else if self.side_by_side {
                    render::side_by_side(&file, out)?;
                } else {
                    render::unified(&file, out)?;
                }
                Ok(())
            };
            context.workspace.compare(sides, &paths, show)?;
            if self.stat && !out.json && differs {
                stats.print(out)?;
            }
            Ok(match self.exit_code && differs {
                true => Done::Status(1),
                false => Done::Ok,
            })
        })
    }

    fn sides(&self, context: &Context) -> Result<(Side, Side), CommandError> {
        // No name holds `..`, so this is no ref.
        let range = self.from.as_deref().and_then(|from| from.split_once(".."));
        let (from, to) = match (range, &self.to) {
            (Some((from, to)), None) => {
                let or_tip = |text: &str| Some(if text.is_empty() { "@" } else { text }.to_owned());
                (or_tip(from), or_tip(to))
            }
            _ => (self.from.clone(), self.to.clone()),
        };
        let from = match from {
            Some(from) => context.event(&from)?,
            None => context.workspace.standing()?.event,
        };
        let to = match to {
            Some(to) => Side::Event(context.event(&to)?),
            None => Side::Workspace,
        };
        Ok((Side::Event(from), to))
    }
}

fn json(file: &FileDiff, out: &mut Output) -> std::io::Result<()> {
    let stat = file.stat();
    let mode = |side: &Option<ledger::FileContent>| side.as_ref().map(|side| side.mode);
    let bytes = |side: &Option<ledger::FileContent>| side.as_ref().map(|side| side.content.len());
    out.json_value(&Json {
        path: &file.path,
        status: render::change_word(file),
        added: stat.map(|stat| stat.added),
        deleted: stat.map(|stat| stat.deleted),
        mode_before: mode(&file.before),
        mode_after: mode(&file.after),
        bytes_before: bytes(&file.before),
        bytes_after: bytes(&file.after),
    })
}
