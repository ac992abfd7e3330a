//! Events, edits, the append-only log, branches, bookmarks, queries and patches.
//!
//! An [`Event`] is one accepted change, or one fact about the history; [`log::Log`] keeps events in
//! `events.jsonl`, each row chained to the one above by its hash, and acknowledges none before it is
//! durable. [`log::View`] is a consistent look at them: single events, an event's own line of parents,
//! queries from the newest back. [`edit`] has the line operations that an event holds, [`diff`] finds
//! them, [`patch`] shows them as git does; [`objects`] keeps what is too large for a row. The disk, the
//! clock and fresh names stand behind [`storage::Storage`], [`Clock`] and [`Ids`].
//!
//! ```
//! use ledger_core::edit::LineEdit;
//!
//! let base = b"one\ntwo\nthree\n";
//! let ours = LineEdit::between(base, b"ONE\ntwo\nthree\n");
//! let theirs = LineEdit::between(base, b"one\ntwo\nTHREE\n");
//! let (_, theirs_after_ours) = ours.transform(&theirs)?;
//! assert_eq!(theirs_after_ours.apply(&ours.apply(base)?)?, b"ONE\ntwo\nTHREE\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is on disk, byte by byte, is described in `docs/format/events.md`; what holds after which
//! fault, in `docs/durability.md`.
//!
//! **Invariant:** there is no tree-sitter, tar, network, async runtime, terminal, environment variable or
//! home directory in here.

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
