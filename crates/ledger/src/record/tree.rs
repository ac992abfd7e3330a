//! Recording what changed on disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ledger_core::log::{AppendError, Lock, On, Standing, View};
use ledger_core::{Action, Body, EventId, TreePath, layout};
use ledger_replay::State;
use ledger_snapshot::{ReadFile, ReadFileError, StatCache, read_stable};

use super::prepare::{FileEvents, Version};
use super::renames::renames;
use super::{RecordError, Recorded, TRIES, batch_of};
use crate::provenance::Provenance;
use crate::scan::{Scope, Unrecorded};
use crate::workspace::Workspace;

/// A request to record what changed on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordTree {
    /// Files and directories, taken even where they are ignored; none for the whole workspace.
    pub paths: Vec<TreePath>,
    /// Who, and why.
    pub provenance: Provenance,
}

/// A file on disk that differs from what is recorded, as it was read.
struct Changed {
    path: TreePath,
    before: Option<Version>,
    after: Option<Version>,
}

impl Workspace {
    /// Records what changed on disk since the workspace's own event, as one batch; new files too.
    ///
    /// Where the branch has moved on, files that the workspace did not change are brought in first.
    /// The events are durable when it returns.
    pub fn record_tree(&self, request: &RecordTree) -> Result<Recorded, RecordError> {
        if let Some(path) = request.paths.iter().find(|path| layout::is_reserved(path)) {
            return Err(RecordError::Reserved(path.clone()));
        }
        let lock = self.lock_worktree()?;
        self.finish_pending_move(&lock)?;
        let operation = self.operation_id(&request.provenance);
        for _ in 0..TRIES {
            self.catch_up(&lock)?;
            match self.record_tree_once(request, &operation, &lock) {
                Err(RecordError::Append(AppendError::Moved { .. })) => continue,
                result => return result,
            }
        }
        self.catch_up(&lock)?;
        self.record_tree_once(request, &operation, &lock)
    }

    fn record_tree_once(
        &self,
        request: &RecordTree,
        operation: &str,
        _lock: &Lock,
    ) -> Result<Recorded, RecordError> {
        let view = self.view()?;
        let standing = Standing::read(self.storage(), &view)?;
        let template = self.tree_template(&request.provenance, operation, &standing.branch)?;
        let changed = match self.named_files(request, &view, &standing)? {
            Some(changed) => changed,
            None => self.scanned_files(request, &view, &standing)?,
        };
        let files = self.files_of(&template, changed)?;
        if files.is_empty() {
            return Ok(Recorded::default());
        }
        if !request.paths.is_empty() {
            self.check_nesting(&view, (&standing.branch, standing.event), &files)?;
        }
        let batch = batch_of(&files, On::TipUnchangedSince(standing.event), None);
        let appended = self.log().append(batch)?;
        Ok(self.recorded(appended, files))
    }

    pub(crate) fn tree_template(
        &self,
        provenance: &Provenance,
        operation: &str,
        branch: &str,
    ) -> Result<Body, RecordError> {
        let token = self.token();
        let operation = operation.to_owned();
        let mut body = provenance.body(
            self.storage(),
            token,
            Action::EditReplace,
            branch,
            operation,
        )?;
        body.in_workspace = true;
        body.patch = true;
        Ok(body)
    }

    /// The changes at the paths that were named, where each is a file: without looking at the tree.
    fn named_files(
        &self,
        request: &RecordTree,
        view: &View,
        standing: &Standing,
    ) -> Result<Option<Vec<Changed>>, RecordError> {
        if request.paths.is_empty() {
            return Ok(None);
        }
        let paths: BTreeSet<&TreePath> = request.paths.iter().collect();
        let mut changed = Vec::with_capacity(paths.len());
        for path in paths {
            if path.is_root() {
                return Ok(None);
            }
            let read = self.read_present(path, self.config().record.max_file_size)?;
            let before = self.tip_version(view, (&standing.branch, standing.event), path)?;
            if read.is_none() && before.is_none() {
                // A directory, or one that is gone.
                return Ok(None);
            }
            let after = read.map(|file| Version::new(file.mode, Arc::new(file.content)));
            if let Some(after) = &after {
                self.recent().keep(after.hash, &after.content);
            }
            changed.push(Changed {
                path: path.clone(),
                before,
                after,
            });
        }
        Ok(Some(changed))
    }

