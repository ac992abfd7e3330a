//! Patches, as `git apply` and GNU `patch` take them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ledger_core::edit::{LineEdit, LineOp};
use ledger_core::patch::{BINARY_MAX, PatchFile, write_patch};
use ledger_core::{Mode, TreePath};
use proptest::prelude::*;

/// Paths, with mode and content.
type Tree = BTreeMap<TreePath, (Mode, Vec<u8>)>;

fn path(bytes: impl AsRef<[u8]>) -> TreePath {
    TreePath::parse(bytes).unwrap()
}

fn on_disk(root: &Path, path: &TreePath) -> PathBuf {
    root.join(OsStr::from_bytes(path.as_bytes()))
}

fn write_tree(root: &Path, tree: &Tree) {
    for (path, (mode, content)) in tree {
        let file = on_disk(root, path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if mode.is_symlink() {
            symlink(OsStr::from_bytes(content), &file).unwrap();
            continue;
        }
        fs::write(&file, content).unwrap();
        let bits = if *mode == Mode::Executable {
            0o755
        } else {
            0o644
        };
        fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
    }
}

fn read_tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let file = entry.unwrap().path();
            let meta = fs::symlink_metadata(&file).unwrap();
            if meta.is_dir() {
                dirs.push(file);
                continue;
            }
            let name = path(file.strip_prefix(root).unwrap().as_os_str().as_bytes());
            let state = if meta.is_symlink() {
                let target = fs::read_link(&file).unwrap();
                (Mode::Symlink, target.into_os_string().into_vec())
            } else if meta.permissions().mode() & 0o100 != 0 {
                (Mode::Executable, fs::read(&file).unwrap())
            } else {
                (Mode::File, fs::read(&file).unwrap())
            };
            tree.insert(name, state);
        }
    }
    tree
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Tool {
    GitApply,
    GnuPatch,
}

impl Tool {
    fn run(self, root: &Path, patch: &[u8]) -> Output {
        let outside = tempfile::tempdir().unwrap();
        let file = outside.path().join("event.patch");
        fs::write(&file, patch).unwrap();
        let mut command = match self {
            Tool::GitApply => {
                let mut git = Command::new("git");
                git.args(["-c", "core.autocrlf=false", "apply", "--whitespace=nowarn"]);
                git.arg(&file);
                git
            }
            Tool::GnuPatch => {
                let mut patch = Command::new("patch");
                patch.args(["-p1", "--batch", "--fuzz=0", "-i"]).arg(&file);
                patch
            }
        };
        command
            .current_dir(root)
            .env_remove("GIT_DIR")
            .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Applies `patch` to a copy of `before` and compares what is there then with `after`.
    fn check(self, before: &Tree, patch: &[u8], after: &Tree) -> Result<(), String> {
        let dir = tempfile::tempdir().unwrap();
        write_tree(dir.path(), before);
        let output = self.run(dir.path(), patch);
        let found = read_tree(dir.path());
        if output.status.success() && found == *after {
            return Ok(());
        }
        Err(format!(
            "{self:?} {}\n{}{}\npatch:\n{}\nexpected {after:?}\nfound {found:?}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            patch.escape_ascii().to_string().replace("\\n", "\\n\n"),
        ))
    }
}

/// The patch from one tree to the other; renames are told, the rest is found.
fn patch_between(before: &Tree, after: &Tree, renames: &[(TreePath, TreePath)]) -> Vec<u8> {
    let state = |tree: &'_ Tree, path| {
        tree.get(path)
            .map(|(mode, content)| (*mode, content.clone()))
    };
    let mut changes = Vec::new();
    for (from, to) in renames {
        changes.push((
            to.clone(),
            Some(from.clone()),
            state(before, from),
            state(after, to),
        ));
    }
    let is_renamed = |path: &TreePath| renames.iter().any(|(a, b)| a == path || b == path);
    let mut paths: Vec<_> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        if !is_renamed(path) && before.get(path) != after.get(path) {
            changes.push((path.clone(), None, state(before, path), state(after, path)));
        }
    }
    let files: Vec<PatchFile> = changes
        .iter()
        .map(|(path, from, before, after)| PatchFile {
            path,
            from: from.as_ref(),
            before: before.as_ref().map(|(mode, content)| (*mode, &content[..])),
            after: after.as_ref().map(|(mode, content)| (*mode, &content[..])),
            edit: None,
        })
        .collect();
    write_patch("evt-000123 blake3:00", &files)
}

const BOTH: [Tool; 2] = [Tool::GitApply, Tool::GnuPatch];

fn file(content: impl AsRef<[u8]>) -> (Mode, Vec<u8>) {
    (Mode::File, content.as_ref().to_vec())
}

fn executable(content: impl AsRef<[u8]>) -> (Mode, Vec<u8>) {
    (Mode::Executable, content.as_ref().to_vec())
}

fn link(target: &str) -> (Mode, Vec<u8>) {
    (Mode::Symlink, target.as_bytes().to_vec())
}

