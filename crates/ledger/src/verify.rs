//! Checking a ledger: the chain, what the rows say, snapshots, objects, artifacts, patches; and making
//! again what is derived.

mod rows;
mod snapshots;
mod states;

use std::path::Path;

use ledger_core::log::{AppendError, ReadError, Seams, audit};
use ledger_core::storage::{StorageError, if_present, read_file};
use ledger_core::{EventId, layout};
use ledger_replay::RebuildError;

use crate::config::Config;
use crate::snapshots::SnapshotError;
use crate::workspace::{OpenError, Options, Workspace, machine};
use rows::RowCheck;

/// How thoroughly a ledger is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Every state is rebuilt, and every snapshot and patch compared with it.
    pub full: bool,
    /// What is derived is made again, and a torn tail set aside.
    pub repair: bool,
    /// With `repair`: patches are also made for events that have none, such as imported ones.
    pub patches: bool,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something that was recorded is gone or altered.
    Damage,
    /// Something derived is missing or stale, or nobody was told that it was recorded.
    Warning,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file, and the place in it.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// Whether it was made good.
    pub repaired: bool,
}

/// What was looked at, and how much of it was wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Rows of the ledger.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Snapshots on disk.
    pub snapshots: u64,
    /// Objects.
    pub objects: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Patch files.
    pub patches: u64,
    /// States that were rebuilt.
    pub states: u64,
    /// Findings that are damage and were not made good.
    pub damage: u64,
    /// Findings that are warnings and were not made good.
    pub warnings: u64,
    /// Findings that were made good.
    pub repaired: u64,
}

/// A ledger could not be checked to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The root or its configuration cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is no ledger, or one of another version.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The end of the rows could not be put in order.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A snapshot could not be made again.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A state could not be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
}

/// Where findings go, and how many there are.
struct Report<'a> {
    found: &'a mut dyn FnMut(Finding),
    totals: Verified,
}

impl Report<'_> {
    fn add(
        &mut self,
        severity: Severity,
        place: impl ToString,
        what: impl ToString,
        repaired: bool,
    ) {
        let count = match (repaired, severity) {
            (true, _) => &mut self.totals.repaired,
            (false, Severity::Damage) => &mut self.totals.damage,
            (false, Severity::Warning) => &mut self.totals.warnings,
        };
        *count += 1;
        let (place, what) = (place.to_string(), what.to_string());
        (self.found)(Finding {
            severity,
            place,
            what,
            repaired,
        });
    }

    fn damage(&mut self, place: impl ToString, what: impl ToString) {
        self.add(Severity::Damage, place, what, false);
    }

    fn warning(&mut self, place: impl ToString, what: impl ToString) {
        self.add(Severity::Warning, place, what, false);
    }
}

