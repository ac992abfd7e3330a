//! Archives that are damaged, or made to do harm.

use ledger_core::{Digest, Mode};
use ledger_snapshot::{ArchiveError, ArchiveReader};
use proptest::prelude::*;
use tar::{EntryType, Header};

use crate::support::*;

const MIB: usize = 1024 * 1024;

fn small() -> Files {
    let mut files = project(3, 60);
    files.insert(path("link"), (Mode::Symlink, b"src/m01".to_vec()));
    files.insert(path("run.sh"), (Mode::Executable, b"#!/bin/sh\n".to_vec()));
    files.insert(path("z".repeat(120)), (Mode::File, b"z".to_vec()));
    files
}

/// A frame of a forged archive: the path that begins it, its tar stream, its length as told.
struct Forged {
    start: Vec<u8>,
    stream: Vec<u8>,
    told_len: u32,
}

fn forged(start: &[u8], stream: Vec<u8>) -> Forged {
    let told_len = stream.len() as u32;
    Forged {
        start: start.to_vec(),
        stream,
        told_len,
    }
}

/// An archive whose index, digests and seek table are all right, whatever is in its frames.
fn forge(frames: Vec<Forged>) -> Vec<u8> {
    let mut frames = frames;
    frames.push(forged(b"", vec![0; 1024]));
    let (mut out, mut index, mut seek) = (Vec::new(), Vec::new(), Vec::new());
    for frame in &frames {
        let packed = zstd::bulk::compress(&frame.stream, 3).unwrap();
        index.extend_from_slice(Digest::of(&packed).as_bytes());
        index.extend_from_slice(&(frame.start.len() as u16).to_le_bytes());
        index.extend_from_slice(&frame.start);
        seek.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        seek.extend_from_slice(&frame.told_len.to_le_bytes());
        out.extend_from_slice(&packed);
    }
    let le = |value: usize| (value as u32).to_le_bytes();
    let mut head = le(0x184D_2A50).to_vec();
    head.extend_from_slice(&le(16 + index.len() + 32));
    head.extend_from_slice(b"bench-ix");
    head.extend_from_slice(&le(1));
    head.extend_from_slice(&le(frames.len()));
    head.extend_from_slice(&index);
    seek.extend_from_slice(&le(head.len() + 32));
    seek.extend_from_slice(&le(0));
    let mut table = le(0x184D_2A5E).to_vec();
    table.extend_from_slice(&le(seek.len() + 9));
    table.extend_from_slice(&seek);
    table.extend_from_slice(&le(frames.len() + 1));
    table.push(0);
    table.extend_from_slice(&le(0x8F92_EAB1));
    let digest = Digest::of(&[&head[..], &table].concat());
    [&out[..], &head, digest.as_bytes(), &table].concat()
}

/// A header as ours are, changed by `change`, with its checksum right.
fn header(name: &[u8], size: u64, change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    change(&mut header);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn plain(name: &[u8]) -> Vec<u8> {
    header(name, 0, |_| {})
}

fn outcome(archive: &[u8]) -> Result<Files, ArchiveError> {
    let disk = Disk::new();
    read_all(&open_bytes(&disk, archive)?.threads(threads(1)))
}

fn refused(frames: Vec<Forged>, expect: &str) {
    let error = outcome(&forge(frames)).unwrap_err();
    assert_eq!(error.to_string(), expect);
}

#[test]
fn what_the_forge_makes_is_an_archive_when_nothing_is_wrong_with_it() {
    let stream = [plain(b"a"), plain(b"b")].concat();
    let files = outcome(&forge(vec![forged(b"a", stream)])).unwrap();
    assert_eq!(
        files.keys().cloned().collect::<Vec<_>>(),
        [path("a"), path("b")]
    );
    assert_eq!(
        forge(Vec::new()).len(),
        archive_bytes(&Files::new()).len() - 4
    );
}

#[test]
fn every_changed_byte_is_detected() {
    let files = small();
    let bytes = archive_bytes(&files);
    let disk = Disk::new();
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let result = open_bytes(&disk, &damaged).and_then(|reader| read_all(&reader));
            assert!(result.is_err(), "byte {at} ^ {flip} was not noticed");
        }
    }
}

