//! Archives that are written and read back.

use std::sync::Mutex;

use ledger_core::{Digest, Mode};
use ledger_snapshot::{ArchiveError, ArchiveReader, ArchiveWriteError, ArchiveWriter, Member};
use proptest::prelude::*;

use crate::support::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_tree_comes_back_as_it_was(files in any_files(30)) {
        let disk = Disk::new();
        let written = write_archive(&disk, "a", &files);
        let bytes = disk.bytes("a");
        prop_assert_eq!(written.archive.hash, Digest::of(&bytes));
        prop_assert_eq!(written.archive.bytes, bytes.len() as u64);

        let reader = ArchiveReader::open(disk.open("a"), Some(&written.archive.index)).unwrap();
        prop_assert_eq!(&read_all(&reader).unwrap(), &files);
        prop_assert_eq!(written.files.len(), files.len());
        for (path, (mode, content)) in &files {
            let read = reader.read(path).unwrap();
            prop_assert_eq!(read, Some((*mode, content.clone())));
            let stored = written.files[path];
            prop_assert_eq!(stored.entry.hash, Digest::of(content));
            prop_assert_eq!((stored.entry.mode, stored.entry.size), (*mode, content.len() as u64));
        }
    }

    #[test]
    fn the_same_tree_gives_the_same_bytes_on_any_number_of_threads(files in any_files(30)) {
        let disk = Disk::new();
        let members = members(&files);
        for count in [1, 2, 7] {
            let writer = ArchiveWriter::new(&members).threads(threads(count));
            try_write(&disk, &count.to_string(), &writer, &files).unwrap();
        }
        prop_assert_eq!(disk.bytes("1"), disk.bytes("2"));
        prop_assert_eq!(disk.bytes("1"), disk.bytes("7"));
    }

    #[test]
    fn a_directory_has_files_below_it_when_one_of_them_lies_there(
        files in any_files(12),
        other in any_path(),
    ) {
        let disk = Disk::new();
        write_archive(&disk, "a", &files);
        let reader = ArchiveReader::open(disk.open("a"), None).unwrap();
        let dirs = files.keys().flat_map(|path| path.ancestors().chain([path.clone()]));
        for dir in dirs.chain([other]) {
            let expect = files.keys().any(|path| path.is_below(&dir));
            prop_assert_eq!(reader.has_below(&dir).unwrap(), expect);
        }
    }

    #[test]
    fn a_path_that_is_not_there_is_none(files in any_files(10), other in any_path()) {
        let disk = Disk::new();
        write_archive(&disk, "a", &files);
        let reader = ArchiveReader::open(disk.open("a"), None).unwrap();
        prop_assert_eq!(reader.read(&other).unwrap(), files.get(&other).cloned());
    }
}

#[test]
fn a_large_project_is_the_same_on_any_number_of_threads_and_read_alike_in_any_way() {
    let files = project(3000, 3000);
    let disk = Disk::new();
    let members = members(&files);
    for count in [1, 4] {
        let writer = ArchiveWriter::new(&members).threads(threads(count));
        let written = try_write(&disk, &count.to_string(), &writer, &files).unwrap();
        assert!(written.frames > 5, "{} frames", written.frames);
    }
    assert!(disk.bytes("1") == disk.bytes("4"));

    let reader = ArchiveReader::open(disk.open("1"), None)
        .unwrap()
        .threads(threads(3));
    assert!(read_all(&reader).unwrap() == files);
    let seen = Mutex::new(Files::new());
    let visit = |file: ledger_snapshot::ArchivedFile<'_>| {
        let known = (file.mode, file.content.to_vec());
        assert!(
            seen.lock()
                .unwrap()
                .insert(file.path.clone(), known)
                .is_none()
        );
        Ok::<_, ArchiveError>(())
    };
    reader.visit_parallel(visit).unwrap();
    assert!(seen.into_inner().unwrap() == files);
}

