//! The workspace on a disk that dies at every step: nothing acknowledged is lost, nobody's work is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ledger::core::log::Seams;
use ledger::core::{Author, AuthorKind, Digest, EventId, TreePath};
use ledger::{
    BookmarkChange, BookmarkTarget, Config, FileChange, FileTarget, Options, Provenance, Record,
    RecordTree, VerifyOptions, Workspace,
};
use ledger_testkit::{CountedIds, CrashTest, FailTest, FixedClock, Node, SimStorage};

fn author() -> Provenance {
    let kind = AuthorKind::Agent;
    Provenance::by(Author {
        name: "tester".to_owned(),
        version: None,
        kind,
    })
}

fn seams(disk: &SimStorage, seed: u64) -> Seams {
    Seams {
        storage: Arc::new(disk.clone()),
        clock: Arc::new(FixedClock::default()),
        ids: Arc::new(CountedIds::with_seed(seed)),
        lock_timeout: Duration::from_secs(1),
    }
}

fn options() -> Options {
    Options {
        background: false,
        ..Options::default()
    }
}

type Failure = Box<dyn std::error::Error>;

fn open(disk: &SimStorage, seed: u64) -> Result<Workspace, Failure> {
    Ok(Workspace::open_on(
        seams(disk, seed),
        Config::default(),
        options(),
    )?)
}

fn path(text: &str) -> TreePath {
    TreePath::parse(text).unwrap()
}

fn content(text: &str) -> FileTarget {
    FileTarget::Content {
        bytes: text.as_bytes().to_vec(),
        mode: None,
    }
}

fn record_all(workspace: &Workspace) -> Result<Vec<EventId>, Failure> {
    let request = RecordTree {
        paths: Vec::new(),
        provenance: author(),
    };
    Ok(workspace.record_tree(&request)?.events)
}

/// The user's files: all that is not the ledger's.
fn files(disk: &SimStorage) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for (path, node) in disk.tree() {
        let own = [&b".user"[..], b"results"]
            .iter()
            .any(|dir| path.as_bytes().starts_with(dir));
        match node {
            Node::File { bytes, .. } if !own => {
                files.insert(path.to_string(), bytes);
            }
            Node::Link(target) if !own => {
                files.insert(path.to_string(), [b"-> ", &target[..]].concat());
            }
            _ => {}
        }
    }
    files
}

/// A workspace with a history, unsaved work, and files that were never recorded.
fn prepared() -> SimStorage {
    let disk = SimStorage::new();
    disk.write_file("a.txt", b"one\ntwo\nthree\n");
    disk.write_file("gone.txt", b"soon\n");
    disk.write_file("d/b.txt", b"b\n");
    disk.write_file("becomes", b"a file\n");
    disk.write_file(".gitignore", b"*.log\n");
    let made = Workspace::init_on(seams(&disk, 1), Config::default(), &author(), options());
    let workspace = made.unwrap().workspace;
    disk.write_file("a.txt", b"one\n2\nthree\n");
    disk.write_file("new/deep/c.txt", b"c\n");
    record_all(&workspace).unwrap();
    use ledger::core::storage::Storage;
    disk.remove_file(&path("gone.txt")).unwrap();
    disk.remove_file(&path("becomes")).unwrap();
    disk.write_file("becomes/dir.txt", b"a directory\n");
    record_all(&workspace).unwrap();
    workspace.settle();
    drop(workspace);
    disk.write_file("a.txt", b"one\n2\nthree\nunsaved\n");
    disk.write_file("untracked.txt", b"mine\n");
    disk.write_file("debug.log", b"ignored\n");
    disk.settle();
    disk
}

