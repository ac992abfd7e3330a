//! The examples in `docs/format/` are read by the library, as files of one ledger.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use ledger::core::edit::LineEdit;
use ledger::core::log::{Query, Standing};
use ledger::core::{Digest, EventId, SnapshotId, TreePath, check_hash};
use ledger::snapshot::Manifest;
use ledger::{Options, Workspace};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn events_md() -> String {
    fs::read_to_string(docs().join("format/events.md")).unwrap()
}

fn snapshot_md() -> String {
    fs::read_to_string(docs().join("format/snapshot.md")).unwrap()
}

/// The fenced blocks of a document: what stands after the fence, and the text.
fn blocks(document: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in document.lines() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(info) => {
                blocks.push((info.to_owned(), String::new()));
                open = true;
            }
            None if open => {
                let (_, text) = blocks.last_mut().unwrap();
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    assert!(!open, "a block has no end");
    blocks
}

fn block(document: &str, info: &str) -> String {
    let found: Vec<_> = blocks(document)
        .into_iter()
        .filter(|(i, _)| i == info)
        .collect();
    assert_eq!(found.len(), 1, "blocks {info:?}");
    found.into_iter().next().unwrap().1
}

/// The bytes of a dump: an offset, a colon, and two spaces before the text.
fn bytes_of(dump: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in dump.lines() {
        let (offset, rest) = line.split_once(": ").unwrap();
        assert_eq!(usize::from_str_radix(offset, 16).unwrap(), bytes.len());
        let digits: Vec<u8> = rest
            .split("  ")
            .next()
            .unwrap()
            .bytes()
            .filter(|b| *b != b' ')
            .collect();
        for pair in digits.chunks(2) {
            let pair = std::str::from_utf8(pair).unwrap();
            bytes.push(u8::from_str_radix(pair, 16).unwrap());
        }
    }
    bytes
}

/// The ledger of the documents, on disk.
fn ledger() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join(".user/ledger");
    fs::create_dir_all(ledger.join("snapshots")).unwrap();
    let (events, snapshot) = (events_md(), snapshot_md());
    let write = |name: &str, bytes: &[u8]| fs::write(ledger.join(name), bytes).unwrap();
    for name in [
        "jsonl events.jsonl",
        "json workspace.json",
        "json bookmarks.json",
    ] {
        write(
            name.split_once(' ').unwrap().1,
            block(&events, name).as_bytes(),
        );
    }
    write("tip", &bytes_of(&block(&events, "hex tip")));
    write(
        "snapshots/snap-0001.json",
        block(&snapshot, "json manifest").as_bytes(),
    );
    let archive = bytes_of(&block(&snapshot, "hex snap-0001.tar.zst"));
    write("snapshots/snap-0001.tar.zst", &archive);
    dir
}

fn open(dir: &tempfile::TempDir) -> Workspace {
    let options = Options {
        background: false,
        ..Options::default()
    };
    Workspace::open_with(dir.path(), options).unwrap()
}

fn event(text: &str) -> EventId {
    text.parse().unwrap()
}

#[test]
fn every_row_has_its_hash_and_follows_the_one_above() {
    let mut above: Option<String> = None;
    let rows = block(&events_md(), "jsonl events.jsonl");
    for (number, line) in rows.lines().enumerate() {
        let hash = check_hash(line.as_bytes()).unwrap_or_else(|fault| panic!("{fault}: {line}"));
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["id"], format!("evt-{number:06}"));
        assert_eq!(row["prev"].as_str(), above.as_deref());
        // As the document says: of all bytes before the last 82.
        assert_eq!(Digest::of(&line.as_bytes()[..line.len() - 82]), hash);
        above = Some(hash.to_string());
    }
    assert!(above.is_some());
}

#[test]
fn the_library_opens_the_ledger_of_the_documents() {
    let dir = ledger();
    let workspace = open(&dir);
    let view = workspace.view().unwrap();
    let rows = block(&events_md(), "jsonl events.jsonl");
    assert_eq!(view.bytes() as usize, rows.len(), "all rows count");

    let stored: Vec<_> = view
        .history(Query::default())
        .map(|row| row.unwrap().line)
        .collect();
    let lines: Vec<&[u8]> = rows.lines().rev().map(str::as_bytes).collect();
    assert!(stored.iter().map(AsRef::as_ref).eq(lines));

    let bookmarks = block(&events_md(), "json bookmarks.json");
    assert_eq!(view.heads().bookmarks_json(), bookmarks.as_bytes());
    let standing: Standing =
        serde_json::from_str(&block(&events_md(), "json workspace.json")).unwrap();
    let branch = &view.heads().branches[&standing.branch];
    let expected = Standing {
        event: branch.tip,
        ..standing
    };
    assert_eq!(workspace.standing().unwrap(), expected);
}

#[test]
fn a_tip_that_names_a_row_beyond_the_end_is_damage() {
    let dir = ledger();
    let rows = block(&events_md(), "jsonl events.jsonl");
    let cut = &rows.as_bytes()[..rows.len() - 1];
    fs::write(dir.path().join(".user/ledger/events.jsonl"), cut).unwrap();
    let error = Workspace::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("were durable"), "{error}");
}

