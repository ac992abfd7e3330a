//! Trees of files.
#![allow(missing_docs)]

mod archive;
mod manifest;
mod parallel;
mod stable_read;
mod stat_cache;
mod tree;
mod walk;
mod writer;

pub use archive::{
    ArchiveDigest, ArchiveError, ArchiveReader, ArchiveWriteError, ArchiveWriter, ArchivedFile,
    BoxError, Member, Stored, Written,
};
pub use manifest::{Manifest, ManifestError};
pub use stable_read::{ReadFile, ReadFileError, mode_of, read_stable};
pub use stat_cache::StatCache;
pub use tree::{FileEntry, Tree, TreeDiff};
pub use walk::{Exclusion, Found, IgnoreWarning, Walk, Walker, stat_many};
pub use writer::{TreeWriteError, TreeWriter};
