//! Trees of files: what is to be tracked, what it holds, and how a whole tree is kept.
//!
//! - [`Walker`] lists the files of a workspace by git's ignore rules; [`StatCache`] knows which of
//!   them did not change since they were read, and [`read_stable`] reads one that somebody may be
//!   writing.
//! - [`ArchiveWriter`] and [`ArchiveReader`] keep a tree as a `.tar.zst` that plain `tar` unpacks and
//!   of which one file is read by decoding one frame; a [`Manifest`] beside it says what is in it.
//! - [`TreeWriter`] puts files under a root.
//!
//! When to take a snapshot, and which to keep, is decided elsewhere. All disk access goes through
//! [`Storage`](ledger_core::storage::Storage), and no link is ever followed.
//!
//! ```
//! use ledger_core::storage::{OpenMode, OsStorage, Storage};
//! use ledger_core::{Mode, TreePath};
//! use ledger_snapshot::{ArchiveReader, ArchiveWriter, Member, Walker, mode_of, read_stable};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # std::fs::write(dir.path().join("hello.txt"), "hello\n")?;
//! let disk = OsStorage::open(dir.path())?;
//! let found = Walker::new(&disk, &[]).walk()?.files;
//! let member = |file: &ledger_snapshot::Found| {
//!     let (path, size, hash) = (file.path.clone(), file.stat.size, None);
//!     Some(Member { path, mode: mode_of(&file.stat)?, size, hash })
//! };
//! let members: Vec<Member> = found.iter().filter_map(member).collect();
//!
//! let snapshot = TreePath::parse("snap.tar.zst")?;
//! let out = disk.open(&snapshot, OpenMode::CreateNew(0o600))?;
//! let written = ArchiveWriter::new(&members).write(out.as_ref(), |member| {
//!     read_stable(&disk, &member.path, member.size).map(|file| file.content)
//! })?;
//!
//! let file = disk.open(&snapshot, OpenMode::Read)?;
//! let archive = ArchiveReader::open(file, Some(&written.archive.index))?;
//! let hello = archive.read(&TreePath::parse("hello.txt")?)?;
//! assert_eq!(hello, Some((Mode::File, b"hello\n".to_vec())));
//! # Ok(())
//! # }
//! ```

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
