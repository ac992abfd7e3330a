//! Git histories, imported: each state is its commit's tree, and nobody's files are lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use ledger::core::{Action, Author, AuthorKind, Digest, EventId, TreePath, layout};
use ledger::{
    Config, ImportError, ImportGit, Imported, LeftReason, Options, Progress, Provenance,
    SkipReason, Workspace,
};

/// A repository that is made for a test, apart from anybody's configuration.
struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Repository {
            dir: tempfile::tempdir().unwrap(),
        };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ann Thor")
            .env("GIT_AUTHOR_EMAIL", "ann@example.org")
            .env("GIT_AUTHOR_DATE", "1600000000 +0200")
            .env("GIT_COMMITTER_NAME", "Com")
            .env("GIT_COMMITTER_EMAIL", "com@example.org")
            .env("GIT_COMMITTER_DATE", "1600000001 +0200")
            .current_dir(self.path())
            .args(arguments);
        command
    }

    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        output.stdout
    }

    fn word(&self, arguments: &[&str]) -> String {
        let answer = String::from_utf8(self.git(arguments)).unwrap();
        answer.trim().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path().join(name)).unwrap();
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.word(&["rev-parse", "HEAD"])
    }

    /// A commit whose tree git itself would not make: entries as `git mktree` takes them.
    fn commit_tree(&self, entries: &[u8], parent: Option<&str>) -> String {
        let mut tree = self.command(&["mktree", "-z", "--missing"]);
        let mut tree = tree
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        tree.stdin.take().unwrap().write_all(entries).unwrap();
        let output = tree.wait_with_output().unwrap();
        assert!(output.status.success());
        let tree = String::from_utf8(output.stdout).unwrap();
        let mut arguments = vec!["commit-tree", "-m", "made", tree.trim()];
        arguments.extend(parent.iter().flat_map(|parent| ["-p", parent]));
        self.word(&arguments)
    }

    fn blob(&self, content: &[u8]) -> String {
        self.write(".blob", content);
        let oid = self.word(&["hash-object", "-w", "--no-filters", ".blob"]);
        self.remove(".blob");
        oid
    }

    /// What a commit has: path to mode and content; submodules and reserved paths left out.
    fn tree(&self, commit: &str) -> BTreeMap<Vec<u8>, (String, Vec<u8>)> {
        let listed = self.git(&["ls-tree", "-r", "-z", "--full-tree", commit]);
        let lines = listed
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty());
        let mut tree = BTreeMap::new();
        for line in lines {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let about = std::str::from_utf8(&line[..tab]).unwrap();
            let (mode, oid) = (&about[..6], &about[12..]);
            let path = &line[tab + 1..];
            if mode == "160000" || layout::is_reserved(&TreePath::parse(path).unwrap()) {
                continue;
            }
            let content = self.git(&["cat-file", "blob", oid]);
            tree.insert(path.to_vec(), (mode.to_owned(), content));
        }
        tree
    }
}

fn somebody() -> Provenance {
    let kind = AuthorKind::Human;
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

fn init(root: &Path) -> Workspace {
    Workspace::init(root, &somebody(), options())
        .unwrap()
        .workspace
}

fn empty() -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let workspace = init(dir.path());
    (dir, workspace)
}

fn request(repository: &Path) -> ImportGit {
    ImportGit {
        repository: repository.to_path_buf(),
        from: None,
        to: None,
        semantics: false,
    }
}

fn import(workspace: &Workspace, repository: &Path) -> Imported {
    let imported = workspace.import_git(&request(repository), &mut |_| {});
    assert_eq!(workspace.take_warnings(), Vec::<String>::new());
    imported.unwrap()
}

fn refused(workspace: &Workspace, request: &ImportGit) -> String {
    let error = workspace.import_git(request, &mut |_| {}).unwrap_err();
    error.to_string()
}

fn event_of(workspace: &Workspace, commit: &str) -> EventId {
    workspace.resolve(&format!("git:{commit}")).unwrap().event
}

/// Compares the state after each commit of the mainline with git's tree, byte for byte.
fn check(workspace: &Workspace, repository: &Repository, to: &str) {
    let list = repository.word(&["rev-list", "--first-parent", "--reverse", to]);
    for commit in list.lines() {
        check_commit(workspace, repository, commit);
    }
}

