//! The latest commits of a git repository, for a tour.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::stage::Stage;
use crate::error::CommandError;

/// Commits that are taken in.
const COMMITS: usize = 30;
/// Files that are laid out at most: a tour is to take seconds.
const FILES_MAX: usize = 20_000;

/// The commits that a tour takes in.
pub(super) struct Latest {
    /// The commit before them; none where they are all there are.
    pub before: Option<String>,
}

impl Latest {
    /// Finds them, where `path` is a repository of a size that fits; its files as of the commit before
    /// them are laid out in the project.
    pub fn lay_out(path: &Path, stage: &Stage<'_>) -> Option<Self> {
        path.join(".git").symlink_metadata().ok()?;
        let skip = format!("--skip={COMMITS}");
        let before = git(
            path,
            &["rev-list", "--first-parent", "-n1", &skip, "HEAD"],
            None,
        )?;
        let before = before.trim().to_owned();
        if before.is_empty() {
            return Some(Latest { before: None });
        }
        let files = git(path, &["ls-tree", "-r", "--name-only", &before], None)?;
        if files.lines().count() > FILES_MAX {
            return None;
        }
        let index = stage.scratch("index");
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(stage.root());
        prefix.push("/");
        git(path, &["read-tree", &before], Some(&index))?;
        git(
            path,
            &[OsStr::new("checkout-index"), OsStr::new("-a"), &prefix],
            Some(&index),
        )?;
        Some(Latest {
            before: Some(before),
        })
    }
}

/// Imports the commits.
pub(super) fn import(
    latest: &Latest,
    path: &Path,
    stage: &mut Stage<'_>,
) -> Result<(), CommandError> {
    let path = path.to_string_lossy();
    match &latest.before {
        None => stage.bench(&["import", "git", &path]),
        Some(before) => stage.bench(&[
            "import",
            "git",
            &path,
            "--from",
            &before[..12.min(before.len())],
        ]),
    }
}

/// What git prints, where it is there and does what it is asked.
fn git<S: AsRef<OsStr>>(repository: &Path, args: &[S], index: Option<&Path>) -> Option<String> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(repository)
        .args(["-c", "core.autocrlf=false"])
        .args(args);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let output = command.output().ok()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(printed)
}
