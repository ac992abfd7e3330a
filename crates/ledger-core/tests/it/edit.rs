//! Line edits: their laws, their JSON, and their agreement with `git merge-file`.

use std::fs;
use std::process::Command;

use ledger_core::diff;
use ledger_core::edit::{LineBuffer, LineEdit, LineOp};
use proptest::prelude::*;

fn retain(lines: u64) -> LineOp {
    LineOp::Retain(lines)
}

fn delete(lines: &str) -> LineOp {
    LineOp::Delete(lines.as_bytes().to_vec())
}

fn insert(lines: &str) -> LineOp {
    LineOp::Insert(lines.as_bytes().to_vec())
}

fn edit(ops: impl IntoIterator<Item = LineOp>) -> LineEdit {
    LineEdit::from_ops(ops).unwrap()
}

/// Texts of few different lines, with and without a newline at the end.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => "[a-c]".prop_map(String::into_bytes),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"\xff".to_vec()),
    ];
    (prop::collection::vec(line, 0..12), any::<bool>()).prop_map(|(lines, ends)| {
        let mut text = lines.join(&b'\n');
        if ends && !text.is_empty() {
            text.push(b'\n');
        }
        text
    })
}

/// Lines taken out and put in at one place, as far as there are any.
type Changed = (Option<Vec<String>>, Option<Vec<String>>);

/// Texts that mostly keep the lines of one base, in order, so that changes of it can be merged.
fn bases_with_changes() -> impl Strategy<Value = [Vec<u8>; 3]> {
    let change = prop_oneof![
        12 => Just(None),
        1 => Just(Some(vec![])),
        2 => prop::collection::vec("[x-z]", 1..3).prop_map(Some),
    ];
    let side = prop::collection::vec((change.clone(), change), 14);
    (1..14usize, side.clone(), side, any::<[bool; 3]>()).prop_map(|(len, a, b, ends)| {
        let base: Vec<String> = (0..len).map(|i| format!("line {i}")).collect();
        let changed = |side: &[Changed]| {
            let mut lines = Vec::new();
            for (line, (before, at)) in base.iter().zip(side) {
                lines.extend(before.clone().unwrap_or_default());
                lines.extend(at.clone().unwrap_or_else(|| vec![line.clone()]));
            }
            lines
        };
        let text = |lines: Vec<String>, end: bool| {
            let text = lines.join("\n");
            let end = if end && !text.is_empty() { "\n" } else { "" };
            (text + end).into_bytes()
        };
        [
            text(base.clone(), ends[0]),
            text(changed(&a), ends[1]),
            text(changed(&b), ends[2]),
        ]
    })
}

/// What `git merge-file` makes of it; `None` for a conflict.
fn git_merge_file([base, a, b]: &[Vec<u8>; 3]) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("base", base), ("a", a), ("b", b)] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let output = Command::new("git")
        .args([
            "merge-file",
            "-p",
            "--diff-algorithm=histogram",
            "a",
            "base",
            "b",
        ])
        .current_dir(dir.path())
        .env("GIT_CEILING_DIRECTORIES", dir.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    output.status.success().then_some(output.stdout)
}

