//! Writing trees.

use std::os::unix::fs::symlink;

use ledger_core::Mode;
use ledger_core::storage::OsStorage;
use ledger_snapshot::read_stable;
use ledger_snapshot::{ArchiveError, ArchiveReader, TreeWriteError, TreeWriter, Walker, mode_of};
use proptest::prelude::*;

use crate::support::*;

#[derive(Debug)]
struct Failed(#[expect(dead_code, reason = "shown when a test fails")] String);

impl From<ArchiveError> for Failed {
    fn from(error: ArchiveError) -> Self {
        Failed(error.to_string())
    }
}

impl From<TreeWriteError> for Failed {
    fn from(error: TreeWriteError) -> Self {
        Failed(error.to_string())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_archive_written_out_and_walked_is_the_tree_it_was_made_of(files in any_files(25)) {
        let disk = Disk::new();
        write_archive(&disk, "a", &files);
        std::fs::create_dir(disk.os_path("to")).unwrap();
        let to = OsStorage::open(disk.os_path("to")).unwrap();
        let writer = TreeWriter::new(&to);
        let reader = ArchiveReader::open(disk.open("a"), None).unwrap().threads(threads(3));
        let write = |file: ledger_snapshot::ArchivedFile<'_>| {
            Ok::<_, Failed>(writer.write(file.path, file.mode, file.content)?)
        };
        reader.visit_parallel(write).unwrap();

        let mut found = Files::new();
        for file in Walker::new(&to, &[]).walk().unwrap().files {
            let read = read_stable(&to, &file.path, u64::MAX).unwrap();
            prop_assert_eq!(mode_of(&file.stat), Some(read.mode));
            prop_assert_eq!(&read.stat, &file.stat);
            found.insert(file.path, (read.mode, read.content));
        }
        prop_assert!(found == files);
    }
}

fn write(writer: &TreeWriter<'_>, name: &str) -> Result<(), TreeWriteError> {
    writer.write(&path(name), Mode::File, b"new")
}

fn taken(result: Result<(), TreeWriteError>) -> String {
    match result {
        Err(TreeWriteError::Taken { path }) => path.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_that_exists_is_written_over() {
    let disk = Disk::new();
    disk.put("file", "old");
    disk.put("dir/file", "old");
    symlink("nowhere", disk.os_path("link")).unwrap();
    let writer = TreeWriter::new(&disk.storage);
    assert_eq!(taken(write(&writer, "file")), "file");
    assert_eq!(taken(write(&writer, "dir")), "dir");
    assert_eq!(taken(write(&writer, "dir/other")), "dir");
    assert_eq!(taken(write(&writer, "file/below")), "file");
    assert_eq!(taken(write(&writer, "link")), "link");
    assert_eq!(
        taken(writer.write(&path("file"), Mode::Symlink, b"x")),
        "file"
    );
    assert_eq!(disk.bytes("file"), b"old");
    assert!(!disk.os_path("nowhere").exists());
}

#[test]
fn no_link_is_followed_whoever_made_it() {
    let outside = Disk::new();
    let disk = Disk::new();
    symlink(outside.dir.path(), disk.os_path("there")).unwrap();
    let writer = TreeWriter::new(&disk.storage);
    let target = outside.dir.path().to_str().unwrap().as_bytes();
    writer.write(&path("link"), Mode::Symlink, target).unwrap();
    assert_eq!(taken(write(&writer, "there/a")), "there");
    assert_eq!(taken(write(&writer, "link/a")), "link");
    // A directory of ours that somebody replaces by a link meanwhile.
    write(&writer, "dir/a").unwrap();
    std::fs::rename(disk.os_path("dir"), disk.os_path("moved")).unwrap();
    symlink(outside.dir.path(), disk.os_path("dir")).unwrap();
    assert!(write(&writer, "dir/b").is_err());
    assert_eq!(std::fs::read_dir(outside.dir.path()).unwrap().count(), 0);
}

#[test]
fn one_path_twice_is_refused() {
    let disk = Disk::new();
    let writer = TreeWriter::new(&disk.storage);
    write(&writer, "a/b").unwrap();
    assert_eq!(taken(write(&writer, "a/b")), "a/b");
    assert_eq!(taken(write(&writer, "a")), "a");
}
