use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ledger_core::{Clock, Timestamp, TreePath};
use ledger_semantic::{Language, Outline, Warning};

use crate::{outline, show};

#[track_caller]
fn check_warning(path: &str, text: impl AsRef<[u8]>, expected: Option<Warning>) {
    let located = outline(path, text).block(1, 1);
    assert_eq!(located.warning, expected);
    assert_eq!(located.block.kind == "lines", expected.is_some());
}

#[test]
fn other_languages_have_lines_and_no_warning() {
    let located = outline("notes.txt", "a\nb\n").block(1, 2);
    assert_eq!(
        (show(&located).as_str(), located.warning),
        ("lines 1-2", None)
    );
    assert_eq!(outline("notes.txt", "a\n").symbols().count(), 0);
}

#[test]
fn language_is_known_by_extension() {
    let of = |path: &str| Language::of(&TreePath::parse(path).unwrap());
    assert_eq!(of("a/b.py"), Some(Language::Python));
    assert_eq!(of("b.PYI"), Some(Language::Python));
    assert_eq!(of("b.d/.yml"), Some(Language::Yaml));
    assert_eq!(of("b.json"), Some(Language::Json));
    assert_eq!(of("b.ipynb"), None);
    assert_eq!(of("dir.py/file"), None);
    assert_eq!(of("py"), None);
}

#[test]
fn texts_beyond_the_limits_of_size_have_lines_and_a_warning() {
    check_warning("m.py", "x\n".repeat(10_000), None);
    check_warning("m.py", "x\n".repeat(10_000) + "x", Some(Warning::TooLarge));
    let string = |bytes: usize| format!("'{}'", "x".repeat(bytes - 2));
    check_warning("m.py", string(512 * 1024), None);
    check_warning("m.py", string(512 * 1024 + 1), Some(Warning::TooLarge));
    assert_eq!(
        outline("m.json", "\n".repeat(10_001)).block(3, 9).block.id,
        "3-9"
    );
}

/// tree-sitter ends the process when a scanner's state does not fit, which it does not from the 254th
/// open block of YAML on, and the 511th indent of Python around a string.
#[test]
fn texts_too_deep_for_a_scanner_are_not_parsed() {
    let deep = Some(Warning::TooDeep);
    let stairs = |step: &str, levels: usize| -> String {
        (0..levels)
            .map(|level| " ".repeat(level) + step + "\n")
            .collect()
    };
    check_warning("m.yaml", stairs("a:", 90), None);
    check_warning("m.yaml", stairs("a:", 300), deep);
    check_warning("m.yaml", "- ".repeat(300), deep);
    check_warning("m.yaml", "? ".repeat(300), deep);
    check_warning("m.yaml", "a: ".repeat(300), deep);
    check_warning("m.yaml", "\t|\n".repeat(300), deep);
    check_warning("m.yaml", "- a: b\n  c: d\n".repeat(4000), None);
    check_warning(
        "m.py",
        stairs("if x:", 290) + &" ".repeat(290) + "f'{1}'\n",
        None,
    );
    check_warning(
        "m.py",
        stairs("if x:", 600) + &" ".repeat(600) + "f'{1}'\n",
        deep,
    );
}

#[test]
fn brackets_without_end_are_no_trouble() {
    for path in ["m.py", "m.yaml", "m.json"] {
        for text in ["[", "{", "[{", "(", "\"", "{\"a\":", "[\n"] {
            outline(path, text.repeat(5_000)).block(1, 1);
        }
        outline(path, "[".repeat(20_000) + &"]".repeat(20_000)).block(1, 1);
    }
}

#[test]
fn ids_do_not_grow_without_end() {
    let deep = "{\"a\":\n".repeat(4_000) + "1" + &"}\n".repeat(4_000);
    let located = outline("m.json", deep).block(2_000, 2_000);
    assert_eq!(located.block.id.len(), 1024);
    let long = format!("{{\n\"a\": {{\n\"{}\": 1\n}}\n}}\n", "k".repeat(2_000));
    assert_eq!(outline("m.json", long).block(3, 3).block.id, "/a");
}

/// A clock of which an hour passes with every look.
struct Racing(AtomicI64);

impl Clock for Racing {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(3_600_000, Ordering::Relaxed))
    }

    fn sleep(&self, _: Duration) {}
}

#[test]
fn parsing_gives_up_when_its_time_is_over() {
    let path = TreePath::parse("m.py").unwrap();
    let text = "def f():\n    return 1\n".repeat(500);
    let outline = Outline::parse(&path, text.as_bytes(), &Racing(AtomicI64::new(0)));
    let located = outline.block(1, 2);
    assert_eq!(
        (show(&located).as_str(), located.warning),
        ("lines 1-2", Some(Warning::TimedOut))
    );
}

#[test]
fn nothing_and_the_strangest_bytes_have_an_answer() {
    for path in ["m.py", "m.yaml", "m.json"] {
        for text in [
            &b""[..],
            b"\n",
            b"\r",
            b"\0",
            b"\xef\xbb\xbf",
            b"\xff\xfe",
            b"a\0: b\n- c",
        ] {
            let outline = outline(path, text);
            outline.block(1, 1);
            outline.block(0, u32::MAX);
            outline.block(u32::MAX, u32::MAX);
        }
    }
    assert_eq!(show(&outline("m.py", "").block(1, 1)), "module m.py");
    assert_eq!(show(&outline("m.yaml", "").block(1, 1)), "yaml_path");
}
