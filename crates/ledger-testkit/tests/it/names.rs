//! What a crash leaves of the names in directories.

use std::collections::BTreeMap;

use ledger_core::TreePath;
use ledger_core::storage::{FileKind, RenameMode, Storage};
use ledger_testkit::{Crash, SimStorage, is_stopped};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{after, open, outcomes, path};

#[test]
fn a_name_is_durable_with_its_directory_and_lost_with_its_parent() {
    let disk = SimStorage::new();
    disk.create_dir(&path("d"), 0o700).unwrap();
    open(&disk, "d/f").sync().unwrap();
    disk.rename(&path("d/f"), &path("d/g"), RenameMode::Replace)
        .unwrap();
    disk.sync_dir(&path("d")).unwrap();
    assert_eq!(after(&disk, Crash::DropAll), "");
    disk.sync_dir(&TreePath::root()).unwrap();
    assert_eq!(after(&disk, Crash::DropAll), "d 0700 dir\nd/g 0600 \"\"\n");
}

#[test]
fn a_removed_file_comes_back_unless_its_directory_was_synced() {
    let disk = SimStorage::new();
    disk.write_file("d/f", b"x");
    disk.remove_file(&path("d/f")).unwrap();
    let back = "d 0755 dir\nd/f 0644 \"x\"\n";
    assert_eq!(after(&disk, Crash::DropAll), back);
    disk.sync_dir(&path("d")).unwrap();
    assert_eq!(after(&disk, Crash::DropAll), "d 0755 dir\n");
}

#[test]
fn a_directory_keeps_a_prefix_of_its_changes() {
    let disk = SimStorage::new();
    for name in ["a", "b", "c"] {
        open(&disk, name);
    }
    let line = |name| format!("{name} 0600 \"\"\n");
    let prefixes = ["", "a", "ab", "abc"];
    let expected = prefixes.map(|names| names.chars().map(line).collect::<String>());
    assert_eq!(outcomes(&disk), expected.into_iter().collect());
}

#[test]
fn two_directories_keep_what_they_keep_on_their_own() {
    let disk = SimStorage::new();
    disk.make_dirs("d");
    disk.make_dirs("e");
    open(&disk, "d/f");
    open(&disk, "e/f");
    assert_eq!(outcomes(&disk).len(), 4);
}

#[test]
fn a_rename_between_directories_is_never_half_done() {
    let disk = SimStorage::new();
    disk.write_file("d/f", b"x");
    disk.write_file("e/f", b"y");
    let exchange = disk.fork();
    exchange
        .rename(&path("d/f"), &path("e/f"), RenameMode::Exchange)
        .unwrap();
    let replace = disk.fork();
    open(&replace, "d/before");
    replace
        .rename(&path("d/f"), &path("e/f"), RenameMode::Replace)
        .unwrap();
    for (disk, count) in [(&exchange, 2), (&replace, 3)] {
        let left = outcomes(disk);
        assert_eq!(left.len(), count, "{left:?}");
        assert!(left.iter().all(|tree| tree.contains("\"x\"")), "{left:?}");
    }
    // A sync of either directory settles it, and what came before it in the other.
    replace.sync_dir(&path("e")).unwrap();
    let settled = "d 0755 dir\nd/before 0600 \"\"\ne 0755 dir\ne/f 0644 \"x\"\n";
    assert_eq!(after(&replace, Crash::DropAll), settled);
}

#[test]
fn a_file_moved_into_a_new_directory_is_not_lost_with_it() {
    let disk = SimStorage::new();
    disk.write_file("d/f", b"x");
    disk.create_dir(&path("new"), 0o700).unwrap();
    disk.create_dir(&path("new/er"), 0o700).unwrap();
    disk.rename(&path("d/f"), &path("new/er/f"), RenameMode::NoReplace)
        .unwrap();
    disk.remove_dir(&path("d")).unwrap();
    let left = outcomes(&disk);
    assert!(left.iter().all(|tree| tree.contains("\"x\"")), "{left:?}");
    disk.sync_dir(&TreePath::root()).unwrap();
    assert_eq!(after(&disk, Crash::DropAll), disk.dump());
}

#[test]
fn a_file_exchanged_into_a_new_directory_is_not_lost_with_it() {
    let disk = SimStorage::new();
    disk.write_file("d/f", b"x");
    disk.create_dir(&path("new"), 0o700).unwrap();
    open(&disk, "new/f");
    disk.rename(&path("new/f"), &path("d/f"), RenameMode::Exchange)
        .unwrap();
    let left = outcomes(&disk);
    assert!(left.iter().all(|tree| tree.contains("\"x\"")), "{left:?}");
    disk.sync_dir(&path("d")).unwrap();
    assert_eq!(after(&disk, Crash::DropAll), disk.dump());
}

/// Two directories moved below each other in turn: were the second move kept without the first one's
/// undoing, each would stand in the other, and no name would lead to either.
#[test]
fn directories_never_swallow_each_other() {
    for undo in [RenameMode::Replace, RenameMode::Exchange] {
        let disk = SimStorage::new();
        disk.write_file("p/a/one", b"1");
        disk.write_file("q/b/two", b"2");
        let mv = |from, to, mode| disk.rename(&path(from), &path(to), mode).unwrap();
        mv("p/a", "q/b/a", RenameMode::Replace);
        match undo {
            RenameMode::Exchange => {
                disk.create_dir(&path("p/a"), 0o700).unwrap();
                mv("p/a", "q/b/a", undo);
            }
            _ => mv("q/b/a", "p/a", undo),
        }
        mv("q/b", "p/a/b", RenameMode::Replace);
        for tree in outcomes(&disk) {
            assert!(tree.contains("\"1\"") && tree.contains("\"2\""), "{tree}");
        }
        disk.sync_dir(&path("q")).unwrap();
        assert_eq!(after(&disk, Crash::DropAll), disk.dump());
    }
}

