//! Disks, trees and archives that the tests share.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ledger_core::storage::{Durability, create_dirs};
use ledger_core::storage::{OpenMode, OsStorage, Storage, StorageFile, read_file, write_new};
use ledger_core::{Mode, TreePath};
use ledger_snapshot::{
    ArchiveError, ArchiveReader, ArchiveWriteError, ArchiveWriter, Member, Written,
};
use proptest::prelude::*;

/// A temporary directory as a disk.
pub struct Disk {
    pub dir: tempfile::TempDir,
    pub storage: OsStorage,
}

impl Disk {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let storage = OsStorage::open(dir.path()).unwrap();
        Disk { dir, storage }
    }

    pub fn os_path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file with the directories above it.
    pub fn put(&self, at: &str, content: impl AsRef<[u8]>) {
        let at = path(at);
        create_dirs(&self.storage, &at.parent(), 0o755, Durability::Derived).unwrap();
        let _ = self.storage.remove_file(&at);
        write_new(&self.storage, &at, content.as_ref(), Durability::Derived).unwrap();
    }

    pub fn open(&self, at: &str) -> Box<dyn StorageFile> {
        self.storage.open(&path(at), OpenMode::Read).unwrap()
    }

    pub fn bytes(&self, at: &str) -> Vec<u8> {
        read_file(&self.storage, &path(at)).unwrap()
    }
}

pub fn path(text: impl AsRef<[u8]>) -> TreePath {
    TreePath::parse(text).unwrap()
}

pub fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Files with their contents.
pub type Files = BTreeMap<TreePath, (Mode, Vec<u8>)>;

pub fn members(files: &Files) -> Vec<Member> {
    let member = |(path, (mode, content)): (&TreePath, &(Mode, Vec<u8>))| Member {
        path: path.clone(),
        mode: *mode,
        size: content.len() as u64,
        hash: None,
    };
    files.iter().map(member).collect()
}

/// The content of a member, as an archive asks for it.
pub fn content_of(files: &Files) -> impl Fn(&Member) -> Result<Vec<u8>, String> + Sync {
    |member| match files.get(&member.path) {
        Some((_, content)) => Ok(content.clone()),
        None => Err("no such file".to_owned()),
    }
}

pub fn write_archive(disk: &Disk, name: &str, files: &Files) -> Written {
    try_write(disk, name, &ArchiveWriter::new(&members(files)), files).unwrap()
}

pub fn try_write(
    disk: &Disk,
    name: &str,
    writer: &ArchiveWriter<'_>,
    files: &Files,
) -> Result<Written, ArchiveWriteError> {
    let out = disk
        .storage
        .open(&path(name), OpenMode::CreateNew(0o600))
        .unwrap();
    writer.write(out.as_ref(), content_of(files))
}

/// The bytes of an archive of these files.
pub fn archive_bytes(files: &Files) -> Vec<u8> {
    let disk = Disk::new();
    write_archive(&disk, "a", files);
    disk.bytes("a")
}

/// Opens bytes as an archive.
pub fn open_bytes(disk: &Disk, bytes: &[u8]) -> Result<ArchiveReader, ArchiveError> {
    disk.put("opened", bytes);
    ArchiveReader::open(disk.open("opened"), None)
}

/// All files of an archive.
pub fn read_all(reader: &ArchiveReader) -> Result<Files, ArchiveError> {
    let mut files = Files::new();
    reader.visit::<ArchiveError>(|file| {
        files.insert(file.path.clone(), (file.mode, file.content.to_vec()));
        Ok(())
    })?;
    Ok(files)
}

/// The frames that a seek table names (the index as the last), read by the format's own text.
pub fn frames_of(archive: &[u8]) -> Vec<&[u8]> {
    let u32_at = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().unwrap()) as usize;
    let footer = archive.len() - 9;
    assert_eq!(u32_at(footer + 5), 0x8F92_EAB1);
    assert_eq!(archive[footer + 4], 0);
    let count = u32_at(footer);
    let table = footer - 8 * count;
    assert_eq!(u32_at(table - 8), 0x184D_2A5E);
    assert_eq!(u32_at(table - 4), 8 * count + 9);
    let mut frames = Vec::new();
    let mut at = 0;
    for n in 0..count {
        let len = u32_at(table + 8 * n);
        frames.push(&archive[at..at + len]);
        at += len;
    }
    assert_eq!(at, table - 8);
    frames
}

/// Bytes that do not compress, the same for the same seed.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// A project of many files, of `average` bytes or so.
pub fn project(count: usize, average: usize) -> Files {
    let file = |n: usize| {
        let len = blake3::hash(&n.to_le_bytes()).as_bytes()[0] as usize * average / 128;
        let text = format!("line {n} of a file\n").repeat(1 + len / 20);
        (
            path(format!("src/m{:02}/f{n:05}.py", n % 13)),
            (Mode::File, text.into_bytes()),
        )
    };
    (0..count).map(file).collect()
}

/// Names that are hard on tools: options, spaces, controls, globs, invalid UTF-8, very long ones.
pub fn any_name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => b'a'..=b'e',
        1 => prop::sample::select(&b"-. \n\t\\*?[]{}\"'!#:~\x7f\x01"[..]),
        1 => 0x80..=0xffu8,
    ];
    let length = prop_oneof![8 => 1..12usize, 1 => 90..110usize, 1 => 200..256usize];
    length
        .prop_flat_map(move |len| prop::collection::vec(byte.clone(), len))
        .prop_filter("not a name", |name| name != b"." && name != b"..")
}

pub fn any_path() -> impl Strategy<Value = TreePath> {
    prop::collection::vec(any_name(), 1..5).prop_map(|names| path(names.join(&b'/')))
}

fn any_file() -> impl Strategy<Value = (Mode, Vec<u8>)> {
    let content = || {
        prop_oneof![
            6 => prop::collection::vec(any::<u8>(), 0..1500),
            1 => (any::<u64>(), 0..300_000usize).prop_map(|(seed, len)| noise(seed, len)),
        ]
    };
    prop_oneof![
        3 => content().prop_map(|bytes| (Mode::File, bytes)),
        1 => content().prop_map(|bytes| (Mode::Executable, bytes)),
        1 => any_path().prop_map(|target| (Mode::Symlink, target.as_bytes().to_vec())),
    ]
}

/// Any tree that a disk can hold.
pub fn any_files(max: usize) -> impl Strategy<Value = Files> {
    prop::collection::vec((any_path(), any_file()), 0..max).prop_map(|list| {
        let mut files = Files::new();
        for (path, file) in list {
            let below = |other: &TreePath| other.is_below(&path) || path.is_below(other);
            if !files.keys().any(below) {
                files.insert(path, file);
            }
        }
        files
    })
}