fn check_commit(workspace: &Workspace, repository: &Repository, revision: &str) {
    let commit = &repository.word(&["rev-parse", revision]);
    let state = workspace.state(event_of(workspace, commit)).unwrap();
    let recorded = state.tree().iter().map(|(path, entry)| {
        let content = state.content(path).unwrap().unwrap();
        assert_eq!(Digest::of(&content), entry.hash);
        let about = (entry.mode.as_str().to_owned(), content);
        (path.as_bytes().to_vec(), about)
    });
    let recorded: BTreeMap<_, _> = recorded.collect();
    assert_eq!(recorded, repository.tree(commit), "{commit}");
}

fn unrecorded(workspace: &Workspace) -> Vec<String> {
    let status = workspace.status().unwrap();
    let scan = status.scan.unrecorded.iter();
    scan.map(|file| file.path.to_string()).collect()
}

#[test]
fn every_state_is_the_tree_of_its_commit_in_gits_own_bytes() {
    let repository = Repository::new();
    repository.write("crlf.txt", "one\r\ntwo\r\nthree\r\n");
    repository.write("binary", b"\0\x01\xff\0");
    repository.write("latin1", b"caf\xe9\n");
    repository.write("empty", "");
    repository.write("no-last-newline", "a\nb");
    repository.write("caf\u{e9}/new\nline", "x\n");
    repository.write("tool.sh", "#!/bin/sh\n");
    repository.write("large.txt", "a line of some length\n".repeat(8000));
    repository.write(".gitattributes", "* text=auto eol=crlf\n");
    repository.write("sub/dir/file", "below\n");
    fs::write(
        repository
            .path()
            .join(std::ffi::OsStr::from_bytes(b"raw\xff\xfe")),
        "r\n",
    )
    .unwrap();
    symlink("nowhere/at all", repository.path().join("link")).unwrap();
    repository.git(&["config", "core.autocrlf", "false"]);
    repository.commit("all kinds");

    repository.write("crlf.txt", "one\r\n2\r\nthree\r\n");
    repository.write("binary", b"\0\x02\xff\0more");
    repository.write("latin1", b"caf\xe9\nau lait\n");
    repository.write("no-last-newline", "a\nb\n");
    let tool = repository.path().join("tool.sh");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
    repository.write("large.txt", "another line\n".repeat(9000));
    repository.commit("changes of content and mode");

    repository.remove("sub/dir/file");
    fs::remove_dir_all(repository.path().join("sub")).unwrap();
    repository.write("sub", "a file where a directory was\n");
    repository.remove("latin1");
    repository.write("latin1/inside", "a directory where a file was\n");
    repository.remove("link");
    repository.write("link", "a file where a link was\n");
    repository.remove("empty");
    symlink("sub", repository.path().join("empty")).unwrap();
    repository.git(&["mv", "tool.sh", "renamed.sh"]);
    repository.git(&["mv", "large.txt", "latin1/moved.txt"]);
    repository.commit("changes of type and name");

    let (_dir, workspace) = empty();
    let imported = import(&workspace, repository.path());
    assert_eq!((imported.commits, imported.skipped), (3, Vec::new()));
    check(&workspace, &repository, "main");
    assert_eq!(unrecorded(&workspace), Vec::<String>::new());
    let view = workspace.view().unwrap();
    let actions: Vec<Action> = view
        .line_of(imported.tip)
        .unwrap()
        .map(|row| row.unwrap().event.body.action)
        .collect();
    assert!(actions.contains(&Action::FileRename) && actions.contains(&Action::FileMove));
}

