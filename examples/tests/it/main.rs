//! Each example is run, in a scratch directory of its own and on a directory that is named.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that fails panics

use std::path::Path;
use std::process::Command;

const RECORD: &str = env!("CARGO_BIN_EXE_record_from_threads");
const HISTORY: &str = env!("CARGO_BIN_EXE_read_history");
const RESTORE: &str = env!("CARGO_BIN_EXE_restore_in_memory");

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    assert_eq!(errors, "", "{program}");
    String::from_utf8(output.stdout).unwrap()
}

fn last_lines(text: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len() - count..].to_vec()
}

#[test]
fn agents_on_many_threads_record_every_edit() {
    let output = run(RECORD, &[]);
    assert_eq!(output.lines().count(), 8 * 4 + 2, "{output}");
    let expected = [
        "64 events after evt-000001, the last is evt-000065",
        "journal.md has 32 lines",
    ];
    assert_eq!(last_lines(&output, 2), expected);
}

#[test]
fn the_history_names_blocks_and_reasons() {
    let output = run(HISTORY, &[]);
    let expected = "\
branch main ends with evt-000003
evt-000003 edit_replace by writer in yaml_path:/rules/no-tabs/level
    why: tabs break the parser
    rules.yaml +1 -1
evt-000002 edit_replace by writer in method:Parser.parse
    why: split on blanks
    parser.py +1 -1
evt-000001 snapshot_create by bench
evt-000000 meta_note by example
    why: ledger initialized
";
    assert_eq!(output.split_once('\n').unwrap().1, expected);
}

#[test]
fn a_state_is_restored_into_memory() {
    let output = run(RESTORE, &[]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(
        lines[0],
        "evt-000002: 2 files, from snap-0001 and 2 events after it"
    );
    assert!(lines[1].ends_with(" 69 bytes parser.py"), "{output}");
    assert!(lines[2].ends_with(" 39 bytes rules.yaml"), "{output}");
    assert_eq!(lines[3], "108 bytes in memory");
}

#[test]
fn what_one_example_records_the_others_read() {
    let dir = tempfile::tempdir().unwrap();
    let root: &Path = dir.path();
    std::fs::write(root.join("a.txt"), "one\n").unwrap();
    let root = root.to_str().unwrap();
    run(RECORD, &[root]);
    let history = run(HISTORY, &[root, "findings/agent-3.md"]);
    assert_eq!(history.matches("by agent-3").count(), 4, "{history}");
    let restored = run(RESTORE, &[root, "main"]);
    assert!(restored.contains(" 10 files, "), "{restored}");
    assert!(restored.contains(" 4 bytes a.txt"), "{restored}");
}