    /// The changes that a scan finds.
    fn scanned_files(
        &self,
        request: &RecordTree,
        view: &View,
        standing: &Standing,
    ) -> Result<Vec<Changed>, RecordError> {
        let state = State::rebuild(self.snapshots(), view, standing.event)?;
        let scope = match request.paths.is_empty() {
            true => Scope::Everything,
            false => Scope::Below(&request.paths),
        };
        let mut cache = StatCache::load(self.storage(), &layout::stat_cache())?;
        let limit = self.config().record.max_file_size;
        let scan = self.scanner(limit).scan(state.tree(), scope, &mut cache)?;
        for path in &request.paths {
            let in_scope = |other: &TreePath| other == path || other.is_below(path);
            let recorded = state.tree().iter().any(|(other, _)| in_scope(other));
            let on_disk = ledger_core::storage::if_present(self.storage().stat(path))?;
            if !recorded && on_disk.is_none() {
                return Err(RecordError::NothingThere(path.clone()));
            }
        }
        self.warn_of(&scan);
        let changed = self.read_changed(&state, scan.unrecorded, &mut cache, limit)?;
        self.save_stat_cache(cache, state.tree());
        Ok(changed)
    }

    fn read_changed(
        &self,
        state: &State,
        unrecorded: Vec<Unrecorded>,
        cache: &mut StatCache,
        limit: u64,
    ) -> Result<Vec<Changed>, RecordError> {
        let clock = self.log().seams().clock.as_ref();
        let mut changed = Vec::with_capacity(unrecorded.len());
        for Unrecorded {
            path,
            before,
            after,
        } in unrecorded
        {
            let before = match before {
                None => None,
                Some(entry) => state.content(&path)?.map(|content| Version {
                    mode: entry.mode,
                    content: Arc::new(content),
                    hash: entry.hash,
                }),
            };
            let read_at = clock.now();
            let read = match after {
                None => None,
                // What is stored is what is read now, whatever the scan saw.
                Some(_) => self.read_present(&path, limit)?,
            };
            let after = read.map(|file| {
                let version = Version::new(file.mode, Arc::new(file.content));
                cache.insert(path.clone(), &file.stat, &version.hash, read_at);
                version
            });
            changed.push(Changed {
                path,
                before,
                after,
            });
        }
        Ok(changed)
    }

