//! Reading commits: each as the steps from what the ledger holds to what the commit has, with the
//! contents that they need.
//!
//! It runs on a thread of its own, ahead of what makes events of it. Contents go out in pieces, so that
//! a commit of any size needs no more memory than its events.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use ledger_core::{Digest, TreePath};
use ledger_replay::State;

use super::blobs::{Blob, Blobs, Found};
use super::error::ImportError;
use super::git::Git;
use super::history::{Commit, Commits};
use super::mirror::{Held, Mirror, Step, Wanted};
use super::oid::Oid;
use super::pieces::{Chunk, FileStep, Outbox, Piece, Stop};
use super::skipped::{SkipReason, Skips, trackable};
use super::trees::{self, Differences, Entry, Place};
use crate::record::prepare::Version;

/// Commits whose differences are known before they are needed, so that contents can be asked for.
const AHEAD: usize = 32;

/// The commits to read.
pub(super) struct Work<'a> {
    pub git: &'a Git,
    /// The commit that the first one is told apart from, where there is one.
    pub after: Option<Oid>,
    /// Oldest first; at least one.
    pub commits: &'a [Oid],
    /// What the ledger holds.
    pub state: State,
    /// Bytes of the largest file that is tracked.
    pub limit: u64,
}

/// What is known when all commits are read.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub skips: Skips,
    /// Files of the last commit.
    pub files: usize,
}

/// Reads all commits, and sends them out.
pub(super) fn read(work: Work<'_>, out: SyncSender<Chunk>) -> Summary {
    let mut outbox = Outbox::new(out);
    let mut summary = Summary::default();
    match read_all(work, &mut outbox, &mut summary) {
        // Nobody may be listening any more.
        Ok(()) => outbox.flush().unwrap_or(()),
        Err(Stop::Failed(error)) => outbox.fail(*error),
        Err(Stop::Unwanted) => {}
    }
    summary
}

fn read_all(work: Work<'_>, outbox: &mut Outbox, summary: &mut Summary) -> Result<(), Stop> {
    let Some((first, last)) = work.commits.first().zip(work.commits.last()) else {
        return Ok(());
    };
    let mut commits = Commits::between(work.git, work.after, *last)?;
    let mut differences = Differences::along(work.git, work.commits)?;
    let mut reader = Reader {
        blobs: Blobs::open(work.git, work.limit)?,
        mirror: Mirror::of(work.state.tree()),
        skips: &mut summary.skips,
        state: Some(work.state),
        digests: HashMap::new(),
        outbox,
    };
    let places = trees::whole(work.git, *first)?;
    reader.first(commits.next(*first)?, places)?;
    let mut ahead: VecDeque<(Oid, Vec<Place>)> = VecDeque::new();
    let mut rest = work.commits[1..].iter();
    loop {
        while ahead.len() < AHEAD
            && let Some(oid) = rest.next()
        {
            let places = differences.next(*oid)?;
            reader.want(&places);
            ahead.push_back((*oid, places));
        }
        let Some((oid, places)) = ahead.pop_front() else {
            break;
        };
        let wanted = reader.wanted(oid, places)?;
        reader.commit(commits.next(oid)?, wanted)?;
    }
    summary.files = reader.mirror.len();
    Ok(())
}

struct Reader<'a> {
    blobs: Blobs,
    mirror: Mirror,
    skips: &'a mut Skips,
    /// What the ledger held before the import; needed for the first commit only.
    state: Option<State>,
    /// Contents of the first commit in the ledger's terms, where they have to be compared.
    digests: HashMap<Oid, Digest>,
    outbox: &'a mut Outbox,
}

