//! The snapshots there are, and whether they are what was recorded.

use std::sync::atomic::{AtomicUsize, Ordering};

use ledger_core::log::{Query, Row};
use ledger_core::storage::if_present;
use ledger_core::{Action, Digest, Event, EventId, SnapshotId, Timestamp, TreePath, layout};
use ledger_replay::{Base, BaseError, RebuildError};
use ledger_snapshot::{ArchiveError, ArchivedFile, Manifest};

use crate::provenance::digest_file;
use crate::workspace::Workspace;

/// A snapshot, as its row tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its number.
    pub id: SnapshotId,
    /// The event whose tree it holds.
    pub base: EventId,
    /// The event that says so.
    pub event: EventId,
    /// When it was taken.
    pub ts: Timestamp,
    /// The branch that it was taken of.
    pub branch: String,
    /// What made it due.
    pub reason: String,
    /// Bytes of archive and manifest.
    pub bytes: u64,
    /// Whether its archive is there: a collection may have removed it.
    pub present: bool,
    /// Bookmarks that name it.
    pub bookmarks: Vec<String>,
}

/// An artifact of an event, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactInfo {
    /// Its path, as the row has it.
    pub path: String,
    /// Its size, if it is there.
    pub bytes: Option<u64>,
    /// Whether it is what was recorded.
    pub condition: ArtifactCondition,
}

/// Whether an artifact is what was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactCondition {
    /// It is.
    Intact,
    /// Its digest is another.
    Altered,
    /// It is not there.
    Missing,
    /// No digest was recorded.
    Unknown,
}

/// A snapshot that was read whole, and is what was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotCheck {
    /// Files in it.
    pub files: usize,
    /// Bytes of its archive.
    pub bytes: u64,
}

/// A snapshot is not what was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotCheckError {
    /// Its row, or a file of it, cannot be read.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// There is no such snapshot.
    #[error("there is no snapshot {0}")]
    Unknown(SnapshotId),
    /// Its archive is damaged.
    #[error("the archive is damaged")]
    Archive(#[from] ArchiveError),
    /// Its archive is not the one that its manifest names.
    #[error("the archive of {id} is altered: expected {expected}, actual {actual}")]
    Altered {
        /// The snapshot.
        id: SnapshotId,
        /// Digest in the manifest.
        expected: Digest,
        /// Digest of the file.
        actual: Digest,
    },
    /// A file in it is not what its manifest says.
    #[error("{path} in {id} is not as the manifest says")]
    File {
        /// The snapshot.
        id: SnapshotId,
        /// The file.
        path: TreePath,
    },
}

impl Workspace {
    /// The snapshots that were ever taken, newest first.
    pub fn snapshots_taken(&self) -> Result<Vec<SnapshotInfo>, RebuildError> {
        let view = self.view()?;
        let query = Query {
            action: Some(Action::SnapshotCreate.to_string()),
            ..Query::default()
        };
        let mut taken = Vec::new();
        for row in view.history(query) {
            taken.extend(self.snapshot_of(&row?)?);
        }
        Ok(taken)
    }

    /// One snapshot, if it was ever taken.
    pub fn snapshot_info(&self, id: SnapshotId) -> Result<Option<SnapshotInfo>, RebuildError> {
        match self.view()?.snapshot_event(id)? {
            Some(row) => self.snapshot_of(&row),
            None => Ok(None),
        }
    }

    fn snapshot_of(&self, row: &Row) -> Result<Option<SnapshotInfo>, RebuildError> {
        let Some(Base { id, note }) = Base::made_by(row) else {
            return Ok(None);
        };
        let view = self.view()?;
        let name = id.to_string();
        let named = view.heads().bookmarks.iter();
        Ok(Some(SnapshotInfo {
            id,
            base: note.base_event_id,
            event: row.event.id,
            ts: row.event.ts,
            branch: row.event.body.branch.clone(),
            reason: note.reason,
            bytes: note.bytes,
            present: if_present(self.storage().stat(&layout::archive(id)))?.is_some(),
            bookmarks: named
                .filter(|(_, bookmark)| bookmark.target == name)
                .map(|(name, _)| name.clone())
                .collect(),
        }))
    }

