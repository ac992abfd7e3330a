//! Taking snapshots: when one is due, and from what.

use std::collections::BTreeMap;

use ledger_core::log::{AppendError, Batch, BranchHead, Lock, LockError, On, ReadError, View};
use ledger_core::storage::{
    Durability, OpenMode, PRIVATE_DIR, PRIVATE_FILE, RenameMode, StorageError, create_dirs,
    write_new,
};
use ledger_core::{
    Action, Body, BookmarkOp, BookmarkVerb, Digest, EventId, SnapshotId, SnapshotNote, Timestamp,
    TreePath, check_name, layout,
};
use ledger_replay::{RebuildError, State};
use ledger_snapshot::{ArchiveWriteError, ArchiveWriter, Manifest, Member, Written};
use serde_json::Value;

use crate::config::Config;
use crate::workspace::{Inner, Workspace};

/// A snapshot was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The ledger could not be read or appended to.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The state could not be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The archive could not be written.
    #[error(transparent)]
    Archive(#[from] ArchiveWriteError),
    /// Another snapshot is being taken, or snapshots are being removed.
    #[error("another process is taking or removing snapshots")]
    Busy,
    /// The name cannot be one.
    #[error(transparent)]
    Name(#[from] ledger_core::InvalidName),
    /// The name is taken.
    #[error("the name {0:?} is taken")]
    NameTaken(String),
    /// There is no such branch.
    #[error("there is no branch {0:?}")]
    NoBranch(String),
    /// Files keep changing while they are read for the first time.
    #[error("{path} keeps changing while it is read")]
    KeepsChanging {
        /// The file.
        path: TreePath,
    },
}

impl From<ReadError> for SnapshotError {
    fn from(error: ReadError) -> Self {
        SnapshotError::Append(error.into())
    }
}

impl From<LockError> for SnapshotError {
    fn from(error: LockError) -> Self {
        SnapshotError::Append(error.into())
    }
}

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its number.
    pub id: SnapshotId,
    /// The event whose tree it holds.
    pub base: EventId,
    /// The event that says so.
    pub event: EventId,
    /// Bytes of archive and manifest.
    pub bytes: u64,
    /// Files in it.
    pub files: usize,
}

/// Archive and manifest under temporary names, durable.
pub(crate) struct Staged {
    archive: TreePath,
    manifest: TreePath,
    pub note: SnapshotNote,
    pub id: SnapshotId,
    pub files: usize,
}

impl Staged {
    /// Gives both their names. The caller holds the append lock, or is the only one there.
    pub fn publish(&self, storage: &dyn ledger_core::storage::Storage) -> Result<(), StorageError> {
        storage.rename(
            &self.archive,
            &layout::archive(self.id),
            RenameMode::Replace,
        )?;
        storage.rename(
            &self.manifest,
            &layout::manifest(self.id),
            RenameMode::Replace,
        )?;
        storage.sync_dir(&layout::snapshots_dir())
    }

    pub fn discard(&self, storage: &dyn ledger_core::storage::Storage) {
        for path in [&self.archive, &self.manifest] {
            // Already published, or removed by the next collection.
            let _ = storage.remove_file(path);
        }
    }
}

/// Why a snapshot of a branch is due, if it is.
pub(crate) fn due(head: &BranchHead, config: &Config, now: Timestamp) -> Option<String> {
    let policy = &config.snapshot;
    if head.changes == 0 {
        return None;
    }
    if let Some(boundary) = &head.boundary {
        return Some(format!("boundary:{boundary}"));
    }
    if head.changes >= policy.events_per_snapshot {
        return Some("events".to_owned());
    }
    if head.volume > policy.volume_bytes {
        return Some("volume".to_owned());
    }
    let editing = head.first_change.map(|first| now.since(first));
    editing
        .is_some_and(|time| time >= policy.walltime_interval)
        .then(|| "walltime".to_owned())
}

/// Name of a temporary file beside the snapshots.
fn staged(token: u64, suffix: &str) -> TreePath {
    let name = format!("new-{token:016x}.{suffix}");
    layout::snapshots_dir()
        .join(name)
        .unwrap_or_else(|_| layout::snapshots_dir())
}

