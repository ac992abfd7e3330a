//! Every exit status, with its error and hint.

use std::fs;
use std::process::Stdio;

use crate::sandbox::{Sandbox, check};

#[test]
fn what_cannot_be_done_is_status_1() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    let mut told = sandbox.run(&["init"]);
    told += &sandbox.run(&["show", "nothing"]);
    told += &sandbox.run(&["cat", "@", "nothing"]);
    told += &sandbox.run(&["cat", "@", "../nothing"]);
    told += &sandbox.run(&["record", "nothing"]);
    told += &sandbox.run(&["record", "/etc/passwd"]);
    told += &sandbox.run(&["bookmark", "add", "evt-000000"]);
    told += &sandbox.run(&["bookmark", "add", "main"]);
    told += &sandbox.run(&["switch", "nowhere"]);
    told += &sandbox.run(&["history", "--branch", "nowhere"]);
    told += &sandbox.run(&["rewind", "--abort"]);
    told += &sandbox.run(&["snapshot", "show", "@"]);
    told += &sandbox.run(&["--root", "..", "status"]);
    check(
        &told,
        r#"
        $ bench init
        ! error: there is a ledger here already
        ! hint: `bench status` says where it stands
        [status 1]
        $ bench show nothing
        ! error: there is no event, snapshot, bookmark or branch "nothing"
        ! hint: `bench history`, `bench bookmark list` and `bench branch list` show what there is
        [status 1]
        $ bench cat @ nothing
        ! error: there is no file nothing at evt-000001
        ! hint: `bench history --file PATH` shows when there was
        [status 1]
        $ bench cat @ ../nothing
        ! error: ../nothing is outside the workspace
        [status 1]
        $ bench record nothing
        ! error: there is no file nothing, on disk or recorded
        [status 1]
        $ bench record /etc/passwd
        ! error: /etc/passwd is outside the workspace
        [status 1]
        $ bench bookmark add evt-000000
        ! error: "evt-000000" cannot be a name: it looks like an id
        [status 1]
        $ bench bookmark add main
        ! error: the name "main" is taken
        [status 1]
        $ bench switch nowhere
        ! error: there is no branch "nowhere"
        ! hint: `bench branch list` shows the branches there are
        [status 1]
        $ bench history --branch nowhere
        ! error: there is no branch "nowhere"
        ! hint: `bench branch list` shows the branches there are
        [status 1]
        $ bench rewind --abort
        ! error: no rewind was interrupted
        [status 1]
        $ bench snapshot show @
        ! error: "@" is an event, no snapshot
        ! hint: `bench snapshot list` shows the snapshots there are
        [status 1]
        $ bench --root .. status
        ! error: there is no ledger here
        ! hint: `bench init` makes one; --root DIR names a workspace elsewhere
        [status 1]
    "#,
    );
}

#[test]
fn a_file_that_was_never_recorded_blocks_a_rewind() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    fs::remove_file(sandbox.root().join("a.txt")).unwrap();
    sandbox.output(&["record"], "");
    sandbox.write("a.txt", "mine\n");
    check(
        &sandbox.run(&["rewind", "evt-000001"]),
        "
        $ bench rewind evt-000001
        ! error: a.txt was never recorded, and stands where the move puts a.txt
        ! hint: record them first (`bench record PATH...`), or move them away
        [status 1]
    ",
    );
    assert_eq!(sandbox.read("a.txt"), "mine\n");
}

#[test]
fn a_wrong_command_line_is_status_2() {
    let sandbox = Sandbox::empty();
    for args in [
        &["nonsense"][..],
        &["rewind"],
        &["gc", "--every", "0"],
        &["diff", "a", "b", "c"],
    ] {
        let output = sandbox.output(args, "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
    }
}

#[test]
fn an_environment_that_cannot_be_used_is_status_3() {
    let sandbox = Sandbox::with(&[]);
    sandbox.write(
        ".user/ledger/config.toml",
        "[retention]\nkeep_last = \"ten\"\n",
    );
    let mut told = sandbox.run(&["status"]);
    fs::remove_file(sandbox.root().join(".user/ledger/config.toml")).unwrap();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = sandbox.command(&["history"]).stdout(full).output().unwrap();
    told += &String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    check(
        &told,
        r#"
        $ bench status
        ! error: .user/ledger/config.toml: TOML parse error at line 2, column 13
        !     |
        !   2 | keep_last = "ten"
        !     |             ^^^^^
        !   invalid type: string "ten", expected u32
        [status 3]
        error: cannot write to the standard output: No space left on device (os error 28)
    "#,
    );
}

#[test]
fn damage_is_status_4() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    let events = sandbox.root().join(".user/ledger/events.jsonl");
    let rows = fs::read_to_string(&events).unwrap();
    fs::write(
        &events,
        rows.replace("ledger initialized", "ledger  nitialized"),
    )
    .unwrap();
    let mut told = sandbox.run(&["history"]);
    told += &sandbox.run(&["verify", "--json"]);
    check(
        &told,
        r#"
        $ bench history
        ! error: the ledger is damaged: .user/ledger/events.jsonl, byte 0 (evt-000000): the hash of the row does not match: expected DIGEST, actual DIGEST
        ! hint: `bench verify --full` says what is damaged; with --repair it makes again what can be
        [status 4]
        $ bench verify --json
        {"severity":"damage","where":".user/ledger/events.jsonl, byte 0","what":"acknowledged rows are damaged: the hash of the row does not match: expected DIGEST, actual DIGEST","repaired":false}
        {"rows":0,"bytes":0,"snapshots":0,"objects":0,"artifacts":0,"patches":0,"states":0,"damage":1,"warnings":0,"repaired":0}
        [status 4]
    "#,
    );
}

#[test]
fn a_lock_that_is_not_to_be_had_is_status_7() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    sandbox.write("a.txt", "two\n");
    let lock = fs::File::open(sandbox.root().join(".user/ledger/lock")).unwrap();
    lock.lock().unwrap();
    let args = ["--lock-timeout", "20ms", "note", "later"];
    let output = sandbox.output(&args, "");
    assert_eq!(output.status.code(), Some(7));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("error: the lock .user/ledger/lock was held by another process"));
    assert!(
        told.ends_with("hint: try again, or wait longer with --lock-timeout\n"),
        "{told}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_news() {
    let sandbox = Sandbox::with(&[]);
    for args in [
        &["history"][..],
        &["status"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox
            .command(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert_ne!(output.status.code(), Some(101), "{args:?}");
    }
    // Nor is it when nobody hears of an error.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = sandbox
        .command(&["show", "nothing"])
        .stderr(writer)
        .status();
    assert_eq!(status.unwrap().code(), Some(1));
}
