//! Calls that fail, and machines that stop.

use std::io::ErrorKind;

use ledger_core::TreePath;
use ledger_core::storage::{OpenMode, RenameMode, Storage};
use ledger_testkit::{Crash, Failure, Fault, SimStorage, is_stopped};

use crate::{open, path};

fn disk() -> SimStorage {
    let disk = SimStorage::new();
    disk.write_file("f", b"old");
    disk
}

#[test]
fn only_the_named_step_fails_and_does_nothing() {
    let disk = disk();
    let file = open(&disk, "f");
    disk.fail_at(1, Fault::Io);
    file.write_at(b"1", 0).unwrap();
    assert_eq!(
        file.write_at(b"2", 1).unwrap_err().source.raw_os_error(),
        Some(5)
    );
    file.write_at(b"3", 2).unwrap();
    assert_eq!(disk.read("f").unwrap(), b"1l3");
    assert_eq!(disk.steps(), 3);
}

#[test]
fn a_short_write_leaves_its_first_half() {
    let disk = disk();
    disk.fail_at(0, Fault::ShortWrite);
    let error = open(&disk, "f").write_at(b"abcd", 3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(disk.read("f").unwrap(), b"oldab");
}

#[test]
fn a_full_disk_still_removes_renames_and_syncs() {
    let disk = disk();
    disk.inject(Failure::From(0, Fault::NoSpace));
    let file = open(&disk, "f");
    for full in [
        file.write_at(b"x", 0),
        disk.create_dir(&path("d"), 0o700),
        disk.create_link(&path("l"), b"f"),
        disk.open(&path("new"), OpenMode::Create(0o600)).map(drop),
    ] {
        assert_eq!(full.unwrap_err().kind(), ErrorKind::StorageFull);
    }
    file.set_len(1).unwrap();
    file.sync().unwrap();
    disk.rename(&path("f"), &path("g"), RenameMode::Replace)
        .unwrap();
    disk.remove_file(&path("g")).unwrap();
    disk.sync_dir(&TreePath::root()).unwrap();
    disk.clear_failures();
    disk.create_dir(&path("d"), 0o700).unwrap();
}

#[test]
fn a_broken_disk_fails_every_step_and_no_read() {
    let disk = disk();
    disk.inject(Failure::From(1, Fault::Io));
    let file = open(&disk, "f");
    file.set_len(1).unwrap();
    file.sync().unwrap_err();
    disk.remove_file(&path("f")).unwrap_err();
    disk.sync_dir(&TreePath::root()).unwrap_err();
    disk.stat(&path("f")).unwrap();
}

#[test]
fn one_read_fails() {
    let disk = disk();
    let before = disk.reads();
    let file = disk.open(&path("f"), OpenMode::Read).unwrap();
    assert_eq!(disk.reads(), before + 1);
    disk.inject(Failure::Read(1));
    file.stat().unwrap();
    file.read_at(&mut [0], 0).unwrap_err();
    file.read_at(&mut [0], 0).unwrap();
}

#[test]
fn names_that_were_not_synced_for_an_error_can_be_synced_again() {
    let disk = disk();
    open(&disk, "new");
    disk.fail_at(0, Fault::Io);
    disk.sync_dir(&TreePath::root()).unwrap_err();
    disk.sync_dir(&TreePath::root()).unwrap();
    assert!(disk.crash(Crash::DropAll).read("new").is_some());
}

#[test]
fn what_the_kernel_refuses_is_no_step() {
    let disk = disk();
    disk.fail_at(0, Fault::Io);
    let error = disk.create_dir(&path("f"), 0o700).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(disk.steps(), 0);
}

#[test]
fn a_stopped_machine_does_nothing_more() {
    let disk = disk();
    let file = open(&disk, "f");
    disk.crash_at(1);
    file.write_at(b"new", 0).unwrap();
    assert!(is_stopped(&file.write_at(b"never", 3).unwrap_err()));
    assert!(is_stopped(&file.sync().unwrap_err()));
    assert!(is_stopped(&disk.stat(&path("f")).unwrap_err()));
    assert!(is_stopped(&disk.remove_file(&path("f")).unwrap_err()));
    assert!(is_stopped(
        &disk.open(&path("f"), OpenMode::Read).unwrap_err()
    ));
    assert_eq!(disk.crash(Crash::KeepAll).read("f").unwrap(), b"new");
    let torn = disk.crash(Crash::KeepTorn(3)).read("f").unwrap();
    assert!(torn.len() > 3 && torn.len() < 8 && b"newnever".starts_with(&torn[..]));
    assert_eq!(disk.crash(Crash::DropAll).read("f").unwrap(), b"old");
    let cut = |seed| disk.crash(Crash::Seeded(seed)).read("f").unwrap();
    for part in 0..=5 {
        let torn = &b"newnever"[..3 + part];
        assert!((0..1000).any(|seed| cut(seed) == torn), "{part}");
    }
}

#[test]
fn times_tick_with_each_change_and_stand_still_when_told_to() {
    let disk = disk();
    let times = |name| {
        let stat = disk.stat(&path(name)).unwrap();
        (stat.mtime_ns, stat.ctime_ns)
    };
    disk.set_time(100, 10);
    let file = open(&disk, "f");
    file.write_at(b"x", 0).unwrap();
    assert_eq!(times("f"), (110, 110));
    file.set_mode(0o755).unwrap();
    assert_eq!(times("f"), (110, 120));
    disk.rename(&path("f"), &path("g"), RenameMode::Replace)
        .unwrap();
    assert_eq!(times("g"), (110, 130));
    assert_eq!(disk.stat(&TreePath::root()).unwrap().mtime_ns, 130);
    disk.set_time(200, 0);
    file.write_at(b"y", 0).unwrap();
    file.write_at(b"z", 0).unwrap();
    assert_eq!(times("g"), (200, 200));
}
