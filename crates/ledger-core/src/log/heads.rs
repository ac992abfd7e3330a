//! What follows from all rows so far: branch tips, bookmarks, the next snapshot's number.
//!
//! It is derived, one row at a time, from the rows' lines; `cache/heads.json` keeps it with the mark of
//! the row that it covers, and is believed only when that row is there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::scan::Mark;
use crate::digest::Digest;
use crate::event::{Action, BookmarkOp, BookmarkVerb, ObjectRef};
use crate::id::{EventId, SnapshotId};
use crate::layout;
use crate::storage::{
    Durability, PRIVATE_DIR, Storage, StorageError, create_dirs, if_present, read_file,
    write_atomically,
};
use crate::time::Timestamp;
use crate::wire::RowFault;

/// The end of a branch, and what has happened on it since its last snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchHead {
    /// The last event.
    pub tip: EventId,
    /// Offset of its row.
    pub tip_at: u64,
    /// The newest snapshot on its line.
    pub base_snapshot: Option<SnapshotId>,
    /// The last event whose change the working tree held when it was recorded.
    pub in_workspace: Option<EventId>,
    /// Events that changed files since the last snapshot (of this branch, or since it was opened).
    pub changes: u64,
    /// Bytes of those changes.
    pub volume: u64,
    /// When the first of them was recorded.
    pub first_change: Option<Timestamp>,
    /// A boundary that left its snapshot to the first change after it.
    pub boundary: Option<String>,
}

/// What a bookmark stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bookmark {
    /// An event or a snapshot, as its id is written.
    pub target: String,
    /// Whether it may not be moved or removed.
    pub locked: bool,
}

/// What follows from all rows up to one of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Heads {
    /// Every branch.
    pub branches: BTreeMap<String, BranchHead>,
    /// Every bookmark.
    pub bookmarks: BTreeMap<String, Bookmark>,
    /// The highest number that a snapshot has had.
    pub last_snapshot: Option<SnapshotId>,
    /// When the last row was recorded.
    pub ts: Timestamp,
}

/// The fields of a row that matter here; the rest is skipped.
#[derive(Deserialize)]
struct HeadRow<'a> {
    id: EventId,
    ts: Timestamp,
    action_type: Action,
    branch: String,
    #[serde(default)]
    snapshot_ref: Option<SnapshotId>,
    #[serde(default, borrow)]
    edits: Vec<EditVolume<'a>>,
    #[serde(default)]
    base_snapshot: Option<SnapshotId>,
    #[serde(default)]
    in_workspace: bool,
    #[serde(default)]
    bookmark_op: Option<BookmarkOp>,
    #[serde(default)]
    boundary: Option<String>,
}

#[derive(Deserialize)]
struct EditVolume<'a> {
    #[serde(default, borrow)]
    lines: Option<&'a RawValue>,
    #[serde(default)]
    lines_object: Option<ObjectRef>,
    #[serde(default)]
    object: Option<ObjectRef>,
}

impl EditVolume<'_> {
    fn bytes(&self) -> u64 {
        let object = self
            .lines_object
            .or(self.object)
            .map_or(0, |object| object.bytes);
        self.lines.map_or(0, |lines| lines.get().len() as u64) + object
    }
}

impl Heads {
    /// Takes in the next row, whose line begins at `offset`.
    pub fn apply(&mut self, offset: u64, line: &[u8]) -> Result<(), RowFault> {
        let row: HeadRow<'_> =
            serde_json::from_slice(line).map_err(|error| RowFault::Malformed(error.to_string()))?;
        self.ts = self.ts.max(row.ts);
        let opens = matches!(row.action_type, Action::Branch | Action::Rewind);
        let head = self
            .branches
            .entry(row.branch)
            .or_insert_with(|| BranchHead {
                tip: row.id,
                tip_at: offset,
                base_snapshot: None,
                in_workspace: None,
                changes: 0,
                volume: 0,
                first_change: None,
                boundary: opens.then(|| row.action_type.to_string()),
            });
        head.tip = row.id;
        head.tip_at = offset;
        head.base_snapshot = row.base_snapshot;
        if row.in_workspace {
            head.in_workspace = Some(row.id);
        }
        if !row.edits.is_empty() {
            head.changes += 1;
            head.volume += row.edits.iter().map(EditVolume::bytes).sum::<u64>();
            head.first_change.get_or_insert(row.ts);
        }
        // Where nothing has changed since the last snapshot, a boundary is not worth another.
        if row.boundary.is_some() && head.changes > 0 {
            head.boundary = row.boundary;
        }
        if row.action_type == Action::SnapshotCreate {
            head.base_snapshot = row.snapshot_ref.or(head.base_snapshot);
            head.changes = 0;
            head.volume = 0;
            head.first_change = None;
            head.boundary = None;
            self.last_snapshot = self.last_snapshot.max(row.snapshot_ref);
        }
        if let Some(op) = row.bookmark_op {
            self.apply_bookmark(op);
        }
        Ok(())
    }

