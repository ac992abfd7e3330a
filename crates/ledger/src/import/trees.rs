//! What stands in the trees of commits, and what differs from one to the next.

use super::error::ImportError;
use super::git::{Git, Running};
use super::oid::Oid;
use ledger_core::Mode;

/// What a tree has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// Nothing.
    Absent,
    /// A file or a link.
    File(Mode, Oid),
    /// Another repository.
    Submodule,
}

/// A path, and what a tree has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub path: Vec<u8>,
    pub entry: Entry,
    /// What stood there before, as far as git says: only a hint what may be needed.
    pub was: Option<Oid>,
}

/// Reads git's mode of an entry. Old trees have permission bits that git itself no longer writes.
fn entry(mode: &[u8], oid: &[u8]) -> Option<Entry> {
    const TYPE: u32 = 0o170_000;
    const EXECUTABLE: u32 = 0o100;
    let bits = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
    let oid = Oid::parse(oid)?;
    match bits & TYPE {
        0 => Some(Entry::Absent),
        0o100_000 if bits & EXECUTABLE != 0 => Some(Entry::File(Mode::Executable, oid)),
        0o100_000 => Some(Entry::File(Mode::File, oid)),
        0o120_000 => Some(Entry::File(Mode::Symlink, oid)),
        0o160_000 => Some(Entry::Submodule),
        _ => None,
    }
}

/// Everything in the tree of a commit.
pub(super) fn whole(git: &Git, commit: Oid) -> Result<Vec<Place>, ImportError> {
    const COMMAND: &str = "ls-tree";
    let commit = commit.to_string();
    let mut running = git.run(COMMAND, &["-r", "-z", "--full-tree", &commit])?;
    let mut places = Vec::new();
    while let Some(line) = running.field(0)? {
        let place = whole_entry(&line);
        places.push(place.ok_or_else(|| ImportError::answer(COMMAND, "no entry of a tree"))?);
    }
    running.finish()?;
    Ok(places)
}

/// Reads `<mode> <type> <oid>\t<path>`.
fn whole_entry(line: &[u8]) -> Option<Place> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (about, path) = (&line[..tab], &line[tab + 1..]);
    let mut words = about.split(|byte| *byte == b' ');
    let (mode, _type, oid) = (words.next()?, words.next()?, words.next()?);
    Some(Place {
        path: path.to_vec(),
        entry: entry(mode, oid)?,
        was: None,
    })
}

/// What differs between each commit of a list and the one before it.
pub(super) struct Differences {
    running: Running,
}

impl Differences {
    const COMMAND: &'static str = "diff-tree";

    /// Compares each commit but the first with the one before it, in order.
    pub fn along(git: &Git, commits: &[Oid]) -> Result<Self, ImportError> {
        let arguments = [
            "--stdin",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=none",
            "--always",
        ];
        let (running, questions) = git.converse(Self::COMMAND, &arguments)?;
        // A second id stands for the parent, whatever parents the commit has.
        let pairs = commits.windows(2).map(|pair| match pair {
            [before, commit] => format!("{commit} {before}\n"),
            _ => String::new(),
        });
        questions.ask(pairs.collect::<String>().into_bytes());
        Ok(Differences { running })
    }

    /// The differences of the next commit, which has to be `expected`.
    pub fn next(&mut self, expected: Oid) -> Result<Vec<Place>, ImportError> {
        let Some(header) = self.running.field(0)? else {
            return Err(self.running.broken_off());
        };
        if Oid::parse(&header) != Some(expected) {
            let what = format!("another commit than {expected}");
            return Err(ImportError::answer(Self::COMMAND, what));
        }
        let mut places = Vec::new();
        loop {
            match self.running.peek()? {
                Some(b':') => {}
                Some(_) => return Ok(places),
                // The last commit is complete only when the command has come to a good end.
                None => return self.running.wait().map(|()| places),
            }
            let about = self.running.field(0)?.unwrap_or_default();
            let path = self.running.field(0)?;
            let place = path.and_then(|path| changed_entry(&about, path));
            let what = "no difference of trees";
            places.push(place.ok_or_else(|| ImportError::answer(Self::COMMAND, what))?);
        }
    }
}

/// Reads `:<mode> <mode> <oid> <oid> <letter>`.
fn changed_entry(about: &[u8], path: Vec<u8>) -> Option<Place> {
    let mut words = about.strip_prefix(b":")?.split(|byte| *byte == b' ');
    let (old_mode, new_mode) = (words.next()?, words.next()?);
    let (old, new) = (words.next()?, words.next()?);
    let was = match entry(old_mode, old)? {
        Entry::File(_, oid) => Some(oid),
        Entry::Absent | Entry::Submodule => None,
    };
    let entry = entry(new_mode, new)?;
    Some(Place { path, entry, was })
}
