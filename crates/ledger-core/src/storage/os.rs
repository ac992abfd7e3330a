//! The real disk: every name is resolved beneath the root, and no link is followed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{Entry, FileKind, OpenMode, RenameMode, Stat, Storage, StorageError, StorageFile};
use crate::path::TreePath;

/// A directory of the real file system, held open.
#[derive(Debug)]
pub struct OsStorage {
    root: OwnedFd,
    root_path: PathBuf,
}

/// A directory that names are looked up in: the root, or one opened for the purpose.
enum Parent<'a> {
    Root(BorrowedFd<'a>),
    Opened(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Parent::Root(fd) => *fd,
            Parent::Opened(fd) => fd.as_fd(),
        }
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

impl OsStorage {
    /// Opens an existing directory as a root. The root's own path may lead through links.
    pub fn open(root: impl AsRef<Path>) -> io::Result<Self> {
        let root_path = root.as_ref().to_path_buf();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&root_path, flags, Mode::empty())?;
        Ok(OsStorage { root, root_path })
    }

    /// The path that it was opened by.
    pub fn root_path(&self) -> &Path {
        &self.root_path
    }

    /// Opens the directory at `dir`, component by component or in one system call.
    fn directory(&self, dir: &TreePath, access: OFlags) -> Result<Parent<'_>, Errno> {
        if dir.is_root() {
            return Ok(Parent::Root(self.root.as_fd()));
        }
        open_beneath(self.root.as_fd(), dir, access | DIRECTORY, Mode::empty()).map(Parent::Opened)
    }

    fn parent(&self, path: &TreePath) -> Result<Parent<'_>, Errno> {
        self.directory(&path.parent(), PATH_ONLY)
    }
}

#[cfg(target_os = "linux")]
const PATH_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PATH_ONLY: OFlags = OFlags::RDONLY;

/// Opens `path` beneath `root` without following a link anywhere.
#[cfg(target_os = "linux")]
fn open_beneath(
    root: BorrowedFd<'_>,
    path: &TreePath,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // EAGAIN: a component was renamed meanwhile. The kernel asks to try again, and is given a bound.
    for _ in 0..16 {
        match rustix::fs::openat2(root, path.as_bytes(), flags, mode, resolve) {
            Err(Errno::AGAIN) => continue,
            Err(Errno::NOSYS | Errno::PERM) => break,
            result => return result,
        }
    }
    open_by_components(root, path, flags, mode)
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(
    root: BorrowedFd<'_>,
    path: &TreePath,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    open_by_components(root, path, flags, mode)
}

/// The same where the kernel has no `openat2`, or a sandbox forbids it.
fn open_by_components(
    root: BorrowedFd<'_>,
    path: &TreePath,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let mut held: Option<OwnedFd> = None;
    for name in path.parent().components() {
        let at = held.as_ref().map_or(root, |fd| fd.as_fd());
        held = Some(rustix::fs::openat(
            at,
            name,
            PATH_ONLY | DIRECTORY,
            Mode::empty(),
        )?);
    }
    let at = held.as_ref().map_or(root, |fd| fd.as_fd());
    rustix::fs::openat(at, path.name(), flags | OFlags::NOFOLLOW, mode)
}

/// Wraps the system's answer with the operation and the path.
fn place<T>(
    op: &'static str,
    path: &TreePath,
    result: Result<T, Errno>,
) -> Result<T, StorageError> {
    result.map_err(|errno| StorageError::new(op, path, errno.into()))
}

#[cfg(target_os = "linux")]
fn stat_of(raw: &rustix::fs::Stat) -> Stat {
    const NANOS: i64 = 1_000_000_000;
    Stat {
        kind: kind_of(FileType::from_raw_mode(raw.st_mode)),
        size: u64::try_from(raw.st_size).unwrap_or(0),
        mode: raw.st_mode & 0o7777,
        mtime_ns: raw
            .st_mtime
            .saturating_mul(NANOS)
            .saturating_add(raw.st_mtime_nsec as i64),
        ctime_ns: raw
            .st_ctime
            .saturating_mul(NANOS)
            .saturating_add(raw.st_ctime_nsec as i64),
        inode: raw.st_ino,
    }
}

#[cfg(not(target_os = "linux"))]
fn stat_of(raw: &rustix::fs::Stat) -> Stat {
    const NANOS: i64 = 1_000_000_000;
    Stat {
        kind: kind_of(FileType::from_raw_mode(raw.st_mode)),
        size: u64::try_from(raw.st_size).unwrap_or(0),
        mode: u32::from(raw.st_mode) & 0o7777,
        mtime_ns: (raw.st_mtime as i64)
            .saturating_mul(NANOS)
            .saturating_add(raw.st_mtime_nsec as i64),
        ctime_ns: (raw.st_ctime as i64)
            .saturating_mul(NANOS)
            .saturating_add(raw.st_ctime_nsec as i64),
        inode: raw.st_ino as u64,
    }
}

fn kind_of(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Symlink => FileKind::Symlink,
        FileType::Directory => FileKind::Dir,
        _ => FileKind::Other,
    }
}

