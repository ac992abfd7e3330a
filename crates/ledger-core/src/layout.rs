//! Where everything of a ledger is, relative to the workspace's root.

use crate::digest::Digest;
use crate::id::{EventId, SnapshotId};
use crate::path::TreePath;

/// Makes the path of a fixed or formatted name, all of whose parts are plain.
fn path(text: String) -> TreePath {
    TreePath::parse(text).unwrap_or_else(|_| TreePath::root())
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident = $path:literal;)*) => {
        $($(#[$doc])* pub fn $name() -> TreePath { path($path.to_owned()) })*
    };
}

places! {
    /// The directory of the ledger.
    ledger_dir = ".user/ledger";
    /// The rows.
    events = ".user/ledger/events.jsonl";
    /// The last durable row.
    tip = ".user/ledger/tip";
    /// Held by whoever appends.
    lock = ".user/ledger/lock";
    /// Held by whoever moves the working tree; taken before `lock`, never after.
    worktree_lock = ".user/ledger/worktree.lock";
    /// Where the working tree stood at the last init, switch, rewind or catching up.
    workspace = ".user/ledger/workspace.json";
    /// Names and what they stand for, derived from the rows.
    bookmarks = ".user/ledger/bookmarks.json";
    /// Policy.
    config = ".user/ledger/config.toml";
    /// Contents that are not in rows.
    objects_dir = ".user/ledger/objects";
    /// Archives and manifests.
    snapshots_dir = ".user/ledger/snapshots";
    /// Held by whoever takes or removes snapshots.
    snapshots_lock = ".user/ledger/snapshots/lock";
    /// What a rewind under way has planned and put aside.
    rewind_dir = ".user/ledger/rewind";
    /// What can be made again at any time.
    cache_dir = ".user/ledger/cache";
    /// Branch tips and what else follows from all rows.
    heads = ".user/ledger/cache/heads.json";
    /// What the files of the working tree were when they were last read.
    stat_cache = ".user/ledger/cache/stat";
    /// Patches, one an event.
    diffs_dir = "results/diffs";
    /// Files that events refer to.
    artifacts_dir = "results/artifacts";
}

/// Whether a path is kept from being tracked: the ledger's own files, those of a ledger further down,
/// and what is git's.
///
/// No row, archive or request may name such a path: going back would write there.
pub fn is_reserved(path: &TreePath) -> bool {
    let bytes = path.as_bytes();
    let below = |dir: &[u8]| {
        bytes
            .strip_prefix(dir)
            .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    };
    let mut above: &[u8] = b"";
    let mut kept = path.components().map(|name| {
        let in_ledger = above == b".user" && name == b"ledger";
        above = name;
        name == b".git" || in_ledger
    });
    below(b".user")
        || below(b"results/diffs")
        || below(b"results/artifacts")
        || kept.any(|kept| kept)
}

/// The patch of an event.
pub fn diff(id: EventId) -> TreePath {
    path(crate::wire::diff_path(id))
}

/// The archive of a snapshot.
pub fn archive(id: SnapshotId) -> TreePath {
    path(format!(".user/ledger/snapshots/{id}.tar.zst"))
}

/// The manifest of a snapshot.
pub fn manifest(id: SnapshotId) -> TreePath {
    path(format!(".user/ledger/snapshots/{id}.json"))
}

/// The object that has this digest.
pub fn object(hash: &Digest) -> TreePath {
    let hex = hash.hex();
    path(format!(
        ".user/ledger/objects/{}/{}.zst",
        &hex[..2],
        &hex[2..]
    ))
}

/// Where a tail that was cut at `offset` is kept; `copy` counts those of one offset.
pub fn torn(offset: u64, copy: u32) -> TreePath {
    let suffix = if copy == 0 {
        String::new()
    } else {
        format!("-{copy}")
    };
    path(format!(".user/ledger/events.jsonl.torn-{offset}{suffix}"))
}