    fn apply_bookmark(&mut self, op: BookmarkOp) {
        if op.op == BookmarkVerb::Rename
            && let Some(old) = &op.was
        {
            self.bookmarks.remove(old);
        }
        match op.target {
            Some(target) => {
                let bookmark = Bookmark {
                    target,
                    locked: op.locked,
                };
                self.bookmarks.insert(op.name, bookmark);
            }
            None => {
                self.bookmarks.remove(&op.name);
            }
        }
    }

    /// Whether a branch or a bookmark has this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.branches.contains_key(name) || self.bookmarks.contains_key(name)
    }

    /// The bookmarks in the ADR's shape: name to id, one a line.
    pub fn bookmarks_json(&self) -> Vec<u8> {
        let names: BTreeMap<&str, &str> = self
            .bookmarks
            .iter()
            .map(|(name, bookmark)| (name.as_str(), bookmark.target.as_str()))
            .collect();
        // Maps of strings always serialise.
        let mut json = serde_json::to_vec_pretty(&names).unwrap_or_default();
        json.push(b'\n');
        json
    }
}

/// The cached heads, with the row that they cover.
#[derive(Serialize, Deserialize)]
struct Cached {
    version: u32,
    row: EventId,
    end: u64,
    hash: Digest,
    heads: Heads,
}

const CACHE_VERSION: u32 = 1;

/// Reads the cached heads; `None` when there are none, or they cannot be read.
pub fn load(storage: &dyn Storage) -> Result<Option<(Mark, Heads)>, StorageError> {
    let Some(bytes) = if_present(read_file(storage, &layout::heads()))? else {
        return Ok(None);
    };
    // The last line is the digest of the lines before it.
    let Some((json, check)) = split_check(&bytes) else {
        return Ok(None);
    };
    if check != Digest::of(json) {
        return Ok(None);
    }
    let cached = serde_json::from_slice::<Cached>(json).ok();
    Ok(cached
        .filter(|cached| cached.version == CACHE_VERSION)
        .map(|cached| {
            let mark = Mark {
                end: cached.end,
                above: Some((cached.row, cached.hash)),
            };
            (mark, cached.heads)
        }))
}

fn split_check(bytes: &[u8]) -> Option<(&[u8], Digest)> {
    let (json, check) = bytes.split_at_checked(bytes.len().checked_sub(Digest::TEXT_LEN)?)?;
    let check = std::str::from_utf8(check).ok()?.parse().ok()?;
    Some((json, check))
}

/// Writes the heads to the cache; not durable.
pub fn store(
    storage: &dyn Storage,
    mark: &Mark,
    heads: &Heads,
    token: u64,
) -> Result<(), StorageError> {
    let Some((row, hash)) = mark.above else {
        return Ok(());
    };
    let cached = Cached {
        version: CACHE_VERSION,
        row,
        end: mark.end,
        hash,
        heads: heads.clone(),
    };
    let Ok(mut bytes) = serde_json::to_vec(&cached) else {
        return Ok(());
    };
    bytes.push(b'\n');
    let check = Digest::of(&bytes);
    bytes.extend_from_slice(check.to_string().as_bytes());
    create_dirs(
        storage,
        &layout::cache_dir(),
        PRIVATE_DIR,
        Durability::Derived,
    )?;
    write_atomically(
        storage,
        &layout::heads(),
        &bytes,
        token,
        Durability::Derived,
    )
}
