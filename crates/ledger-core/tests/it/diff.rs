//! Line diffs.

use std::time::{Duration, Instant};

use ledger_core::diff::{Hunk, LineKind, Lines, TEXT_MAX, TextDiff, hunks, is_text};
use proptest::prelude::*;

fn texts(lines: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        5 => "[a-d]{0,2}".prop_map(String::into_bytes),
        1 => " {0,9}[}x]".prop_map(String::into_bytes),
        1 => Just(b"a\rb\r".to_vec()),
        1 => Just(b"\xff".to_vec()),
    ];
    (prop::collection::vec(line, lines), any::<bool>()).prop_map(|(lines, ends)| {
        let mut text = lines.join(&b'\n');
        if ends {
            text.push(b'\n');
        }
        text
    })
}

/// Each line as `-old` or `+new`, with its number, context left out.
fn changes(old: &[u8], new: &[u8]) -> String {
    let diff = TextDiff::between(old, new);
    let mut shown = String::new();
    for line in diff
        .unified(0)
        .flat_map(|hunk| hunk.lines().collect::<Vec<_>>())
    {
        let (sign, number) = match line.kind {
            LineKind::Context => panic!("no context was asked for"),
            LineKind::Delete => ('-', line.old.unwrap()),
            LineKind::Insert => ('+', line.new.unwrap()),
        };
        shown += &format!("{sign}{number} {}|", line.text.escape_ascii());
    }
    shown
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
    #![proptest_config(cases(256))]

    #[test]
    fn hunks_are_what_differs_and_stand_apart(a in texts(0..30), b in texts(0..30)) {
        let diff = TextDiff::with_hunks(&a, &b, hunks(&a, &b));
        prop_assert!(diff.is_some());
        prop_assert_eq!(hunks(&a, &b).is_empty(), a == b);
    }

    #[test]
    fn shown_lines_are_both_texts(a in texts(0..30), b in texts(0..30), context in 0..5u32) {
        let diff = TextDiff::between(&a, &b);
        let (mut added, mut deleted) = (0, 0);
        let mut above = 0;
        for hunk in diff.unified(context) {
            let lines: Vec<_> = hunk.lines().collect();
            let count = |kind| lines.iter().filter(|line| line.kind == kind).count() as u64;
            added += count(LineKind::Insert);
            deleted += count(LineKind::Delete);
            let text_without = |kind| -> Vec<u8> {
                let kept = lines.iter().filter(|line| line.kind != kind);
                kept.flat_map(|line| line.text).copied().collect()
            };
            let old = diff.old_text().range(hunk.old_lines());
            prop_assert_eq!(Some(&text_without(LineKind::Insert)[..]), old);
            let new = diff.new_text().range(hunk.new_lines());
            prop_assert_eq!(Some(&text_without(LineKind::Delete)[..]), new);
            for line in &lines {
                let stands = |text: &Lines<'_>, number: Option<u32>| {
                    number.is_none_or(|number| text.get(number - 1) == Some(line.text))
                };
                prop_assert!(stands(diff.old_text(), line.old));
                prop_assert!(stands(diff.new_text(), line.new));
            }
            prop_assert!(hunk.old_lines().start >= above);
            above = hunk.old_lines().end;
        }
        prop_assert_eq!((diff.stat().added, diff.stat().deleted), (added, deleted));
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn large_texts_are_cut_without_loss(
        words in 2..4000u32,
        seed in any::<u64>(),
        edits in prop::collection::vec((0..6000usize, 0..40usize, 0..40usize), 0..60),
    ) {
        let mut seed = seed;
        let mut word = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{}\n", (seed >> 33) as u32 % words)
        };
        let mut lines: Vec<String> = (0..6000).map(|_| word()).collect();
        let old = lines.concat();
        for (at, gone, come) in edits {
            let at = at.min(lines.len());
            let end = (at + gone).min(lines.len());
            lines.splice(at..end, (0..come).map(|_| word()).collect::<Vec<_>>());
        }
        let new = lines.concat();
        let found = hunks(old.as_bytes(), new.as_bytes());
        prop_assert!(TextDiff::with_hunks(old.as_bytes(), new.as_bytes(), found).is_some());
    }
}