impl Storage for OsStorage {
    fn open(&self, path: &TreePath, mode: OpenMode) -> Result<Box<dyn StorageFile>, StorageError> {
        // NONBLOCK: a pipe that stands where a file should must not hold us up.
        let base = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let (flags, bits) = match mode {
            OpenMode::Read => (OFlags::RDONLY, 0),
            OpenMode::Write => (OFlags::RDWR, 0),
            OpenMode::Create(bits) => (OFlags::RDWR | OFlags::CREATE, bits),
            OpenMode::CreateNew(bits) => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, bits),
        };
        let bits = Mode::from_raw_mode(bits as rustix::fs::RawMode);
        let fd = place(
            "open",
            path,
            open_beneath(self.root.as_fd(), path, flags | base, bits),
        )?;
        let raw = place("stat", path, rustix::fs::fstat(&fd))?;
        if kind_of(FileType::from_raw_mode(raw.st_mode)) != FileKind::File {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            return Err(StorageError::new("open", path, source));
        }
        let path = path.clone();
        Ok(Box::new(OsFile {
            file: std::fs::File::from(fd),
            path,
            locked: AtomicBool::new(false),
        }))
    }

    fn stat(&self, path: &TreePath) -> Result<Stat, StorageError> {
        let raw = if path.is_root() {
            rustix::fs::fstat(&self.root)
        } else {
            self.parent(path)
                .and_then(|dir| rustix::fs::statat(dir, path.name(), AtFlags::SYMLINK_NOFOLLOW))
        };
        Ok(stat_of(&place("stat", path, raw)?))
    }

    fn list(&self, dir: &TreePath) -> Result<Vec<Entry>, StorageError> {
        let entries = || {
            let parent = self.directory(dir, OFlags::RDONLY)?;
            let mut entries = Vec::new();
            // A descriptor of its own: reading moves its position.
            for entry in rustix::fs::Dir::read_from(&parent)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if matches!(name, b"." | b"..") {
                    continue;
                }
                match rustix::fs::statat(&parent, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(raw) => entries.push(Entry {
                        name: name.into(),
                        stat: stat_of(&raw),
                    }),
                    // Removed since it was listed.
                    Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno),
                }
            }
            Ok(entries)
        };
        place("list", dir, entries())
    }

    fn read_link(&self, path: &TreePath) -> Result<Vec<u8>, StorageError> {
        let target = self
            .parent(path)
            .and_then(|dir| rustix::fs::readlinkat(dir, path.name(), Vec::new()));
        Ok(place("read link", path, target)?.into_bytes())
    }

    fn create_link(&self, path: &TreePath, target: &[u8]) -> Result<(), StorageError> {
        let made = self
            .parent(path)
            .and_then(|dir| rustix::fs::symlinkat(target, dir, path.name()));
        place("make link", path, made)
    }

    fn create_dir(&self, dir: &TreePath, mode: u32) -> Result<(), StorageError> {
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        let made = self
            .parent(dir)
            .and_then(|parent| rustix::fs::mkdirat(parent, dir.name(), mode));
        place("make directory", dir, made)
    }

    fn remove_file(&self, path: &TreePath) -> Result<(), StorageError> {
        let removed = self
            .parent(path)
            .and_then(|dir| rustix::fs::unlinkat(dir, path.name(), AtFlags::empty()));
        place("remove", path, removed)
    }

    fn remove_dir(&self, dir: &TreePath) -> Result<(), StorageError> {
        let removed = self
            .parent(dir)
            .and_then(|parent| rustix::fs::unlinkat(parent, dir.name(), AtFlags::REMOVEDIR));
        place("remove directory", dir, removed)
    }

    fn rename(&self, from: &TreePath, to: &TreePath, mode: RenameMode) -> Result<(), StorageError> {
        let renamed = || {
            let old = self.parent(from)?;
            let new = self.parent(to)?;
            match mode {
                RenameMode::Replace => rustix::fs::renameat(old, from.name(), new, to.name()),
                RenameMode::NoReplace => rustix::fs::renameat_with(
                    old,
                    from.name(),
                    new,
                    to.name(),
                    RenameFlags::NOREPLACE,
                ),
                RenameMode::Exchange => rustix::fs::renameat_with(
                    old,
                    from.name(),
                    new,
                    to.name(),
                    RenameFlags::EXCHANGE,
                ),
            }
        };
        place("rename", to, renamed())
    }

    fn sync_dir(&self, dir: &TreePath) -> Result<(), StorageError> {
        let synced = self
            .directory(dir, OFlags::RDONLY)
            .and_then(rustix::fs::fsync);
        place("sync directory", dir, synced)
    }
}

/// An open file of the real disk.
struct OsFile {
    file: std::fs::File,
    path: TreePath,
    locked: AtomicBool,
}

impl Drop for OsFile {
    fn drop(&mut self) {
        if *self.locked.get_mut() {
            // To close the file is not enough: a process that another thread is just starting has it
            // open, too, until it runs its program. If this fails, closing does it a little later.
            let _ = self.file.unlock();
        }
    }
}

impl OsFile {
    fn place<T>(&self, op: &'static str, result: io::Result<T>) -> Result<T, StorageError> {
        result.map_err(|source| StorageError::new(op, &self.path, source))
    }
}

impl StorageFile for OsFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => return self.place("read", result),
            }
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        self.place("write", self.file.write_all_at(bytes, offset))
    }

    fn stat(&self) -> Result<Stat, StorageError> {
        let raw = rustix::fs::fstat(&self.file).map_err(io::Error::from);
        Ok(stat_of(&self.place("stat", raw)?))
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        self.place("set the length of", self.file.set_len(len))
    }

    fn set_mode(&self, mode: u32) -> Result<(), StorageError> {
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        let set = rustix::fs::fchmod(&self.file, mode).map_err(io::Error::from);
        self.place("set the mode of", set)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.place("sync", self.file.sync_data())
    }

    fn try_lock(&self) -> Result<bool, StorageError> {
        match self.file.try_lock() {
            Ok(()) => {
                self.locked.store(true, Ordering::Relaxed);
                Ok(true)
            }
            Err(std::fs::TryLockError::WouldBlock) => Ok(false),
            Err(std::fs::TryLockError::Error(source)) => self.place("lock", Err(source)),
        }
    }
}
