//! What the crate promises, asked of its public face.

#![allow(clippy::unwrap_used, reason = "a test's own input")]

mod json;
mod limits;
mod properties;
mod python;
mod yaml;

use ledger_core::{System, TreePath};
use ledger_semantic::{Located, Outline};

fn outline(path: &str, text: impl AsRef<[u8]>) -> Outline {
    let path = TreePath::parse(path).unwrap();
    Outline::parse(&path, text.as_ref(), &System)
}

fn show(located: &Located) -> String {
    format!("{} {}", located.block.kind, located.block.id)
        .trim_end()
        .to_owned()
}

/// Checks each line of a text on its own. What is expected stands at the line's right, after `<-`.
#[track_caller]
fn check(path: &str, annotated: &str) {
    let annotated = annotated.trim_matches('\n');
    let (lines, expected): (Vec<&str>, Vec<&str>) = annotated
        .lines()
        .map(|line| line.rsplit_once("<-").unwrap())
        .map(|(line, expected)| (line.trim_end(), expected.trim()))
        .unzip();
    let outline = outline(path, lines.join("\n") + "\n");
    let answer = |(line, text)| format!("{text} <- {}", show(&outline.block(line, line)));
    let expected: Vec<String> = lines
        .iter()
        .zip(expected)
        .map(|(text, block)| format!("{text} <- {block}"))
        .collect();
    let actual: Vec<String> = (1..).zip(&lines).map(answer).collect();
    assert_eq!(actual.join("\n"), expected.join("\n"));
}

/// Checks the block of a range of lines.
#[track_caller]
fn check_range(path: &str, text: &str, (first, last): (u32, u32), expected: &str) {
    let located = outline(path, text).block(first, last);
    assert_eq!((show(&located).as_str(), located.warning), (expected, None));
}
