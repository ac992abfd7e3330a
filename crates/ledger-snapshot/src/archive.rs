//! Seekable archives: a `.tar.zst` that plain `tar --zstd -xf` unpacks, and of which one file is
//! read by decoding one frame.
//!
//! ```text
//! zstd frame 0 .. n-1    tar members in path order; content checksum on, content size given
//! zstd frame n           the end of the tar stream: two blocks of zeros
//! skippable frame        the path index: where which path begins, and the BLAKE3 of each frame
//! skippable frame        the seek table of zstd's seekable format, which lists all of the above
//! ```
//!
//! **Invariant:** the same members give the same bytes, however many threads made them and however
//! many frames were copied from an older archive.
//!
//! **Invariant:** a frame begins with a member, except that a member too long for one frame has
//! some frames to itself. Where frames begin is decided by the paths and sizes near it alone.
//!
//! **Invariant:** trust goes one way: the ledger's row names the index's digest, the index names
//! each frame's, the manifest each content's. A reader uses nothing that it has not checked.

mod error;
mod fields;
mod frame;
mod group;
mod index;
mod member;
mod plan;
mod read;
mod stream;
mod write;

use ledger_core::{Digest, Mode, TreePath};
use serde::{Deserialize, Serialize};

use crate::tree::FileEntry;

pub use error::{ArchiveError, ArchiveWriteError};
pub use read::{ArchiveReader, ArchivedFile};
pub use write::{ArchiveWriter, BoxError, Written};

/// Version of the archive's format: layout, frame boundaries, headers and compression together.
pub(crate) const FORMAT_VERSION: u32 = 1;
/// Compression level of format version 1.
pub(crate) const LEVEL: i32 = 3;

/// Most bytes of tar stream in one frame.
const MAX_FRAME: usize = 8 * MIB;
/// Most frames of an archive.
const MAX_FRAMES: usize = 1 << 18;
/// Most bytes of a path index.
const MAX_INDEX: usize = 64 * MIB;
/// Most bytes of a path, and of a link's target. Linux ends both at 4 KiB.
const MAX_NAME: usize = u16::MAX as usize;
/// The two blocks of zeros that end a tar stream.
const END_LEN: usize = 2 * member::BLOCK;

const MIB: usize = 1024 * 1024;

/// A file that is to go into an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Where it stands.
    pub path: TreePath,
    /// Mode.
    pub mode: Mode,
    /// Length of its content; of a link, of its target.
    pub size: u64,
    /// Digest that its content must have, where it is known beforehand.
    pub hash: Option<Digest>,
}

impl Member {
    /// A member with known content.
    pub fn known(path: &TreePath, entry: &FileEntry) -> Self {
        Member {
            path: path.clone(),
            mode: entry.mode,
            size: entry.size,
            hash: Some(entry.hash),
        }
    }
}

/// A file in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// What it is.
    pub entry: FileEntry,
    /// The frame that it begins in.
    pub frame: u32,
}

/// An archive file as a whole, as its manifest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveDigest {
    /// Digest of all its bytes.
    pub hash: Digest,
    /// Its length.
    pub bytes: u64,
    /// Digest of its index, which vouches for each frame.
    pub index: Digest,
}