#[test]
fn a_lock_goes_with_its_handle_and_with_the_machine() {
    let disk = SimStorage::new();
    disk.write_file("lock", b"");
    let (first, second) = (open(&disk, "lock"), open(&disk, "lock"));
    assert!(first.try_lock().unwrap() && first.try_lock().unwrap());
    assert!(!second.try_lock().unwrap());
    drop(first);
    assert!(second.try_lock().unwrap());
    let restarted = disk.crash(Crash::KeepAll);
    assert!(open(&restarted, "lock").try_lock().unwrap());
    assert!(is_stopped(&second.try_lock().unwrap_err()));
}

/// Moves, exchanges, and directories made, removed and replaced: nothing that would take a file away.
#[derive(Debug, Clone)]
enum Shuffle {
    Rename(TreePath, TreePath, RenameMode),
    MakeDir(TreePath),
    RemoveDir(TreePath),
    Sync(TreePath),
}

fn any_shuffle() -> impl Strategy<Value = Shuffle> {
    let any_path = || {
        let names = vec(select(vec!["a", "b", "c", "d"]), 1..4);
        names.prop_map(|names| path(&names.join("/")))
    };
    let mode = select(vec![
        RenameMode::Replace,
        RenameMode::NoReplace,
        RenameMode::Exchange,
    ]);
    prop_oneof![
        8 => (any_path(), any_path(), mode).prop_map(|(from, to, mode)| Shuffle::Rename(from, to, mode)),
        3 => any_path().prop_map(Shuffle::MakeDir),
        2 => any_path().prop_map(Shuffle::RemoveDir),
        1 => prop_oneof![Just(TreePath::root()), any_path()].prop_map(Shuffle::Sync),
    ]
}

/// Carries it out as far as it can be, unless it would replace a file.
fn shuffle(disk: &SimStorage, step: &Shuffle) {
    let is_dir = |path| disk.stat(path).is_ok_and(|stat| stat.kind == FileKind::Dir);
    // What is not possible is no part of the story.
    let _ = match step {
        Shuffle::Rename(_, to, RenameMode::Replace) if disk.stat(to).is_ok() && !is_dir(to) => {
            return;
        }
        Shuffle::Rename(from, to, mode) => disk.rename(from, to, *mode),
        Shuffle::MakeDir(dir) => disk.create_dir(dir, 0o700),
        Shuffle::RemoveDir(dir) => disk.remove_dir(dir),
        Shuffle::Sync(dir) => disk.sync_dir(dir),
    };
}

type Names = BTreeMap<Box<[u8]>, u64>;

/// Every directory: its path, its number and the numbers of what is in it.
fn directories(disk: &SimStorage) -> Vec<(TreePath, u64, Names)> {
    let paths = disk.tree().into_keys().chain([TreePath::root()]);
    let dirs = paths.filter_map(|path| {
        let stat = disk.stat(&path).unwrap();
        let entries = disk.list(&path).ok()?.into_iter();
        let names = entries.map(|entry| (entry.name, entry.stat.inode));
        Some((path, stat.inode, names.collect()))
    });
    dirs.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Every file that had a durable name has exactly one after any crash, and every directory is as
    /// it was at some moment since it was last synced.
    #[test]
    fn no_crash_loses_or_doubles_what_is_only_moved(steps in vec(any_shuffle(), 1..40)) {
        let disk = SimStorage::new();
        for (number, name) in ["a/a/a", "a/b", "b/a", "c"].into_iter().enumerate() {
            disk.write_file(name, format!("#{number}").as_bytes());
        }
        // What each directory held since its last sync.
        let mut past: BTreeMap<u64, Vec<Names>> = BTreeMap::new();
        for step in [None].into_iter().chain(steps.iter().map(Some)) {
            step.inspect(|step| shuffle(&disk, step));
            for (path, inode, names) in directories(&disk) {
                // A new directory is empty on the disk.
                let moments = past.entry(inode).or_insert_with(|| vec![Names::new()]);
                let synced = step.is_none_or(|step| matches!(step, Shuffle::Sync(dir) if *dir == path));
                if synced {
                    moments.clear();
                }
                moments.push(names);
            }
        }
        let crashes = (0..40).map(Crash::Seeded);
        for crash in crashes.chain([Crash::DropAll, Crash::KeepNames, Crash::KeepAll]) {
            let survivor = disk.fork().crash(crash);
            let dump = survivor.dump();
            for number in 0..4 {
                let bytes = format!("\"#{number}\"");
                prop_assert_eq!(dump.matches(&bytes).count(), 1, "{:?}\n{}", crash, dump);
            }
            for (path, inode, names) in directories(&survivor) {
                prop_assert!(past[&inode].contains(&names), "{:?} {}\n{}", crash, path, dump);
            }
        }
    }
}
