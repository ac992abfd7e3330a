//! `bench cat`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::Done;
use crate::args::Global;
use crate::context::CommandResult;
use crate::error::CommandError;
use crate::output::Output;
use crate::render;

/// Print one file as of then
///
/// The bytes as they were, except on a terminal, where control characters are escaped. Of a link, its
/// target.
#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// When
    #[arg(value_name = "REF")]
    at: String,
    /// The file, relative to the workspace's root; with ./ before it, to the current directory
    path: PathBuf,
}

impl CatArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let path = context.paths.in_state(&self.path)?;
            let event = context.event(&self.at)?;
            let Some(file) = context.workspace.file(event, &path)? else {
                let what = format!("there is no file {path} at {event}");
                return Err(CommandError::failed(what)
                    .with_hint("`bench history --file PATH` shows when there was"));
            };
            match out.terminal {
                true => render::text(&file.content, out)?,
                false => out.write_all(&file.content)?,
            }
            Ok(Done::Ok)
        })
    }
}