    /// Reads what stands at a path; `None` when it is no file or link.
    fn read_present(&self, path: &TreePath, limit: u64) -> Result<Option<ReadFile>, RecordError> {
        match read_stable(self.storage(), path, limit) {
            Ok(file) => Ok(Some(file)),
            Err(ReadFileError::NotAFile { .. }) => Ok(None),
            Err(ReadFileError::Storage(error)) if error.is_absent() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The events of changed files: deletions, then renames, then the rest by path.
    fn files_of(
        &self,
        template: &Body,
        changed: Vec<Changed>,
    ) -> Result<Vec<FileEvents>, RecordError> {
        let preparer = self.preparer(template);
        let renames = renames_of(&changed);
        let renamed_from: BTreeMap<TreePath, TreePath> = renames
            .iter()
            .map(|(to, from)| (from.clone(), to.clone()))
            .collect();
        let by_path: HashMap<&TreePath, &Changed> = changed
            .iter()
            .map(|change| (&change.path, change))
            .collect();
        let (mut gone, mut moved, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for change in &changed {
            if renamed_from.contains_key(&change.path) {
                continue;
            }
            let source = renames
                .get(&change.path)
                .and_then(|from| Some((from, by_path.get(from)?)));
            if let (Some((from, source)), Some(after)) = (source, &change.after)
                && let Some(before) = &source.before
            {
                moved.push(preparer.rename(from, &change.path, before, after.mode));
                continue;
            }
            let events =
                preparer.change(&change.path, change.before.as_ref(), change.after.as_ref())?;
            match change.after {
                None => gone.extend(events),
                Some(_) => rest.extend(events),
            }
        }
        gone.append(&mut moved);
        gone.append(&mut rest);
        Ok(gone)
    }

    /// Records all unrecorded changes of tracked files, whatever policy says: what a rewind would
    /// otherwise lose. Returns the events.
    pub(crate) fn record_before_move(&self, lock: &Lock) -> Result<Vec<EventId>, RecordError> {
        let view = self.view()?;
        let standing = Standing::read(self.storage(), &view)?;
        let state = State::rebuild(self.snapshots(), &view, standing.event)?;
        let mut cache = StatCache::load(self.storage(), &layout::stat_cache())?;
        let limit = ledger_core::objects::OBJECT_MAX;
        let scan = self
            .scanner(limit)
            .scan(state.tree(), Scope::Tracked, &mut cache)?;
        let changed = self.read_changed(&state, scan.unrecorded, &mut cache, limit)?;
        self.save_stat_cache(cache, state.tree());
        let mut provenance = Provenance::by(crate::system_author());
        provenance.rationale =
            Some("unrecorded changes, kept before the workspace moved".to_owned());
        let operation = self.operation_id(&provenance);
        let template = self.tree_template(&provenance, &operation, &standing.branch)?;
        let files = self.files_of(&template, changed)?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let _ = lock;
        let head = view
            .heads()
            .branches
            .get(&standing.branch)
            .map(|head| head.tip);
        if head != Some(standing.event) {
            // What others recorded meanwhile is not in these files: a branch of its own holds them.
            return self.record_on_own_branch(&standing, files);
        }
        let batch = batch_of(&files, On::TipUnchangedSince(standing.event), None);
        let appended = self.log().append(batch)?;
        Ok(self.recorded(appended, files).events)
    }

    /// Records changes of a workspace that its branch has left behind, on a branch that begins where
    /// the workspace stands.
    fn record_on_own_branch(
        &self,
        standing: &Standing,
        files: Vec<FileEvents>,
    ) -> Result<Vec<EventId>, RecordError> {
        let mut files = files;
        let view = self.view()?;
        let name = crate::branches::free_name(&view, &format!("unrecorded-{}", standing.event));
        let mut opening = Body::new(crate::system_author(), Action::Branch, name.clone());
        opening.rationale = Some(format!(
            "{:?} had moved on without these changes",
            standing.branch
        ));
        for body in files.iter_mut().flat_map(|file| &mut file.bodies) {
            body.branch.clone_from(&name);
            body.in_workspace = false;
        }
        opening.in_workspace = false;
        let mut batch = batch_of(&files, On::NewBranch(standing.event), None);
        batch.bodies.insert(0, opening);
        let mut appended = self.log().append(batch)?;
        let mut events = appended.events.clone();
        appended.events.remove(0);
        appended.hashes.remove(0);
        self.recorded(appended, files);
        self.warn(format!("unrecorded changes are on branch {name}"));
        events.remove(0);
        Ok(events)
    }

    pub(crate) fn save_stat_cache(&self, mut cache: StatCache, tree: &ledger_snapshot::Tree) {
        cache.retain(|path| tree.get(path).is_some());
        let saved = ledger_core::storage::create_dirs(
            self.storage(),
            &layout::cache_dir(),
            ledger_core::storage::PRIVATE_DIR,
            ledger_core::storage::Durability::Derived,
        )
        .and_then(|()| cache.save(self.storage(), &layout::stat_cache(), self.token()));
        if let Err(error) = saved {
            // Whoever may only read, or has no room, reads the files again next time.
            tracing::warn!(%error, "the stat cache could not be saved");
        }
    }
}

/// The renames among changed files: new name to old.
fn renames_of(changed: &[Changed]) -> BTreeMap<TreePath, TreePath> {
    let identity = |version: &Version| {
        (!version.content.is_empty()).then_some((version.hash, version.mode.is_symlink()))
    };
    let gone = changed
        .iter()
        .filter(|change| change.after.is_none())
        .filter_map(|change| Some((identity(change.before.as_ref()?)?, &change.path)));
    let come = changed
        .iter()
        .filter(|change| change.before.is_none())
        .filter_map(|change| Some((identity(change.after.as_ref()?)?, &change.path)));
    renames(gone, come)
}
