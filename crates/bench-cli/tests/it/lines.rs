//! `bench record --stdin`.

use crate::sandbox::{Sandbox, check};

#[test]
fn each_line_is_answered_in_order() {
    let sandbox = Sandbox::with(&[("a.txt", "1\n2\n3\n")]);
    let lines = r#"
{"path": "a.txt", "content": "1\ntwo\n3\n", "key": "k", "rationale": "why", "author": {"name": "bot", "kind": "agent"}}
{"path": "a.txt", "content": "1\ntwo\n3\n", "key": "k", "rationale": "why", "author": {"name": "bot", "kind": "agent"}}
{"path": "a.txt", "content": "else", "key": "k"}
{"path": "a.txt", "content": "1\nzwei\n3\n", "base": "evt-000001"}

{"files": [{"path": "b", "content_b64": "AAEC"}, {"path": {"b64": "/w=="}, "content": "x", "mode": "100755"}]}
{"path": "b", "rename_to": "c"}
{"path": "c", "mode": "100755"}
{"path": "c", "delete": true}
{"path": "a.txt", "content": "1\ntwo\n3\n"}
{"path": "last", "content": "no newline after this line"}"#;
    let mut told = sandbox.run_with(&["record", "--stdin"], lines);
    told += &sandbox.run(&["history", "-n", "7"]);
    check(
        &told,
        r#"
        $ bench record --stdin
        {"ok":true,"events":["evt-000002"],"key":"k"}
        {"ok":true,"events":["evt-000002"],"key":"k"}
        {"ok":false,"code":"key_reused","error":"the key \"k\" was used for other content, by evt-000002"}
        {"ok":false,"code":"conflict","error":"a.txt was also changed by evt-000002: both edits change line 2"}
        {"ok":true,"events":["evt-000003","evt-000004"],"key":null}
        {"ok":true,"events":["evt-000005"],"key":null}
        {"ok":true,"events":["evt-000006"],"key":null}
        {"ok":true,"events":["evt-000007"],"key":null}
        {"ok":true,"events":[],"key":null}
        {"ok":true,"events":["evt-000008"],"key":null}
        [status 1]
        $ bench history -n 7
        evt-000008  DATE  tester  file_create  last
        evt-000007  DATE  tester  file_delete  c
        evt-000006  DATE  tester  edit_replace  c
        evt-000005  DATE  tester  file_rename  b -> c
        evt-000004  DATE  tester  file_create  \xff
        evt-000003  DATE  tester  file_create  b
        evt-000002  DATE  bot  edit_replace  a.txt:2  why
    "#,
    );
    // Nothing touched the files.
    assert_eq!(sandbox.read("a.txt"), "1\n2\n3\n");
}

#[test]
fn what_is_not_meant_is_refused_and_the_next_line_served() {
    let sandbox = Sandbox::with(&[]);
    let lines = r#"{"path": "a", "content": "x", "path": "b"}
{"path": "a", "content": "x", "author": {"name": "n", "name": "m"}}
["a", "x"]
{"path": "a", "content": "x", "author": ["n"]}
{"path": "a", "content": "x", "rational": "misspelt"}
{"path": "a", "content": "x", "delete": true}
{"path": "a", "content": "x", "mode": "100600"}
{"path": "a"}
{"path": "../a", "content": "x"}
{"path": ".user/ledger/tip", "content": "x"}
{"path": "a", "content": "x", "branch": "none"}
{"path": "a", "content": "x", "base": "evt-000099"}
{"path": "a", "content": "x", "artifacts": ["/etc/passwd"]}
{"path": "a", "delete": true}
nonsense
{"path": "a", "content": "x"}
"#;
    check(
        &sandbox.run_with(&["record", "--stdin"], lines),
        r#"
        $ bench record --stdin
        {"ok":false,"code":"invalid","error":"the line cannot be read: duplicate field `path` at line 1 column 36"}
        {"ok":false,"code":"invalid","error":"the line cannot be read: duplicate field `name` at line 1 column 60"}
        {"ok":false,"code":"invalid","error":"the line cannot be read: invalid type: sequence, expected an object at line 1 column 0"}
        {"ok":false,"code":"invalid","error":"the line cannot be read: invalid type: sequence, expected an object at line 1 column 40"}
        {"ok":false,"code":"invalid","error":"the line cannot be read: unknown field `rational`, expected one of `path`, `content`, `content_b64`, `delete`, `rename_to`, `mode`, `files`, `author`, `rationale`, `operation_id`, `run_id`, `branch`, `base`, `key`, `artifacts`, `in_workspace` at line 1 column 40"}
        {"ok":false,"code":"invalid","error":"a: more than one of content, content_b64, delete, rename_to"}
        {"ok":false,"code":"invalid","error":"mode \"100600\": expected 100644, 100755 or 120000"}
        {"ok":false,"code":"invalid","error":"a: none of content, content_b64, delete, rename_to, mode"}
        {"ok":false,"code":"invalid","error":"path: path \"../a\" is not a plain relative path"}
        {"ok":false,"code":"invalid","error":".user/ledger/tip is never tracked"}
        {"ok":false,"code":"unknown_branch","error":"there is no branch \"none\""}
        {"ok":false,"code":"not_found","error":"base: there is no event evt-000099"}
        {"ok":false,"code":"invalid","error":"artifact: \"/etc/passwd\": it is not a path under results/artifacts/"}
        {"ok":false,"code":"not_found","error":"a is not a recorded file"}
        {"ok":false,"code":"invalid","error":"the line cannot be read: expected ident at line 1 column 2"}
        {"ok":true,"events":["evt-000002"],"key":null}
        [status 1]
    "#,
    );
    let invalid = sandbox.output(&["record", "--stdin"], "");
    assert!(invalid.status.success());
}
