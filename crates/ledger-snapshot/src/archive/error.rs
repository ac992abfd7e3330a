//! What can go wrong with an archive.

use ledger_core::storage::StorageError;
use ledger_core::{Digest, InvalidPath, TreePath};

use super::write::BoxError;

/// An archive could not be read, or is not what it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The disk failed.
    #[error("archive cannot be read")]
    Storage(#[from] StorageError),
    /// The frames, or the index or seek table at the end, are not laid out as they must be.
    #[error("archive is damaged at byte {offset}: {why}")]
    Layout {
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        why: &'static str,
    },
    /// The archive is of a version that this reader does not know.
    #[error("archive has format version {found}, and {supported} is known here")]
    Version {
        /// The archive's.
        found: u32,
        /// The reader's.
        supported: u32,
    },
    /// The index is not the one that the caller trusts.
    #[error("index of the archive is {found}, expected {expected}")]
    WrongIndex {
        /// Digest that was expected.
        expected: Digest,
        /// Digest that the archive has.
        found: Digest,
    },
    /// A frame's bytes are not those that the index names, or do not decode.
    #[error("frame {frame} at byte {offset} is damaged: {why}")]
    Frame {
        /// Number of the frame.
        frame: usize,
        /// Where it begins in the file.
        offset: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A member is not one that an archive of ours can hold.
    #[error("member at byte {at} of frame {frame} is refused: {why}")]
    Member {
        /// Number of the frame.
        frame: usize,
        /// Where the member begins in the decoded frame.
        at: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A member's name leads out of the tree, or is none.
    #[error("member at byte {at} of frame {frame} has no usable name")]
    Path {
        /// Number of the frame.
        frame: usize,
        /// Where the member begins in the decoded frame.
        at: usize,
        /// What is wrong with the name.
        #[source]
        source: InvalidPath,
    },
    /// A member is longer than the reader was told to accept.
    #[error("{path} has {size} bytes, and {limit} is the limit")]
    TooLarge {
        /// The member.
        path: TreePath,
        /// Its length, at least.
        size: u64,
        /// The limit.
        limit: u64,
    },
}

/// An archive could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveWriteError {
    /// The disk failed.
    #[error("archive cannot be written")]
    Storage(#[from] StorageError),
    /// The content of a member was not to be had.
    #[error("content of {path} cannot be read")]
    Content {
        /// The member.
        path: TreePath,
        /// What the caller's function said.
        #[source]
        source: BoxError,
    },
    /// A member's content has another length than was planned: the file has changed since.
    #[error("{path} has {found} bytes, expected {expected}")]
    SizeChanged {
        /// The member.
        path: TreePath,
        /// Length that was planned.
        expected: u64,
        /// Length that was found.
        found: u64,
    },
    /// A member's content has another digest than was planned.
    #[error("content of {path} is {found}, expected {expected}")]
    HashMismatch {
        /// The member.
        path: TreePath,
        /// Digest that was planned.
        expected: Digest,
        /// Digest of what was found.
        found: Digest,
    },
    /// The members are not in ascending order of path, each once.
    #[error("{path} is out of order, or there twice")]
    Unsorted {
        /// The member.
        path: TreePath,
    },
    /// A member stands at the root itself.
    #[error("a member has no name")]
    Unnamed,
    /// A member stands below another member, which no disk can hold.
    #[error("{path} stands below {above}, which is a file")]
    Nested {
        /// The member.
        path: TreePath,
        /// The member above it.
        above: TreePath,
    },
    /// A member's name, or a link's target, is longer than an archive holds.
    #[error("name or target of {path} is longer than {limit} bytes")]
    NameTooLong {
        /// The member.
        path: TreePath,
        /// The limit.
        limit: usize,
    },
    /// A link's target is empty or holds a NUL byte.
    #[error("target of link {path} is empty or holds a NUL byte")]
    InvalidTarget {
        /// The link.
        path: TreePath,
    },
    /// There are more frames, or longer names, than an index holds.
    #[error("tree is too large for one archive: {frames} frames")]
    TooManyFrames {
        /// How many frames it would take.
        frames: usize,
    },
    /// The compressor failed, for want of memory.
    #[error("frame that begins with {} cannot be compressed", start.as_ref().unwrap_or(&TreePath::root()))]
    Compress {
        /// The first path in it; none where a member goes on.
        start: Option<TreePath>,
        /// What zstd said.
        #[source]
        source: std::io::Error,
    },
}
