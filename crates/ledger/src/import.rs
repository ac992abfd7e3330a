//! Importing a git history: each commit of its mainline as one operation.
//!
//! The mainline is what first parents lead to. One batch of events takes the state of the branch from
//! whatever it is to exactly the tree of the commit, in git's own bytes, so a state is always that of a
//! whole commit. Three threads work at once: one reads commits from git ([`reader`]), one makes events
//! of them ([`translate`]), and the caller's own writes them, many commits with one sync.
//!
//! An import goes on where an earlier one stopped: it begins after the newest commit on the branch's
//! line of events that is on the mainline, too. So what was imported is never imported again, and
//! nothing is put in before it.
//!
//! **Invariant:** every step is made from what the ledger holds, never from what git says that a parent
//! commit had.
//! **Invariant:** no file in the working tree is overwritten or removed unless it is as it was recorded.

mod arrive;
mod blobs;
mod error;
mod git;
mod history;
mod mirror;
mod oid;
mod pieces;
mod reader;
mod skipped;
mod tags;
mod translate;
mod trees;
mod write;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

use ledger_core::EventId;
use ledger_core::log::{AppendError, Standing, View};
use ledger_core::objects::Staging;
use ledger_replay::State;

use crate::snapshots::SnapshotError;
use crate::workspace::Workspace;
use git::Git;
use oid::Oid;
use reader::Work;
use translate::Translator;
use write::Writer;

pub use arrive::{LeftFile, LeftReason};
pub use error::ImportError;
pub use skipped::{SkipReason, Skipped};
pub use tags::SkippedTag;

/// A request to import a git history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportGit {
    /// The repository, or a directory in one; bare ones, too.
    pub repository: PathBuf,
    /// The commit to begin after; the beginning of the history, unless it is given.
    pub from: Option<String>,
    /// The commit to end with; `HEAD`, unless it is given.
    pub to: Option<String>,
    /// Whether semantic blocks are looked for.
    pub semantics: bool,
}

/// How far an import has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// So many commits are durable, of so many that are to be imported.
    Commits {
        /// Durable ones.
        done: usize,
        /// All.
        of: usize,
    },
    /// All commits are there; a snapshot is taken, and the working tree is brought to the tip.
    Arriving,
}

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The branch that the commits are on now.
    pub branch: String,
    /// Its tip.
    pub tip: EventId,
    /// Commits that were imported.
    pub commits: usize,
    /// Commits that were there already, from an earlier import.
    pub already: usize,
    /// Events that were recorded for commits.
    pub events: u64,
    /// Files of the last commit; none where no commit was imported.
    pub files: usize,
    /// Paths that were left out.
    pub skipped: Vec<Skipped>,
    /// How often a path was left out that is not among them.
    pub skipped_more: u64,
    /// Bookmarks that were made of tags.
    pub bookmarks: Vec<String>,
    /// Tags that could not become bookmarks.
    pub tags_skipped: Vec<SkippedTag>,
    /// Files that are not on disk as they are at the tip.
    pub left: Vec<LeftFile>,
}