#[test]
fn one_file_of_a_damaged_archive_is_right_or_an_error() {
    let files = project(300, 6000);
    let bytes = archive_bytes(&files);
    let disk = Disk::new();
    let mut readable = 0;
    for at in (0..bytes.len()).step_by(bytes.len() / 97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        let Ok(reader) = open_bytes(&disk, &damaged) else {
            continue;
        };
        for (path, file) in files.iter().step_by(29) {
            if let Ok(found) = reader.read(path) {
                assert_eq!(found.as_ref(), Some(file));
                readable += 1;
            }
        }
    }
    assert!(readable > 0);
}

#[test]
fn every_truncation_and_any_appended_byte_is_detected() {
    let bytes = archive_bytes(&small());
    let disk = Disk::new();
    for len in 0..bytes.len() {
        assert!(open_bytes(&disk, &bytes[..len]).is_err(), "{len}");
    }
    for more in [&b"\0"[..], b"x", &[0; 1024]] {
        assert!(open_bytes(&disk, &[&bytes[..], more].concat()).is_err());
        assert!(open_bytes(&disk, &[more, &bytes[..]].concat()).is_err());
    }
}

#[test]
fn another_index_than_the_trusted_one_is_refused() {
    let disk = Disk::new();
    let one = write_archive(&disk, "one", &small());
    let two = write_archive(&disk, "two", &project(4, 60));
    let error = ArchiveReader::open(disk.open("two"), Some(&one.archive.index)).unwrap_err();
    let (expected, found) = (one.archive.index, two.archive.index);
    assert_eq!(
        error.to_string(),
        format!("index of the archive is {found}, expected {expected}")
    );
}

#[test]
fn only_plain_files_and_links_are_accepted() {
    let kinds = [
        (EntryType::Directory, "it is neither a file nor a link"),
        (EntryType::Link, "it is neither a file nor a link"),
        (EntryType::Block, "it is neither a file nor a link"),
        (EntryType::Char, "it is neither a file nor a link"),
        (EntryType::Fifo, "it is neither a file nor a link"),
        (EntryType::GNUSparse, "it is neither a file nor a link"),
        (EntryType::XHeader, "it is neither a file nor a link"),
        (EntryType::Symlink, "its mode is not ours"),
    ];
    for (kind, why) in kinds {
        let stream = header(b"a", 0, |header| header.set_entry_type(kind));
        refused(
            vec![forged(b"a", stream)],
            &format!("member at byte 0 of frame 0 is refused: {why}"),
        );
    }
}

#[test]
fn names_that_lead_out_of_the_tree_are_refused() {
    for name in [
        &b"/etc/passwd"[..],
        b"../a",
        b"a/../b",
        b"a//b",
        b"a/",
        b"./a",
    ] {
        let error = outcome(&forge(vec![forged(b"a", plain(name))])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "member at byte 0 of frame 0 has no usable name"
        );
        assert!(outcome(&forge(vec![forged(name, plain(name))])).is_err());
    }
}

#[test]
fn headers_that_another_reader_could_take_otherwise_are_refused() {
    type Change = fn(&mut Header);
    let changes: [(&str, Change); 7] = [
        ("owner", |h| h.set_uid(1)),
        ("time", |h| h.set_mtime(1)),
        ("prefix", |h| h.as_mut_bytes()[345] = b'x'),
        ("link", |h| h.as_old_mut().linkname[0] = b'x'),
        ("after the name", |h| h.as_old_mut().name[2] = b'x'),
        ("magic", |h| h.as_mut_bytes()[257] = b'x'),
        ("size", |h| h.as_old_mut().size = *b"         00\0"),
    ];
    for (what, change) in changes {
        let error = outcome(&forge(vec![forged(b"a", header(b"a", 0, change))])).unwrap_err();
        let expect = "member at byte 0 of frame 0 is refused: its header is not written our way";
        assert_eq!(error.to_string(), expect, "{what}");
    }
    let mut stream = plain(b"a");
    stream[150] ^= 1;
    assert!(
        outcome(&forge(vec![forged(b"a", stream)])).is_err(),
        "checksum"
    );
}

