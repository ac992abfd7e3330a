//! What a walk finds, beside what git says.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use ledger_core::Mode;
use ledger_core::storage::{FileKind, Storage};
use ledger_snapshot::{Exclusion, Walk, Walker, mode_of, stat_many};
use ledger_testkit::SimStorage;
use proptest::prelude::*;

use crate::support::*;

fn names(walk: &Walk) -> Vec<String> {
    walk.files
        .iter()
        .map(|found| found.path.to_string())
        .collect()
}

fn disk(files: &[(&str, &str)]) -> Disk {
    let disk = Disk::new();
    for (name, content) in files {
        disk.put(name, content);
    }
    disk
}

fn walked(disk: &Disk, patterns: &[&str]) -> Vec<String> {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    names(&Walker::new(&disk.storage, &patterns).walk().unwrap())
}

#[test]
fn hidden_files_are_found_and_what_is_the_ledgers_or_gits_is_not() {
    let disk = disk(&[
        (".env", ""),
        (".github/ci.yml", ""),
        (".git/HEAD", ""),
        (".user/ledger/events.jsonl", ""),
        ("results/diffs/a", ""),
        ("results/artifacts/a", ""),
        ("results/other", ""),
        ("sub/.user/a", ""),
        ("sub/results/diffs/a", ""),
    ]);
    let expect = [
        ".env",
        ".github/ci.yml",
        "results/other",
        "sub/.user/a",
        "sub/results/diffs/a",
    ];
    assert_eq!(walked(&disk, &[]), expect);
}

#[test]
fn a_benchignore_takes_back_in_what_a_gitignore_left_out() {
    let disk = disk(&[
        (".gitignore", "*.log\nout/\n"),
        (".benchignore", "!keep.log\n!out/\n*.tmp\n"),
        ("keep.log", ""),
        ("other.log", ""),
        ("x.tmp", ""),
        ("out/a", ""),
        ("out/keep.log", ""),
        // Deeper, and yet weaker than a `.benchignore` above it.
        ("sub/.gitignore", "keep.log\n!x.tmp\n"),
        ("sub/keep.log", ""),
        ("sub/x.tmp", ""),
        ("sub/deep/.benchignore", "keep.log\n"),
        ("sub/deep/keep.log", ""),
    ]);
    let expect = [
        ".benchignore",
        ".gitignore",
        "keep.log",
        "out/a",
        "out/keep.log",
        "sub/.gitignore",
        "sub/deep/.benchignore",
        "sub/keep.log",
    ];
    assert_eq!(walked(&disk, &[]), expect);
}

#[test]
fn patterns_of_the_configuration_are_the_strongest() {
    let disk = disk(&[
        (".gitignore", "*.log\n"),
        (".benchignore", "!b.log\n"),
        ("a.log", ""),
        ("b.log", ""),
        ("sub/b.log", ""),
    ]);
    let expect = [".benchignore", ".gitignore", "a.log", "sub/b.log"];
    assert_eq!(walked(&disk, &["!a.log", "/b.log"]), expect);
}

#[test]
fn repositories_below_the_root_are_named_and_not_entered() {
    let disk = disk(&[
        (".git/HEAD", ""),
        ("a", ""),
        ("sub/repo/.git/HEAD", ""),
        ("sub/repo/x", ""),
        ("worktree/.git", "gitdir: elsewhere"),
        ("worktree/x", ""),
        ("ignored/repo/.git/HEAD", ""),
        (".gitignore", "ignored\n"),
    ]);
    let walk = Walker::new(&disk.storage, &[]).walk().unwrap();
    assert_eq!(names(&walk), [".gitignore", "a"]);
    assert_eq!(walk.nested, [path("sub/repo"), path("worktree")]);
}

#[test]
fn one_path_is_excluded_for_the_same_reason_as_in_a_walk() {
    let disk = disk(&[
        (".gitignore", "*.log\nbuild/\n"),
        ("build/.benchignore", "!a\n"),
        ("build/a", ""),
        ("repo/.git/HEAD", ""),
        ("a.log", ""),
    ]);
    let walker = Walker::new(&disk.storage, &[]);
    let repository = path("repo");
    let nested = Some(Exclusion::Nested { repository });
    let check = |name: &str, is_dir: bool, expect: Option<Exclusion>| {
        assert_eq!(
            walker.exclusion(&path(name), is_dir).unwrap(),
            expect,
            "{name}"
        );
    };
    check("a", false, None);
    check("a.log", false, Some(Exclusion::Ignored));
    check("no/such/a.log", false, Some(Exclusion::Ignored));
    check("no/such/file", false, None);
    check("build/a", false, Some(Exclusion::Ignored));
    check("build", true, Some(Exclusion::Ignored));
    check("build", false, None);
    check(".git/config", false, Some(Exclusion::Git));
    check("x/.git", false, Some(Exclusion::Git));
    check(".user/ledger/tip", false, Some(Exclusion::Ledger));
    check("results/diffs", true, Some(Exclusion::Ledger));
    check("results/other", false, None);
    check("repo/a.log", false, nested.clone());
    check("repo", true, nested);
}

#[test]
fn links_are_found_and_not_followed() {
    let disk = disk(&[("dir/a", ""), ("patterns", "*\n")]);
    symlink("dir", disk.os_path("link")).unwrap();
    symlink("../patterns", disk.os_path("dir/.gitignore")).unwrap();
    let walk = Walker::new(&disk.storage, &[]).walk().unwrap();
    assert_eq!(
        names(&walk),
        ["dir/.gitignore", "dir/a", "link", "patterns"]
    );
    assert_eq!(mode_of(&walk.files[2].stat), Some(Mode::Symlink));
}

