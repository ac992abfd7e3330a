//! The commands, one module a group.

pub(crate) mod bookmark;
pub(crate) mod branch;
pub(crate) mod cat;
pub(crate) mod diff;
pub(crate) mod gc;
pub(crate) mod generate;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod note;
pub(crate) mod record;
pub(crate) mod restore;
pub(crate) mod rewind;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod tour;
pub(crate) mod verify;

use crate::args::{Cli, Command};
use crate::context::CommandResult;
use crate::output::Output;

/// Runs the command that was given.
pub(crate) fn run(cli: Cli, out: &mut Output) -> CommandResult {
    let global = &cli.global;
    match cli.command {
        Command::Init(args) => args.run(global, out),
        Command::Status(args) => args.run(global, out),
        Command::Record(args) => args.run(global, out),
        Command::History(args) => args.run(global, out),
        Command::Show(args) => args.run(global, out),
        Command::Cat(args) => args.run(global, out),
        Command::Restore(args) => args.run(global, out),
        Command::Diff(args) => args.run(global, out),
        Command::Bookmark(command) => command.run(global, out),
        Command::Branch(command) => command.run(global, out),
        Command::Switch(args) => args.run(global, out),
        Command::Rewind(args) => args.run(global, out),
        Command::Snapshot(command) => command.run(global, out),
        Command::Note(args) => args.run(global, out),
        Command::Eval(args) => args.run(global, out),
        Command::Gc(args) => args.run(global, out),
        Command::Verify(args) => args.run(global, out),
        Command::Import(command) => command.run(global, out),
        Command::Tour(args) => args.run(global, out),
        Command::Completions(args) => args.run(out),
        Command::Man(args) => args.run(out),
    }
}
