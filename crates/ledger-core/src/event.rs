//! Events: what the ledger remembers, as types.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::edit::LineEdit;
use crate::id::{EventId, SnapshotId};
use crate::path::TreePath;
use crate::time::Timestamp;

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Name of the person or agent.
    pub name: String,
    /// Version of the agent, where there is one.
    pub version: Option<String>,
    /// Person, agent, or bench itself.
    pub kind: AuthorKind,
}

/// What an author is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AuthorKind {
    /// A coding agent.
    Agent,
    /// A person.
    Human,
    /// The ledger on its own behalf: snapshots, repairs, what a rewind had to save.
    System,
}

/// Declares an enum that is written as one of some words, and keeps words it does not know.
macro_rules! word_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A word of a later version, kept as it was read.
            Other(String),
        }

        impl $name {
            /// The word that it is written as.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)*
                    $name::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => $name::$variant,)*
                    _ => $name::Other(word),
                }
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

word_enum!(
    /// What an event did (the `action_type` of its row).
    Action {
        /// Lines were put in.
        EditInsert = "edit_insert",
        /// Lines were taken out.
        EditDelete = "edit_delete",
        /// Lines were exchanged for others, or only the mode changed.
        EditReplace = "edit_replace",
        /// A file came to be.
        FileCreate = "file_create",
        /// A file ceased to be.
        FileDelete = "file_delete",
        /// A file went to another directory.
        FileMove = "file_move",
        /// A file got another name in its directory.
        FileRename = "file_rename",
        /// A bookmark was made, moved, removed, locked or unlocked.
        Checkpoint = "checkpoint",
        /// The workspace went back; opens a branch.
        Rewind = "rewind",
        /// A branch was opened.
        Branch = "branch",
        /// A snapshot was taken.
        SnapshotCreate = "snapshot_create",
        /// An evaluation was completed.
        EvalRun = "eval_run",
        /// A note in words.
        MetaNote = "meta_note",
        /// Two branches became one.
        Merge = "merge",
        /// A synthetic patch over several events.
        Rollup = "rollup",
    }
);

word_enum!(
    /// How much of the project an event concerns.
    ActionScope {
        /// Single lines.
        Line = "line",
        /// A semantic block.
        Block = "block",
        /// A whole file.
        File = "file",
        /// The project.
        Project = "project",
    }
);

word_enum!(
    /// In which form an event's change is shown.
    DiffMode {
        /// Lines, as a unified diff.
        Unified = "unified",
        /// Bytes.
        Binary = "binary",
        /// A structured document.
        Schema = "schema",
        /// A syntax tree.
        Ast = "ast",
    }
);

/// The function, method, class, module or selector path that an edit falls in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SemanticBlock {
    /// `function`, `method`, `class`, `module`, `yaml_path`, `json_path`, ..., `lines`, `file`.
    pub kind: String,
    /// Which one: a dotted name, a JSON Pointer, a path, or `first-last` lines.
    pub id: String,
}

/// The mode of a tracked file, as git writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// A regular file.
    #[serde(rename = "100644")]
    File,
    /// A regular file that may be executed.
    #[serde(rename = "100755")]
    Executable,
    /// A symbolic link; its content is its target.
    #[serde(rename = "120000")]
    Symlink,
}

impl Mode {
    /// The six octal digits.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::File => "100644",
            Mode::Executable => "100755",
            Mode::Symlink => "120000",
        }
    }

    /// Reads the six octal digits.
    pub fn from_octal(text: &str) -> Option<Self> {
        match text {
            "100644" => Some(Mode::File),
            "100755" => Some(Mode::Executable),
            "120000" => Some(Mode::Symlink),
            _ => None,
        }
    }

    /// Whether the file is a link.
    pub fn is_symlink(self) -> bool {
        self == Mode::Symlink
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one tracked file is: its mode, and the digest of its content (of a link, of its target).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileState {
    /// Mode.
    pub mode: Mode,
    /// Digest of the content.
    pub hash: Digest,
}

/// What an event does to one file. `before` is absent for a file that is made, `after` for one deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The file; after a rename, its new name.
    pub path: TreePath,
    /// Its old name, where the event renames it.
    pub from: Option<TreePath>,
    /// The file before.
    pub before: Option<FileState>,
    /// The file after.
    pub after: Option<FileState>,
    /// How the content changed.
    pub change: Change,
}

