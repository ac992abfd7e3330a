//! Events, edits, the append-only log, branches, bookmarks, queries and patches.

pub mod bytes;
mod digest;
pub mod edit;
mod event;
mod id;
mod path;
pub mod storage;
mod time;

pub use digest::{Digest, InvalidDigest};
pub use event::{
    Action, ActionScope, Author, AuthorKind, Change, DiffMode, FileEdit, FileState, Mode,
    SemanticBlock,
};
pub use id::{EventId, InvalidId, InvalidName, SnapshotId, check_name};
pub use path::{InvalidPath, TreePath};
pub use time::{Clock, Ids, InvalidTimestamp, System, Timestamp};
