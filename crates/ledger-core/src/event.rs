//! Events: what the ledger remembers, as types.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::edit::LineEdit;
use crate::path::TreePath;

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
    LinesObject(Digest),
    /// To the object that has the digest of the file after.
    Content,
}