fn merged([base, a, b]: &[Vec<u8>; 3]) -> Option<Vec<u8>> {
    let (ours, theirs) = (LineEdit::between(base, a), LineEdit::between(base, b));
    let (ours_moved, theirs_moved) = ours.transform(&theirs).ok()?;
    let ours_first = theirs_moved.apply(a).unwrap();
    assert_eq!(ours_moved.apply(b).unwrap(), ours_first);
    Some(ours_first)
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
    #![proptest_config(cases(512))]

    #[test]
    fn an_edit_between_texts_leads_from_one_to_the_other_and_back(a in texts(), b in texts()) {
        let edit = LineEdit::between(&a, &b);
        prop_assert_eq!(edit.apply(&a).unwrap(), b.clone());
        prop_assert_eq!(edit.invert().apply(&b).unwrap(), a);
        prop_assert_eq!(edit.invert().invert(), edit);
    }

    #[test]
    fn edits_read_from_their_json_are_the_same(a in texts(), b in texts()) {
        let edit = LineEdit::between(&a, &b);
        let json = serde_json::to_string(&edit).unwrap();
        prop_assert_eq!(serde_json::from_str::<LineEdit>(&json).unwrap(), edit);
    }

    #[test]
    fn a_joined_edit_does_what_both_do(texts in [texts(), texts(), texts(), texts()]) {
        let [t, u, v, w] = &texts;
        let (a, b, c) = (LineEdit::between(t, u), LineEdit::between(u, v), LineEdit::between(v, w));
        let ab = a.compose(&b).unwrap();
        prop_assert_eq!(&ab.apply(t).unwrap(), v);
        prop_assert_eq!(&ab.compose(&c).unwrap().apply(t).unwrap(), w);
        prop_assert_eq!(&a.compose(&b.compose(&c).unwrap()).unwrap().apply(t).unwrap(), w);
        prop_assert_eq!(a.compose(&a.invert()).unwrap(), LineEdit::default());
        let ops: Vec<LineOp> = ab.ops().to_vec();
        prop_assert_eq!(LineEdit::from_ops(ops).unwrap(), ab);
    }

    #[test]
    fn edits_are_joined_wherever_they_apply_in_turn(
        texts in [texts(), texts(), texts(), texts()],
    ) {
        let [t, u, v, w] = &texts;
        let (a, b) = (LineEdit::between(t, u), LineEdit::between(v, w));
        if let Ok(after) = b.apply(u) {
            prop_assert_eq!(a.compose(&b).unwrap().apply(t).unwrap(), after);
        }
    }

    #[test]
    fn split_edits_lead_through_each_hunk_to_the_same_text(a in texts(), b in texts()) {
        let edit = LineEdit::between(&a, &b);
        let parts = edit.split();
        prop_assert_eq!(parts.len(), edit.hunks().count());
        let mut text = a;
        for (part, whole) in parts.iter().zip(edit.hunks()) {
            text = part.apply(&text).unwrap();
            let hunks: Vec<_> = part.hunks().collect();
            prop_assert_eq!(hunks.len(), 1);
            prop_assert_eq!(&hunks[0].new, &whole.new);
        }
        prop_assert_eq!(text, b);
    }

    #[test]
    fn a_buffer_agrees_with_single_application_on_texts_and_errors(
        start in texts(),
        pairs in prop::collection::vec((texts(), texts(), any::<bool>()), 1..6),
    ) {
        let mut buffer = LineBuffer::new(start.clone());
        let mut text = start;
        for (a, b, fits) in pairs {
            let edit = if fits { LineEdit::between(&text, &b) } else { LineEdit::between(&a, &b) };
            let applied = edit.apply(&text);
            let buffered = buffer.apply(&edit);
            prop_assert_eq!(buffered, applied.as_ref().map(|_| ()).map_err(Clone::clone));
            text = applied.unwrap_or(text);
            prop_assert_eq!(&buffer.to_bytes(), &text);
            let lines = diff::Lines::of(&text);
            prop_assert_eq!(buffer.line_count(), u64::from(lines.len()));
        }
    }

    #[test]
    fn moved_edits_converge_or_overlap_whatever_the_texts(texts in [texts(), texts(), texts()]) {
        merged(&texts);
    }

    #[test]
    fn any_text_is_merged_into_an_unchanged_one(base in texts(), changed in texts()) {
        let merged = merged(&[base.clone(), base.clone(), changed.clone()]);
        prop_assert_eq!(merged, Some(changed.clone()));
        let (same, both) = {
            let edit = LineEdit::between(&base, &changed);
            edit.transform(&edit).unwrap()
        };
        prop_assert!(same.is_empty() && both.is_empty());
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn merging_agrees_with_git_merge_file(texts in bases_with_changes()) {
        prop_assert_eq!(merged(&texts), git_merge_file(&texts));
    }
}

fn check_overlap(ours: LineEdit, theirs: LineEdit, expected: Result<(), &str>) {
    let found = ours
        .transform(&theirs)
        .map(|_| ())
        .map_err(|e| e.to_string());
    assert_eq!(found, expected.map_err(str::to_owned));
    let turned = theirs.transform(&ours).map(|_| ());
    assert_eq!(turned.is_ok(), expected.is_ok());
}

#[test]
fn changes_without_an_unchanged_line_between_them_overlap() {
    let at = |line, deleted: &str, inserted: &str| {
        edit([retain(line), delete(deleted), insert(inserted)])
    };
    check_overlap(at(4, "a\n", "b\n"), at(6, "a\n", "b\n"), Ok(()));
    check_overlap(at(4, "a\n", "b\n"), at(4, "a\n", "b\n"), Ok(()));
    let touching = Err("both edits change lines 5-6");
    check_overlap(at(4, "a\n", "b\n"), at(5, "c\n", ""), touching);
    check_overlap(
        at(5, "c\n", "d\n"),
        at(5, "", "e\n"),
        Err("both edits change line 6"),
    );
    let inserted = Err("both edits change what is before line 4");
    check_overlap(at(3, "", "a\n"), at(3, "", "b\n"), inserted);
}

#[test]
fn operations_come_into_normal_form() {
    let found = edit([
        retain(1),
        retain(0),
        retain(2),
        insert("x\n"),
        delete("a\n"),
        insert(""),
        delete("b\n"),
        insert("y\n"),
        retain(9),
    ]);
    assert_eq!(found.ops(), [retain(3), delete("a\nb\n"), insert("x\ny\n")]);
    assert_eq!(edit([retain(5), delete("")]), LineEdit::default());
}

#[test]
fn a_line_without_newline_is_the_last_of_its_text() {
    let check = |ops: &[LineOp], expected: Option<&str>| {
        let found = LineEdit::from_ops(ops.to_vec());
        assert_eq!(found.err().map(|e| e.to_string()).as_deref(), expected);
    };
    check(&[retain(1), delete("a"), insert("a\nb")], None);
    let old = Some("line 2 of the old text has no newline, yet more lines follow");
    let new = Some("line 2 of the new text has no newline, yet more lines follow");
    check(&[retain(1), delete("a"), retain(1)], old);
    check(&[retain(1), delete("a"), insert("x\n"), delete("b\n")], old);
    check(&[retain(1), insert("a"), retain(1)], new);
    check(&[retain(1), insert("a"), delete("a"), insert("b")], new);
    check(
        &[retain(u64::from(u32::MAX)), insert("a")],
        Some("edit reaches beyond line 4294967295"),
    );
}

#[test]
fn json_is_read_in_the_one_form_it_is_written_in() {
    let json = r#"[{"retain":9},{"delete":["a\n",{"b64":"/wo="}]},{"insert":["b\r\n","c"]}]"#;
    let found: LineEdit = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&found).unwrap(), json);
    let refused = [
        r#"[{"retain":0},{"insert":["a"]}]"#,
        r#"[{"retain":-1},{"insert":["a"]}]"#,
        r#"[{"retain":1}]"#,
        r#"[{"retain":1},{"retain":1},{"insert":["a"]}]"#,
        r#"[{"retain":18446744073709551615},{"insert":["a\n"]},{"retain":2},{"insert":["a"]}]"#,
        r#"[{"insert":[]}]"#,
        r#"[{"insert":[""]}]"#,
        r#"[{"insert":"a"}]"#,
        r#"[{"insert":["a\nb"]}]"#,
        r#"[{"insert":["\n\n"]}]"#,
        r#"[{"insert":["a","b"]}]"#,
        r#"[{"insert":["a"]},{"retain":1},{"delete":["b"]}]"#,
        r#"[{"insert":["a\n"]},{"delete":["b\n"]}]"#,
        r#"[{"insert":["a\n"]},{"insert":["b\n"]}]"#,
        r#"[{"delete":["a"]},{"insert":["a\n"]},{"retain":1},{"insert":["b\n"]}]"#,
        r#"[{"insert":["a\n"],"delete":["b\n"]}]"#,
        r#"[{"insert":["a\n"],"insert":["b\n"]}]"#,
        r#"[{"replace":["a\n"]}]"#,
        r#"[{}]"#,
        r#"["retain"]"#,
        r#"{"retain":1}"#,
    ];
    for json in refused {
        assert!(serde_json::from_str::<LineEdit>(json).is_err(), "{json}");
    }
}

