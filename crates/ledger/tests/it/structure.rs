//! The house: which crate may know which, what must not be in whose closure, and what no library calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crate -> the crates of the workspace that it may depend on. Those that come later have their line
/// already, so that they begin in their place.
const MAY_KNOW: [(&str, &[&str]); 12] = [
    ("ledger-core", &[]),
    ("ledger-semantic", &["ledger-core"]),
    ("ledger-snapshot", &["ledger-core"]),
    ("ledger-redact", &[]),
    ("ledger-seal", &[]),
    (
        "ledger-replay",
        &["ledger-core", "ledger-snapshot", "ledger-redact"],
    ),
    (
        "ledger",
        &[
            "ledger-core",
            "ledger-snapshot",
            "ledger-replay",
            "ledger-semantic",
            "ledger-redact",
        ],
    ),
    ("ledger-run", &["ledger", "ledger-seal"]),
    ("bench-cli", &["ledger", "ledger-run"]),
    ("ledger-testkit", &["ledger-core"]),
    ("ledger-examples", &["ledger"]),
    ("ledger-benches", &["ledger", "ledger-semantic"]),
];

/// Test doubles: for tests alone.
const TESTKIT: &str = "ledger-testkit";

/// What only records and goes back builds none of these: runtimes, HTTP, TLS, home directories.
const NOT_IN_LEDGER: [&str; 18] = [
    "tokio",
    "async-std",
    "smol",
    "async-io",
    "async-executor",
    "futures-executor",
    "hyper",
    "reqwest",
    "ureq",
    "h2",
    "rustls",
    "native-tls",
    "openssl",
    "age",
    "dirs",
    "dirs-sys",
    "home",
    "etcetera",
];

/// The core knows no grammar, archive or terminal either.
const NOT_IN_CORE: [&str; 10] = [
    "tree-sitter",
    "tree-sitter-python",
    "tree-sitter-yaml",
    "tree-sitter-json",
    "tar",
    "ignore",
    "clap",
    "indicatif",
    "crossterm",
    "terminal_size",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `cargo metadata` says of all packages that are built for this machine.
struct Packages {
    /// Package id -> name.
    names: BTreeMap<String, String>,
    /// Package id -> what it depends on: package id and kind (`normal`, `build`, `dev`).
    edges: BTreeMap<String, Vec<(String, String)>>,
    members: BTreeSet<String>,
}

impl Packages {
    fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args([
                "metadata",
                "--format-version",
                "1",
                "--offline",
                "--manifest-path",
            ])
            .arg(root().join("Cargo.toml"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or("normal").to_owned();
        let list = |value: &Value| value.as_array().unwrap().clone();
        let names = list(&metadata["packages"]);
        let nodes = list(&metadata["resolve"]["nodes"]);
        let edges_of = |node: &Value| {
            let of_dep = |dep: &Value| {
                let kinds = list(&dep["dep_kinds"]);
                let edge = |kind: &Value| (text(&dep["pkg"]), text(&kind["kind"]));
                kinds.iter().map(edge).collect::<Vec<_>>()
            };
            list(&node["deps"]).iter().flat_map(of_dep).collect()
        };
        Packages {
            names: names
                .iter()
                .map(|p| (text(&p["id"]), text(&p["name"])))
                .collect(),
            edges: nodes
                .iter()
                .map(|node| (text(&node["id"]), edges_of(node)))
                .collect(),
            members: list(&metadata["workspace_members"])
                .iter()
                .map(text)
                .collect(),
        }
    }

    fn id(&self, name: &str) -> &String {
        let found = self.members.iter().find(|id| self.names[*id] == name);
        found.unwrap_or_else(|| panic!("the workspace has no crate {name}"))
    }

    /// Names of the crates of the workspace that `id` depends on, by kind.
    fn neighbours(&self, id: &str, dev: bool) -> BTreeSet<&str> {
        let edges = self.edges[id].iter();
        let wanted = edges.filter(|(to, kind)| self.members.contains(to) && (kind == "dev") == dev);
        wanted.map(|(to, _)| self.names[to].as_str()).collect()
    }

    /// Names of all that is built for `name`, its tests apart.
    fn closure(&self, name: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut open = vec![self.id(name)];
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let edges = self.edges[id].iter();
                open.extend(edges.filter(|(_, kind)| kind != "dev").map(|(to, _)| to));
            }
        }
        seen.into_iter().map(|id| self.names[id].as_str()).collect()
    }
}

#[test]
fn crates_know_only_those_below_them() {
    let packages = Packages::read();
    let may_know: BTreeMap<_, _> = MAY_KNOW.into_iter().collect();
    for id in &packages.members {
        let name = packages.names[id].as_str();
        let allowed = may_know
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no place in the house"));
        for known in packages.neighbours(id, false) {
            assert!(
                allowed.contains(&known),
                "{name} must not depend on {known}"
            );
        }
        for known in packages.neighbours(id, true) {
            let ok = known == TESTKIT || allowed.contains(&known);
            assert!(ok, "the tests of {name} must not depend on {known}");
        }
    }
    // The check would pass on nothing, too.
    let facade = packages.neighbours(packages.id("ledger"), false);
    assert!(
        facade.contains("ledger-core") && facade.contains("ledger-replay"),
        "{facade:?}"
    );
    assert!(
        packages
            .neighbours(packages.id("ledger-core"), true)
            .contains(TESTKIT)
    );
}