#[test]
fn only_a_newline_ends_a_line() {
    assert_eq!(
        changes(b"a\rb\nc\r\n", b"a\rB\nc\r\n"),
        r"-1 a\rb\n|+1 a\rB\n|"
    );
    assert_eq!(changes(b"a\r\n", b"a\n"), r"-1 a\r\n|+1 a\n|");
    assert_eq!(changes(b"a\nb", b"a\nb\n"), r"-2 b|+2 b\n|");
    assert_eq!(changes(b"", b"a"), "+1 a|");
    assert_eq!(changes(b"a\n", b""), r"-1 a\n|");
}

#[test]
fn a_new_function_is_shown_from_its_head_as_git_shows_it() {
    let old = "def a():\n    x\n\ndef c():\n    x\n";
    let new = "def a():\n    x\n\ndef b():\n    x\n\ndef c():\n    x\n";
    let expected = r"+4 def b():\n|+5     x\n|+6 \n|";
    assert_eq!(changes(old.as_bytes(), new.as_bytes()), expected);
}

#[test]
fn far_lines_have_their_own_numbers() {
    let old: String = (0..5000).map(|i| format!("line {i}\n")).collect();
    let new = old.replace("line 2500\n", "changed\n");
    assert_eq!(
        hunks(old.as_bytes(), new.as_bytes()),
        [Hunk {
            old: 2500..2501,
            new: 2500..2501
        }]
    );
}

#[test]
fn hunks_of_other_texts_are_refused() {
    let with = |old: std::ops::Range<u32>, new: std::ops::Range<u32>| {
        TextDiff::with_hunks(b"a\nb\nc\n", b"a\nx\nc\n", vec![Hunk { old, new }]).is_some()
    };
    assert!(with(1..2, 1..2));
    assert!(with(0..3, 0..3));
    assert!(!with(0..1, 0..1));
    assert!(!with(1..9, 1..9));
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let reversed = with(2..1, 2..1);
    assert!(!reversed);
    assert!(!with(3..4, 3..4));
}

#[test]
fn text_holds_no_nul_and_has_a_limit() {
    assert!(is_text(b"") && is_text(b"\xff\x01\r"));
    assert!(!is_text(b"a\0"));
    assert!(is_text(&vec![b'a'; TEXT_MAX]) && !is_text(&vec![b'a'; TEXT_MAX + 1]));
}

/// imara-diff alone takes 40 s for the first of these pairs, and 17 s for the second.
#[test]
fn texts_made_to_be_slow_are_compared_in_bounded_time() {
    let n = 200_000u32;
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut text = |line: &mut dyn FnMut(u32, u64) -> String| -> String {
        (0..n).map(|i| line(i, random(1 << 30))).collect()
    };
    let every_second = |name: &'static str| {
        move |i: u32, _: u64| match i % 2 {
            0 => format!("common {i}\n"),
            _ => format!("{name} {i}\n"),
        }
    };
    let of = |words: u64| move |_: u32, random: u64| format!("{}\n", random % words);
    let pairs = [
        (
            "every second line changed",
            text(&mut every_second("a")),
            text(&mut every_second("b")),
        ),
        ("a hundred words", text(&mut of(100)), text(&mut of(100))),
        ("two words", text(&mut of(2)), text(&mut of(2))),
        (
            "all equal",
            text(&mut |_, _| "x\n".into()),
            text(&mut |i, _| ["x\n", ""][i as usize % 2].into()),
        ),
        (
            "all different",
            text(&mut |i, _| format!("a {i}\n")),
            text(&mut |i, _| format!("b {i}\n")),
        ),
        ("any order", text(&mut of(1 << 20)), text(&mut of(1 << 20))),
    ];
    for (name, old, new) in &pairs {
        let started = Instant::now();
        let found = hunks(old.as_bytes(), new.as_bytes());
        let taken = started.elapsed();
        println!("{name}: {taken:?}, {} hunks", found.len());
        assert!(
            TextDiff::with_hunks(old.as_bytes(), new.as_bytes(), found).is_some(),
            "{name}"
        );
        // An unoptimised build on a busy machine; quadratic time would be minutes.
        assert!(taken < Duration::from_secs(20), "{name}: {taken:?}");
    }
}