    /// The manifest of a snapshot, which is the one that was recorded.
    pub fn manifest(&self, id: SnapshotId) -> Result<Manifest, SnapshotCheckError> {
        let base = self.base(id)?;
        let manifest = self.snapshots().manifest(&base);
        Ok(manifest.map_err(RebuildError::from)?)
    }

    /// Reads a snapshot whole, and checks every byte of it against what was recorded.
    pub fn check_snapshot(&self, id: SnapshotId) -> Result<SnapshotCheck, SnapshotCheckError> {
        let base = self.base(id)?;
        let failed = |error: BaseError| SnapshotCheckError::from(RebuildError::from(error));
        let manifest = self.snapshots().manifest(&base).map_err(failed)?;
        let archive = self.snapshots().archive(&base).map_err(failed)?;
        let (expected, actual) = (manifest.archive.hash, self.digest_of(&layout::archive(id))?);
        if expected != actual {
            return Err(SnapshotCheckError::Altered {
                id,
                expected,
                actual,
            });
        }
        let seen = AtomicUsize::new(0);
        archive.visit_parallel(|file: ArchivedFile<'_>| {
            let entry = manifest.files.get(file.path).map(|stored| stored.entry);
            seen.fetch_add(1, Ordering::Relaxed);
            match entry {
                Some(entry)
                    if entry.mode == file.mode && entry.hash == Digest::of(file.content) =>
                {
                    Ok(())
                }
                _ => Err(SnapshotCheckError::File {
                    id,
                    path: file.path.clone(),
                }),
            }
        })?;
        let (files, bytes) = (manifest.files.len(), manifest.archive.bytes);
        if seen.into_inner() != files {
            // Each file of the archive is in the manifest, so some of the manifest are in no archive.
            for path in manifest.files.keys() {
                if archive.read(path)?.is_none() {
                    let path = path.clone();
                    return Err(SnapshotCheckError::File { id, path });
                }
            }
        }
        Ok(SnapshotCheck { files, bytes })
    }

    fn base(&self, id: SnapshotId) -> Result<Base, SnapshotCheckError> {
        let view = self.view().map_err(RebuildError::from)?;
        let row = view.snapshot_event(id).map_err(RebuildError::from)?;
        row.as_ref()
            .and_then(Base::made_by)
            .ok_or(SnapshotCheckError::Unknown(id))
    }

    fn digest_of(&self, path: &TreePath) -> Result<Digest, RebuildError> {
        Ok(digest_file(self.storage(), path)?)
    }

    /// What has become of the artifacts of an event.
    pub fn artifacts_of(&self, event: &Event) -> Result<Vec<ArtifactInfo>, RebuildError> {
        let mut artifacts = Vec::with_capacity(event.body.artifacts.len());
        for name in &event.body.artifacts {
            let path = TreePath::parse(name).ok();
            let path = path.filter(|path| path.is_below(&layout::artifacts_dir()));
            let stat = match &path {
                Some(path) => if_present(self.storage().stat(path))?,
                None => None,
            };
            let recorded = event.body.artifact_digests.get(name);
            let condition = match (&path, &stat, recorded) {
                (Some(path), Some(_), Some(recorded)) if self.digest_of(path)? == *recorded => {
                    ArtifactCondition::Intact
                }
                (_, Some(_), Some(_)) => ArtifactCondition::Altered,
                (_, Some(_), None) => ArtifactCondition::Unknown,
                (_, None, _) => ArtifactCondition::Missing,
            };
            artifacts.push(ArtifactInfo {
                path: name.clone(),
                bytes: stat.map(|stat| stat.size),
                condition,
            });
        }
        Ok(artifacts)
    }
}
