//! `bench completions` and `bench man`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Done;
use crate::args::Cli;
use crate::context::CommandResult;
use crate::error::CommandError;
use crate::output::Output;

/// Print a completion script
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    shell: Shell,
}

/// Print the manual page
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this directory instead
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl CompletionsArgs {
    pub fn run(self, out: &mut Output) -> CommandResult {
        // The generator panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "bench", &mut script);
        out.write_all(&script)?;
        Ok(Done::Ok)
    }
}

impl ManArgs {
    pub fn run(self, out: &mut Output) -> CommandResult {
        match self.to {
            None => clap_mangen::Man::new(Cli::command()).render(out)?,
            Some(dir) => clap_mangen::generate_to(Cli::command(), &dir).map_err(|error| {
                let what = format!("the pages cannot be written to {}", dir.display());
                CommandError::environment(what, &error)
            })?,
        }
        Ok(Done::Ok)
    }
}
