//! `bench import`.

use clap::Subcommand;

use crate::args::Global;
use crate::context::CommandResult;
use crate::error::CommandError;
use crate::output::Output;

/// Take in histories from elsewhere
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Take in the history of a git repository
    Git {},
}

impl ImportCommand {
    pub fn run(self, _global: &Global, _out: &mut Output) -> CommandResult {
        Err(CommandError::failed("not there yet"))
    }
}
