//! Remembers every edit to a project - by whom, why, and from what - and goes back to any of them.
//!
//! A [`Workspace`] is a directory with a ledger: an append-only file of events (`ledger-core`),
//! snapshots of the tree (`ledger-snapshot`), and the means to rebuild any state from the two
//! (`ledger-replay`). This crate puts them together, and holds the policy: what is tracked, when a
//! snapshot is due, what goes. The `bench` command is a thin shell over it, and so can a framework be:
//!
//! ```
//! use ledger::core::{Author, AuthorKind, TreePath};
//! use ledger::{FileChange, FileTarget, Options, Provenance, Record, Workspace};
//!
//! # let root = tempfile::tempdir()?;
//! let kind = AuthorKind::Agent;
//! let agent = Author { name: "security-agent".into(), version: Some("1.2.0".into()), kind };
//! let mut why = Provenance::by(agent);
//! let workspace = Workspace::init(root.path(), &why, Options::default())?.workspace;
//!
//! why.rationale = Some("tighten the limit".into());
//! let path = TreePath::parse("limits.yaml")?;
//! let to = FileTarget::Content { bytes: b"max: 3\n".to_vec(), mode: None };
//! // The events are durable when this returns.
//! let recorded = workspace.record(&Record::new(vec![FileChange { path: path.clone(), to }], why))?;
//!
//! let state = workspace.state(recorded.events[0])?;
//! assert_eq!(state.content(&path)?.as_deref(), Some(&b"max: 3\n"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariant:** nothing here prints, exits, or reads a clock or randomness but through the seams that a
//! workspace is opened with ([`Workspace::open_on`]); [`Workspace::open`] takes the machine's.
//! **Invariant:** what follows an acknowledgement (patch files, a snapshot that is due) can be made again,
//! and never makes a record fail.

mod bookmarks;
mod branches;
mod catalog;
mod codes;
mod compare;
mod config;
mod follow;
mod import;
mod init;
mod lines;
mod moves;
mod patches;
mod provenance;
mod recent;
mod record;
mod restore;
mod retention;
mod scan;
mod snapshots;
mod status;
mod verify;
mod workspace;

pub use bookmarks::{BookmarkChange, BookmarkError, BookmarkTarget};
pub use catalog::{
    ArtifactCondition, ArtifactInfo, SnapshotCheck, SnapshotCheckError, SnapshotInfo,
};
pub use codes::ErrorCode;
pub use compare::{FileContent, FileDiff, Side};
pub use config::{Config, ConfigError, Retention, parse_duration};
pub use import::{
    ImportError, ImportGit, Imported, LeftFile, LeftReason, Progress, SkipReason, Skipped,
    SkippedTag,
};
pub use init::{InitError, Initialized};
pub use lines::{Answer, LINE_MAX};
pub use moves::{Moved, RewindError};
pub use provenance::{Boundary, Provenance};
pub use record::{FileChange, FileTarget, Record, RecordError, RecordTree, Recorded};
pub use restore::{RestoreError, Restored};
pub use retention::Collected;
pub use scan::{OnDisk, Scan, Unrecorded};
pub use snapshots::{SnapshotError, Taken};
pub use status::Status;
pub use verify::{Finding, Severity, Verified, VerifyError, VerifyOptions};
pub use workspace::{OpenError, Options, Workspace};

pub use ledger_core as core;
pub use ledger_replay as replay;
pub use ledger_snapshot as snapshot;

use ledger_core::{Author, AuthorKind};

/// The author of what the ledger does on its own behalf.
pub fn system_author() -> Author {
    let version = Some(env!("CARGO_PKG_VERSION").to_owned());
    Author {
        name: "bench".to_owned(),
        version,
        kind: AuthorKind::System,
    }
}