/// Writes archive and manifest under temporary names; durable when it returns.
///
/// `write` fills the archive; `id` is the number that the snapshot will have.
pub(crate) fn stage(
    log_storage: &dyn ledger_core::storage::Storage,
    token: u64,
    (id, ts, reason): (SnapshotId, Timestamp, &str),
    (base, event_offset): (EventId, u64),
    write: impl FnOnce(&dyn ledger_core::storage::StorageFile) -> Result<Written, SnapshotError>,
) -> Result<Staged, SnapshotError> {
    let (archive, manifest) = (staged(token, "tar.zst"), staged(token, "json"));
    let file = log_storage.open(&archive, OpenMode::CreateNew(PRIVATE_FILE))?;
    let discard = |error: SnapshotError| {
        // Best effort: a collection removes what stays behind.
        let _ = log_storage.remove_file(&archive);
        error
    };
    let written = write(file.as_ref()).map_err(discard)?;
    file.sync().map_err(|error| discard(error.into()))?;
    let text = |value: &str| Value::String(value.to_owned());
    let mut note = SnapshotNote {
        base_event_id: base,
        manifest: Digest::of(b""),
        index: written.archive.index,
        bytes: written.archive.bytes,
        reason: reason.to_owned(),
        taken_at: ts,
        env: BTreeMap::from([
            ("arch".to_owned(), text(std::env::consts::ARCH)),
            ("os".to_owned(), text(std::env::consts::OS)),
        ]),
        seeds: BTreeMap::new(),
        tools: BTreeMap::from([("bench".to_owned(), text(env!("CARGO_PKG_VERSION")))]),
    };
    let described = manifest_of(id, &note, event_offset, written);
    let json = described.to_json();
    note.manifest = Digest::of(&json);
    note.bytes += json.len() as u64;
    write_new(log_storage, &manifest, &json, Durability::Durable)
        .map_err(|error| discard(error.into()))?;
    Ok(Staged {
        archive,
        manifest,
        note,
        id,
        files: described.files.len(),
    })
}

/// The manifest of an archive, from what the snapshot's row says: the same each time.
pub(crate) fn manifest_of(
    id: SnapshotId,
    note: &SnapshotNote,
    event_offset: u64,
    written: Written,
) -> Manifest {
    Manifest {
        id,
        ts: note.taken_at,
        base_event_id: note.base_event_id,
        event_offset,
        tar_uri: layout::archive(id).to_string(),
        env: note.env.clone(),
        seeds: note.seeds.clone(),
        tools: note.tools.clone(),
        archive: written.archive,
        files: written.files,
        unknown: BTreeMap::new(),
    }
}

/// The row of a snapshot.
pub(crate) fn snapshot_body(staged: &Staged, branch: &str) -> Body {
    let mut body = Body::new(crate::system_author(), Action::SnapshotCreate, branch);
    body.snapshot_ref = Some(staged.id);
    body.snapshot = Some(staged.note.clone());
    body
}

