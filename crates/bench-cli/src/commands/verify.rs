//! `bench verify`.

use std::io::Write;

use clap::Args;
use ledger::core::bytes::printable;
use ledger::{Finding, Severity, Verified, VerifyOptions, Workspace};
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::CommandResult;
use crate::error::DAMAGED;
use crate::output::{Output, Paint};
use crate::progress::Progress;
use crate::text;

/// Check the ledger, and make again what is derived
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Rebuild every state too, and compare snapshots and patches with it
    #[arg(long)]
    full: bool,
    /// Make again what is derived, and set a torn tail aside
    #[arg(long)]
    repair: bool,
    /// With --repair: make patches also for events that have none, such as imported ones
    #[arg(long, requires = "repair")]
    patches: bool,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    severity: &'static str,
    r#where: &'a str,
    what: &'a str,
    repaired: bool,
}

#[derive(Serialize)]
struct JsonTotals {
    rows: u64,
    bytes: u64,
    snapshots: u64,
    objects: u64,
    artifacts: u64,
    patches: u64,
    states: u64,
    damage: u64,
    warnings: u64,
    repaired: u64,
}

impl VerifyArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        // A ledger that is damaged cannot always be opened.
        let root = global.find_root()?;
        let options = VerifyOptions {
            full: self.full,
            repair: self.repair,
            patches: self.patches,
        };
        let progress = Progress::bytes("checking");
        let mut failed = Ok(());
        let mut found = |finding: Finding| {
            if failed.is_ok() {
                failed = print(&finding, out);
            }
        };
        let verified = Workspace::verify(root, options, &mut found, &mut |at| progress.at(at));
        drop(progress);
        failed?;
        let verified = verified?;
        totals(&verified, out)?;
        Ok(match verified.damage {
            0 => Done::Ok,
            _ => Done::Status(DAMAGED),
        })
    }
}

fn print(finding: &Finding, out: &mut Output) -> std::io::Result<()> {
    let (severity, paint) = match finding.severity {
        Severity::Damage => ("damage", Paint::Error),
        Severity::Warning => ("warning", Paint::Id),
    };
    if out.json {
        return out.json_value(&JsonFinding {
            severity,
            r#where: &finding.place,
            what: &finding.what,
            repaired: finding.repaired,
        });
    }
    let repaired = if finding.repaired { " (repaired)" } else { "" };
    let severity = out.style.paint(paint, severity);
    let place = printable(finding.place.as_bytes());
    let what = printable(finding.what.as_bytes());
    writeln!(out, "{severity}: {place}: {what}{repaired}")
}

fn totals(verified: &Verified, out: &mut Output) -> std::io::Result<()> {
    if out.json {
        return out.json_value(&JsonTotals {
            rows: verified.rows,
            bytes: verified.bytes,
            snapshots: verified.snapshots,
            objects: verified.objects,
            artifacts: verified.artifacts,
            patches: verified.patches,
            states: verified.states,
            damage: verified.damage,
            warnings: verified.warnings,
            repaired: verified.repaired,
        });
    }
    let looked = [
        (verified.rows, "event"),
        (verified.snapshots, "snapshot"),
        (verified.objects, "object"),
        (verified.artifacts, "artifact"),
        (verified.patches, "patch file"),
        (verified.states, "state"),
    ];
    let looked = looked
        .iter()
        .filter(|(number, what)| *number > 0 || *what == "event");
    let looked: Vec<String> = looked
        .map(|(number, what)| text::count(*number as usize, what))
        .collect();
    writeln!(
        out,
        "checked {}: {} damaged, {} to be warned of, {} repaired",
        looked.join(", "),
        verified.damage,
        verified.warnings,
        verified.repaired
    )
}
