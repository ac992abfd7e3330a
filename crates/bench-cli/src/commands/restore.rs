//! `bench restore`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::CommandResult;
use crate::output::Output;
use crate::progress::Progress;
use crate::text;

/// Write the whole tree as of then into a directory, without touching the workspace
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// When
    #[arg(value_name = "REF")]
    at: String,
    /// Where to: a directory that is empty, or not there yet
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

#[derive(Serialize)]
struct Json {
    event: String,
    files: usize,
    bytes: u64,
}

impl RestoreArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let event = context.event(&self.at)?;
            let progress = Progress::counting("restoring");
            let restored = context
                .workspace
                .restore(event, &self.to, &|done, of| progress.set(done, of))?;
            drop(progress);
            let (files, bytes) = (restored.files, restored.bytes);
            if out.json {
                let event = event.to_string();
                out.json_value(&Json {
                    event,
                    files,
                    bytes,
                })?;
            } else {
                let files = text::count(files, "file");
                writeln!(
                    out,
                    "restored {files} ({}) as of {event}",
                    text::size(bytes)
                )?;
            }
            Ok(Done::Ok)
        })
    }
}
