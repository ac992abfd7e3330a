//! `bench gc`.

use std::io::Write;

use clap::Args;
use ledger::core::bytes::printable;
use ledger::{Collected, Retention};
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::CommandResult;
use crate::output::{Output, Paint};
use crate::text;

/// Remove snapshots that are not needed; every event can still be restored
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Print what would go, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep the last K snapshots
    #[arg(long, value_name = "K")]
    keep: Option<u32>,
    /// Of the older ones, keep every Nth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    every: Option<u32>,
}

#[derive(Serialize)]
struct Json<'a> {
    action: &'static str,
    what: &'a str,
    bytes: u64,
    reason: &'a str,
}

impl GcArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let policy = context.workspace.config().retention.clone();
            let retention = Retention {
                keep_last: self.keep.unwrap_or(policy.keep_last),
                keep_every: self.every.unwrap_or(policy.keep_every),
                ..policy
            };
            let collected = context.workspace.gc(&retention, self.dry_run)?;
            for what in &collected {
                print(what, out)?;
            }
            if !out.json {
                let gone = collected.iter().filter(|what| what.removed);
                let (count, bytes) = gone.fold((0, 0), |(n, sum), what| (n + 1, sum + what.bytes));
                let would = if self.dry_run { "would be " } else { "" };
                let size = text::size(bytes);
                writeln!(out, "{count} {would}removed, {size} {would}freed")?;
            }
            Ok(Done::Ok)
        })
    }
}

fn print(what: &Collected, out: &mut Output) -> std::io::Result<()> {
    let action = if what.removed { "remove" } else { "keep" };
    if out.json {
        return out.json_value(&Json {
            action,
            what: &what.what,
            bytes: what.bytes,
            reason: &what.reason,
        });
    }
    let paint = if what.removed {
        Paint::Deleted
    } else {
        Paint::Plain
    };
    let style = out.style;
    writeln!(
        out,
        "{}  {}  {:>8}  {}",
        style.paint(paint, &format!("{action:<6}")),
        printable(what.what.as_bytes()),
        text::size(what.bytes),
        printable(what.reason.as_bytes())
    )
}
