//! Remembers every edit to a project, and goes back to any of them.

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
    ImportError, ImportGit, Imported, LeftFile, LeftReason, Progress, SkipReason, Skipped, SkippedTag,
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