type State = Option<(Mode, Vec<u8>)>;

/// Every kind of change of text files and links: before, after, whether the name changes.
fn kinds() -> Vec<(State, State, bool)> {
    let lines = "some\nlines\nhere\n";
    vec![
        (Some(file("a\nb\n")), Some(file("a\nc\n")), false),
        (None, Some(file("a\nb\n")), false),
        (None, Some(executable("a\nb\n")), false),
        (Some(file("a\nb\n")), None, false),
        (Some(executable("a\nb")), None, false),
        (None, Some(file("")), false),
        (None, Some(executable("")), false),
        (Some(file("")), None, false),
        (Some(executable("")), None, false),
        (Some(file("")), Some(file("a")), false),
        (Some(file("a\n")), Some(file("")), false),
        (Some(file("a\n")), Some(executable("a\n")), false),
        (Some(executable("")), Some(file("")), false),
        (Some(file("a\n")), Some(executable("b\n")), false),
        (Some(executable("a\r\nb")), Some(executable("a\nb")), false),
        (Some(file(lines)), Some(file(lines)), true),
        (Some(file("")), Some(file("")), true),
        (Some(file(b"a\0b")), Some(file(b"a\0b")), true),
        (Some(file(lines)), Some(executable(lines)), true),
        (Some(file(lines)), Some(file("some\nlines\nthere\n")), true),
        (None, Some(link("to/there")), false),
        (Some(link("to/there")), None, false),
        (
            Some(link("to/there")),
            Some(link("to/here\nor there")),
            false,
        ),
        (Some(link("to/there")), Some(link("to/there")), true),
        (Some(file("a\n")), Some(link("to/there")), false),
        (Some(link("to/there")), Some(file("a\n")), false),
    ]
}

fn one_change(
    name: &TreePath,
    to: &TreePath,
    (before, after, renamed): (State, State, bool),
) -> (Tree, Tree, Vec<u8>) {
    let bystander = (path("bystander"), file("x\n"));
    let with = |name: &TreePath, state: State| -> Tree {
        let changed = state.map(|state| (name.clone(), state));
        changed.into_iter().chain([bystander.clone()]).collect()
    };
    let (to, renames) = match renamed {
        true => (to, vec![(name.clone(), to.clone())]),
        false => (name, Vec::new()),
    };
    let (before, after) = (with(name, before), with(to, after));
    let patch = patch_between(&before, &after, &renames);
    (before, after, patch)
}

const NAMES: [&[u8]; 20] = [
    b"plain",
    b"a b",
    b" first",
    b"last ",
    b"tab\tname",
    b"x\ty z",
    b"quo\"te",
    b"back\\slash",
    b"new\nline",
    b"return\r",
    b"\x01",
    b"\x7f",
    b"\xff\xfe",
    "\u{e9}\u{202e}".as_bytes(),
    b"-dash",
    b"a => b",
    b"dir name/a b",
    b"b/a",
    b"dev/null",
    b"'$x'",
];

#[test]
fn both_tools_take_every_kind_of_change_under_every_name() {
    for name in NAMES {
        let (name, to) = (path(name), path([name, b".new"].concat()));
        for kind in kinds() {
            let (before, after, patch) = one_change(&name, &to, kind);
            for tool in BOTH {
                tool.check(&before, &patch, &after).unwrap();
            }
        }
    }
}

#[test]
fn git_takes_names_as_long_as_they_can_be_and_gnu_patch_those_up_to_247_bytes() {
    for (len, tools) in [(247, &BOTH[..]), (255, &BOTH[..1])] {
        let (name, to) = (path("n".repeat(len)), path("m".repeat(len)));
        for kind in kinds() {
            let (before, after, patch) = one_change(&name, &to, kind);
            for tool in tools {
                tool.check(&before, &patch, &after).unwrap();
            }
        }
    }
}

#[test]
fn git_takes_binary_content_forward_and_back() {
    let noise: Vec<u8> = (0..100_000u32)
        .flat_map(|i| i.wrapping_mul(0x9E37_79B9).to_be_bytes())
        .collect();
    let states = [
        None,
        Some(file(b"a\0b")),
        Some(executable(b"text\n")),
        Some(file(&noise)),
        Some(file(b"")),
    ];
    for before in &states {
        for after in &states {
            let kind = (before.clone(), after.clone(), false);
            let (before, after, patch) = one_change(&path("a b"), &path("c"), kind);
            if before != after {
                Tool::GitApply.check(&before, &patch, &after).unwrap();
            }
        }
    }
}

#[test]
fn binary_content_past_the_limit_is_only_said_to_differ() {
    let large = vec![0; BINARY_MAX + 1];
    let (.., patch) = one_change(
        &path("x"),
        &path("y"),
        (Some(file("a\n")), Some(file(large)), false),
    );
    let expected = "# evt-000123 blake3:00\ndiff --git a/x b/x\nBinary files a/x and b/x differ\n";
    assert_eq!(String::from_utf8_lossy(&patch), expected);
}

