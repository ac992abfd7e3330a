//! The `bench` command: parse, call, render. What a framework would need too is in the `ledger` crate.
//!
//! Exit status: 0 done; 1 could not be done, or `--exit-code` and there is a difference; 2 usage;
//! 3 storage or environment; 4 the ledger is damaged; 7 the lock was not to be had in time. When
//! whoever reads the output goes away, it ends without a word, as a program killed by SIGPIPE: 141.

mod args;
mod commands;
mod context;
mod error;
mod output;
mod paths;
mod progress;
mod render;
mod text;
mod times;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use error::CommandError;
use output::{Output, Style};

/// What a command ended with, where it was no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// All is well.
    Ok,
    /// A status that is an answer: a difference, or lines that were refused.
    Status(u8),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and versions are errors to clap, too. Where nobody reads them, nobody misses them.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut out = Output::new(&cli.global);
    let style = Style::of_stderr(cli.global.color);
    let result = commands::run(cli, &mut out);
    let result = match (result, out.finish()) {
        (Ok(_), Err(error)) => Err(CommandError::from(error)),
        (result, _) => result,
    };
    match result {
        Ok(Done::Ok) => ExitCode::SUCCESS,
        Ok(Done::Status(status)) => ExitCode::from(status),
        Err(error) => ExitCode::from(error.report(style)),
    }
}
