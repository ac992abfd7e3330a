//! The disk, behind one seam.
//!
//! Everything that the project reads or writes below a root goes through [`Storage`]: the ledger's
//! own files and the files of the workspace. The trait holds primitives only; what needs several of
//! them in order (writing a file atomically, say) is a function over it, so that a crash test reaches
//! the steps inside.
//!
//! **Invariant:** no implementation follows a symbolic link, in the last component of a path or before it.

mod os;

use std::fmt;
use std::io;

use crate::path::TreePath;

pub use os::OsStorage;

/// What kind of thing a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A directory.
    Dir,
    /// A device, socket or pipe: never read or tracked.
    Other,
}

/// What the system says of a file without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Kind of file.
    pub kind: FileKind,
    /// Length in bytes; of a link, the length of its target.
    pub size: u64,
    /// Permission bits (`0o7777` at most).
    pub mode: u32,
    /// Last change of the content, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of the content or of the attributes, nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Inode number.
    pub inode: u64,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name: one component.
    pub name: Box<[u8]>,
    /// What stands there; links are not followed.
    pub stat: Stat,
}

/// How a file is opened. A file that is made gets the permission bits, less the process's umask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// To read what exists.
    Read,
    /// To read and write what exists.
    Write,
    /// To read and write; made when it is not there.
    Create(u32),
    /// To read and write; fails with `AlreadyExists` when anything is there.
    CreateNew(u32),
}

/// What a rename does when the new name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameMode {
    /// The new name's file is replaced.
    Replace,
    /// The rename fails with `AlreadyExists`.
    NoReplace,
    /// The two change places, atomically.
    Exchange,
}

/// An operation on the disk failed, and on what.
#[derive(Debug, thiserror::Error)]
#[error("cannot {op} {path}")]
pub struct StorageError {
    /// What was tried: `open`, `write`, `sync`, ...
    pub op: &'static str,
    /// On which path, relative to the root.
    pub path: TreePath,
    /// What the system answered.
    #[source]
    pub source: io::Error,
}

impl StorageError {
    /// An error of `op` on `path`.
    pub fn new(op: &'static str, path: &TreePath, source: io::Error) -> Self {
        let path = path.clone();
        StorageError { op, path, source }
    }

    /// The same error again; an [`io::Error`] cannot be cloned.
    pub(crate) fn for_another(&self) -> Self {
        let source = match self.source.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(self.source.kind(), self.source.to_string()),
        };
        StorageError::new(self.op, &self.path, source)
    }

    /// The system's kind of error.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// Whether nothing stands at the path: the name is not there, or what stands before it is no
    /// directory (a link is none).
    pub fn is_absent(&self) -> bool {
        // To open a link is refused with the same error as to go through one.
        let through_link = self.op != "open"
            && self.source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        through_link
            || matches!(
                self.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            )
    }
}

/// Turns "nothing there" into `None`.
pub fn if_present<T>(result: Result<T, StorageError>) -> Result<Option<T>, StorageError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}

/// One directory tree on a disk; paths are relative to its root.
pub trait Storage: Send + Sync {
    /// Opens a regular file. A link at its name is an error, as is a directory, device or pipe.
    fn open(&self, path: &TreePath, mode: OpenMode) -> Result<Box<dyn StorageFile>, StorageError>;

    /// What stands at `path`; of a link, the link itself.
    fn stat(&self, path: &TreePath) -> Result<Stat, StorageError>;

    /// The entries of a directory, in no order, without `.` and `..`.
    fn list(&self, dir: &TreePath) -> Result<Vec<Entry>, StorageError>;

    /// The target of a link, as bytes.
    fn read_link(&self, path: &TreePath) -> Result<Vec<u8>, StorageError>;

    /// Makes a link; `AlreadyExists` when the name is taken.
    fn create_link(&self, path: &TreePath, target: &[u8]) -> Result<(), StorageError>;

    /// Makes one directory with these permission bits, less the umask; its parent must be there.
    fn create_dir(&self, dir: &TreePath, mode: u32) -> Result<(), StorageError>;

    /// Removes a file or a link.
    fn remove_file(&self, path: &TreePath) -> Result<(), StorageError>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &TreePath) -> Result<(), StorageError>;

    /// Gives a file, link or directory another name.
    fn rename(&self, from: &TreePath, to: &TreePath, mode: RenameMode) -> Result<(), StorageError>;

    /// Makes the names in a directory durable: those made, removed and renamed before the call.
    fn sync_dir(&self, dir: &TreePath) -> Result<(), StorageError>;
}

/// An open regular file.
pub trait StorageFile: Send + Sync {
    /// Reads into `buffer` from `offset`; returns how many bytes, 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError>;

    /// Writes all of `bytes` at `offset`, or fails having written any part of them.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError>;

    /// What the system says of the open file.
    fn stat(&self) -> Result<Stat, StorageError>;

    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, len: u64) -> Result<(), StorageError>;

    /// Sets the permission bits.
    fn set_mode(&self, mode: u32) -> Result<(), StorageError>;

    /// Makes the file's bytes and length durable (`fdatasync`); its name only with the directory's sync.
    fn sync(&self) -> Result<(), StorageError>;

    /// Tries to take the file's exclusive advisory lock, held until the file is closed.
    fn try_lock(&self) -> Result<bool, StorageError>;
}