/// Finishes what was interrupted, and checks everything that is recorded.
fn assert_sound(disk: &SimStorage) -> Workspace {
    let workspace = open(disk, 5001).unwrap();
    // Any command that takes the lock of the tree finishes a move.
    let _ = workspace.continue_move();
    assert!(workspace.pending_move().unwrap().is_none());
    assert_eq!(disk.read("untracked.txt").unwrap(), b"mine\n");
    assert_eq!(disk.read("debug.log").unwrap(), b"ignored\n");
    let verify = |repair| {
        let options = VerifyOptions {
            full: true,
            repair,
            patches: false,
        };
        let mut findings = Vec::new();
        let config = Config::default();
        let found = &mut |finding| findings.push(finding);
        let totals =
            Workspace::verify_on(seams(disk, 6001), config, options, found, &mut |_| {}).unwrap();
        (totals, findings)
    };
    let (found, findings) = verify(true);
    assert_eq!(found.damage, 0, "{findings:?}");
    let (found, findings) = verify(false);
    assert_eq!((found.damage, found.warnings), (0, 0), "{findings:?}");
    workspace
}

/// Whether some content is on disk, or in a state that can be rebuilt.
fn is_kept(workspace: &Workspace, disk: &SimStorage, content: &[u8]) -> bool {
    let view = workspace.view().unwrap();
    let recorded = |id: u64| {
        let row = view.event(EventId(id)).unwrap();
        row.event.body.edits.iter().any(|edit| {
            edit.after
                .is_some_and(|after| after.hash == Digest::of(content))
        })
    };
    files(disk).values().any(|bytes| bytes == content) || (0..=view.last().0).any(recorded)
}

const UNSAVED: &[u8] = b"one\n2\nthree\nunsaved\n";

#[test]
fn a_rewind_that_dies_ends_in_the_old_or_the_new_state_and_loses_no_work() {
    let prepared = prepared();
    let old = files(&prepared);
    let mut new = old.clone();
    for (name, bytes) in [
        ("a.txt", "one\ntwo\nthree\n"),
        ("gone.txt", "soon\n"),
        ("becomes", "a file\n"),
    ] {
        new.insert(name.to_owned(), bytes.as_bytes().to_vec());
    }
    new.remove("becomes/dir.txt");
    new.remove("new/deep/c.txt");
    CrashTest::on(&prepared).seeds(4).run(
        |disk, acks| -> Result<(), Failure> {
            let workspace = open(disk, 2)?;
            workspace.rewind(EventId(1), None, &author(), false)?;
            acks.push(());
            Ok(())
        },
        |survivor, acked| {
            let workspace = assert_sound(survivor);
            let found = files(survivor);
            assert!(
                found == new || (found == old && acked.is_empty()),
                "{found:#?}"
            );
            assert!(is_kept(&workspace, survivor, UNSAVED));
            let standing = workspace.standing().unwrap();
            assert_eq!(standing.branch == "main", found == old, "{standing:?}");
            // And the workspace is where it says: the files are those of its event.
            let status = workspace.status().unwrap();
            let changed: Vec<_> = status
                .scan
                .unrecorded
                .iter()
                .filter(|file| file.before.is_some() && file.path != path("a.txt"))
                .collect();
            assert!(changed.is_empty(), "{changed:?}");
        },
    );
}

#[test]
fn a_rewind_that_died_can_be_taken_back() {
    let prepared = prepared();
    let old = files(&prepared);
    CrashTest::on(&prepared).seeds(2).run(
        |disk, _: &ledger_testkit::Acks<()>| -> Result<(), Failure> {
            open(disk, 2)?.rewind(EventId(1), None, &author(), false)?;
            Ok(())
        },
        |survivor, _| {
            let workspace = open(survivor, 3).unwrap();
            let was_old = workspace.pending_move().unwrap().is_some();
            match workspace.abort_move() {
                Ok(_) => assert_eq!(files(survivor), old),
                Err(error) if was_old => {
                    // The event was recorded before it died: then it can only be finished.
                    assert!(error.to_string().contains("continued"), "{error}");
                }
                Err(_) => {}
            }
            let workspace = assert_sound(survivor);
            assert!(is_kept(&workspace, survivor, UNSAVED));
        },
    );
}

#[test]
fn a_switch_that_dies_ends_on_one_branch_or_the_other() {
    let prepared = prepared();
    let workspace = open(&prepared, 2).unwrap();
    workspace
        .create_branch("side", EventId(1), &author())
        .unwrap();
    drop(workspace);
    prepared.settle();
    let old = files(&prepared);
    CrashTest::on(&prepared).seeds(4).run(
        |disk, acks| -> Result<(), Failure> {
            open(disk, 3)?.switch("side", &author(), false)?;
            acks.push(());
            Ok(())
        },
        |survivor, acked| {
            let workspace = assert_sound(survivor);
            let on_side = workspace.standing().unwrap().branch == "side";
            assert!(on_side || acked.is_empty());
            assert_eq!(files(survivor) == old, !on_side);
            assert_eq!(survivor.read("gone.txt").is_some(), on_side);
            assert!(is_kept(&workspace, survivor, UNSAVED));
        },
    );
}

