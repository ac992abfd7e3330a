//! The stat cache.

use ledger_core::storage::{FileKind, Stat};
use ledger_core::{Digest, Timestamp};
use ledger_snapshot::StatCache;
use proptest::prelude::*;

use crate::support::*;

const MS: i64 = 1_000_000;
/// When all the files here are read, in milliseconds.
const READ_MS: i64 = 1_800_000_000_000;

fn stat(time_ns: i64) -> Stat {
    Stat {
        kind: FileKind::File,
        size: 5,
        mode: 0o644,
        mtime_ns: time_ns,
        ctime_ns: time_ns,
        inode: 42,
    }
}

fn cache_of(stat: &Stat) -> StatCache {
    let mut cache = StatCache::new();
    let read_at = Timestamp::from_millis(READ_MS);
    cache.insert(path("a"), stat, &Digest::of(b"hello"), read_at);
    cache
}

/// Whether a file with these times, written so long before it is read, is remembered.
fn remembered(mtime_ns: i64, ctime_ns: i64) -> bool {
    let stat = Stat {
        mtime_ns,
        ctime_ns,
        ..stat(0)
    };
    cache_of(&stat).lookup(&path("a"), &stat) == Some(Digest::of(b"hello"))
}

#[test]
fn a_file_is_unchanged_only_if_all_that_stat_says_is() {
    let old = stat(READ_MS * MS - 3_600_000 * MS + 1);
    let cache = cache_of(&old);
    assert_eq!(cache.lookup(&path("a"), &old), Some(Digest::of(b"hello")));
    assert_eq!(cache.lookup(&path("b"), &old), None);
    let changed = [
        Stat {
            kind: FileKind::Symlink,
            ..old
        },
        Stat { size: 6, ..old },
        Stat { mode: 0o755, ..old },
        Stat {
            mtime_ns: old.mtime_ns + 1,
            ..old
        },
        Stat {
            ctime_ns: old.ctime_ns + 1,
            ..old
        },
        Stat { inode: 43, ..old },
    ];
    for stat in changed {
        assert_eq!(cache.lookup(&path("a"), &stat), None, "{stat:?}");
    }
}

/// A file that is written, read, and written again within one tick has one mtime and, if its length
/// stays, one stat. (git: "racily clean" entries.)
#[test]
fn a_file_written_in_the_tick_in_which_it_was_read_is_not_remembered() {
    let now = READ_MS * MS;
    assert!(remembered(now - 21 * MS, now - 21 * MS));
    assert!(!remembered(now - 20 * MS, now - 20 * MS));
    assert!(!remembered(now - 21 * MS, now - 19 * MS));
    assert!(!remembered(now - 19 * MS, now - 21 * MS));
    assert!(!remembered(now + 5 * MS, now - 21 * MS));
    assert!(!remembered(now - 21 * MS, i64::MAX));
}

#[test]
fn a_clock_of_whole_seconds_needs_two_of_them() {
    let now = READ_MS * MS;
    assert!(!remembered(now - 1000 * MS, now - 1000 * MS));
    assert!(!remembered(now - 2000 * MS, now - 2000 * MS));
    assert!(remembered(now - 3000 * MS, now - 3000 * MS));
    // A time that somebody set to a whole second says nothing of the clock.
    assert!(remembered(now - 1000 * MS, now - 21 * MS));
}

#[test]
fn a_file_read_too_soon_is_forgotten() {
    let old = stat(READ_MS * MS - 3_600_000 * MS);
    let mut cache = cache_of(&old);
    let new = stat(READ_MS * MS);
    cache.insert(
        path("a"),
        &new,
        &Digest::of(b"other"),
        Timestamp::from_millis(READ_MS),
    );
    assert!(cache.is_empty());
}

#[test]
fn a_cache_is_saved_only_when_it_changed() {
    let disk = Disk::new();
    let old = stat(1);
    let mut cache = cache_of(&old);
    cache.save(&disk.storage, &path("stat"), 1).unwrap();
    disk.put("stat", "somebody else's");
    cache.save(&disk.storage, &path("stat"), 2).unwrap();
    cache.insert(
        path("a"),
        &old,
        &Digest::of(b"hello"),
        Timestamp::from_millis(READ_MS),
    );
    cache.retain(|_| true);
    cache.save(&disk.storage, &path("stat"), 3).unwrap();
    assert_eq!(disk.bytes("stat"), b"somebody else's");
    cache.retain(|_| false);
    cache.save(&disk.storage, &path("stat"), 4).unwrap();
    assert_ne!(disk.bytes("stat"), b"somebody else's");
}

#[test]
fn a_cache_that_is_not_there_is_empty() {
    let disk = Disk::new();
    assert!(
        StatCache::load(&disk.storage, &path("no/such/stat"))
            .unwrap()
            .is_empty()
    );
}

proptest! {
    #[test]
    fn a_saved_cache_knows_what_it_knew(
        files in prop::collection::btree_map(any_path(), (any::<u64>(), 0..i64::MAX / 8), 0..20),
    ) {
        let disk = Disk::new();
        let mut cache = StatCache::new();
        let stat_of = |inode: u64, time: i64| Stat { inode, ..stat(time) };
        for (path, &(inode, time)) in &files {
            let digest = Digest::of(path.as_bytes());
            let read_at = Timestamp::from_millis(i64::MAX / 4 / MS);
            cache.insert(path.clone(), &stat_of(inode, time), &digest, read_at);
        }
        cache.save(&disk.storage, &path("stat"), 1).unwrap();
        let back = StatCache::load(&disk.storage, &path("stat")).unwrap();
        prop_assert_eq!(back.len(), files.len());
        for (path, &(inode, time)) in &files {
            let known = back.lookup(path, &stat_of(inode, time));
            prop_assert_eq!(known, Some(Digest::of(path.as_bytes())));
        }
    }
}

#[test]
fn a_damaged_cache_is_empty_wherever_the_damage_is() {
    let disk = Disk::new();
    let mut cache = cache_of(&stat(1));
    cache.save(&disk.storage, &path("stat"), 1).unwrap();
    let bytes = disk.bytes("stat");
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        disk.put("stat", &damaged);
        assert!(
            StatCache::load(&disk.storage, &path("stat"))
                .unwrap()
                .is_empty(),
            "{at}"
        );
        disk.put("stat", &bytes[..at]);
        assert!(
            StatCache::load(&disk.storage, &path("stat"))
                .unwrap()
                .is_empty(),
            "{at}"
        );
    }
}