#[test]
fn a_commit_is_one_operation_that_says_what_the_commit_says() {
    let repository = Repository::new();
    repository.write("a.txt", "1\n");
    repository.write("b.txt", "2\n");
    let first = repository.commit("Begin\n\nwith two files");
    let nothing = repository.commit("Nothing at all");
    let (_dir, workspace) = empty();
    let imported = import(&workspace, repository.path());
    assert_eq!(
        (imported.commits, imported.events, imported.files),
        (2, 3, 2)
    );

    let view = workspace.view().unwrap();
    let event = view.event(event_of(&workspace, &first)).unwrap().event;
    assert_eq!(event.body.author.name, "Ann Thor");
    assert_eq!(event.body.author.kind, AuthorKind::Human);
    assert_eq!(event.body.rationale.unwrap(), "Begin\n\nwith two files");
    assert_eq!(
        event.body.authored_at.unwrap().to_string(),
        "2020-09-13T12:26:40.000Z"
    );
    assert_eq!(event.body.operation_id.unwrap(), format!("git:{first}"));
    assert_eq!((event.batch.i, event.batch.n), (2, 2));
    assert!(!event.body.patch && !event.body.in_workspace);
    let event = view.event(event_of(&workspace, &nothing)).unwrap().event;
    assert_eq!(event.body.action, Action::MetaNote);
    assert_eq!(event.body.rationale.unwrap(), "Nothing at all");
}

#[test]
fn merges_are_imported_along_first_parents() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    repository.commit("first");
    repository.git(&["checkout", "-q", "-b", "side"]);
    repository.write("side", "s\n");
    let side = repository.commit("on the side");
    repository.git(&["checkout", "-q", "main"]);
    repository.write("a", "2\n");
    repository.commit("second");
    repository.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let (_dir, workspace) = empty();
    assert_eq!(import(&workspace, repository.path()).commits, 3);
    check(&workspace, &repository, "main");
    assert!(workspace.resolve(&format!("git:{side}")).is_err());
}

#[test]
fn what_cannot_be_tracked_is_left_out_and_named() {
    let repository = Repository::new();
    repository.write("kept", "k\n");
    repository.write(".user/mine", "reserved\n");
    repository.write("results/diffs/x", "reserved\n");
    repository.write("huge", vec![b'x'; 2000]);
    repository.commit("files");
    let object = "1".repeat(40);
    let module = format!("160000,{object},vendor/module");
    repository.git(&["update-index", "--add", "--cacheinfo", &module]);
    repository.git(&["commit", "-q", "-m", "a submodule"]);
    repository.write("huge", "small now\n");
    repository.git(&["add", "huge"]);
    repository.git(&["commit", "-q", "-m", "small"]);
    repository.write("huge", vec![b'y'; 3000]);
    repository.git(&["add", "huge"]);
    repository.git(&["commit", "-q", "-m", "large again"]);

    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".user/ledger")).unwrap();
    let config = "[record]\nmax_file_size = \"1000B\"\n";
    fs::write(dir.path().join(".user/ledger/config.toml"), config).unwrap();
    let workspace = init(dir.path());
    let imported = import(&workspace, repository.path());
    let skipped: Vec<(&str, &SkipReason)> = imported
        .skipped
        .iter()
        .map(|skipped| (skipped.path.as_str(), &skipped.why))
        .collect();
    let expected = [
        (".user/mine", &SkipReason::Reserved),
        ("huge", &SkipReason::TooLarge(2000)),
        ("results/diffs/x", &SkipReason::Reserved),
        ("vendor/module", &SkipReason::Submodule),
    ];
    assert_eq!(skipped, expected);
    let sizes = [1, 1, 2, 1];
    let list = repository.word(&["rev-list", "--first-parent", "--reverse", "main"]);
    for (commit, files) in list.lines().zip(sizes) {
        let state = workspace.state(event_of(&workspace, commit)).unwrap();
        assert_eq!(state.tree().len(), files, "{commit}");
    }
}

#[test]
fn importing_again_goes_on_and_repeats_nothing() {
    let repository = Repository::new();
    for n in 0..4 {
        repository.write("a", format!("{n}\n"));
        repository.commit(&format!("commit {n}"));
    }
    let (_dir, workspace) = empty();
    let half = ImportGit {
        to: Some("main~2".to_owned()),
        ..request(repository.path())
    };
    assert_eq!(workspace.import_git(&half, &mut |_| {}).unwrap().commits, 2);
    let rest = import(&workspace, repository.path());
    assert_eq!((rest.commits, rest.already), (2, 2));
    let last = workspace.view().unwrap().last();
    let again = import(&workspace, repository.path());
    assert_eq!((again.commits, again.already, again.tip), (0, 4, last));
    assert_eq!(workspace.import_git(&half, &mut |_| {}).unwrap().commits, 0);
    assert_eq!(workspace.view().unwrap().last(), last);
    check(&workspace, &repository, "main");

    // Another history from the second commit on: its tree is exact although the ledger went elsewhere.
    repository.git(&["checkout", "-q", "-b", "other", "main~2"]);
    repository.write("b", "elsewhere\n");
    repository.commit("elsewhere");
    assert_eq!(import(&workspace, repository.path()).commits, 1);
    check_commit(&workspace, &repository, "other");
}

