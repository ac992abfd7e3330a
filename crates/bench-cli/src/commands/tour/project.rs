//! The project that a tour is given on: a copy of the user's, or a small one of its own.

use std::io::Write;
use std::path::Path;

use ledger::core::storage::{FileKind, OsStorage};
use ledger::core::{TreePath, diff};
use ledger::snapshot::{Found, TreeWriter, Walker, read_stable};

use super::edits::comment_of;
use super::git::{self, Latest};
use super::stage::{Stage, failed};
use crate::error::CommandError;
use crate::text::{count, size};

/// What is copied at most: a tour is to take seconds.
const FILES_MAX: usize = 3000;
const BYTES_MAX: u64 = 64 << 20;
const FILE_MAX: u64 = 4 << 20;
/// Longest file that is edited.
const EDITED_MAX: u64 = 100_000;

/// A project that stands on the stage.
pub(super) struct Project {
    file: String,
}

/// Files of the small project.
const SMALL: [(&str, &str); 3] = [
    (
        "greeting.py",
        "\"\"\"Says hello.\"\"\"\n\n\nclass Greeter:\n    def __init__(self, name):\n        self.name = name\n\n    def greet(self):\n        words = [\"hello\", self.name]\n        return \" \".join(words)\n\n\nif __name__ == \"__main__\":\n    print(Greeter(\"world\").greet())\n",
    ),
    (
        "rubrics/security.yaml",
        "name: security\ncriteria:\n  - id: sql_parametrization\n    weight: 3\n  - id: secrets\n    weight: 5\n",
    ),
    ("README.md", "# Greeting\n\nA small project for a tour.\n"),
];

impl Project {
    /// Brings the project at `path` onto the stage, with a ledger.
    pub fn bring(path: &Path, stage: &mut Stage<'_>) -> Result<Self, CommandError> {
        if let Some(latest) = Latest::lay_out(path, stage) {
            stage.say("A scratch directory, and the latest commits of this git repository")?;
            stage.bench(&["init"])?;
            git::import(&latest, path, stage)?;
        } else {
            if copy(path, stage)? == 0 {
                stage.say("There are no files here, so this is a small project of its own")?;
                small(stage)?;
            }
            stage.bench(&["init"])?;
        }
        Ok(Project {
            file: to_edit(stage)?,
        })
    }

    /// The file that is edited, relative to the root.
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// Copies what is not ignored; returns how many files that were.
fn copy(path: &Path, stage: &mut Stage<'_>) -> Result<usize, CommandError> {
    let unreadable = |error: &(dyn std::error::Error + 'static)| {
        let what = format!("{} cannot be read", path.display());
        failed(&what, error)
    };
    let source = OsStorage::open(path).map_err(|error| unreadable(&error))?;
    let walk = Walker::new(&source, &[]).walk();
    let walk = walk.map_err(|error| unreadable(&error))?;
    let target = OsStorage::open(stage.root()).map_err(|error| failed("no copy", &error))?;
    let writer = TreeWriter::new(&target);
    let (mut files, mut bytes, mut left_out) = (0, 0, 0);
    for Found { path, stat } in &walk.files {
        let fits = stat.size <= FILE_MAX && files < FILES_MAX && bytes + stat.size <= BYTES_MAX;
        // What cannot be read, or went away, is left out like what is too large.
        match fits.then(|| read_stable(&source, path, FILE_MAX)) {
            Some(Ok(file)) => {
                let written = writer.write(path, file.mode, &file.content);
                written.map_err(|error| failed("no copy", &error))?;
                files += 1;
                bytes += stat.size;
            }
            _ => left_out += 1,
        }
    }
    let out = stage.out();
    let (shown, size) = (path.display().to_string(), size(bytes));
    let shown = ledger::core::bytes::printable(shown.as_bytes());
    write!(
        out,
        "# A copy of {shown} in a scratch directory: {}, {size}",
        count(files, "file")
    )?;
    match left_out {
        0 => writeln!(out)?,
        _ => writeln!(
            out,
            " ({} left out: large or too many)",
            count(left_out, "file")
        )?,
    }
    Ok(files)
}

fn small(stage: &Stage<'_>) -> Result<(), CommandError> {
    for (name, text) in SMALL {
        let file = stage.path(name);
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = made.and_then(|()| std::fs::write(&file, text));
        written.map_err(|error| failed("no project can be made", &error))?;
    }
    Ok(())
}

/// The file that shows best what bench does: code that it knows, neither tiny nor long.
fn to_edit(stage: &Stage<'_>) -> Result<String, CommandError> {
    let storage = OsStorage::open(stage.root()).map_err(|error| failed("no project", &error))?;
    let walk = Walker::new(&storage, &[]).walk();
    let walk = walk.map_err(|error| failed("no project", &error))?;
    let mut candidates: Vec<(usize, i64, String)> = Vec::new();
    for Found { path, stat } in walk.files {
        let Some(name) = editable(&path) else {
            continue;
        };
        let Some((rank, _)) = comment_of(name) else {
            continue;
        };
        if stat.kind == FileKind::File && (1..=EDITED_MAX).contains(&stat.size) {
            candidates.push((rank, (stat.size as i64 - 4000).abs(), name.to_owned()));
        }
    }
    candidates.sort();
    for (_, _, name) in candidates {
        let content = std::fs::read(stage.path(&name)).unwrap_or_default();
        if diff::is_text(&content) {
            return Ok(name);
        }
    }
    let name = "greeting.py";
    let written = std::fs::write(stage.path(name), SMALL[0].1);
    written.map_err(|error| failed("no file can be made", &error))?;
    Ok(name.to_owned())
}

/// A name that can be typed as it is.
fn editable(path: &TreePath) -> Option<&str> {
    let name = std::str::from_utf8(path.as_bytes()).ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    (!name.starts_with('-') && name.chars().all(plain)).then_some(name)
}
