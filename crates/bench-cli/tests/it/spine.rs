//! The main job: record, look back, go back.

use crate::sandbox::{Sandbox, check};

const CODE: &str = "def f():\n    return 1\n\n\ndef g():\n    return 2\n";

#[test]
fn a_change_is_recorded_and_found_again() {
    let sandbox = Sandbox::empty();
    sandbox.write("a.py", CODE);
    let mut told = sandbox.run(&["init"]);
    sandbox.write("a.py", &CODE.replace("return 2", "return 3"));
    sandbox.write("docs/b.txt", "new\n");
    told += &sandbox.run(&["status"]);
    told += &sandbox.run(&[
        "record",
        "-m",
        "Count on",
        "--author",
        "bot",
        "--author-kind",
        "agent",
    ]);
    told += &sandbox.run(&["status"]);
    told += &sandbox.run(&["history"]);
    told += &sandbox.run(&["show", "evt-000002"]);
    told += &sandbox.run(&["record"]);
    check(
        &told,
        "
        $ bench init
        made a ledger in .user/ledger: 1 file recorded as snap-0001 (SIZE)
        $ bench status
        on branch main at evt-000001
        unrecorded:
          modified  a.py
          new       docs/b.txt
        0 events since the last snapshot; the ledger has SIZE
        $ bench record -m Count on --author bot --author-kind agent
        evt-000002 edit_replace a.py:6 function:g
        evt-000003 file_create docs/b.txt
        $ bench status
        on branch main at evt-000003
        nothing unrecorded
        2 events since the last snapshot; the ledger has SIZE
        $ bench history
        evt-000003  DATE  bot  file_create  docs/b.txt  Count on
        evt-000002  DATE  bot  edit_replace  a.py:6  function:g  Count on
        evt-000001  DATE  bench  snapshot_create  snap-0001 of evt-000000
        evt-000000  DATE  tester  meta_note  ledger initialized
        $ bench show evt-000002
        event      evt-000002
        action     edit_replace
        about      a.py:6
        block      function:g
        author     bot (agent)
        date       DATE
        branch     main
        parent     evt-000001
        operation  OPERATION

            Count on

        diff --git a/a.py b/a.py
        --- a/a.py
        +++ b/a.py
        @@ -3,4 +3,4 @@


         def g():
        -    return 2
        +    return 3
        $ bench record
        nothing changed
    ",
    );
}

#[test]
fn states_are_printed_compared_and_restored() {
    let sandbox = Sandbox::with(&[("a.py", CODE), ("b", "x\n")]);
    sandbox.write("a.py", &CODE.replace("return 2", "return 3"));
    sandbox.output(&["record"], "");
    let mut told = sandbox.run(&["cat", "@~1", "a.py"]);
    told += &sandbox.run(&["diff", "@~1", "@", "--exit-code"]);
    told += &sandbox.run(&["diff", "@~1..@", "--stat"]);
    told += &sandbox.run(&["diff", "@~1", "@", "--side-by-side"]);
    told += &sandbox.run(&["diff", "@~1", "@", "--json"]);
    told += &sandbox.run(&["diff", "--exit-code"]);
    told += &sandbox.run(&["restore", "@~1", "--to", "../out"]);
    told += &sandbox.run(&["restore", "@~1", "--to", "../out"]);
    check(
        &told,
        r#"
        $ bench cat @~1 a.py
        def f():
            return 1


        def g():
            return 2
        $ bench diff @~1 @ --exit-code
        diff --git a/a.py b/a.py
        --- a/a.py
        +++ b/a.py
        @@ -3,4 +3,4 @@


         def g():
        -    return 2
        +    return 3
        [status 1]
        $ bench diff @~1..@ --stat
         a.py |   2 +-
         1 file changed, 1 added, 1 deleted
        $ bench diff @~1 @ --side-by-side
        modified  a.py
        @@ -3,4 +3,4 @@
           3                                   │    3
           4                                   │    4
           5 def g():                          │    5 def g():
           6     return 2                      │    6     return 3
        $ bench diff @~1 @ --json
        {"path":"a.py","status":"modified","added":1,"deleted":1,"mode_before":"100644","mode_after":"100644","bytes_before":46,"bytes_after":46}
        $ bench diff --exit-code
        $ bench restore @~1 --to ../out
        restored 2 files (48 B) as of evt-000001
        $ bench restore @~1 --to ../out
        ! error: ../out is not an empty directory
        ! hint: name a directory that is empty, or not there yet
        [status 1]
    "#,
    );
    assert_eq!(sandbox.read("../out/a.py"), CODE);
}

#[test]
fn a_rewind_keeps_what_was_not_recorded() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    sandbox.write("a.txt", "two\n");
    sandbox.write("b.txt", "never recorded\n");
    let mut told = sandbox.run(&["rewind", "evt-000001", "--dry-run"]);
    told += &sandbox.run(&["rewind", "evt-000001"]);
    told += &sandbox.run(&["branch", "list"]);
    told += &sandbox.run(&["switch", "main", "--json"]);
    told += &sandbox.run(&["cat", "main", "./a.txt"]);
    check(
        &told,
        r#"
        $ bench rewind evt-000001 --dry-run
        unrecorded changes of 1 file would be kept:
          a.txt
        modified  a.txt
        would stand on branch rewind-evt-000001 with the state of evt-000001, 1 file changed
        $ bench rewind evt-000001
        unrecorded changes of 1 file are kept as evt-000002:
          a.txt
        modified  a.txt
        on branch rewind-evt-000001 at evt-000003, with the state of evt-000001; 1 file changed
        $ bench branch list
          main               evt-000002
        * rewind-evt-000001  evt-000003
        $ bench switch main --json
        {"dry_run":false,"from":{"branch":"rewind-evt-000001","event":"evt-000003"},"to":{"branch":"main","event":"evt-000002"},"target":"evt-000002","steps":[{"path":"a.txt","change":"modified"}],"kept":[],"unrecorded":[]}
        $ bench cat main ./a.txt
        two
    "#,
    );
    assert_eq!(sandbox.read("a.txt"), "two\n");
    assert_eq!(sandbox.read("b.txt"), "never recorded\n");
}