#[test]
fn a_file_longer_than_a_frame_spans_frames_of_its_own() {
    for len in [8 * 1024 * 1024 - 512, 8 * 1024 * 1024 - 511, 20_000_000] {
        let mut files = project(20, 100);
        files.insert(path("src/m05/big"), (Mode::Executable, noise(1, len)));
        let disk = Disk::new();
        let written = write_archive(&disk, "a", &files);
        let reader = ArchiveReader::open(disk.open("a"), None).unwrap();
        assert!(read_all(&reader).unwrap() == files);
        for (path, file) in &files {
            assert!(reader.read(path).unwrap().as_ref() == Some(file), "{path}");
        }
        // Small files before and after are a frame each.
        let big = (len + 512).next_multiple_of(512).div_ceil(8 * 1024 * 1024);
        assert_eq!(written.frames, big + 2);
    }
}

#[test]
fn an_empty_tree_is_an_archive() {
    let disk = Disk::new();
    let written = write_archive(&disk, "a", &Files::new());
    assert_eq!(written.frames, 0);
    let reader = ArchiveReader::open(disk.open("a"), None).unwrap();
    assert_eq!(read_all(&reader).unwrap(), Files::new());
    assert_eq!(reader.read(&path("a")).unwrap(), None);
}

#[test]
fn a_file_that_changed_since_it_was_planned_is_named() {
    let disk = Disk::new();
    let files = project(5, 100);
    let mut planned = members(&files);
    planned[3].size += 1;
    let name = planned[3].path.clone();
    match try_write(&disk, "a", &ArchiveWriter::new(&planned), &files) {
        Err(ArchiveWriteError::SizeChanged {
            path,
            expected,
            found,
        }) => {
            assert_eq!((path, expected), (name.clone(), found + 1));
        }
        other => panic!("{other:?}"),
    }
    planned[3].size -= 1;
    planned[3].hash = Some(Digest::of(b"something else"));
    match try_write(&disk, "b", &ArchiveWriter::new(&planned), &files) {
        Err(ArchiveWriteError::HashMismatch { path, .. }) => assert_eq!(path, name),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_of_the_contents_is_passed_on_with_its_path() {
    let disk = Disk::new();
    let mut files = project(5, 100);
    let members = members(&files);
    files.remove(&members[2].path);
    match try_write(&disk, "a", &ArchiveWriter::new(&members), &files) {
        Err(ArchiveWriteError::Content { path, source }) => {
            assert_eq!(path, members[2].path);
            assert_eq!(source.to_string(), "no such file");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn members_that_no_tree_can_hold_are_refused() {
    let check = |names: &[&str], expect: &str| {
        let member = |name: &&str| Member {
            path: path(name),
            mode: Mode::File,
            size: 0,
            hash: None,
        };
        let members: Vec<Member> = names.iter().map(member).collect();
        let files = names
            .iter()
            .map(|name| (path(name), (Mode::File, Vec::new())))
            .collect();
        let error = try_write(&Disk::new(), "a", &ArchiveWriter::new(&members), &files);
        assert_eq!(error.unwrap_err().to_string(), expect);
    };
    check(&["b", "a"], "a is out of order, or there twice");
    check(&["a", "a"], "a is out of order, or there twice");
    check(&["a", "a-b", "a/b"], "a/b stands below a, which is a file");
    check(
        &["a/b", "a/b/c/d"],
        "a/b/c/d stands below a/b, which is a file",
    );
}

#[test]
fn a_link_without_a_usable_target_is_refused() {
    for target in [&b""[..], b"a\0b"] {
        let files = Files::from([(path("l"), (Mode::Symlink, target.to_vec()))]);
        let error = try_write(
            &Disk::new(),
            "a",
            &ArchiveWriter::new(&members(&files)),
            &files,
        );
        assert!(
            matches!(error, Err(ArchiveWriteError::InvalidTarget { .. })),
            "{error:?}"
        );
    }
}
