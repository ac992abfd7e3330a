//! Changes that a tour makes to files, so that there is something to record.

use std::path::Path;

use super::stage::failed;
use crate::error::CommandError;

/// How comments look in files of some kinds.
const COMMENTS: [(&str, &str); 14] = [
    ("py", "# "),
    ("rs", "// "),
    ("go", "// "),
    ("js", "// "),
    ("ts", "// "),
    ("c", "// "),
    ("h", "// "),
    ("cpp", "// "),
    ("java", "// "),
    ("yaml", "# "),
    ("yml", "# "),
    ("toml", "# "),
    ("sh", "# "),
    ("md", "> "),
];

/// How a comment begins in a file of this name, and how well the file shows what bench does: the
/// lower, the better.
pub(super) fn comment_of(name: &str) -> Option<(usize, &'static str)> {
    let (_, kind) = name.rsplit_once('.')?;
    let found = COMMENTS.iter().position(|(known, _)| *known == kind)?;
    Some((found, COMMENTS[found].1))
}

/// Where in a file a comment is put.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Start,
    Middle,
    End,
}

/// Puts a comment before the most indented line in a part of a file, where a block is likely.
pub(super) fn insert_comment(file: &Path, part: Part, words: &str) -> Result<(), CommandError> {
    let name = file.to_string_lossy();
    let sign = comment_of(&name).map_or("# ", |(_, sign)| sign);
    let text = std::fs::read(file).map_err(|error| failed("a file cannot be read", &error))?;
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let indent = |line: &[u8]| {
        line.iter()
            .take_while(|&&b| b == b' ' || b == b'\t')
            .count()
    };
    let part = part as usize;
    let at = (lines.len() * part / 3..lines.len() * (part + 1) / 3)
        .filter(|&line| !lines[line].trim_ascii().is_empty())
        .max_by_key(|&line| (indent(lines[line]), std::cmp::Reverse(line)))
        .unwrap_or(lines.len());
    let mut edited = lines[..at].concat();
    match lines.get(at) {
        Some(line) => edited.extend_from_slice(&line[..indent(line)]),
        None if edited.last().is_some_and(|&byte| byte != b'\n') => edited.push(b'\n'),
        None => {}
    }
    edited.extend_from_slice(format!("{sign}{words}\n").as_bytes());
    edited.extend_from_slice(&lines[at..].concat());
    std::fs::write(file, edited).map_err(|error| failed("a file cannot be written", &error))
}

/// Adds to a file, which is made if need be.
pub(super) fn append(file: &Path, words: &str) -> Result<(), CommandError> {
    let mut text = std::fs::read(file).unwrap_or_default();
    text.extend_from_slice(words.as_bytes());
    std::fs::write(file, text).map_err(|error| failed("a file cannot be written", &error))
}
