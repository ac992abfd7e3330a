//! Manifests.

use std::collections::BTreeMap;

use ledger_core::{Digest, EventId, Mode, SnapshotId, Timestamp};
use ledger_snapshot::{ArchiveDigest, FileEntry, Manifest, Stored};
use proptest::prelude::*;
use serde_json::json;

use crate::support::*;

fn manifest(files: &Files) -> Manifest {
    let stored = |n: usize, (mode, content): &(Mode, Vec<u8>)| Stored {
        entry: FileEntry {
            mode: *mode,
            hash: Digest::of(content),
            size: content.len() as u64,
        },
        frame: n as u32,
    };
    let files = files.iter().enumerate();
    Manifest {
        id: SnapshotId(7),
        ts: Timestamp::from_millis(1_758_981_960_000),
        base_event_id: EventId(120),
        event_offset: 73_211,
        tar_uri: ".user/ledger/snapshots/snap-0007.tar.zst".to_owned(),
        env: BTreeMap::from([("python".to_owned(), json!("3.11.8"))]),
        seeds: BTreeMap::from([("global".to_owned(), json!(1337))]),
        tools: BTreeMap::new(),
        archive: ArchiveDigest {
            hash: Digest::of(b"archive"),
            bytes: 4711,
            index: Digest::of(b"index"),
        },
        files: files
            .map(|(n, (path, file))| (path.clone(), stored(n, file)))
            .collect(),
        unknown: BTreeMap::new(),
    }
}

fn example() -> Manifest {
    manifest(&Files::from([
        (
            path("rubrics/security.yaml"),
            (Mode::File, b"criteria: []\n".to_vec()),
        ),
        (
            path("run\u{202e}.sh"),
            (Mode::Executable, b"true\n".to_vec()),
        ),
        (path(b"\xff\xfe"), (Mode::Symlink, b"run.sh".to_vec())),
    ]))
}

fn text(manifest: &Manifest) -> String {
    String::from_utf8(manifest.to_json()).unwrap()
}

/// The example with a part of its text replaced.
fn refused(from: &str, to: &str, expect: &str) {
    let json = text(&example());
    assert!(json.contains(from), "{json}");
    let error = Manifest::from_json(json.replacen(from, to, 1).as_bytes()).unwrap_err();
    let mut shown = error.to_string();
    if let Some(source) = std::error::Error::source(&error) {
        shown = format!("{shown}: {source}");
    }
    assert_eq!(shown, expect);
}

#[test]
fn a_manifest_is_written_one_entry_a_line() {
    insta::assert_snapshot!(text(&example()));
}

#[test]
fn a_manifest_without_files_is_written_and_read() {
    let json = text(&manifest(&Files::new()));
    assert!(
        json.contains("\"hashes\": {},\n  \"files\": {}\n}\n"),
        "{json}"
    );
    assert_eq!(text(&Manifest::from_json(json.as_bytes()).unwrap()), json);
}

proptest! {
    #[test]
    fn any_manifest_comes_back_as_it_was(files in any_files(12)) {
        let manifest = manifest(&files);
        let json = manifest.to_json();
        let back = Manifest::from_json(&json).unwrap();
        prop_assert_eq!(&back.files, &manifest.files);
        prop_assert_eq!(back.tree().len(), files.len());
        prop_assert_eq!(back.to_json(), json);
    }

    #[test]
    fn no_changed_byte_makes_the_reader_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut json = example().to_json();
        for (at, value) in changes {
            let at = at.index(json.len());
            json[at] = value;
        }
        let _ = Manifest::from_json(&json);
        json.truncate(cut.index(json.len()));
        let _ = Manifest::from_json(&json);
    }
}

#[test]
fn fields_of_a_later_version_are_kept_as_they_were() {
    let json = text(&example());
    let json = json.replacen("\n}\n", ",\n  \"zz\": [1e400, {\"a\":  1}]\n}\n", 1);
    let manifest = Manifest::from_json(json.as_bytes()).unwrap();
    assert_eq!(manifest.unknown["zz"].get(), "[1e400, {\"a\":  1}]");
    assert_eq!(text(&manifest), json);
}

#[test]
fn fields_may_come_in_any_order() {
    let json: serde_json::Value = serde_json::from_slice(&example().to_json()).unwrap();
    let manifest = Manifest::from_json(json.to_string().as_bytes()).unwrap();
    assert_eq!(text(&manifest), text(&example()));
}

#[test]
fn a_repeated_key_is_refused() {
    refused(
        "\"seeds\"",
        "\"env\"",
        "manifest is not a JSON object as it should be: key \"env\" is there twice at line 8 column 24",
    );
    refused(
        "{\"python\":\"3.11.8\"}",
        "{\"python\":1,\"python\":2}",
        "field env of the manifest cannot be read: key \"python\" is there twice at line 1 column 23",
    );
    let entry = format!(
        "\"rubrics/security.yaml\": \"{}\",",
        Digest::of(b"criteria: []\n")
    );
    refused(
        &entry,
        &format!("{entry}{entry}"),
        "rubrics/security.yaml is in hashes of the manifest twice",
    );
}

#[test]
fn paths_out_of_the_tree_are_refused() {
    for bad in ["/etc/passwd", "../a", "a/./b", "", "a\\u0000"] {
        let json = text(&example()).replace("rubrics/security.yaml", bad);
        let error = Manifest::from_json(json.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "field hashes of the manifest cannot be read",
            "{bad}"
        );
    }
}

#[test]
fn a_path_below_a_file_is_refused() {
    let json = text(&example()).replace("run\\u202e.sh", "rubrics/security.yaml/x");
    let error = Manifest::from_json(json.as_bytes())
        .unwrap_err()
        .to_string();
    let expect = "rubrics/security.yaml/x stands below rubrics/security.yaml, which is a file";
    assert_eq!(error, expect);
}

#[test]
fn a_path_without_a_hash_or_without_a_size_is_refused() {
    refused(
        "\"rubrics/security.yaml\": {",
        "\"rubrics/other.yaml\": {",
        "rubrics/other.yaml is not in both hashes and files of the manifest",
    );
    let json = text(&manifest(&Files::from([(
        path("a"),
        (Mode::File, Vec::new()),
    )])));
    let hashes = json.find("\"hashes\": {").unwrap() + 11;
    let close = json[hashes..].find('}').unwrap() + hashes;
    let json = [&json[..hashes], &json[close..]].concat();
    let error = Manifest::from_json(json.as_bytes())
        .unwrap_err()
        .to_string();
    assert_eq!(error, "a is not in both hashes and files of the manifest");
}

#[test]
fn a_digest_of_another_kind_is_refused() {
    let hash = Digest::of(b"criteria: []\n").to_string();
    let expect = "field hashes of the manifest cannot be read: not a digest: expected blake3: and 64 \
                  hexadecimal digits at line 2 column 102";
    refused(&hash, &hash.replace("blake3", "sha256"), expect);
}

#[test]
fn another_version_is_refused_saying_both() {
    refused(
        "\"version\":1",
        "\"version\":2",
        "manifest has format bench-snapshot version 2 level 3, and bench-snapshot version 1 level 3 \
         is known here",
    );
    let adr = br#"{"id": "snap-0007", "hashes": {"a": "sha256:00"}}"#;
    let error = Manifest::from_json(adr).unwrap_err().to_string();
    assert_eq!(error, "manifest has no field format");
}