#[test]
fn sockets_and_pipes_are_named_and_not_tracked() {
    let disk = disk(&[("a", ""), (".gitignore", "*.ignored\n")]);
    let _one = UnixListener::bind(disk.os_path("socket")).unwrap();
    let _two = UnixListener::bind(disk.os_path("socket.ignored")).unwrap();
    let walk = Walker::new(&disk.storage, &[]).walk().unwrap();
    assert_eq!(names(&walk), [".gitignore", "a"]);
    assert_eq!(walk.others, [path("socket")]);
}

#[test]
fn patterns_that_cannot_be_used_are_warnings_and_the_others_hold() {
    let disk = disk(&[("a", ""), ("b", "")]);
    disk.put(".gitignore", b"a\n[\n\xff\nb\\\nb\n");
    disk.put("sub/.gitignore", "x\n".repeat(600_000));
    disk.put("sub/x", "");
    let walk = Walker::new(&disk.storage, &["[z".to_owned()])
        .walk()
        .unwrap();
    assert_eq!(names(&walk), [".gitignore", "sub/.gitignore", "sub/x"]);
    let warnings: Vec<String> = walk.warnings.iter().map(ToString::to_string).collect();
    let expect = [
        "ignore pattern 1 of the configuration is not in force: a bracket in it is not closed",
        "line 2 of .gitignore is not in force: a bracket in it is not closed",
        "line 3 of .gitignore is not in force: it is not UTF-8",
        "line 4 of .gitignore is not in force: it ends with a backslash",
        "sub/.gitignore is not in force: it is longer than 1048576 bytes",
    ];
    assert_eq!(warnings, expect);
}

#[test]
fn a_directory_that_may_not_be_read_is_reported_and_the_walk_goes_on() {
    let disk = disk(&[("a", ""), ("closed/b", ""), ("z/c", "")]);
    let closed = disk.os_path("closed");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    // The superuser may read it all the same.
    let readable = std::fs::read_dir(&closed).is_ok();
    let walk = Walker::new(&disk.storage, &[]).walk().unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
    if readable {
        assert_eq!(names(&walk), ["a", "closed/b", "z/c"]);
    } else {
        assert_eq!(names(&walk), ["a", "z/c"]);
        assert_eq!(walk.unreadable.len(), 1);
    }
}

#[test]
fn a_walk_is_the_same_on_any_number_of_threads() {
    let disk = Disk::new();
    for n in 0..300 {
        disk.put(&format!("d{}/e{}/f{n}", n % 7, n % 5), "");
    }
    let by = |count| {
        Walker::new(&disk.storage, &[])
            .threads(threads(count))
            .walk()
            .unwrap()
            .files
    };
    let one = by(1);
    assert_eq!(one.len(), 300);
    assert!(one.is_sorted_by(|a, b| a.path < b.path));
    assert_eq!(by(4), one);
}

#[test]
fn a_very_deep_tree_is_walked() {
    let disk = SimStorage::new();
    let mut dir = ledger_core::TreePath::root();
    for n in 0..600 {
        dir = dir.join("d").unwrap();
        disk.create_dir(&dir, 0o755).unwrap();
        if n % 20 == 0 {
            disk.write_file(&dir.join(".gitignore").unwrap().to_string(), b"x\n");
        }
    }
    let walk = Walker::new(&disk, &[]).threads(threads(2)).walk().unwrap();
    assert_eq!(walk.files.len(), 30);
}

#[test]
fn many_paths_are_looked_at_in_order_and_those_behind_links_are_absent() {
    let disk = disk(&[("file", "abc"), ("dir/x", "")]);
    symlink("dir", disk.os_path("link")).unwrap();
    for n in 0..200 {
        disk.put(&format!("many/{n}"), "z".repeat(n));
    }
    let mut paths: Vec<_> = (0..200).map(|n| path(format!("many/{n}"))).collect();
    paths.extend(["file", "link", "link/x", "file/x", "none", "dir"].map(path));
    let stats = stat_many(&disk.storage, &paths, threads(3)).unwrap();
    for (n, stat) in stats[..200].iter().enumerate() {
        assert_eq!(stat.unwrap().size, n as u64);
    }
    let kinds: Vec<_> = stats[200..]
        .iter()
        .map(|stat| stat.map(|stat| stat.kind))
        .collect();
    let expect = [
        Some(FileKind::File),
        Some(FileKind::Symlink),
        None,
        None,
        None,
        Some(FileKind::Dir),
    ];
    assert_eq!(kinds, expect);
}

proptest! {
    #[test]
    fn no_bytes_in_an_ignore_file_make_a_walk_fail(
        text in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"*?[]!^-\\/{},\n a:"[..])],
            0..200,
        ),
    ) {
        let disk = SimStorage::new();
        disk.write_file(".gitignore", &text);
        disk.write_file("a", b"");
        Walker::new(&disk, &[]).threads(threads(1)).walk().unwrap();
    }
}

#[test]
fn a_file_of_too_many_patterns_is_cut_with_a_warning() {
    let disk = SimStorage::new();
    let text: String = (0..9000).map(|n| format!("*a{n}-*b*c[x-z]*\n")).collect();
    disk.write_file(".gitignore", text.as_bytes());
    disk.write_file("a1-bcx", b"");
    disk.write_file("a8000-bcx", b"");
    let walk = Walker::new(&disk, &[]).walk().unwrap();
    let shown: Vec<_> = walk.warnings.iter().map(ToString::to_string).collect();
    let expect = "line 4097 of .gitignore is not in force: it and those after it are more than 4096 \
                  patterns";
    assert_eq!(shown, [expect]);
    assert_eq!(names(&walk), [".gitignore", "a8000-bcx"]);
}
