//! The harness finds what is wrong, and says where.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ledger_core::TreePath;
use ledger_core::storage::{
    Durability, OpenMode, RenameMode, Storage, StorageError, write_atomically,
};
use ledger_testkit::{Acks, Crash, CrashTest, Failure, Fault, SimStorage};
use ledger_testkit::{FailTest, crash_everywhere, fail_everywhere};

use crate::{open, path};

fn old() -> SimStorage {
    let disk = SimStorage::new();
    disk.write_file("f", b"old");
    disk
}

fn replace(disk: &SimStorage, acks: &Acks<()>) -> Result<(), StorageError> {
    write_atomically(disk, &path("f"), b"new", 7, Durability::Durable)?;
    acks.push(());
    Ok(())
}

/// The same with the sync of the bytes, or of the name, left out.
fn replace_badly(disk: &SimStorage, acks: &Acks<()>, name_only: bool) -> Result<(), StorageError> {
    let staged = path("f.tmp");
    let file = disk.open(&staged, OpenMode::CreateNew(0o600))?;
    file.write_at(b"new", 0)?;
    if !name_only {
        file.sync()?;
    }
    disk.rename(&staged, &path("f"), RenameMode::Replace)?;
    if name_only {
        disk.sync_dir(&TreePath::root())?;
    }
    acks.push(());
    Ok(())
}

fn check(survivor: &SimStorage, acked: &[()]) {
    let bytes = survivor.read("f").unwrap();
    let allowed: &[&[u8]] = if acked.is_empty() {
        &[b"old", b"new"]
    } else {
        &[b"new"]
    };
    assert!(
        allowed.contains(&&bytes[..]),
        "found {:?}",
        bytes.escape_ascii().to_string()
    );
}

fn panic_of(test: impl FnOnce()) -> String {
    let cause = catch_unwind(AssertUnwindSafe(test)).unwrap_err();
    cause.downcast_ref::<String>().cloned().unwrap()
}

#[test]
fn an_atomic_write_survives_every_crash() {
    let checked = crash_everywhere(&old(), replace, check);
    // Create, write, sync, rename, sync directory, and the end; 5 plain crashes and 12 seeds at each.
    assert_eq!(checked, 6 * 17);
}

#[test]
fn an_atomic_write_survives_every_failure() {
    let tried = fail_everywhere(&old(), replace, |disk, acked, answer| {
        assert_eq!(acked.is_empty(), answer.is_err());
        check(&disk.fork().crash(Crash::DropAll), acked);
        write_atomically(disk, &path("f"), b"again", 8, Durability::Durable).unwrap();
        assert_eq!(disk.crash(Crash::DropAll).read("f").unwrap(), b"again");
    });
    assert_eq!(tried, 5 * 6);
}

#[test]
fn a_forgotten_sync_is_found_and_named() {
    let place =
        "after a crash at step 4 of 4 (the end), rerun with .only(4, Crash::KeepNames): found \"\"";
    let found = panic_of(|| {
        let bad = |disk: &SimStorage, acks: &Acks<()>| replace_badly(disk, acks, true);
        CrashTest::on(&old())
            .only(4, Crash::KeepNames)
            .run(bad, check);
    });
    assert_eq!(found, place);
    for name_only in [true, false] {
        let bad = |disk: &SimStorage, acks: &Acks<()>| replace_badly(disk, acks, name_only);
        let found = panic_of(|| {
            crash_everywhere(&old(), bad, check);
        });
        assert!(found.starts_with("after a crash at step "), "{found}");
    }
}

#[test]
fn a_false_promise_after_a_failure_is_found_and_named() {
    let swallow = |disk: &SimStorage, acks: &Acks<()>| {
        let _ = replace(disk, &Acks::clone(acks));
        acks.push(());
        Ok::<_, StorageError>(())
    };
    let test = || {
        let check = |disk: &SimStorage, acked: &[()], _| check(disk, acked);
        let failure = Failure::Step(1, Fault::ShortWrite);
        FailTest::on(&old()).only(failure).run(swallow, check);
    };
    assert_eq!(
        panic_of(test),
        "failed at step 1 of 5 (write f.tmp-0000000000000007, 3 bytes at 0), \
         rerun with .only(Failure::Step(1, ShortWrite)): found \"old\""
    );
}

#[test]
fn an_operation_that_fails_by_itself_proves_nothing() {
    let broken = |disk: &SimStorage, _: &Acks<()>| disk.create_dir(&path("f"), 0o700);
    let found = panic_of(|| {
        crash_everywhere(&old(), broken, |_, _| {});
    });
    assert!(
        found.starts_with("the operation fails by itself: "),
        "{found}"
    );
}

#[test]
fn the_same_seed_leaves_the_same_disk() {
    let run = || {
        let disk = old();
        open(&disk, "f").write_at(b"and more", 3).unwrap();
        disk.create_dir(&path("d"), 0o700).unwrap();
        (0..50)
            .map(|seed| disk.crash(Crash::Seeded(seed)).dump())
            .collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}