#[test]
fn names_are_given_and_snapshots_taken() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    let mut told = sandbox.run(&["bookmark", "add", "start"]);
    told += &sandbox.run(&["bookmark", "lock", "start"]);
    told += &sandbox.run(&["bookmark", "remove", "start"]);
    told += &sandbox.run(&["bookmark", "list", "--json"]);
    told += &sandbox.run(&["snapshot", "save", "release"]);
    told += &sandbox.run(&["snapshot", "list"]);
    told += &sandbox.run(&["snapshot", "verify"]);
    told += &sandbox.run(&["branch", "create", "side", "start"]);
    told += &sandbox.run(&["note", "nothing to see"]);
    told += &sandbox.run(&["gc", "--dry-run", "--json"]);
    told += &sandbox.run(&["verify", "--full"]);
    check(
        &told,
        r#"
        $ bench bookmark add start
        evt-000002 checkpoint start -> evt-000001
        $ bench bookmark lock start
        evt-000003 checkpoint lock start
        $ bench bookmark remove start
        ! error: bookmark "start" is locked
        ! hint: `bench bookmark unlock NAME` lets it be changed again
        [status 1]
        $ bench bookmark list --json
        {"name":"start","target":"evt-000001","locked":true}
        $ bench snapshot save release
        snap-0002 of evt-000003, named release: 1 file (SIZE)
        $ bench snapshot list
        snap-0002  of evt-000003  DATE     SIZE  saved  release
        snap-0001  of evt-000000  DATE     SIZE  init
        $ bench snapshot verify
        snap-0002  ok  1 file
        snap-0001  ok  1 file
        $ bench branch create side start
        evt-000006 branch side
        $ bench note nothing to see
        evt-000007 meta_note nothing to see
        $ bench gc --dry-run --json
        {"action":"keep","what":"snap-0001","bytes":SIZE,"reason":"the first"}
        {"action":"keep","what":"snap-0002","bytes":SIZE,"reason":"bookmark release"}
        $ bench verify --full
        checked 8 events, 2 snapshots, 8 states: 0 damaged, 0 to be warned of, 0 repaired
    "#,
    );
}

#[test]
fn artifacts_are_shown_with_what_became_of_them() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    sandbox.write("results/artifacts/eval-1.json", "{}\n");
    let mut told = sandbox.run(&[
        "eval",
        "smoke",
        "--artifact",
        "results/artifacts/eval-1.json",
    ]);
    sandbox.write("results/artifacts/eval-1.json", "{ }\n");
    told += &sandbox.run(&["show"]);
    told += &sandbox.run(&["eval", "smoke", "--artifact", "a.txt"]);
    check(
        &told,
        r#"
        $ bench eval smoke --artifact results/artifacts/eval-1.json
        evt-000002 eval_run eval smoke
        $ bench show
        event      evt-000002
        action     eval_run
        author     tester (human)
        date       DATE
        branch     main
        parent     evt-000001
        operation  OPERATION
        boundary   run_completed
        artifact   results/artifacts/eval-1.json  4 B altered since

            eval smoke
        $ bench eval smoke --artifact a.txt
        ! error: artifact: "a.txt": it is not a path under results/artifacts/
        ! hint: put the file under results/artifacts/ and name it there
        [status 1]
    "#,
    );
}

#[test]
fn events_are_put_together_under_headings() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    for (author, text) in [("ann", "1\n"), ("bob", "2\n"), ("ann", "3\n")] {
        sandbox.write("a.txt", text);
        sandbox.output(&["record", "--author", author, "-m", text], "");
    }
    let mut told = sandbox.run(&["history", "--group-by", "author", "-n", "3"]);
    told += &sandbox.run(&[
        "history",
        "--author",
        "ann",
        "--since",
        "1h",
        "--until",
        "2099-01-01",
    ]);
    told += &sandbox.run(&["history", "--since", "2099-01-01"]);
    check(
        &told,
        "
        $ bench history --group-by author -n 3
        author ann
          evt-000004  DATE  ann  edit_replace  a.txt:1  3
          evt-000002  DATE  ann  edit_replace  a.txt:1  1

        author bob
          evt-000003  DATE  bob  edit_replace  a.txt:1  2
        $ bench history --author ann --since 1h --until 2099-01-01
        evt-000004  DATE  ann  edit_replace  a.txt:1  3
        evt-000002  DATE  ann  edit_replace  a.txt:1  1
        $ bench history --since 2099-01-01
    ",
    );
}

#[test]
fn paths_are_relative_to_where_one_stands() {
    let sandbox = Sandbox::with(&[("sub/a.txt", "one\n"), ("b.txt", "one\n")]);
    sandbox.write("sub/a.txt", "two\n");
    sandbox.write("b.txt", "two\n");
    let mut command = sandbox.command(&["record", "a.txt", "../b.txt"]);
    let output = command
        .current_dir(sandbox.root().join("sub"))
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    check(
        &told,
        "
        evt-000002 edit_replace b.txt:1
        evt-000003 edit_replace sub/a.txt:1
    ",
    );
}
