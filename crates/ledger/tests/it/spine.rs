//! The whole path from an edit to a restored state, on a real disk.

use std::fs;
use std::path::Path;

use ledger::core::{Author, AuthorKind, EventId, TreePath};
use ledger::{
    FileChange, FileTarget, Options, Provenance, Record, RecordTree, VerifyOptions, Workspace,
};

fn author() -> Provenance {
    let kind = AuthorKind::Agent;
    Provenance::by(Author {
        name: "tester".to_owned(),
        version: None,
        kind,
    })
}

fn options() -> Options {
    Options {
        background: false,
        ..Options::default()
    }
}

fn path(text: &str) -> TreePath {
    TreePath::parse(text).unwrap()
}

fn workspace(files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        write(dir.path(), name, content);
    }
    let made = Workspace::init(dir.path(), &author(), options()).unwrap();
    (dir, made.workspace)
}

fn write(root: &Path, name: &str, content: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn record_all(workspace: &Workspace) -> Vec<EventId> {
    let request = RecordTree {
        paths: Vec::new(),
        provenance: author(),
    };
    let recorded = workspace.record_tree(&request).unwrap();
    workspace.settle();
    recorded.events
}

#[test]
fn a_change_on_disk_is_recorded_and_rebuilt() {
    let (dir, workspace) = workspace(&[("a.py", "def f():\n    return 1\n"), ("b.txt", "x\n")]);
    let before = workspace.view().unwrap().last();
    write(dir.path(), "a.py", "def f():\n    return 2\n");
    write(dir.path(), "new/c.txt", "new\n");
    let events = record_all(&workspace);
    assert_eq!(events.len(), 2);
    let row = workspace.view().unwrap().event(events[0]).unwrap();
    assert_eq!(row.event.body.affected_lines, [2]);
    assert_eq!(row.event.body.semantic_block.unwrap().id, "f");

    let old = workspace.state(before).unwrap();
    assert_eq!(
        old.content(&path("a.py")).unwrap().unwrap(),
        b"def f():\n    return 1\n"
    );
    assert_eq!(old.content(&path("new/c.txt")).unwrap(), None);
    let new = workspace.state(events[1]).unwrap();
    assert_eq!(
        new.content(&path("a.py")).unwrap().unwrap(),
        b"def f():\n    return 2\n"
    );
    assert_eq!(new.content(&path("new/c.txt")).unwrap().unwrap(), b"new\n");
    assert!(record_all(&workspace).is_empty());
}

#[test]
fn a_rewind_keeps_unsaved_work_and_can_be_rewound() {
    let (dir, workspace) = workspace(&[("a.txt", "one\n"), ("d/b.txt", "b\n")]);
    let start = workspace.view().unwrap().last();
    write(dir.path(), "a.txt", "two\n");
    fs::remove_dir_all(dir.path().join("d")).unwrap();
    write(dir.path(), "d", "a file now\n");
    record_all(&workspace);
    write(dir.path(), "a.txt", "three, unsaved\n");
    write(dir.path(), "untracked.txt", "mine\n");

    let moved = workspace.rewind(start, None, &author(), false).unwrap();
    assert_eq!(fs::read(dir.path().join("a.txt")).unwrap(), b"one\n");
    assert_eq!(fs::read(dir.path().join("d/b.txt")).unwrap(), b"b\n");
    assert_eq!(
        fs::read(dir.path().join("untracked.txt")).unwrap(),
        b"mine\n"
    );
    assert_eq!(moved.kept.len(), 1);

    let kept = moved.kept[0];
    workspace.rewind(kept, None, &author(), false).unwrap();
    assert_eq!(
        fs::read(dir.path().join("a.txt")).unwrap(),
        b"three, unsaved\n"
    );
    assert_eq!(fs::read(dir.path().join("d")).unwrap(), b"a file now\n");
    assert!(record_all(&workspace).iter().all(|event| {
        let row = workspace.view().unwrap().event(*event).unwrap();
        row.event.body.edits[0].path == path("untracked.txt")
    }));
}

#[test]
fn edits_from_one_base_are_moved_over_each_other_or_refused() {
    let (_dir, workspace) = workspace(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    let base = workspace.view().unwrap().last();
    let change = |text: &str| Record {
        base: Some(base),
        ..Record::new(
            vec![FileChange {
                path: path("a.txt"),
                to: FileTarget::Content {
                    bytes: text.as_bytes().to_vec(),
                    mode: None,
                },
            }],
            author(),
        )
    };
    workspace.record(&change("one\n2\n3\n4\n5\n")).unwrap();
    workspace.record(&change("1\n2\n3\n4\nfive\n")).unwrap();
    let refused = workspace.record(&change("uno\n2\n3\n4\n5\n")).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("a.txt was also changed by evt-000002"),
        "{refused}"
    );
    let state = workspace.state(workspace.view().unwrap().last()).unwrap();
    assert_eq!(
        state.content(&path("a.txt")).unwrap().unwrap(),
        b"one\n2\n3\n4\nfive\n"
    );
}

#[test]
fn what_is_derived_is_rebuilt_to_the_same_bytes() {
    let (dir, workspace) = workspace(&[("a.py", "def f():\n    return 1\n"), ("b.txt", "x\n")]);
    for i in 0..5 {
        write(
            dir.path(),
            "a.py",
            &format!("def f():\n    return {i}\n\n\ndef g{i}():\n    pass\n"),
        );
        record_all(&workspace);
    }
    workspace.save_snapshot("here", &author()).unwrap();
    write(dir.path(), "c.txt", "more\n");
    record_all(&workspace);
    drop(workspace);

    let ledger = dir.path().join(".user/ledger");
    let derived = [
        ledger.join("bookmarks.json"),
        ledger.join("snapshots/snap-0002.tar.zst"),
        ledger.join("snapshots/snap-0002.json"),
        dir.path().join("results/diffs/diff-evt-000003.patch"),
        dir.path().join("results/diffs/diff-evt-000004.patch"),
    ];
    let verify = |repair| {
        let options = VerifyOptions {
            full: true,
            repair,
            patches: false,
        };
        let mut findings = Vec::new();
        let totals =
            Workspace::verify(dir.path(), options, &mut |f| findings.push(f), &mut |_| {}).unwrap();
        (totals, findings)
    };
    let (clean, findings) = verify(false);
    assert_eq!((clean.damage, clean.warnings), (0, 0), "{findings:?}");
    for path in &derived {
        let whole = fs::read(path).unwrap();
        for altered in [None, Some([&whole[..], b"x"].concat())] {
            match altered {
                None => fs::remove_file(path).unwrap(),
                Some(bytes) => fs::write(path, bytes).unwrap(),
            }
            let (found, findings) = verify(false);
            assert!(found.damage + found.warnings > 0, "{path:?}: {findings:?}");
            let (found, findings) = verify(true);
            assert_eq!(
                (found.damage, found.warnings),
                (0, 0),
                "{path:?}: {findings:?}"
            );
            assert!(fs::read(path).unwrap() == whole, "{path:?}");
            let (clean, findings) = verify(false);
            assert_eq!(
                (clean.damage, clean.warnings),
                (0, 0),
                "{path:?}: {findings:?}"
            );
        }
    }
}