#[test]
fn records_bookmarks_and_snapshots_that_were_acknowledged_are_there() {
    let prepared = prepared();
    CrashTest::on(&prepared).seeds(4).run(
        |disk, acks| -> Result<(), Failure> {
            let workspace = open(disk, 2)?;
            acks.push(format!("event {}", record_all(&workspace)?.len()));
            let change = FileChange {
                path: path("given.txt"),
                to: content("given\n"),
            };
            workspace.record(&Record::new(vec![change], author()))?;
            acks.push("given".to_owned());
            let target = BookmarkTarget::Event(EventId(2));
            workspace.change_bookmark("mark", &BookmarkChange::Add(target), &author())?;
            acks.push("mark".to_owned());
            workspace.save_snapshot("saved", &author())?;
            acks.push("saved".to_owned());
            workspace.settle();
            Ok(())
        },
        |survivor, acked| {
            let workspace = assert_sound(survivor);
            let view = workspace.view().unwrap();
            let has = |what: &str| acked.iter().any(|ack| ack == what);
            let bookmarks = &view.heads().bookmarks;
            assert!(bookmarks.contains_key("mark") || !has("mark"));
            assert!(bookmarks.contains_key("saved") || !has("saved"));
            if has("given") {
                assert!(is_kept(&workspace, survivor, b"given\n"));
            }
            if let Some(bookmark) = bookmarks.get("saved") {
                assert_eq!(bookmark.target, "snap-0002");
                let archive = survivor.read(".user/ledger/snapshots/snap-0002.tar.zst");
                assert!(archive.is_some());
            }
        },
    );
}

#[test]
fn a_ledger_that_was_being_made_is_there_or_can_be_made() {
    let empty = SimStorage::new();
    empty.write_file("untracked.txt", b"mine\n");
    empty.write_file("debug.log", b"ignored\n");
    CrashTest::on(&empty).seeds(4).run(
        |disk, acks| -> Result<(), Failure> {
            Workspace::init_on(seams(disk, 1), Config::default(), &author(), options())?;
            acks.push(());
            Ok(())
        },
        |survivor, acked| {
            if open(survivor, 2).is_err() {
                assert!(acked.is_empty());
                Workspace::init_on(seams(survivor, 3), Config::default(), &author(), options())
                    .unwrap();
            }
            let workspace = assert_sound(survivor);
            let state = workspace.state(EventId(1)).unwrap();
            assert_eq!(
                state.content(&path("untracked.txt")).unwrap().unwrap(),
                b"mine\n"
            );
        },
    );
}

#[test]
fn when_the_disk_fails_at_any_step_nothing_is_lost_and_the_next_try_works() {
    let prepared = prepared();
    FailTest::on(&prepared).run(
        |disk, acks| -> Result<(), Failure> {
            let workspace = open(disk, 2)?;
            let change = FileChange {
                path: path("given.txt"),
                to: content("given\n"),
            };
            workspace.record(&Record::new(vec![change], author()))?;
            acks.push("given");
            workspace.rewind(EventId(1), None, &author(), false)?;
            acks.push("rewound");
            Ok(())
        },
        |survivor, acked, _| {
            let workspace = assert_sound(survivor);
            assert!(is_kept(&workspace, survivor, UNSAVED));
            assert!(is_kept(&workspace, survivor, b"given\n") || !acked.contains(&"given"));
            if acked.contains(&"rewound") {
                assert_eq!(survivor.read("a.txt").unwrap(), b"one\ntwo\nthree\n");
            }
            workspace
                .rewind(EventId(1), Some("again"), &author(), false)
                .unwrap();
            assert_eq!(survivor.read("a.txt").unwrap(), b"one\ntwo\nthree\n");
        },
    );
}
