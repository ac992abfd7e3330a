//! What a crash leaves of the bytes of a file.

use ledger_core::storage::{OpenMode, Storage};
use ledger_testkit::{Crash, Fault, SimStorage};

use crate::{after, open, outcomes, path};

fn disk_with(bytes: &[u8]) -> SimStorage {
    let disk = SimStorage::new();
    disk.write_file("f", bytes);
    disk
}

#[test]
fn bytes_that_were_not_synced_vanish_and_synced_ones_stay() {
    let disk = disk_with(b"old");
    let file = open(&disk, "f");
    file.write_at(b"synced", 0).unwrap();
    file.sync().unwrap();
    file.write_at(b"not", 6).unwrap();
    assert_eq!(disk.read("f").unwrap(), b"syncednot");
    assert_eq!(disk.crash(Crash::DropAll).read("f").unwrap(), b"synced");
    assert_eq!(disk.crash(Crash::KeepNames).read("f").unwrap(), b"synced");
    assert_eq!(disk.crash(Crash::KeepAll).read("f").unwrap(), b"syncednot");
    assert_eq!(
        disk.crash(Crash::KeepBytes).read("f").unwrap(),
        b"syncednot"
    );
}

#[test]
fn a_killed_process_leaves_bytes_that_a_later_power_cut_may_take() {
    let disk = disk_with(b"");
    open(&disk, "f").write_at(b"seen", 0).unwrap();
    let restarted = disk.crash(Crash::KeepAll);
    assert_eq!(restarted.read("f").unwrap(), b"seen");
    assert_eq!(restarted.crash(Crash::DropAll).read("f").unwrap(), b"");
}

#[test]
fn a_write_is_kept_lost_torn_at_any_byte_or_left_as_zeros() {
    let disk = disk_with(b"");
    open(&disk, "f").write_at(b"abcd", 0).unwrap();
    let left = outcomes(&disk);
    for torn in ["", "a", "ab", "abc", "abcd"] {
        assert!(left.contains(&format!("f 0644 \"{torn}\"\n")), "{torn:?}");
    }
    for hole in [r"\x00\x00\x00\x00", r"ab\x00\x00"] {
        assert!(left.contains(&format!("f 0644 \"{hole}\"\n")), "{hole:?}");
    }
}

#[test]
fn sectors_of_one_write_reach_the_disk_in_any_order() {
    let disk = disk_with(b"");
    open(&disk, "f").write_at(&[b'x'; 1024], 0).unwrap();
    let scattered = (0..1000)
        .filter_map(|seed| disk.crash(Crash::Seeded(seed)).read("f"))
        .any(|bytes| bytes[..] == [[0; 512], [b'x'; 512]].concat());
    assert!(scattered);
}

#[test]
fn a_hole_never_covers_bytes_that_were_durable() {
    let disk = disk_with(b"0123");
    open(&disk, "f").write_at(b"abcdef", 0).unwrap();
    for seed in 0..1000 {
        let bytes = disk.crash(Crash::Seeded(seed)).read("f").unwrap();
        assert!(!bytes[..4].contains(&0), "seed {seed}: {bytes:?}");
    }
}

#[test]
fn each_file_has_a_fate_of_its_own() {
    let disk = disk_with(b"");
    disk.write_file("g", b"");
    open(&disk, "f").write_at(b"x", 0).unwrap();
    open(&disk, "g").write_at(b"x", 0).unwrap();
    let left = outcomes(&disk);
    for (f, g) in [("", ""), ("", "x"), ("x", ""), ("x", "x")] {
        let both = format!("f 0644 \"{f}\"\ng 0644 \"{g}\"\n");
        assert!(left.contains(&both), "{both}");
    }
}

#[test]
fn a_cut_of_the_length_is_kept_or_lost() {
    let disk = disk_with(b"0123");
    open(&disk, "f").set_len(2).unwrap();
    let left: Vec<String> = outcomes(&disk).into_iter().collect();
    assert_eq!(left, ["f 0644 \"01\"\n", "f 0644 \"0123\"\n"]);
}

#[test]
fn a_mode_is_durable_with_synced_bytes_and_not_by_itself() {
    let disk = disk_with(b"");
    let file = open(&disk, "f");
    file.set_mode(0o755).unwrap();
    file.sync().unwrap();
    assert_eq!(after(&disk, Crash::DropAll), "f 0644 \"\"\n");
    file.write_at(b"x", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(after(&disk, Crash::DropAll), "f 0755 \"x\"\n");
}

#[test]
fn a_sync_that_failed_is_not_made_good_by_one_that_succeeds() {
    let disk = disk_with(b"");
    let file = open(&disk, "f");
    file.write_at(b"ab", 0).unwrap();
    disk.fail_at(0, Fault::Io);
    file.sync().unwrap_err();
    file.write_at(b"c", 2).unwrap();
    file.sync().unwrap();
    assert_eq!(disk.read("f").unwrap(), b"abc");
    let survivor = disk.fork().crash(Crash::DropAll);
    assert_eq!(survivor.read("f").unwrap(), b"\0\0c");
    assert!(outcomes(&disk).contains("f 0644 \"abc\"\n"));

    file.write_at(b"ab", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(disk.fork().crash(Crash::DropAll).read("f").unwrap(), b"abc");
    assert_eq!(outcomes(&disk).len(), 1, "written again, it is certain");
}

#[test]
fn bytes_cut_back_after_a_failed_sync_stay_away() {
    let disk = disk_with(b"kept");
    let file = open(&disk, "f");
    file.write_at(b"lost", 4).unwrap();
    disk.fail_at(0, Fault::Io);
    file.sync().unwrap_err();
    file.set_len(4).unwrap();
    file.sync().unwrap();
    assert_eq!(
        outcomes(&disk).into_iter().collect::<Vec<_>>(),
        ["f 0644 \"kept\"\n"]
    );
}

#[test]
fn a_name_may_survive_without_the_bytes_of_its_file() {
    let disk = SimStorage::new();
    let file = open(&disk, "new");
    file.write_at(b"x", 0).unwrap();
    assert_eq!(after(&disk, Crash::KeepNames), "new 0600 \"\"\n");
    file.sync().unwrap();
    assert_eq!(after(&disk, Crash::DropAll), "");
    assert_eq!(after(&disk, Crash::KeepNames), "new 0600 \"x\"\n");
}

#[test]
fn a_fork_shares_nothing_with_its_original() {
    let disk = disk_with(b"one");
    let fork = disk.fork();
    open(&fork, "f").write_at(b"two", 0).unwrap();
    fork.open(&path("g"), OpenMode::CreateNew(0o600)).unwrap();
    assert_eq!(disk.dump(), "f 0644 \"one\"\n");
    assert_eq!((disk.steps(), fork.steps()), (0, 2));
}