/// An error with all its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl Workspace {
    /// Checks the ledger in `root`, which may be too damaged to be opened. Findings are given to
    /// `found` as they are made; `progress` is told of each row that was looked at.
    pub fn verify(
        root: impl AsRef<Path>,
        options: VerifyOptions,
        found: &mut dyn FnMut(Finding),
        progress: &mut dyn FnMut(u64),
    ) -> Result<Verified, VerifyError> {
        let open = Options {
            background: false,
            ..Options::default()
        };
        let seams = machine(root.as_ref(), &open)?;
        let config = Config::load(seams.storage.as_ref()).map_err(OpenError::from)?;
        Workspace::verify_on(seams, config, options, found, progress)
    }

    /// The same on seams of the caller's.
    pub fn verify_on(
        seams: Seams,
        config: Config,
        options: VerifyOptions,
        found: &mut dyn FnMut(Finding),
        progress: &mut dyn FnMut(u64),
    ) -> Result<Verified, VerifyError> {
        let storage = std::sync::Arc::clone(&seams.storage);
        let mut report = Report {
            found,
            totals: Verified::default(),
        };
        let mut rows = RowCheck::default();
        let audit = audit::<VerifyError>(storage.as_ref(), &mut |offset, row| {
            progress(offset);
            rows.check(offset, row, &mut report);
            Ok(())
        })?;
        report.totals.rows = audit.rows;
        report.totals.bytes = audit.bytes;
        let events = layout::events();
        if let Some(why) = &audit.cut_short {
            report.damage(&events, format!("acknowledged rows are gone: {why}"));
        }
        let mut torn = None;
        if let Some(tail) = &audit.tail {
            let place = format!("{events}, byte {}", tail.broken_at);
            match tail.acknowledged {
                true => report.damage(
                    place,
                    format!("acknowledged rows are damaged: {}", tail.why),
                ),
                false => {
                    let what = format!(
                        "{} bytes after the last whole row: {}",
                        tail.bytes, tail.why
                    );
                    torn = Some((place, what));
                }
            }
        }
        if audit.rows == 0 && report.totals.damage == 0 {
            report.damage(&events, "there is no whole row");
        }
        if report.totals.damage > 0 {
            // What follows from rows that are not right cannot be judged.
            if let Some((place, what)) = torn {
                report.warning(place, what);
            }
            return Ok(report.totals);
        }
        let open = Options {
            background: false,
            ..Options::default()
        };
        let workspace = Workspace::open_on(seams, config, open)?;
        if options.repair && (torn.is_some() || audit.tip_invalid) {
            workspace.log().settle_end()?;
        }
        if let Some((place, what)) = torn {
            report.add(Severity::Warning, place, what, options.repair);
        }
        if audit.tip_invalid {
            let what = "the tip is missing or does not check out";
            report.add(Severity::Warning, layout::tip(), what, options.repair);
        }
        let check = Check {
            workspace: &workspace,
            options,
            rows,
        };
        check.objects(&mut report);
        check.artifacts(&mut report)?;
        check.bookmarks(&mut report)?;
        check.standing(&mut report)?;
        check.snapshots(&mut report)?;
        check.states_and_patches(&mut report, progress)?;
        Ok(report.totals)
    }
}

/// A check of what the rows refer to.
struct Check<'a> {
    workspace: &'a Workspace,
    options: VerifyOptions,
    rows: RowCheck,
}

impl Check<'_> {
    fn objects(&self, report: &mut Report<'_>) {
        for (object, event) in &self.rows.objects {
            report.totals.objects += 1;
            if let Err(error) = ledger_core::objects::get(self.workspace.storage(), *object) {
                let place = format!("{} ({event})", layout::object(&object.hash));
                report.damage(place, chain(&error));
            }
        }
    }

    fn artifacts(&self, report: &mut Report<'_>) -> Result<(), VerifyError> {
        for ((path, digest), event) in &self.rows.artifacts {
            report.totals.artifacts += 1;
            let place = format!(
                "{} ({event})",
                ledger_core::bytes::printable(path.as_bytes())
            );
            let parsed = ledger_core::TreePath::parse(path)
                .ok()
                .filter(|path| path.is_below(&layout::artifacts_dir()));
            let Some(parsed) = parsed else {
                report.damage(place, "it is not under results/artifacts/");
                continue;
            };
            match crate::provenance::digest_file(self.workspace.storage(), &parsed) {
                Ok(actual) if actual == *digest => {}
                Ok(actual) => {
                    report.damage(place, format!("expected {digest}, actual {actual}"));
                }
                Err(error) => report.damage(place, chain(&error)),
            }
        }
        Ok(())
    }

    fn bookmarks(&self, report: &mut Report<'_>) -> Result<(), VerifyError> {
        let view = self.workspace.view()?;
        let stored = if_present(read_file(self.workspace.storage(), &layout::bookmarks()))?;
        if stored.as_deref() != Some(&view.heads().bookmarks_json()) {
            let what = match stored {
                None => "it is missing",
                Some(_) => "it does not say what the rows say",
            };
            if self.options.repair {
                self.workspace.write_bookmarks();
            }
            report.add(
                Severity::Warning,
                layout::bookmarks(),
                what,
                self.options.repair,
            );
        }
        Ok(())
    }

    /// `workspace.json` is not derived from the rows alone: what it should say cannot be known.
    fn standing(&self, report: &mut Report<'_>) -> Result<(), VerifyError> {
        if let Err(error) = self.workspace.standing() {
            report.damage(layout::workspace(), chain(&error));
        }
        Ok(())
    }

    fn event_name(id: EventId) -> String {
        format!("{} ({id})", layout::diff(id))
    }
}