/// How the content of a file changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Not at all: a rename, a mode, an empty file made or deleted, a deletion of what is not text.
    None,
    /// By lines, held in the row.
    Lines(LineEdit),
    /// By lines too large for a row: the object holds the JSON of the line operations.
    LinesObject(ObjectRef),
    /// To the bytes of an object, whose digest is that of the file after.
    Content(ObjectRef),
}

/// An object that a row refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectRef {
    /// Digest of its bytes.
    pub hash: Digest,
    /// Number of its bytes, before compression.
    pub bytes: u64,
}

impl FileEdit {
    /// The names that it touches: the old one of a rename first.
    pub fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.from.iter().chain([&self.path])
    }

    /// Bytes put in and taken out, which is what the volume trigger of snapshots adds up.
    pub fn volume(&self) -> u64 {
        match &self.change {
            Change::None => 0,
            Change::Lines(edit) => (edit.inserted_bytes() + edit.deleted_bytes()) as u64,
            Change::LinesObject(object) | Change::Content(object) => object.bytes,
        }
    }
}

/// A summary of a change that is not one of lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactImpact {
    /// The file.
    pub path: TreePath,
    /// Bytes of the file after, less those before.
    pub bytes_changed: i64,
    /// Digest before.
    pub hash_before: Option<Digest>,
    /// Digest after.
    pub hash_after: Option<Digest>,
    /// In words.
    pub summary: String,
}

/// What a `checkpoint` did to a bookmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookmarkOp {
    /// The kind of change.
    pub op: BookmarkVerb,
    /// The bookmark.
    pub name: String,
    /// What it names from now on; absent when it was removed.
    pub target: Option<String>,
    /// What it named before (for a rename: its old name).
    pub was: Option<String>,
    /// Whether it is locked from now on.
    pub locked: bool,
}

word_enum!(
    /// The kinds of change to a bookmark.
    BookmarkVerb {
        /// Made.
        Add = "add",
        /// Removed.
        Remove = "remove",
        /// Given another name.
        Rename = "rename",
        /// Given another target.
        Move = "move",
        /// Locked.
        Lock = "lock",
        /// Unlocked.
        Unlock = "unlock",
    }
);

/// The snapshot that a `snapshot_create` row brings, and the digests that make it trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotNote {
    /// The event whose tree it holds.
    pub base_event_id: EventId,
    /// Digest of the manifest file.
    pub manifest: Digest,
    /// Digest of the archive's path index, which holds a digest of each frame.
    pub index: Digest,
    /// Bytes of archive and manifest together.
    pub bytes: u64,
    /// What made it due.
    pub reason: String,
    /// When it was taken: the manifest's `ts`.
    pub taken_at: Timestamp,
    /// The manifest's `env`, `seeds` and `tools`: with them it can be made again, byte for byte.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, serde_json::Value>,
    /// Seeds of random numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seeds: BTreeMap<String, serde_json::Value>,
    /// Versions of tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, serde_json::Value>,
}

/// Where a `rewind` came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindNote {
    /// Where the workspace stood before.
    pub from: EventId,
}

/// Name and version of the format, on the first row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Always `bench-ledger`.
    pub name: String,
    /// Version: this library reads and writes 1.
    pub version: u32,
}