impl Reader<'_> {
    /// The first commit: its whole tree against everything that the ledger holds.
    fn first(&mut self, commit: Commit, places: Vec<Place>) -> Result<(), Stop> {
        let mut wanted = self.wanted(commit.oid, places)?;
        let contents: Vec<Oid> = wanted.values().flatten().map(|(_, oid)| *oid).collect();
        for oid in &contents {
            self.blobs.want(*oid);
        }
        // Where the ledger holds nothing, there is nothing to compare with.
        if !self.mirror.is_empty() {
            for oid in contents {
                if let Found::Blob(blob) = self.blobs.get(oid)? {
                    self.digests.insert(oid, blob.hash);
                }
            }
            for path in self.mirror.missing_from(&wanted) {
                wanted.insert(path, None);
            }
        }
        let kept: Vec<(TreePath, Wanted)> = wanted.iter().map(|(p, w)| (p.clone(), *w)).collect();
        self.commit(commit, wanted)?;
        // From here on every file's content can be had from the repository.
        for (path, wanted) in kept {
            if let Some((mode, oid)) = wanted
                && self.digests.contains_key(&oid)
            {
                self.mirror.set(&path, Some((mode, oid)));
            }
        }
        self.digests.clear();
        self.state = None;
        Ok(())
    }

    /// Has contents asked for that will be needed soon.
    fn want(&mut self, places: &[Place]) {
        for place in places {
            if let Some(oid) = place.was {
                self.blobs.want(oid);
            }
            if let Entry::File(_, oid) = place.entry {
                self.blobs.want(oid);
            }
        }
    }

    /// What the ledger is to hold at the places of a commit.
    fn wanted(
        &mut self,
        commit: Oid,
        places: Vec<Place>,
    ) -> Result<BTreeMap<TreePath, Wanted>, ImportError> {
        let mut wanted = BTreeMap::new();
        for Place { path, entry, .. } in places {
            let tracked = match trackable(&path) {
                Ok(tracked) => tracked,
                Err(why) => {
                    if entry != Entry::Absent {
                        self.skips.add(&path, why);
                    }
                    continue;
                }
            };
            let file = match entry {
                Entry::File(mode, oid) => Some((mode, oid)),
                Entry::Absent => None,
                Entry::Submodule => {
                    self.skips.add(&path, SkipReason::Submodule);
                    None
                }
            };
            if wanted.insert(tracked.clone(), file).is_some() {
                let why = "the tree names it more than once";
                return Err(ImportError::bad_tree(commit, &tracked, why));
            }
        }
        Ok(wanted)
    }

    fn commit(&mut self, commit: Commit, wanted: BTreeMap<TreePath, Wanted>) -> Result<(), Stop> {
        let oid = commit.oid;
        let steps = self.mirror.steps(wanted, &self.digests);
        self.outbox.push(Piece::Commit(commit))?;
        let mut made = Vec::new();
        for step in steps {
            let is_new = step.before.is_none() || step.from.is_some();
            let path = step.path.clone();
            if let Some(step) = self.with_contents(oid, step)? {
                self.outbox.push(Piece::File(step))?;
            }
            if is_new {
                made.push(path);
            }
        }
        for path in made {
            if let Some(other) = self.mirror.nested_with(&path) {
                let why = format!("{other} is a file too");
                return Err(ImportError::bad_tree(oid, &path, why).into());
            }
        }
        self.outbox.push(Piece::End)
    }

    /// Fetches what a step needs, and notes in the mirror what comes of it; `None` where nothing does.
    fn with_contents(&mut self, commit: Oid, step: Step) -> Result<Option<FileStep>, ImportError> {
        let Step {
            path,
            from,
            before,
            after,
        } = step;
        let source = from.as_ref().unwrap_or(&path);
        let before = match before {
            None => None,
            Some(held) => Some(self.held(commit, source, held)?),
        };
        let (after, now) = match after {
            None => (None, None),
            Some((mode, oid)) => match self.blob(commit, &path, oid)? {
                Ok(blob) => (Some(blob.with(mode)), Some((mode, oid))),
                Err(bytes) => {
                    self.skips.add(path.as_bytes(), SkipReason::TooLarge(bytes));
                    (None, None)
                }
            },
        };
        if let Some(from) = &from {
            self.mirror.set(from, None);
        }
        self.mirror.set(&path, now);
        let changes = before.is_some() || after.is_some();
        Ok(changes.then_some(FileStep {
            path,
            from,
            before,
            after,
        }))
    }

    /// A content of the repository, or the size of one that is too large.
    fn blob(
        &mut self,
        commit: Oid,
        path: &TreePath,
        oid: Oid,
    ) -> Result<Result<Blob, u64>, ImportError> {
        match self.blobs.get(oid)? {
            Found::Blob(blob) => Ok(Ok(blob)),
            Found::TooLarge(bytes) => Ok(Err(bytes)),
            Found::Missing => Err(ImportError::Missing {
                commit: commit.to_string(),
                path: path.clone(),
                object: oid.to_string(),
            }),
            Found::NotAContent => {
                let why = "what the tree names there is no content of a file";
                Err(ImportError::bad_tree(commit, path, why))
            }
        }
    }

    /// What the ledger holds at a path.
    fn held(&mut self, commit: Oid, path: &TreePath, held: Held) -> Result<Version, ImportError> {
        match held {
            Held::Git(mode, oid) => match self.blob(commit, path, oid)? {
                Ok(blob) => Ok(blob.with(mode)),
                // What was recorded was not too large.
                Err(_) => {
                    let why = "its content has another size than before";
                    Err(ImportError::bad_tree(commit, path, why))
                }
            },
            Held::Ledger(state) => {
                let content = match &self.state {
                    Some(recorded) => recorded.content(path)?,
                    None => None,
                };
                Ok(Version {
                    mode: state.mode,
                    content: Arc::new(content.unwrap_or_default()),
                    hash: state.hash,
                })
            }
        }
    }
}
