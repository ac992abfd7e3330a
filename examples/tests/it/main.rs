//! Each example is run, in a scratch directory of its own and on a directory that is named.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that fails panics

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const RECORD: &str = env!("CARGO_BIN_EXE_record_from_threads");
const HISTORY: &str = env!("CARGO_BIN_EXE_read_history");
const RESTORE: &str = env!("CARGO_BIN_EXE_restore_in_memory");

/// How long an example may take, so that one that hangs fails.
const LIMIT: Duration = Duration::from_secs(120);

fn run(program: &str, arguments: &[&str]) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let (mut output, mut errors) = (String::new(), String::new());
        stdout.read_to_string(&mut output).unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        // Nobody listens any more once the time is over.
        let _ = sender.send((output, errors));
    });
    let answer = receiver.recv_timeout(LIMIT);
    if answer.is_err() {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    reader.join().unwrap();
    let (output, errors) = answer.unwrap_or_else(|_| panic!("{program} did not end in {LIMIT:?}"));
    assert!(status.success(), "{program}: {errors}");
    assert_eq!(errors, "", "{program}");
    output
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
