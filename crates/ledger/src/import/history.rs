//! Which commits there are: the line of first parents, what each says, and the tags.

use std::collections::BTreeMap;

use ledger_core::Timestamp;

use super::error::ImportError;
use super::git::{Git, Running};
use super::oid::Oid;

/// Longest name of an author, in bytes.
const AUTHOR_MAX: usize = 256;

/// What a commit says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub oid: Oid,
    pub author: String,
    pub authored_at: Option<Timestamp>,
    pub message: String,
}

/// The commit that a revision names.
pub(super) fn resolve(git: &Git, revision: &str) -> Result<Oid, ImportError> {
    let no_commit = || ImportError::NoCommit {
        revision: revision.to_owned(),
    };
    // Git would take it for an option, or the system for the end of the text.
    if revision.starts_with('-') || revision.contains('\0') {
        return Err(no_commit());
    }
    let commit = format!("{revision}^{{commit}}");
    let answer = match git.output("rev-parse", &["--verify", "--quiet", &commit]) {
        Err(ImportError::Git { .. }) => return Err(no_commit()),
        answer => answer?,
    };
    Oid::parse(answer.trim_ascii()).ok_or_else(no_commit)
}

/// The line of first parents that ends with a commit, oldest first.
pub(super) fn mainline(git: &Git, to: Oid) -> Result<Vec<Oid>, ImportError> {
    const COMMAND: &str = "rev-list";
    let to = to.to_string();
    let answer = git.output(COMMAND, &["--first-parent", "--reverse", &to, "--"])?;
    answer
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| Oid::parse(line).ok_or_else(|| ImportError::answer(COMMAND, "no commit's id")))
        .collect()
}

/// The tags, each with the commit (or other object) that it stands for in the end.
pub(super) fn tags(git: &Git) -> Result<BTreeMap<String, Oid>, ImportError> {
    const COMMAND: &str = "for-each-ref";
    let format = "--format=%(objectname) %(*objectname) %(refname:strip=2)";
    let answer = git.output(COMMAND, &[format, "refs/tags"])?;
    let mut tags = BTreeMap::new();
    for line in answer.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let (Some(own), Some(peeled), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let stands_for = if peeled.is_empty() { own } else { peeled };
        let oid = Oid::parse(stands_for)
            .ok_or_else(|| ImportError::answer(COMMAND, "a tag of no object"))?;
        tags.insert(String::from_utf8_lossy(name).into_owned(), oid);
    }
    Ok(tags)
}

/// What the commits after one up to another say, oldest first.
pub(super) struct Commits {
    running: Running,
}

impl Commits {
    const COMMAND: &'static str = "rev-list";

    pub fn between(git: &Git, after: Option<Oid>, to: Oid) -> Result<Self, ImportError> {
        // Git writes the message in UTF-8, whatever encoding the commit says it has.
        let format = "--format=%an%x00%ae%x00%at%x00%B%x00";
        let mut arguments = vec!["--first-parent", "--reverse", format];
        let (to, after) = (to.to_string(), after.map(|after| format!("^{after}")));
        arguments.push(&to);
        arguments.extend(after.as_deref());
        arguments.push("--");
        let running = git.run(Self::COMMAND, &arguments)?;
        Ok(Commits { running })
    }

    /// The next commit, which has to be `expected`.
    pub fn next(&mut self, expected: Oid) -> Result<Commit, ImportError> {
        let header = self.field(b'\n')?;
        let oid = header.strip_prefix(b"commit ").and_then(Oid::parse);
        if oid != Some(expected) {
            let what = format!("another commit than {expected}");
            return Err(ImportError::answer(Self::COMMAND, what));
        }
        let name = text(self.field(0)?);
        let address = text(self.field(0)?);
        let seconds = text(self.field(0)?);
        let message = text(self.field(0)?);
        // The line ends after the format.
        self.field(b'\n')?;
        let authored_at = seconds.trim().parse::<i64>().ok();
        Ok(Commit {
            oid: expected,
            author: author(name.trim(), address.trim()),
            authored_at: authored_at.map(|at| Timestamp::from_millis(at.saturating_mul(1000))),
            message: message.trim_end().to_owned(),
        })
    }

    fn field(&mut self, end: u8) -> Result<Vec<u8>, ImportError> {
        match self.running.field(end)? {
            Some(field) => Ok(field),
            None => Err(self.running.broken_off()),
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The name of an author: the address where there is none.
fn author(name: &str, address: &str) -> String {
    let known = [name, address].into_iter().find(|text| !text.is_empty());
    let known = known.unwrap_or("unknown");
    known[..known.floor_char_boundary(AUTHOR_MAX)].to_owned()
}
