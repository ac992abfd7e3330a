//! Trees of files.
#![allow(missing_docs)]

mod archive;
mod parallel;
mod tree;

pub use archive::{
    ArchiveDigest, ArchiveError, ArchiveReader, ArchiveWriteError, ArchiveWriter, ArchivedFile,
    BoxError, Member, Stored, Written,
};
pub use tree::{FileEntry, Tree, TreeDiff};