#[test]
fn the_commit_to_begin_after_is_left_out_and_has_to_be_on_the_line() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    repository.commit("one");
    repository.write("a", "2\n");
    repository.commit("two");
    repository.git(&["checkout", "-q", "-b", "side", "main~1"]);
    repository.commit("aside");
    let (_dir, workspace) = empty();
    let after = |from: &str| ImportGit {
        from: Some(from.to_owned()),
        to: Some("main".to_owned()),
        ..request(repository.path())
    };
    assert_eq!(
        refused(&workspace, &after("side")),
        r#""side" is not on the line of first parents of "main""#
    );
    let imported = workspace.import_git(&after("main~1"), &mut |_| {}).unwrap();
    assert_eq!(imported.commits, 1);
    check_commit(&workspace, &repository, "main");
}

#[test]
fn tags_of_imported_commits_become_bookmarks_where_their_names_can() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    let first = repository.commit("one");
    repository.git(&["tag", "v1"]);
    repository.git(&["tag", "-a", "-m", "annotated", "release/1"]);
    repository.git(&["tag", "evt-5"]);
    repository.git(&["tag", "a@b"]);
    repository.write("a", "2\n");
    repository.commit("two");
    let (_dir, workspace) = empty();
    let imported = import(&workspace, repository.path());
    assert_eq!(imported.bookmarks, ["release/1", "v1"]);
    let skipped: Vec<&str> = imported
        .tags_skipped
        .iter()
        .map(|tag| tag.name.as_str())
        .collect();
    assert_eq!(skipped, ["a@b", "evt-5"]);
    let expected = event_of(&workspace, &first);
    for name in ["v1", "release/1"] {
        assert_eq!(workspace.resolve(name).unwrap().event, expected);
    }
    // One that is new later stands for a commit of before.
    repository.git(&["tag", "late", &first]);
    let imported = import(&workspace, repository.path());
    assert_eq!(
        (imported.commits, imported.bookmarks),
        (0, vec!["late".to_owned()])
    );
    assert_eq!(workspace.resolve("late").unwrap().event, expected);
}

#[test]
fn a_checkout_is_not_touched_and_is_clean_afterwards() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    repository.write("d/old", "old\n");
    repository.commit("one");
    repository.write("a", "2\n");
    repository.git(&["rm", "-q", "d/old"]);
    repository.commit("two");
    let about = |name: &str| {
        let found = fs::symlink_metadata(repository.path().join(name)).unwrap();
        (found.ino(), found.mtime_nsec(), found.ctime_nsec())
    };
    let before = about("a");
    let workspace = init(repository.path());
    let imported = import(&workspace, repository.path());
    assert_eq!((imported.commits, imported.left), (2, Vec::new()));
    assert_eq!(about("a"), before);
    assert_eq!(unrecorded(&workspace), Vec::<String>::new());
    assert_eq!(workspace.status().unwrap().behind, 0);
    check(&workspace, &repository, "main");
}

#[test]
fn changes_in_a_checkout_that_are_in_no_commit_stay_and_show() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    repository.write("gone", "1\n");
    repository.commit("one");
    repository.write("a", "not committed\n");
    repository.remove("gone");
    let workspace = init(repository.path());
    let imported = import(&workspace, repository.path());
    let left: Vec<_> = imported
        .left
        .iter()
        .map(|left| left.path.to_string())
        .collect();
    assert_eq!(left, ["a", "gone"]);
    assert!(
        imported
            .left
            .iter()
            .all(|left| left.why == LeftReason::OwnCheckout)
    );
    assert_eq!(
        fs::read(repository.path().join("a")).unwrap(),
        b"not committed\n"
    );
    assert_eq!(unrecorded(&workspace), ["a", "gone"]);
}