/// What an event says, apart from its place in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Who did it.
    pub author: Author,
    /// What was done.
    pub action: Action,
    /// The branch that it is on; a `branch` or `rewind` event opens it.
    pub branch: String,
    /// The run that it happened in.
    pub run_id: Option<String>,
    /// Whether a patch file is made for it; its name follows from the event's id.
    pub patch: bool,
    /// Lines that it changed, counted from 1: at most [`AFFECTED_LINES_MAX`] of them.
    pub affected_lines: Vec<u32>,
    /// First and last of those lines, where there are more.
    pub affected_range: Option<[u32; 2]>,
    /// The block that it fell in.
    pub semantic_block: Option<SemanticBlock>,
    /// Why the block is only a line range, where it could have been more.
    pub semantic_warning: Option<String>,
    /// Why it was done.
    pub rationale: Option<String>,
    /// Files under `results/artifacts/` that belong to it, relative to the root.
    pub artifacts: Vec<String>,
    /// Digest of each of those files.
    pub artifact_digests: BTreeMap<String, Digest>,
    /// The snapshot that it made or is about.
    pub snapshot_ref: Option<SnapshotId>,
    /// The bookmark that it is about.
    pub bookmark: Option<String>,
    /// The operation that it is part of.
    pub operation_id: Option<String>,
    /// How much it concerns.
    pub action_scope: ActionScope,
    /// How its change is shown.
    pub diff_mode: DiffMode,
    /// What it did to files: one, or none.
    pub edits: Vec<Arc<FileEdit>>,
    /// Whether the working tree holds this change. On a draft: whether it does if the workspace
    /// stands right before it; the log decides.
    pub in_workspace: bool,
    /// The semantic boundary that it is, if any.
    pub boundary: Option<String>,
    /// On a `checkpoint`.
    pub bookmark_op: Option<BookmarkOp>,
    /// On a `snapshot_create`.
    pub snapshot: Option<SnapshotNote>,
    /// On a `rewind`.
    pub rewind: Option<RewindNote>,
    /// For files that are not text.
    pub artifact_impacts: Vec<ArtifactImpact>,
    /// When the change was made, where that is not when it was recorded.
    pub authored_at: Option<Timestamp>,
}

/// Longest list of affected lines; what is longer has a range too.
pub const AFFECTED_LINES_MAX: usize = 1000;

impl Body {
    /// A body that says who did what on which branch, and nothing else yet.
    pub fn new(author: Author, action: Action, branch: impl Into<String>) -> Self {
        Body {
            author,
            action,
            branch: branch.into(),
            run_id: None,
            patch: false,
            affected_lines: Vec::new(),
            affected_range: None,
            semantic_block: None,
            semantic_warning: None,
            rationale: None,
            artifacts: Vec::new(),
            artifact_digests: BTreeMap::new(),
            snapshot_ref: None,
            bookmark: None,
            operation_id: None,
            action_scope: ActionScope::Project,
            diff_mode: DiffMode::Unified,
            edits: Vec::new(),
            in_workspace: true,
            boundary: None,
            bookmark_op: None,
            snapshot: None,
            rewind: None,
            artifact_impacts: Vec::new(),
            authored_at: None,
        }
    }

    /// Whether it changes any file.
    pub fn changes_files(&self) -> bool {
        !self.edits.is_empty()
    }

    /// Whether it changes, makes, deletes or renames the file `path`, or one below it.
    pub fn touches(&self, path: &TreePath) -> bool {
        let mut paths = self.edits.iter().flat_map(|edit| edit.paths());
        paths.any(|other| other == path || other.is_below(path))
    }
}

/// An event: what it says, and its place in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id: dense, and in file order.
    pub id: EventId,
    /// When it was recorded; never before the event above it.
    pub ts: Timestamp,
    /// What the clock said then, where it had gone back.
    pub clock: Option<Timestamp>,
    /// The event that it builds on; absent for the first.
    pub parent: Option<EventId>,
    /// Byte offset of the parent's row.
    pub parent_at: Option<u64>,
    /// The newest snapshot on its own line of parents.
    pub base_snapshot: Option<SnapshotId>,
    /// Its place among the rows that were written together.
    pub batch: BatchPlace,
    /// The idempotency key of its batch.
    pub key: Option<String>,
    /// On the first row of a batch with a key: digest of what was asked for.
    pub key_digest: Option<Digest>,
    /// On the first row of the ledger.
    pub format: Option<Format>,
    /// The hash of the row above; absent for the first.
    pub prev: Option<Digest>,
    /// The hash of this row.
    pub hash: Digest,
    /// What it says.
    pub body: Body,
}

impl Event {
    /// When the change was made: `authored_at` where there is one, else when it was recorded.
    pub fn made_at(&self) -> Timestamp {
        self.body.authored_at.unwrap_or(self.ts)
    }
}

/// The place of a row among `n` rows that count together, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlace {
    /// This row.
    pub i: u64,
    /// Rows in all.
    pub n: u64,
}

impl BatchPlace {
    /// The place of a row that was written alone.
    pub const ALONE: BatchPlace = BatchPlace { i: 1, n: 1 };

    /// Whether the batch ends with this row.
    pub fn is_last(self) -> bool {
        self.i == self.n
    }
}
