//! Where frames begin, and that unchanged ones are copied.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use ledger_core::{Mode, storage::OpenMode, storage::Storage};
use ledger_snapshot::{ArchiveReader, ArchiveWriter, Member};

use crate::support::*;

#[test]
fn frames_hold_about_a_mebibyte_each() {
    let files = project(4000, 3000);
    let bytes = archive_bytes(&files);
    let total: usize = files.values().map(|(_, content)| content.len()).sum();
    let average = total / frames_of(&bytes).len();
    assert!(
        (512 * 1024..2 * 1024 * 1024).contains(&average),
        "{average}"
    );
}

#[test]
fn a_file_added_removed_or_changed_alters_frames_near_it_only() {
    let files = project(4000, 3000);
    let before = archive_bytes(&files);
    let before: HashSet<&[u8]> = frames_of(&before).into_iter().collect();
    let names: Vec<_> = files.keys().cloned().collect();
    let (mut most, mut sum) = (0, 0);
    for n in 0..24 {
        let name = &names[n * names.len() / 24];
        let mut changed = files.clone();
        match n % 3 {
            0 => drop(changed.remove(name)),
            1 => drop(changed.insert(
                path([name.as_bytes(), b"x"].concat()),
                (Mode::File, vec![7; 999]),
            )),
            _ => drop(changed.insert(name.clone(), (Mode::File, vec![7; 1999]))),
        }
        let after = archive_bytes(&changed);
        let new = frames_of(&after)
            .into_iter()
            .filter(|frame| !before.contains(frame))
            .count();
        // One of them is the index.
        most = most.max(new - 1);
        sum += new - 1;
    }
    assert!(most <= 5 && sum <= 24 * 2, "most {most}, sum {sum}");
}

#[test]
fn unchanged_frames_are_copied_and_give_the_same_bytes_as_made_ones() {
    let disk = Disk::new();
    let files = project(3000, 3000);
    let first = write_archive(&disk, "first", &files);
    let tree = first.tree();
    let reader = ArchiveReader::open(disk.open("first"), Some(&first.archive.index)).unwrap();

    let mut changed = files.clone();
    let name = files.keys().nth(1500).unwrap().clone();
    changed.insert(name, (Mode::File, b"changed\n".to_vec()));
    let made = write_archive(&disk, "made", &changed);
    let members: Vec<Member> = made
        .tree()
        .iter()
        .map(|(path, entry)| Member::known(path, entry))
        .collect();
    let read = AtomicUsize::new(0);
    let out = disk
        .storage
        .open(&path("copied"), OpenMode::CreateNew(0o600))
        .unwrap();
    let copied = ArchiveWriter::new(&members)
        .copy_from(&reader, &tree)
        .write(out.as_ref(), |member| {
            read.fetch_add(1, Ordering::Relaxed);
            content_of(&changed)(member)
        })
        .unwrap();

    assert!(disk.bytes("made") == disk.bytes("copied"));
    assert_eq!(copied.files, made.files);
    assert!(copied.frames_copied + 3 >= copied.frames, "{copied:?}");
    assert!(read.into_inner() < files.len() / 2);
}

#[test]
fn a_frame_that_is_damaged_in_the_older_archive_is_made_anew() {
    let disk = Disk::new();
    let files = project(3000, 3000);
    let first = write_archive(&disk, "first", &files);
    let tree = first.tree();
    let mut bytes = disk.bytes("first");
    bytes[100] ^= 1;
    let reader = open_bytes(&disk, &bytes).unwrap();
    let members: Vec<Member> = tree
        .iter()
        .map(|(path, entry)| Member::known(path, entry))
        .collect();
    let writer = ArchiveWriter::new(&members).copy_from(&reader, &tree);
    let second = try_write(&disk, "second", &writer, &files).unwrap();
    assert_eq!(second.frames_copied, second.frames - 1);
    assert!(disk.bytes("second") == disk.bytes("first"));
}