impl Inner {
    /// Takes the snapshots that are due on any branch, and applies retention after them.
    pub fn snapshot_if_due(&self) -> Result<(), SnapshotError> {
        let view = self.log.view()?;
        let now = self.log.seams().clock.now();
        let due: Vec<(String, String)> = view
            .heads()
            .branches
            .iter()
            .filter_map(|(name, head)| Some((name.clone(), due(head, &self.config, now)?)))
            .collect();
        let mut taken = false;
        for (branch, reason) in due {
            match self.take_snapshot(&branch, &reason, None) {
                Ok(_) => taken = true,
                // Whoever is at it will leave little to do.
                Err(SnapshotError::Busy) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if taken && self.config.retention.auto_gc {
            let retention = self.config.retention.clone();
            if let Err(error) = self.collect(&retention, false) {
                self.warn(format!("old snapshots could not be removed: {error}"));
            }
        }
        Ok(())
    }

    /// Takes a snapshot of the tip of a branch, named by a bookmark if asked for.
    pub fn take_snapshot(
        &self,
        branch: &str,
        reason: &str,
        bookmark: Option<(&str, &crate::provenance::Provenance)>,
    ) -> Result<Taken, SnapshotError> {
        let storage = self.storage.as_ref();
        let _lock = self.lock_snapshots()?;
        let view = self.log.view()?;
        let head = view.heads().branches.get(branch);
        let head = head.ok_or_else(|| SnapshotError::NoBranch(branch.to_owned()))?;
        let (base, offset) = (head.tip, head.tip_at);
        let state = State::rebuild(&self.snapshots, &view, base)?;
        let id = SnapshotId(view.heads().last_snapshot.map_or(0, |last| last.0) + 1);
        let members: Vec<Member> = state
            .tree()
            .iter()
            .map(|(path, entry)| Member::known(path, entry))
            .collect();
        let now = self.log.seams().clock.now();
        let previous = self.snapshots.tree(&state.origin().snapshot).ok();
        let staged = stage(
            storage,
            self.token(),
            (id, now, reason),
            (base, offset),
            |file| {
                let content = |member: &Member| {
                    state.content(&member.path).and_then(|content| {
                        content.ok_or_else(|| RebuildError::Inconsistent {
                            path: member.path.clone(),
                            event: base,
                            why: "the tree has no such file".to_owned(),
                        })
                    })
                };
                // Frames that did not change since the last snapshot are copied as they stand.
                let writer = ArchiveWriter::new(&members);
                Ok(match &previous {
                    Some(tree) => writer
                        .copy_from(state.archive(), tree)
                        .write(file, content)?,
                    None => writer.write(file, content)?,
                })
            },
        )?;
        let published = self.publish(&staged, branch, bookmark);
        let events = match published {
            Ok(events) => events,
            Err(error) => {
                staged.discard(storage);
                return Err(error);
            }
        };
        let event = events.first().copied().unwrap_or(base);
        Ok(Taken {
            id,
            base,
            event,
            bytes: staged.note.bytes,
            files: staged.files,
        })
    }

    /// Takes the number, and records the snapshot.
    fn publish(
        &self,
        staged: &Staged,
        branch: &str,
        bookmark: Option<(&str, &crate::provenance::Provenance)>,
    ) -> Result<Vec<EventId>, SnapshotError> {
        let storage = self.storage.as_ref();
        let appended = self.log.append_exclusively(|view: &View| {
            if view.heads().last_snapshot >= Some(staged.id) {
                // Somebody without our lock: nothing is overwritten.
                return Err(SnapshotError::Busy);
            }
            let mut bodies = vec![snapshot_body(staged, branch)];
            if let Some((name, provenance)) = bookmark {
                if view.heads().has_name(name) {
                    return Err(SnapshotError::NameTaken(name.to_owned()));
                }
                bodies[0].author = provenance.author.clone();
                bodies[0].rationale = provenance.rationale.clone();
                let mut body = Body::new(provenance.author.clone(), Action::Checkpoint, branch);
                body.bookmark = Some(name.to_owned());
                body.snapshot_ref = Some(staged.id);
                body.bookmark_op = Some(BookmarkOp {
                    op: BookmarkVerb::Add,
                    name: name.to_owned(),
                    target: Some(staged.id.to_string()),
                    was: None,
                    locked: false,
                });
                bodies.push(body);
            }
            staged.publish(storage)?;
            Ok(Batch {
                bodies,
                on: On::Tip,
                key: None,
            })
        })?;
        Ok(appended.events)
    }

    /// Takes the lock of the snapshots, if nobody holds it.
    pub fn lock_snapshots(&self) -> Result<Lock, SnapshotError> {
        let storage = self.storage.as_ref();
        let lock = Lock::try_take(storage, &layout::snapshots_lock())?;
        lock.ok_or(SnapshotError::Busy)
    }
}

impl Workspace {
    /// Takes a snapshot of the branch that the workspace stands on, and names it by a bookmark.
    pub fn save_snapshot(
        &self,
        name: &str,
        provenance: &crate::provenance::Provenance,
    ) -> Result<Taken, SnapshotError> {
        check_name(name)?;
        let view = self.view()?;
        if view.heads().has_name(name) {
            return Err(SnapshotError::NameTaken(name.to_owned()));
        }
        let branch = self.standing().map_err(AppendError::from)?.branch;
        let taken = self
            .inner
            .take_snapshot(&branch, "saved", Some((name, provenance)))?;
        self.write_bookmarks();
        Ok(taken)
    }
}

/// Makes the directories of the snapshots, durably.
pub(crate) fn create_snapshot_dirs(
    storage: &dyn ledger_core::storage::Storage,
) -> Result<(), StorageError> {
    create_dirs(
        storage,
        &layout::snapshots_dir(),
        PRIVATE_DIR,
        Durability::Durable,
    )?;
    let lock = storage.open(&layout::snapshots_lock(), OpenMode::Create(PRIVATE_FILE))?;
    lock.sync()?;
    storage.sync_dir(&layout::snapshots_dir())
}