#[test]
fn an_edit_of_another_text_is_refused_with_its_line() {
    let check = |ops: &[LineOp], text: &str, expected: &str| {
        let found = edit(ops.to_vec()).apply(text.as_bytes());
        assert_eq!(found.unwrap_err().to_string(), expected);
    };
    let gone = [retain(1), delete("b\nc\n")];
    check(&gone, "a\nb\nX\n", r#"line 3 is "X\\n", expected "c\\n""#);
    check(&gone, "a\nb\nc", r#"line 3 is "c", expected "c\\n""#);
    check(&gone, "a\nb\n", "edit changes line 3 of a text of 2 lines");
    check(
        &[retain(5), insert("x\n")],
        "a\nb",
        "edit changes line 6 of a text of 2 lines",
    );
    check(
        &[retain(2), insert("x\n")],
        "a\nb",
        "line 2 has no newline, so no line can be put after it",
    );
    let glued = "line without newline cannot be put before line 2";
    check(&[retain(1), insert("x")], "a\nb\n", glued);
    check(
        &[delete("a"), insert("x")],
        "a\nb\n",
        r#"line 1 is "a\\n", expected "a""#,
    );
}

#[test]
fn edits_that_do_not_follow_one_another_are_not_joined() {
    let error = |a: &[LineOp], b: &[LineOp]| {
        let found = edit(a.to_vec()).compose(&edit(b.to_vec())).unwrap_err();
        std::error::Error::source(&found).unwrap().to_string()
    };
    let found = error(&[retain(3), insert("a\n")], &[retain(3), delete("b\n")]);
    assert_eq!(found, r#"line 4 is "a\\n", expected "b\\n""#);
    let found = error(&[retain(3), insert("a")], &[retain(4), insert("b\n")]);
    assert_eq!(
        found,
        "line 4 of the new text has no newline, yet more lines follow"
    );
}

#[test]
fn a_hundred_thousand_edits_of_one_text_are_applied_in_a_moment() {
    let text: Vec<u8> = (0..10_000)
        .flat_map(|i| format!("line {i}\n").into_bytes())
        .collect();
    let mut buffer = LineBuffer::new(text);
    let mut seed = 1u64;
    for round in 0..100_000u32 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let line = (seed >> 33) % buffer.line_count();
        let old = buffer.line(line).unwrap().to_vec();
        let new = format!("round {round}\n");
        let ops = [retain(line), LineOp::Delete(old), insert(&new)];
        buffer.apply(&edit(ops)).unwrap();
    }
    assert_eq!(buffer.line_count(), 10_000);
    assert_eq!(diff::Lines::of(&buffer.to_bytes()).len(), 10_000);
}