#[test]
fn elsewhere_the_tip_is_brought_in_around_what_was_never_recorded() {
    let repository = Repository::new();
    repository.write("recorded", "theirs\n");
    repository.write("modified", "theirs\n");
    repository.write("untracked", "theirs\n");
    repository.write("blocked/one", "theirs\n");
    repository.write("blocked/two", "theirs\n");
    repository.write("new/file", "theirs\n");
    repository.commit("one");
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("recorded", "ours\n");
    write("modified", "ours\n");
    write("ours-only", "ours\n");
    let workspace = init(dir.path());
    write("modified", "changed since\n");
    write("untracked", "never recorded\n");
    write("blocked", "never recorded\n");
    let imported = import(&workspace, repository.path());
    let left: Vec<_> = imported
        .left
        .iter()
        .map(|left| (left.path.to_string(), left.why.clone()))
        .collect();
    let blocked = LeftReason::Blocked(TreePath::parse("blocked").unwrap());
    let expected = [
        ("blocked/one".to_owned(), blocked.clone()),
        ("blocked/two".to_owned(), blocked),
        ("modified".to_owned(), LeftReason::Modified),
        ("untracked".to_owned(), LeftReason::Untracked),
    ];
    assert_eq!(left, expected);
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("recorded"), "theirs\n");
    assert_eq!(read("new/file"), "theirs\n");
    assert_eq!(read("modified"), "changed since\n");
    assert_eq!(read("untracked"), "never recorded\n");
    assert_eq!(read("blocked"), "never recorded\n");
    assert_eq!(read("ours-only"), "ours\n");
    // What the ledger held and the first commit does not have went with its batch.
    check(&workspace, &repository, "main");
}

#[test]
fn trees_that_no_disk_can_hold_are_refused_and_what_came_before_is_kept() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    let first = repository.commit("one");
    let blob = repository.blob(b"x\n");
    let inner = repository.word(&["rev-parse", "HEAD^{tree}"]);
    let nested = format!("100644 blob {blob}\tdir\0040000 tree {inner}\tdir\0");
    let nested = repository.commit_tree(nested.as_bytes(), Some(&first));
    let (_dir, workspace) = empty();
    let until = |to: &str| ImportGit {
        to: Some(to.to_owned()),
        ..request(repository.path())
    };
    let error = refused(&workspace, &until(&nested));
    assert_eq!(error, format!("commit {nested}: dir/a: dir is a file too"));
    check_commit(&workspace, &repository, &first);

    let missing = "2".repeat(40);
    let lost = format!("100644 blob {missing}\tlost\0");
    let lost = repository.commit_tree(lost.as_bytes(), Some(&first));
    let error = refused(&workspace, &until(&lost));
    let expected =
        format!("commit {lost}: the content of lost ({missing}) is not in the repository");
    assert_eq!(error, expected);

    // Names and links that cannot be made are not made; the rest is.
    let empty_link = repository.blob(b"");
    let long = "n".repeat(300);
    let odd = format!(
        "100644 blob {blob}\t..\0120000 blob {empty_link}\tl\0100644 blob {blob}\t{long}\0"
    );
    let odd = repository.commit_tree(odd.as_bytes(), Some(&first));
    let imported = workspace.import_git(&until(&odd), &mut |_| {}).unwrap();
    let skipped: Vec<_> = imported
        .skipped
        .iter()
        .map(|skipped| &skipped.path)
        .collect();
    assert_eq!(skipped, ["..", &long]);
    assert_eq!(imported.left[0].why, LeftReason::Impossible);
}

#[test]
fn what_is_no_repository_or_names_no_commit_is_refused() {
    let (_dir, workspace) = empty();
    let nothing = tempfile::tempdir().unwrap();
    let error = workspace.import_git(&request(nothing.path()), &mut |_| {});
    assert!(
        matches!(error, Err(ImportError::NotARepository { .. })),
        "{error:?}"
    );
    let repository = Repository::new();
    assert_eq!(
        refused(&workspace, &request(repository.path())),
        r#""HEAD" names no commit of the repository"#
    );
    repository.commit("one");
    for revision in ["--all", "no-such", "HEAD:file", "a\0b"] {
        let request = ImportGit {
            to: Some(revision.to_owned()),
            ..request(repository.path())
        };
        let expected = format!("{revision:?} names no commit of the repository");
        assert_eq!(refused(&workspace, &request), expected);
    }
}

