//! Making events of what was read, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};

use ledger_core::objects::Staging;
use ledger_core::refs::GIT_PREFIX;
use ledger_core::{Action, Author, AuthorKind, Body, Change};

use super::error::ImportError;
use super::history::Commit;
use super::oid::Oid;
use super::pieces::{Chunk, FileStep, Piece};
use crate::provenance::Provenance;
use crate::record::prepare::Preparer;
use crate::scan::all_cores;
use crate::workspace::Workspace;

/// Bytes of changes in rows that are written together.
const GROUP_BYTES: usize = 4 << 20;
/// Commits that are written together.
const GROUP_COMMITS: usize = 256;
/// What a row is counted as beside its change.
const ROW_BYTES: usize = 1024;

/// A commit whose events are made.
#[derive(Debug)]
pub(super) struct Ready {
    pub oid: Oid,
    pub bodies: Vec<Body>,
}

/// Commits that are written together, or why there are no more.
pub(super) type Group = Result<Vec<Ready>, ImportError>;

/// Makes events of pieces as they come.
pub(super) struct Translator<'a> {
    pub workspace: &'a Workspace,
    pub branch: &'a str,
    pub semantics: bool,
    pub staging: &'a Staging<'a>,
}

/// What is being put together.
#[derive(Default)]
struct Growing {
    /// The commit whose pieces are coming: what its events begin with, and those there are.
    current: Option<(Oid, Body, Vec<Body>)>,
    ready: Vec<Ready>,
    bytes: usize,
}

impl Translator<'_> {
    /// Takes pieces until there are no more, and sends out groups of whole commits.
    pub fn run(&self, pieces: Receiver<Chunk>, out: SyncSender<Group>) {
        let mut growing = Growing::default();
        let mut failed = None;
        for chunk in pieces {
            let taken = chunk.and_then(|chunk| self.take(chunk, &mut growing, &out));
            match taken {
                Ok(true) => {}
                // Nobody listens any more.
                Ok(false) => return,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        // What is complete goes out before the error.
        if !growing.ready.is_empty() && out.send(Ok(growing.ready)).is_err() {
            return;
        }
        if let Some(error) = failed {
            let _ = out.send(Err(error));
        }
    }

    /// Takes one chunk; false when nobody listens.
    fn take(
        &self,
        chunk: Vec<Piece>,
        growing: &mut Growing,
        out: &SyncSender<Group>,
    ) -> Result<bool, ImportError> {
        // The first template is that of the commit which the chunk goes on with, if it does.
        let going_on = growing.current.as_ref().map(|(_, body, _)| body.clone());
        let skipped = usize::from(going_on.is_some());
        let mut templates: Vec<Body> = going_on.into_iter().collect();
        for piece in &chunk {
            if let Piece::Commit(commit) = piece {
                templates.push(self.template(commit)?);
            }
        }
        let mut events = self.events_of(&chunk, &templates, skipped)?.into_iter();
        let mut templates = templates.into_iter().skip(skipped);
        for piece in chunk {
            match piece {
                Piece::Commit(commit) => {
                    let template = templates.next();
                    growing.current = template.map(|body| (commit.oid, body, Vec::new()));
                }
                Piece::File(_) => {
                    let bodies = events.next().unwrap_or_default();
                    growing.bytes += bodies.iter().map(bytes_in_row).sum::<usize>();
                    if let Some((_, _, all)) = &mut growing.current {
                        all.extend(bodies);
                    }
                }
                Piece::End => {
                    growing.finish_commit();
                    if growing.is_full() {
                        growing.bytes = 0;
                        if out.send(Ok(std::mem::take(&mut growing.ready))).is_err() {
                            return Ok(false);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    /// The events of each file of a chunk, in order; `begun` templates are of commits that began before.
    fn events_of(
        &self,
        chunk: &[Piece],
        templates: &[Body],
        begun: usize,
    ) -> Result<Vec<Vec<Body>>, ImportError> {
        let mut commits = begun;
        let mut files: Vec<(&Body, &FileStep)> = Vec::new();
        for piece in chunk {
            match piece {
                Piece::Commit(_) => commits += 1,
                Piece::File(step) => {
                    let template = commits.checked_sub(1).and_then(|at| templates.get(at));
                    files.extend(template.map(|template| (template, step)));
                }
                Piece::End => {}
            }
        }
        let next = AtomicUsize::new(0);
        let made: Mutex<Vec<(usize, Vec<Body>)>> = Mutex::new(Vec::with_capacity(files.len()));
        let work = || -> Result<(), ImportError> {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((template, step)) = files.get(at) else {
                    return Ok(());
                };
                let bodies = self.events(template, step)?;
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                made.push((at, bodies));
            }
        };
        std::thread::scope(|scope| {
            let helpers = all_cores().get().min(files.len()).saturating_sub(1);
            let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut result = work();
            for helper in helpers {
                let theirs = helper
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result = result.and(theirs);
            }
            result
        })?;
        let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        made.sort_unstable_by_key(|(at, _)| *at);
        Ok(made.into_iter().map(|(_, bodies)| bodies).collect())
    }

    /// The events of one file.
    fn events(&self, template: &Body, step: &FileStep) -> Result<Vec<Body>, ImportError> {
        let preparer = Preparer {
            staging: Some(self.staging),
            semantics: self.semantics,
            ..self.workspace.preparer(template)
        };
        let (before, after) = (step.before.as_ref(), step.after.as_ref());
        let files = match (&step.from, before, after) {
            (Some(from), Some(before), Some(after)) => {
                vec![preparer.rename(from, &step.path, before, after.mode)]
            }
            _ => preparer.change(&step.path, before, after)?,
        };
        Ok(files.into_iter().flat_map(|file| file.bodies).collect())
    }

    /// What the events of a commit begin with.
    fn template(&self, commit: &Commit) -> Result<Body, ImportError> {
        let mut provenance = Provenance::by(Author {
            name: commit.author.clone(),
            version: None,
            kind: AuthorKind::Human,
        });
        provenance.rationale = Some(commit.message.clone()).filter(|text| !text.is_empty());
        provenance.authored_at = commit.authored_at;
        let (storage, token) = (self.workspace.storage(), self.workspace.token());
        let operation = format!("{GIT_PREFIX}{}", commit.oid);
        let action = Action::MetaNote;
        let mut body = provenance.body(storage, token, action, self.branch, operation)?;
        body.in_workspace = false;
        body.patch = false;
        Ok(body)
    }
}

impl Growing {
    fn finish_commit(&mut self) {
        let Some((oid, template, mut bodies)) = self.current.take() else {
            return;
        };
        if bodies.is_empty() {
            // A commit that changes nothing is a note of what it says.
            bodies.push(template);
        }
        self.ready.push(Ready { oid, bodies });
    }

    fn is_full(&self) -> bool {
        self.bytes >= GROUP_BYTES || self.ready.len() >= GROUP_COMMITS
    }
}

/// About how many bytes a row has.
fn bytes_in_row(body: &Body) -> usize {
    let text = body.rationale.as_ref().map_or(0, String::len);
    let changed = body.edits.iter().map(|edit| match &edit.change {
        Change::Lines(lines) => lines.inserted_bytes() + lines.deleted_bytes(),
        Change::None | Change::LinesObject(_) | Change::Content(_) => 0,
    });
    ROW_BYTES + text + changed.sum::<usize>()
}
