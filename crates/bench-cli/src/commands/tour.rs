//! `bench tour`.

use clap::Args;

use crate::args::Global;
use crate::context::CommandResult;
use crate::error::CommandError;
use crate::output::Output;

/// See the main job done on a copy of a project
#[derive(Debug, Args)]
pub(crate) struct TourArgs {
    /// The project [default: the current directory]
    path: Option<std::path::PathBuf>,
}

impl TourArgs {
    pub fn run(self, _global: &Global, _out: &mut Output) -> CommandResult {
        let _ = self.path;
        Err(CommandError::failed("not there yet"))
    }
}