#[test]
fn text_patch_reads_as_git_writes_it() {
    let before = tree([(path("x"), file("1\n2\n3\n4\n5\n6\n7\n8\n9"))]);
    let after = tree([(path("x"), executable("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"))]);
    let patch = patch_between(&before, &after, &[]);
    let expected = [
        "# evt-000123 blake3:00",
        "diff --git a/x b/x",
        "old mode 100644",
        "new mode 100755",
        "--- a/x",
        "+++ b/x",
        "@@ -2,8 +2,8 @@",
        " 2",
        " 3",
        " 4",
        "-5",
        "+five",
        " 6",
        " 7",
        " 8",
        "-9",
        "\\ No newline at end of file",
        "+9",
        "",
    ];
    assert_eq!(String::from_utf8(patch).unwrap(), expected.join("\n"));
}

#[test]
fn nothing_is_written_where_nothing_happens() {
    assert_eq!(write_patch("a\nb", &[]), b"# a\n");
    let same = tree([(path("x"), file("a\n"))]);
    let state = same
        .get(&path("x"))
        .map(|(mode, content)| (*mode, &content[..]));
    let mut out = Vec::new();
    PatchFile {
        path: &path("x"),
        from: None,
        before: state,
        after: state,
        edit: None,
    }
    .write(&mut out);
    assert_eq!(out, b"");
}

#[test]
fn recorded_hunks_are_shown_unless_they_are_of_other_contents() {
    let (old, new) = (b"a\na\nb\n", b"a\na\na\nb\n");
    let name = path("x");
    let recorded = |edit: &LineEdit| {
        let mut out = Vec::new();
        PatchFile {
            path: &name,
            from: None,
            before: Some((Mode::File, old)),
            after: Some((Mode::File, new)),
            edit: Some(edit),
        }
        .write(&mut out);
        let text = String::from_utf8(out).unwrap();
        text.lines().skip(3).collect::<Vec<_>>().join("|")
    };
    let top = LineEdit::from_ops([LineOp::Insert(b"a\n".to_vec())]).unwrap();
    assert_eq!(recorded(&top), "@@ -1,3 +1,4 @@|+a| a| a| b");
    let below = [LineOp::Retain(1), LineOp::Insert(b"a\n".to_vec())];
    let below = LineEdit::from_ops(below).unwrap();
    assert_eq!(recorded(&below), "@@ -1,3 +1,4 @@| a|+a| a| b");
    let other = LineEdit::from_ops([LineOp::Insert(b"z\nz\n".to_vec())]).unwrap();
    assert_eq!(recorded(&other), "@@ -1,3 +1,4 @@| a| a|+a| b");
}

fn tree(files: impl IntoIterator<Item = (TreePath, (Mode, Vec<u8>))>) -> Tree {
    files.into_iter().collect()
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => "[a-e]{1,2}".prop_map(String::into_bytes),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"crlf\r".to_vec()),
        1 => Just(b"a\rb".to_vec()),
        1 => Just(b"".to_vec()),
        1 => Just(b"\xff\xfe".to_vec()),
        1 => Just(b"--- a/x".to_vec()),
        1 => Just(b"@@ -1 +1 @@".to_vec()),
        1 => Just(b"\\ No newline at end of file".to_vec()),
    ];
    let lines = prop::collection::vec(line, 0..24).prop_map(|lines| lines.join(&b'\n'));
    (lines, any::<bool>()).prop_map(|(mut text, ends)| {
        if ends {
            text.push(b'\n');
        }
        text
    })
}

fn states() -> impl Strategy<Value = State> {
    prop_oneof![
        1 => Just(None),
        4 => contents().prop_map(|text| Some((Mode::File, text))),
        2 => contents().prop_map(|text| Some((Mode::Executable, text))),
        1 => "[a-z]{1,8}".prop_map(|target| Some((Mode::Symlink, target.into_bytes()))),
    ]
}

/// So many cases, and no file written beside the sources when one fails.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_chain_of_patches_leads_through_the_same_trees(
        steps in prop::collection::vec((0..4usize, states(), prop::option::of(0..4usize)), 1..8),
    ) {
        let names = [path("x"), path("dir/a b"), path("dir/new\nline"), path("\u{e9}\"")];
        let mut now = Tree::new();
        for (name, state, rename_to) in steps {
            let (name, mut after) = (&names[name], now.clone());
            let mut renames = Vec::new();
            match (rename_to.map(|to| &names[to]), state) {
                (Some(to), _) if now.contains_key(name) && !now.contains_key(to) => {
                    let state = after.remove(name).unwrap();
                    after.insert(to.clone(), state);
                    renames.push((name.clone(), to.clone()));
                }
                (_, Some(state)) => {
                    after.insert(name.clone(), state);
                }
                (_, None) => {
                    after.remove(name);
                }
            }
            let patch = patch_between(&now, &after, &renames);
            if now != after {
                for tool in BOTH {
                    tool.check(&now, &patch, &after).map_err(TestCaseError::fail)?;
                }
            }
            now = after;
        }
    }
}