#[test]
fn members_out_of_order_twice_or_where_the_index_does_not_say_are_refused() {
    let at = |byte: usize| {
        format!(
            "member at byte {byte} of frame 0 is refused: \
             it is out of order, there twice, or not where the index says"
        )
    };
    refused(
        vec![forged(b"b", [plain(b"b"), plain(b"a")].concat())],
        &at(512),
    );
    refused(
        vec![forged(b"a", [plain(b"a"), plain(b"a")].concat())],
        &at(512),
    );
    refused(vec![forged(b"a", plain(b"b"))], &at(0));
    refused(
        vec![
            forged(b"a", [plain(b"a"), plain(b"c")].concat()),
            forged(b"b", plain(b"b")),
        ],
        &at(512),
    );
    assert!(
        outcome(&forge(vec![
            forged(b"b", plain(b"b")),
            forged(b"a", plain(b"a"))
        ]))
        .is_err()
    );
    assert!(outcome(&forge(vec![forged(b"", plain(b"a"))])).is_err());
}

#[test]
fn a_content_that_goes_past_its_frame_is_refused() {
    let why = "member at byte 0 of frame 0 is refused: it does not end where its frames end";
    for size in [1, 512, 1 << 20, 1 << 29] {
        refused(vec![forged(b"a", header(b"a", size, |_| {}))], why);
    }
    let error = outcome(&forge(vec![forged(b"a", header(b"a", u64::MAX, |_| {}))])).unwrap_err();
    assert!(matches!(error, ArchiveError::TooLarge { .. }), "{error}");
    let mut stream = header(b"a", 3, |_| {});
    stream.extend_from_slice(b"abc");
    stream.resize(1024, 1);
    refused(
        vec![forged(b"a", stream)],
        "member at byte 0 of frame 0 is refused: a content is not followed by zeros",
    );
}

#[test]
fn a_frame_never_decodes_past_what_the_index_says() {
    let mut bomb = forged(b"a", [plain(b"a"), vec![0; 8 * MIB]].concat());
    bomb.told_len = 512;
    refused(
        vec![bomb],
        "frame 0 at byte 0 is damaged: it does not decode to what the index says",
    );
    let mut short = forged(b"a", plain(b"a"));
    short.told_len = 1024;
    refused(
        vec![short],
        "frame 0 at byte 0 is damaged: it holds less than the index says",
    );
    let mut large = forged(b"a", plain(b"a"));
    large.told_len = 512 * MIB as u32;
    assert!(matches!(
        outcome(&forge(vec![large])),
        Err(ArchiveError::Layout { .. })
    ));
}

#[test]
fn a_file_over_the_limit_is_refused_before_it_is_decoded() {
    let disk = Disk::new();
    let len = 17 * MIB;
    write_archive(
        &disk,
        "a",
        &Files::from([(path("big"), (Mode::File, vec![0; len]))]),
    );
    let reader = ArchiveReader::open(disk.open("a"), None)
        .unwrap()
        .max_file_size(len as u64 - 1);
    let error = reader.read(&path("big")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "big has 17825792 bytes, and 17825791 is the limit"
    );
}

#[test]
fn a_later_version_is_refused_saying_both() {
    let mut bytes = forge(Vec::new());
    let at = bytes
        .windows(8)
        .position(|window| window == b"bench-ix")
        .unwrap()
        + 8;
    bytes[at] = 9;
    let error = outcome(&bytes).unwrap_err().to_string();
    assert_eq!(error, "archive has format version 9, and 1 is known here");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(outcome(&bytes).is_err());
    }

    #[test]
    fn a_forged_stream_is_refused_or_is_the_one_way_to_write_its_files(
        files in any_files(5),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        prop_assume!(!files.is_empty());
        let bytes = archive_bytes(&files);
        let mut stream = zstd::bulk::decompress(frames_of(&bytes)[0], 8 * MIB).unwrap();
        for (at, value) in changes {
            let at = at.index(stream.len());
            stream[at] = value;
        }
        let start = files.keys().next().unwrap().as_bytes().to_vec();
        if let Ok(files) = outcome(&forge(vec![forged(&start, stream.clone())])) {
            let again = archive_bytes(&files);
            let again = zstd::bulk::decompress(frames_of(&again)[0], 8 * MIB).unwrap();
            prop_assert!(again == stream);
        }
    }
}
