//! Reading files that may be changing.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ledger_core::storage::{Entry, OpenMode, RenameMode, Stat, Storage, StorageError, StorageFile};
use ledger_core::{Digest, Mode, Timestamp, TreePath};
use ledger_snapshot::{ReadFileError, StatCache, read_stable};
use ledger_testkit::SimStorage;

use crate::support::*;

/// A disk on which somebody writes to a file each time that it was read from.
struct Busy {
    disk: SimStorage,
    /// Writes that are still to come.
    left: Arc<AtomicUsize>,
}

struct BusyFile {
    file: Box<dyn StorageFile>,
    writer: Box<dyn StorageFile>,
    left: Arc<AtomicUsize>,
}

impl StorageFile for BusyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        let count = self.file.read_at(buffer, offset)?;
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            self.writer.write_at(&[b'0' + left as u8], 0)?;
        }
        Ok(count)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        self.file.write_at(bytes, offset)
    }
    fn stat(&self) -> Result<Stat, StorageError> {
        self.file.stat()
    }
    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        self.file.set_len(len)
    }
    fn set_mode(&self, mode: u32) -> Result<(), StorageError> {
        self.file.set_mode(mode)
    }
    fn sync(&self) -> Result<(), StorageError> {
        self.file.sync()
    }
    fn try_lock(&self) -> Result<bool, StorageError> {
        self.file.try_lock()
    }
}

impl Storage for Busy {
    fn open(&self, path: &TreePath, mode: OpenMode) -> Result<Box<dyn StorageFile>, StorageError> {
        let file = self.disk.open(path, mode)?;
        let writer = self.disk.open(path, OpenMode::Write)?;
        let left = self.left.clone();
        Ok(Box::new(BusyFile { file, writer, left }))
    }
    fn stat(&self, path: &TreePath) -> Result<Stat, StorageError> {
        self.disk.stat(path)
    }
    fn list(&self, dir: &TreePath) -> Result<Vec<Entry>, StorageError> {
        self.disk.list(dir)
    }
    fn read_link(&self, path: &TreePath) -> Result<Vec<u8>, StorageError> {
        self.disk.read_link(path)
    }
    fn create_link(&self, path: &TreePath, target: &[u8]) -> Result<(), StorageError> {
        self.disk.create_link(path, target)
    }
    fn create_dir(&self, dir: &TreePath, mode: u32) -> Result<(), StorageError> {
        self.disk.create_dir(dir, mode)
    }
    fn remove_file(&self, path: &TreePath) -> Result<(), StorageError> {
        self.disk.remove_file(path)
    }
    fn remove_dir(&self, dir: &TreePath) -> Result<(), StorageError> {
        self.disk.remove_dir(dir)
    }
    fn rename(&self, from: &TreePath, to: &TreePath, mode: RenameMode) -> Result<(), StorageError> {
        self.disk.rename(from, to, mode)
    }
    fn sync_dir(&self, dir: &TreePath) -> Result<(), StorageError> {
        self.disk.sync_dir(dir)
    }
}

fn busy(writes: usize) -> Busy {
    let disk = SimStorage::new();
    disk.write_file("a", b"x content");
    Busy {
        disk,
        left: Arc::new(AtomicUsize::new(writes)),
    }
}

/// A moment after all that a simulated disk has seen.
const LATER: i64 = 4_000_000_000_000;

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again() {
    let disk = busy(2);
    let read = read_stable(&disk, &path("a"), 100).unwrap();
    assert_eq!(read.content, b"1 content");
    assert_eq!(read.stat, disk.stat(&path("a")).unwrap());
}

#[test]
fn a_file_that_never_holds_still_is_not_believed_by_the_cache() {
    let disk = busy(9);
    let read = read_stable(&disk, &path("a"), 100).unwrap();
    assert_eq!(read.content, b"7 content");
    let mut cache = StatCache::new();
    let digest = Digest::of(&read.content);
    cache.insert(
        path("a"),
        &read.stat,
        &digest,
        Timestamp::from_millis(LATER),
    );
    assert!(cache.is_empty());
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let disk = Disk::new();
    disk.put("a", "12345");
    assert_eq!(
        read_stable(&disk.storage, &path("a"), 5).unwrap().content,
        b"12345"
    );
    let error = read_stable(&disk.storage, &path("a"), 4).unwrap_err();
    assert_eq!(error.to_string(), "a has more than 4 bytes");
}

#[test]
fn files_links_and_what_is_neither_are_told_apart() {
    let disk = Disk::new();
    disk.put("dir/a", "");
    symlink("dir/a", disk.os_path("link")).unwrap();
    symlink("dir", disk.os_path("to-dir")).unwrap();
    let read = |name: &str| read_stable(&disk.storage, &path(name), 100);
    let empty = read("dir/a").unwrap();
    assert_eq!((empty.mode, &empty.content[..]), (Mode::File, &b""[..]));
    let link = read("link").unwrap();
    assert_eq!(
        (link.mode, &link.content[..]),
        (Mode::Symlink, &b"dir/a"[..])
    );
    assert_eq!(
        read("dir").unwrap_err().to_string(),
        "dir is neither a file nor a link"
    );
    match read("none") {
        Err(ReadFileError::Storage(error)) => assert!(error.is_absent()),
        other => panic!("{other:?}"),
    }
    assert!(read("to-dir/a").is_err());
}