#[test]
fn nothing_that_a_repository_configures_is_run() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    repository.write(".gitattributes", "* diff=evil filter=evil\n");
    repository.commit("one");
    repository.write("a", "2\n");
    repository.commit("two");
    let trace = repository.path().join("ran");
    let run = format!("touch {}", trace.display());
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.smudge",
        "filter.evil.clean",
        "gpg.program",
    ] {
        repository.git(&["config", key, &run]);
    }
    repository.git(&["config", "log.showSignature", "true"]);
    let (_dir, workspace) = empty();
    assert_eq!(import(&workspace, repository.path()).commits, 2);
    assert!(!trace.exists());
}

#[test]
fn bare_and_shallow_repositories_and_worktrees_are_imported() {
    let repository = Repository::new();
    for n in 0..3 {
        repository.write("a", format!("{n}\n"));
        repository.write("sub/b", format!("{n}\n"));
        repository.commit(&format!("commit {n}"));
    }
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let url = format!("file://{}", repository.path().display());
    repository.git(&["clone", "-q", "--bare", &url, at("bare").to_str().unwrap()]);
    let shallow = at("shallow");
    let shallow = shallow.to_str().unwrap();
    repository.git(&["clone", "-q", "--depth", "2", &url, shallow]);
    repository.git(&[
        "worktree",
        "add",
        "-q",
        at("tree").to_str().unwrap(),
        "main~1",
    ]);
    for (name, commits) in [("bare", 3), ("shallow", 2), ("tree", 2), ("tree/sub", 2)] {
        let (_dir, workspace) = empty();
        assert_eq!(import(&workspace, &at(name)).commits, commits, "{name}");
        check_commit(&workspace, &repository, "main~1");
    }
}

#[test]
fn snapshots_are_taken_by_volume_and_at_the_end_only() {
    let repository = Repository::new();
    for n in 0..100 {
        repository.write("a", format!("{n}\n"));
        repository.commit(&format!("commit {n}"));
    }
    let snapshots = |config: Config| {
        let dir = tempfile::tempdir().unwrap();
        drop(init(dir.path()));
        let seams = ledger::core::log::Seams {
            storage: std::sync::Arc::new(
                ledger::core::storage::OsStorage::open(dir.path()).unwrap(),
            ),
            clock: std::sync::Arc::new(ledger::core::System),
            ids: std::sync::Arc::new(ledger::core::System),
            lock_timeout: std::time::Duration::from_secs(30),
        };
        let workspace = Workspace::open_on(seams, config, options()).unwrap();
        let mut seen = Vec::new();
        let report = &mut |progress| seen.push(progress);
        workspace
            .import_git(&request(repository.path()), report)
            .unwrap();
        assert_eq!(seen.first(), Some(&Progress::Commits { done: 0, of: 100 }));
        assert_eq!(seen.last(), Some(&Progress::Arriving));
        let heads = workspace.view().unwrap();
        heads.heads().last_snapshot.unwrap().0
    };
    assert_eq!(snapshots(Config::default()), 2);
    let mut small = Config::default();
    small.snapshot.volume_bytes = 100;
    assert!(snapshots(small) >= 2);
}

#[test]
fn blocks_are_looked_for_where_they_are_asked_for() {
    let repository = Repository::new();
    repository.write("a.py", "def f():\n    return 1\n");
    repository.commit("one");
    repository.write("a.py", "def f():\n    return 2\n");
    let second = repository.commit("two");
    for (semantics, kind) in [(true, "function"), (false, "lines")] {
        let (_dir, workspace) = empty();
        let request = ImportGit {
            semantics,
            ..request(repository.path())
        };
        workspace.import_git(&request, &mut |_| {}).unwrap();
        let view = workspace.view().unwrap();
        let row = view.event(event_of(&workspace, &second)).unwrap();
        assert_eq!(row.event.body.semantic_block.unwrap().kind, kind);
    }
}
