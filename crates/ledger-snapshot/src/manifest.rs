//! The manifest of a snapshot: a JSON object beside the archive, as ADR-007 (5.2) has it.
//!
//! Beside the ADR's fields it holds `event_offset`, `format`, `archive` and `files`. Paths that are
//! not UTF-8 cannot be keys of a JSON object; they stand in the arrays `hashes_raw` and `files_raw`.
//!
//! **Invariant:** the same manifest is written as the same bytes: fields in one order, one entry a
//! line, by the bytes of its path.

mod decode;
mod encode;

use std::collections::BTreeMap;

use ledger_core::{EventId, SnapshotId, Timestamp, TreePath};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::archive::{ArchiveDigest, FORMAT_VERSION, LEVEL, Stored};
use crate::tree::Tree;

/// What the `format` of a manifest is called.
const FORMAT_NAME: &str = "bench-snapshot";

/// What a snapshot is, and what is in it.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Its number.
    pub id: SnapshotId,
    /// When it was taken.
    pub ts: Timestamp,
    /// The event whose state it holds.
    pub base_event_id: EventId,
    /// Where in the ledger that event's row begins.
    pub event_offset: u64,
    /// Where the archive lies, relative to the workspace.
    pub tar_uri: String,
    /// Interpreters, system, models.
    pub env: BTreeMap<String, Value>,
    /// Seeds of random numbers.
    pub seeds: BTreeMap<String, Value>,
    /// Versions of tools.
    pub tools: BTreeMap<String, Value>,
    /// The archive.
    pub archive: ArchiveDigest,
    /// The files in it.
    pub files: BTreeMap<TreePath, Stored>,
    /// Fields of a later version, kept as they were read.
    pub unknown: BTreeMap<String, Box<RawValue>>,
}

impl Manifest {
    /// The files as a tree.
    pub fn tree(&self) -> Tree {
        let entry = |(path, stored): (&TreePath, &Stored)| (path.clone(), stored.entry);
        self.files.iter().map(entry).collect()
    }
}

/// The `format` field.
#[derive(Serialize, Deserialize)]
struct Format {
    name: String,
    version: u32,
    level: i32,
}

impl Format {
    /// The one that is written.
    fn current() -> Self {
        Format {
            name: FORMAT_NAME.to_owned(),
            version: FORMAT_VERSION,
            level: LEVEL,
        }
    }
}

/// Names of the fields, in the order in which they are written.
mod field {
    pub const ID: &str = "id";
    pub const TS: &str = "ts";
    pub const BASE_EVENT_ID: &str = "base_event_id";
    pub const EVENT_OFFSET: &str = "event_offset";
    pub const TAR_URI: &str = "tar_uri";
    pub const ENV: &str = "env";
    pub const SEEDS: &str = "seeds";
    pub const TOOLS: &str = "tools";
    pub const FORMAT: &str = "format";
    pub const ARCHIVE: &str = "archive";
    pub const HASHES: &str = "hashes";
    pub const HASHES_RAW: &str = "hashes_raw";
    pub const FILES: &str = "files";
    pub const FILES_RAW: &str = "files_raw";
}

/// A manifest could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not one JSON object with each key once.
    #[error("manifest is not a JSON object as it should be")]
    Json(#[source] serde_json::Error),
    /// A field is not what it should be; lines and columns are counted within the field.
    #[error("field {field} of the manifest cannot be read")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A field that every manifest of ours has is not there.
    #[error("manifest has no field {field}")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// It is of a version that is not known here.
    #[error(
        "manifest has format {name} version {version} level {level}, and {supported} is known here"
    )]
    Version {
        /// Name of its format.
        name: String,
        /// Version of its format.
        version: u32,
        /// Compression level that it names.
        level: i32,
        /// The format, version and level that are known.
        supported: String,
    },
    /// A path has a hash but no size and mode, or the other way round.
    #[error("{path} is not in both hashes and files of the manifest")]
    Unpaired {
        /// The path.
        path: TreePath,
    },
    /// A path is there twice.
    #[error("{path} is in {field} of the manifest twice")]
    Duplicate {
        /// The field.
        field: &'static str,
        /// The path.
        path: TreePath,
    },
    /// A path stands below another one, which is a file.
    #[error("{path} stands below {above}, which is a file")]
    Nested {
        /// The path.
        path: TreePath,
        /// The file above it.
        above: TreePath,
    },
}