#[test]
fn the_states_of_the_documents_are_rebuilt_from_its_snapshot() {
    let dir = ledger();
    let workspace = open(&dir);
    let content = |at: &str, path: &[u8]| {
        let path = TreePath::parse(path).unwrap();
        let found = workspace.file(event(at), &path).unwrap();
        found.map(|file| String::from_utf8(file.content.to_vec()).unwrap())
    };
    let before = content("evt-000001", b"rubrics/security.yaml").unwrap();
    let after = content("evt-000002", b"rubrics/security.yaml").unwrap();
    let edit: LineEdit = serde_json::from_str(&block(&events_md(), "json edit")).unwrap();
    assert_eq!(edit.apply(before.as_bytes()).unwrap(), after.as_bytes());
    let moved = content("evt-000005", b"docs/notes.txt").unwrap();
    assert_eq!(moved, "caf\u{e9} \u{202e}\u{1}\nlast line without newline");
    assert_eq!(content("evt-000009", b"run.sh"), None);
    assert_eq!(
        content("evt-000013", b"rubrics/security.yaml").unwrap(),
        before
    );

    // The patch was made from the row that it names.
    let patch = block(&events_md(), "diff");
    let row = workspace
        .view()
        .unwrap()
        .event(event("evt-000002"))
        .unwrap();
    let first_line = format!("# {} {}\n", row.event.id, row.event.hash);
    let diff = workspace.event_diff(&row.event).unwrap();
    let mut made = first_line.into_bytes();
    diff[0].write_patch(&mut made);
    assert_eq!(String::from_utf8(made).unwrap(), patch);
}

#[test]
fn the_archive_of_the_documents_is_the_one_that_its_manifest_names() {
    let json = block(&snapshot_md(), "json manifest");
    let manifest = Manifest::from_json(json.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(manifest.to_json()).unwrap(), json);
    let archive = bytes_of(&block(&snapshot_md(), "hex snap-0001.tar.zst"));
    assert_eq!(Digest::of(&archive), manifest.archive.hash);
    assert_eq!(archive.len() as u64, manifest.archive.bytes);
    // Every byte of both, against what the row says.
    let dir = ledger();
    let checked = open(&dir).check_snapshot(SnapshotId(1)).unwrap();
    assert_eq!(checked.files, 2);
}

#[test]
fn every_json_block_is_json() {
    for document in [events_md(), snapshot_md()] {
        for (info, text) in blocks(&document)
            .iter()
            .filter(|(info, _)| info.starts_with("json"))
        {
            let lines = match info.starts_with("jsonl") {
                true => text.lines().collect(),
                false => vec![text.as_str()],
            };
            for line in lines {
                serde_json::from_str::<Value>(line)
                    .unwrap_or_else(|error| panic!("{info}: {error}"));
            }
        }
    }
}

/// The names in the first column of the table under a heading, in order.
fn fields_under(document: &str, heading: &str) -> Vec<String> {
    let section = document.split_once(&format!("\n{heading}\n")).unwrap().1;
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once('`').unwrap().0.to_owned())
        .collect()
}

/// The keys of a JSON object, in the order of the text.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = map.next_entry()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

fn keys(object: &str) -> Vec<String> {
    let Keys(keys) = serde_json::from_str(object).unwrap();
    keys
}

fn assert_in_order(keys: &[String], described: &[String]) {
    let place = |key: &String| {
        let place = described.iter().position(|name| name == key);
        place.unwrap_or_else(|| panic!("{key} is not described"))
    };
    assert!(
        keys.iter().map(place).is_sorted_by(|a, b| a < b),
        "{keys:?}"
    );
}

#[derive(Deserialize)]
struct Edits<'a> {
    #[serde(borrow, default)]
    edits: Vec<&'a RawValue>,
}

#[test]
fn the_tables_describe_every_field_in_the_order_in_which_it_is_written() {
    let document = events_md();
    let (described, of_edits) = (
        fields_under(&document, "### Fields"),
        fields_under(&document, "## Edits"),
    );
    let mut seen = BTreeSet::new();
    for line in block(&document, "jsonl events.jsonl").lines() {
        let row: Edits<'_> = serde_json::from_str(line).unwrap();
        let names = keys(line);
        assert_in_order(&names, &described);
        seen.extend(names);
        for edit in row.edits {
            let names = keys(edit.get());
            assert_in_order(&names, &of_edits);
            seen.extend(names.iter().map(|name| format!("edits.{name}")));
        }
    }
    // What no row of the example has.
    let not_shown = ["affected_range", "semantic_warning"];
    let wanted = described
        .iter()
        .cloned()
        .chain(of_edits.iter().map(|name| format!("edits.{name}")));
    for name in wanted.filter(|name| !not_shown.contains(&name.as_str())) {
        assert!(seen.contains(&name), "{name} is in no row of the example");
    }

    let document = snapshot_md();
    let names = keys(&block(&document, "json manifest"));
    assert_in_order(&names, &fields_under(&document, "## The manifest"));
}