impl Workspace {
    /// Imports the commits on a repository's mainline to the branch that the workspace stands on, then
    /// brings the working tree to the tip. All commits are durable when it returns.
    ///
    /// Files with unrecorded changes are left as they are, and so are those that the tip does not have;
    /// a checkout of the same repository is not touched at all. With no commit left to import, tags that
    /// are new become bookmarks, and a working tree that stayed behind is brought to the tip.
    ///
    /// After an error the commits before it are there, and the next import goes on after them.
    pub fn import_git(
        &self,
        request: &ImportGit,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Imported, ImportError> {
        let lock = self.lock_worktree()?;
        self.finish_pending_move(&lock)?;
        let git = Git::open(&request.repository)?;
        let mainline = Mainline::find(&git, request)?;
        let view = self.view()?;
        let standing = Standing::read(self.storage(), &view)?;
        let branch = standing.branch.as_str();
        let start = mainline.start(&view, branch)?;
        let mut writer = Writer::new(self, branch, &view, mainline.commits.len() - start)?;
        let summary = match mainline.commits.get(start..) {
            Some(commits) if !commits.is_empty() => {
                let work = Work {
                    git: &git,
                    after: start
                        .checked_sub(1)
                        .and_then(|last| mainline.commits.get(last).copied()),
                    commits,
                    state: State::rebuild(self.snapshots(), &view, writer.tip)?,
                    limit: self.config().record.max_file_size,
                };
                self.import_commits(work, request.semantics, &mut writer, progress)?
            }
            _ => reader::Summary::default(),
        };
        progress(Progress::Arriving);
        let Writer {
            done, events, ends, ..
        } = writer;
        let on_mainline: HashSet<Oid> = mainline.commits.iter().copied().collect();
        let tags = history::tags(&git)?;
        let bookmarked = self.bookmark_tags(branch, tags, ends, &on_mainline)?;
        self.snapshot_imported(branch, "import", |changes, _| changes > 0);
        let left = self.arrive(&standing, self.is_own_checkout(&git)?, &lock)?;
        let view = self.view()?;
        let (skipped, skipped_more) = summary.skips.into_parts();
        Ok(Imported {
            tip: tip_of(&view, branch)?,
            branch: standing.branch.clone(),
            commits: done,
            already: start.saturating_sub(mainline.from),
            events,
            files: summary.files,
            skipped,
            skipped_more,
            bookmarks: bookmarked.made,
            tags_skipped: bookmarked.skipped,
            left,
        })
    }

    fn import_commits(
        &self,
        work: Work<'_>,
        semantics: bool,
        writer: &mut Writer<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<reader::Summary, ImportError> {
        let staging = Staging::new(self.storage(), self.token());
        let translator = Translator {
            workspace: self,
            branch: writer.branch,
            semantics,
            staging: &staging,
        };
        std::thread::scope(|scope| {
            // Each waits for the next: what is read and not yet written is bounded.
            let (chunks_out, chunks) = sync_channel(1);
            let (groups_out, groups) = sync_channel(1);
            let reader = scope.spawn(move || reader::read(work, chunks_out));
            // The receivers go with their threads: when one stops early, the one before it does, too.
            scope.spawn(move || translator.run(chunks, groups_out));
            let written = writer.write_all(groups, &staging, progress);
            let summary = reader
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.map(|()| summary)
        })
    }

    /// Takes a snapshot of a branch if `is_due` says so of its changes and their volume since the last
    /// one. It can always be taken later, so that it fails is a warning.
    fn snapshot_imported(&self, branch: &str, reason: &str, is_due: impl Fn(u64, u64) -> bool) {
        let take = || -> Result<(), SnapshotError> {
            let view = self.view()?;
            let head = view.heads().branches.get(branch);
            if !head.is_some_and(|head| is_due(head.changes, head.volume)) {
                return Ok(());
            }
            self.inner.take_snapshot(branch, reason, None)?;
            if self.config().retention.auto_gc {
                self.inner.collect(&self.config().retention, false)?;
            }
            Ok(())
        };
        match take() {
            // Whoever is at it will leave little to do.
            Ok(()) | Err(SnapshotError::Busy) => {}
            Err(error) => self.warn(format!(
                "the snapshot that is due could not be taken: {error}"
            )),
        }
    }
}

/// The commits that an import is about.
struct Mainline {
    /// Oldest first, also those before the one to begin after.
    commits: Vec<Oid>,
    /// How many of them are not asked for.
    from: usize,
}

impl Mainline {
    fn find(git: &Git, request: &ImportGit) -> Result<Self, ImportError> {
        let to = request.to.as_deref().unwrap_or("HEAD");
        let commits = history::mainline(git, history::resolve(git, to)?)?;
        let from = match &request.from {
            None => 0,
            Some(from) => {
                let oid = history::resolve(git, from)?;
                let found = commits.iter().position(|commit| *commit == oid);
                let after = found.map(|at| at + 1);
                after.ok_or_else(|| ImportError::NotOnMainline {
                    from: from.clone(),
                    to: to.to_owned(),
                })?
            }
        };
        Ok(Mainline { commits, from })
    }

    /// The first commit to import: after the newest one on the branch's line of events, and after the
    /// one to begin after.
    fn start(&self, view: &View, branch: &str) -> Result<usize, ImportError> {
        let numbers = self.commits.iter().enumerate();
        let places: HashMap<Oid, usize> = numbers.map(|(at, commit)| (*commit, at)).collect();
        for row in view.line_of(tip_of(view, branch)?)? {
            let body = row?.event.body;
            if let Some(at) = tags::commit_of(&body).and_then(|oid| places.get(&oid)) {
                return Ok(self.from.max(at + 1));
            }
        }
        Ok(self.from)
    }
}

fn tip_of(view: &View, branch: &str) -> Result<EventId, AppendError> {
    let head = view.heads().branches.get(branch);
    head.map(|head| head.tip)
        .ok_or_else(|| AppendError::NoBranch(branch.to_owned()))
}
