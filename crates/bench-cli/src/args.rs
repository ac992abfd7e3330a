//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    bookmark, branch, cat, diff, gc, generate, history, import, init, note, record, restore,
    rewind, show, snapshot, status, tour, verify,
};
use crate::output::ColorWhen;

/// Remembers every edit to a project - what, by whom, and why - and goes back to any of them.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "\
A REF is an event (evt-000123), a snapshot (snap-0007), a bookmark, a branch, @ (the tip of the current
branch), REF~N (N events before it), or git:SHA (an imported commit).

Exit status: 0 done; 1 could not be done, or a difference with --exit-code; 2 usage; 3 storage or
environment; 4 the ledger is damaged; 7 the lock was not to be had in time; 141 nobody reads the output.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The workspace's root; else it is looked for from the current directory upwards
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help_heading = "Global options"
    )]
    pub root: Option<PathBuf>,
    /// Print data as JSON, one object a line
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// How long to wait for another process: 30s, 500ms
    #[arg(long, global = true, value_name = "TIME", value_parser = ledger::parse_duration,
        help_heading = "Global options")]
    pub lock_timeout: Option<Duration>,
    /// When to colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false,
        help_heading = "Global options"
    )]
    pub color: ColorWhen,
    /// Print long output at once
    #[arg(long, global = true, help_heading = "Global options")]
    pub no_pager: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::InitArgs),
    Status(status::StatusArgs),
    Record(record::RecordArgs),
    #[command(visible_alias = "log")]
    History(history::HistoryArgs),
    Show(show::ShowArgs),
    Cat(cat::CatArgs),
    Restore(restore::RestoreArgs),
    Diff(diff::DiffArgs),
    #[command(subcommand)]
    Bookmark(bookmark::BookmarkCommand),
    #[command(subcommand)]
    Branch(branch::BranchCommand),
    Switch(rewind::SwitchArgs),
    Rewind(rewind::RewindArgs),
    #[command(subcommand)]
    Snapshot(snapshot::SnapshotCommand),
    Note(note::NoteArgs),
    Eval(note::EvalArgs),
    Gc(gc::GcArgs),
    Verify(verify::VerifyArgs),
    #[command(subcommand)]
    Import(import::ImportCommand),
    Tour(tour::TourArgs),
    Completions(generate::CompletionsArgs),
    Man(generate::ManArgs),
}