#[test]
fn who_records_and_goes_back_builds_no_runtime_and_no_network() {
    let packages = Packages::read();
    let (core, ledger) = (packages.closure("ledger-core"), packages.closure("ledger"));
    for name in NOT_IN_LEDGER {
        assert!(!ledger.contains(name), "ledger must not build {name}");
    }
    for name in NOT_IN_CORE {
        assert!(!core.contains(name), "ledger-core must not build {name}");
    }
    for name in [TESTKIT, "bench-cli"] {
        assert!(!ledger.contains(name), "ledger must not build {name}");
    }
    assert!(core.contains("blake3"));
    assert!(ledger.contains("tree-sitter") && ledger.contains("tar"));
}

/// What no library calls, and where each is allowed: the seams.
const CALLS: [(&str, &[&str]); 25] = [
    ("println!", &[]),
    ("eprintln!", &[]),
    ("print!", &[]),
    ("eprint!", &[]),
    ("dbg!", &[]),
    ("todo!", &[]),
    ("process::exit", &[]),
    ("process::abort", &[]),
    ("SystemTime", &[]),
    ("Instant", &[]),
    ("Timestamp::now", &["ledger-core/src/time.rs"]),
    ("Zoned::now", &[]),
    ("thread::sleep", &["ledger-core/src/time.rs"]),
    ("Ulid::", &["ledger-core/src/time.rs"]),
    ("rand::", &[]),
    ("getrandom", &[]),
    ("RandomState", &[]),
    (
        "env::var",
        &["ledger/src/workspace.rs", "ledger/src/init.rs"],
    ),
    ("env::args", &[]),
    ("current_dir", &[]),
    ("home_dir", &[]),
    ("temp_dir", &[]),
    // A directory that is restored into, and a repository that is imported, lie outside the root.
    (
        "std::fs",
        &[
            "ledger-core/src/storage/os.rs",
            "ledger/src/restore.rs",
            "ledger/src/import/arrive.rs",
        ],
    ),
    ("Command::new", &["ledger/src/import/git.rs"]),
    ("rustix::fs", &["ledger-core/src/storage/os.rs"]),
];

const LIBRARIES: [&str; 5] = [
    "ledger-core",
    "ledger-semantic",
    "ledger-snapshot",
    "ledger-replay",
    "ledger",
];

/// The lines of a source, counted from 1, without comments. (What stands in a string counts as code.)
fn code_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(number, line)| {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        (!code.trim().is_empty()).then_some((number + 1, code))
    })
}

/// Where a source calls something, as a word of its own.
fn calls<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let begins = move |code: &str, at: usize| !code[..at].ends_with(is_word);
    let ends = move |code: &str, at: usize| {
        !wanted.ends_with(is_word) || !code[at + wanted.len()..].starts_with(is_word)
    };
    code_of(text)
        .filter(move |(_, code)| {
            code.match_indices(wanted)
                .any(|(at, _)| begins(code, at) && ends(code, at))
        })
        .map(|(number, _)| number)
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn libraries_reach_the_outside_through_the_seams_alone() {
    let crates = root().join("crates");
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut faults = Vec::new();
    for library in LIBRARIES {
        let mut files = Vec::new();
        sources(&crates.join(library).join("src"), &mut files);
        assert!(!files.is_empty());
        for file in files {
            let name = file
                .strip_prefix(&crates)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            let text = fs::read_to_string(&file).unwrap();
            for (wanted, allowed) in CALLS {
                for line in calls(&text, wanted) {
                    match allowed.iter().find(|place| **place == name) {
                        Some(place) => _ = used.insert((wanted, place)),
                        None => faults.push(format!("{name}:{line} uses {wanted}")),
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    // An exception that nobody needs hides the next fault.
    for (wanted, allowed) in CALLS {
        for place in allowed {
            assert!(
                used.contains(&(wanted, *place)),
                "{place} does not use {wanted} any more"
            );
        }
    }
}

#[test]
fn a_call_is_found_as_a_word_and_not_in_a_comment() {
    let text =
        "// println!(1)\n    eprintln!(2); // print!\nlet x = println!(3);\nmy_println!(4);\n";
    assert_eq!(calls(text, "println!").collect::<Vec<_>>(), [3]);
    assert_eq!(calls(text, "eprintln!").collect::<Vec<_>>(), [2]);
    assert_eq!(
        calls("a(Instant::now())\n", "Instant").collect::<Vec<_>>(),
        [1]
    );
    assert_eq!(calls("a(Instantly)\n", "Instant").count(), 0);
    assert_eq!(
        calls("std::env::var(x)\nstd::env::var_os(x)\n", "env::var").collect::<Vec<_>>(),
        [1]
    );
}
