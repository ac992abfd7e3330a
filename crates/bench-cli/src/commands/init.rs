//! `bench init`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ledger::Workspace;
use ledger::core::SnapshotId;
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, WhoArgs, current_dir};
use crate::output::{Output, Paint};
use crate::progress::Progress;
use crate::text;

/// Make a ledger, and record the present tree as its first snapshot
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The directory whose files are to be remembered (default: the current one)
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    who: WhoArgs,
}

#[derive(Serialize)]
struct Made {
    root: String,
    branch: String,
    event: String,
    snapshot: SnapshotId,
    files: usize,
    bytes: u64,
}

impl InitArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        let named = self.dir.or_else(|| global.root.clone());
        let root = match named {
            Some(dir) => dir,
            None => current_dir()?,
        };
        let progress = Progress::waiting("recording the tree");
        let made = Workspace::init(&root, &self.who.provenance(), global.options())?;
        drop(progress);
        let snapshot = SnapshotId(1);
        if out.json {
            let standing = made.workspace.standing()?;
            out.json_value(&Made {
                root: root.display().to_string(),
                branch: standing.branch,
                event: standing.event.to_string(),
                snapshot,
                files: made.files,
                bytes: made.bytes,
            })?;
        } else {
            let files = text::count(made.files, "file");
            let id = out.style.paint(Paint::Id, &snapshot.to_string());
            let size = text::size(made.bytes);
            writeln!(
                out,
                "made a ledger in .user/ledger: {files} recorded as {id} ({size})"
            )?;
        }
        out.flush()?;
        global.warn(&made.workspace);
        global.warn_left_out(&made.scan);
        Ok(Done::Ok)
    }
}
