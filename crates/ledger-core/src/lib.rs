//! Events, edits, the append-only log, branches, bookmarks, queries and patches.

pub mod bytes;
pub mod diff;
mod digest;
pub mod edit;
mod event;
mod id;
pub mod layout;
pub mod log;
pub mod objects;
pub mod patch;
mod path;
pub mod refs;
pub mod storage;
mod time;
mod wire;

pub use digest::{Digest, InvalidDigest};
pub use event::{
    AFFECTED_LINES_MAX, Action, ActionScope, ArtifactImpact, Author, AuthorKind, BatchPlace, Body,
    BookmarkOp, BookmarkVerb, Change, DiffMode, Event, FileEdit, FileState, Format, Mode,
    ObjectRef, RewindNote, SemanticBlock, SnapshotNote,
};
pub use id::{EventId, InvalidId, InvalidName, SnapshotId, check_name};
pub use path::{InvalidPath, TreePath};
pub use time::{Clock, Ids, InvalidTimestamp, System, Timestamp};
pub use wire::{ROW_MAX, RowFault, check_hash, safe_json};