impl fmt::Debug for dyn StorageFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StorageFile")
    }
}

/// Reads exactly `length` bytes from `offset`, or up to the end of the file.
pub fn read_range(
    file: &dyn StorageFile,
    offset: u64,
    length: usize,
) -> Result<Vec<u8>, StorageError> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        let count = file.read_at(&mut bytes[filled..], offset + filled as u64)?;
        if count == 0 {
            break;
        }
        filled += count;
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Bytes first asked for when a file is read whole; the size that `stat` gives is only a hint.
const READ_CHUNK: usize = 64 * 1024;

/// Reads an open file from its start to wherever its end is found to be.
pub fn read_to_end(file: &dyn StorageFile, size_hint: u64) -> Result<Vec<u8>, StorageError> {
    let hint = usize::try_from(size_hint).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let mut step = hint.saturating_add(1).clamp(512, 16 * 1024 * 1024);
    loop {
        let filled = bytes.len();
        bytes.resize(filled + step, 0);
        let count = file.read_at(&mut bytes[filled..], filled as u64)?;
        bytes.truncate(filled + count);
        if count == 0 {
            return Ok(bytes);
        }
        step = hint
            .saturating_sub(bytes.len())
            .clamp(READ_CHUNK.min(step), step.max(READ_CHUNK));
    }
}

/// Reads a whole regular file.
pub fn read_file(storage: &dyn Storage, path: &TreePath) -> Result<Vec<u8>, StorageError> {
    let file = storage.open(path, OpenMode::Read)?;
    read_to_end(file.as_ref(), file.stat()?.size)
}

/// How sure a write must be before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The file and its name survive a power cut.
    Durable,
    /// It may be lost or old after a power cut, as something that can be made again.
    Derived,
}

/// Replaces (or makes) a file so that any reader, and any crash, sees the old bytes or the new ones.
///
/// The bytes go to `<name>.tmp-<token>` beside it first. With [`Durability::Durable`] they and the
/// name are on disk when it returns; the directories above must be durable already.
pub fn write_atomically(
    storage: &dyn Storage,
    path: &TreePath,
    bytes: &[u8],
    token: u64,
    durability: Durability,
) -> Result<(), StorageError> {
    let staged = temporary_name(path, token);
    write_new(storage, &staged, bytes, durability)?;
    if let Err(error) = storage.rename(&staged, path, RenameMode::Replace) {
        discard(storage, &staged);
        return Err(error);
    }
    match durability {
        Durability::Durable => storage.sync_dir(&path.parent()),
        Durability::Derived => Ok(()),
    }
}

/// Makes a new private file holding `bytes`; synced (but not its name) when it is to be durable.
/// When it cannot be written, nothing is left of it.
pub fn write_new(
    storage: &dyn Storage,
    path: &TreePath,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), StorageError> {
    let file = storage.open(path, OpenMode::CreateNew(PRIVATE_FILE))?;
    let written = file.write_at(bytes, 0).and_then(|()| match durability {
        Durability::Durable => file.sync(),
        Durability::Derived => Ok(()),
    });
    if written.is_err() {
        discard(storage, path);
    }
    written
}

/// Removes a file of our own that is of no use. What stays behind is named as temporary.
fn discard(storage: &dyn Storage, path: &TreePath) {
    if let Err(error) = storage.remove_file(path) {
        tracing::warn!(%error, "a temporary file stays behind");
    }
}

/// The name that [`write_atomically`] stages a file under.
pub fn temporary_name(path: &TreePath, token: u64) -> TreePath {
    let mut name = path.as_bytes().to_vec();
    name.extend_from_slice(format!(".tmp-{token:016x}").as_bytes());
    // A valid path with a suffix on its last component is a valid path.
    TreePath::parse(name).unwrap_or_else(|_| path.clone())
}

/// Permission bits of the ledger's own files.
pub const PRIVATE_FILE: u32 = 0o600;
/// Permission bits of the ledger's own directories.
pub const PRIVATE_DIR: u32 = 0o700;

/// Makes a directory and those above it, each durable in the one that holds it when asked for.
///
/// Those that are there already are synced too: whoever made them may have been stopped before that.
pub fn create_dirs(
    storage: &dyn Storage,
    dir: &TreePath,
    mode: u32,
    durability: Durability,
) -> Result<(), StorageError> {
    if dir.is_root() {
        return Ok(());
    }
    let made = match storage.create_dir(dir, mode) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dirs(storage, &dir.parent(), mode, durability)?;
            storage.create_dir(dir, mode)
        }
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if storage.stat(dir)?.kind != FileKind::Dir {
                let source = io::Error::from(io::ErrorKind::NotADirectory);
                return Err(StorageError::new("make directory", dir, source));
            }
            if durability == Durability::Durable {
                create_dirs(storage, &dir.parent(), mode, durability)?;
            }
            Ok(())
        }
        Err(error) => Err(error),
    };
    match made {
        // Somebody else made it meanwhile.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    match durability {
        Durability::Durable => storage.sync_dir(&dir.parent()),
        Durability::Derived => Ok(()),
    }
}
