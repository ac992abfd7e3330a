//! What the kernel would answer to a change of names, and what the change would be.

use std::sync::Arc;

use ledger_core::TreePath;
use ledger_core::storage::RenameMode;
use rustix::io::Errno;

use super::disk::Disk;
use super::inode::{Body, Ino};
use super::journal::EntryOp;

/// A change to the names that the kernel would allow.
pub(super) struct Plan {
    pub op: EntryOp,
    pub born: Option<(Body, u32)>,
}

impl From<EntryOp> for Plan {
    fn from(op: EntryOp) -> Self {
        Plan { op, born: None }
    }
}

impl Disk {
    pub fn plan_file(&self, path: &TreePath, mode: u32) -> Result<Plan, Errno> {
        let parent = self.walk(&path.parent(), Errno::LOOP)?;
        self.plan_new(path, parent, Body::File(Arc::default()), mode)
    }

    pub fn plan_dir(&self, path: &TreePath, mode: u32) -> Result<Plan, Errno> {
        let parent = self.dir(&path.parent())?;
        let mut plan = self.plan_new(path, parent, Body::Dir(Arc::default()), mode)?;
        plan.op.places.push(self.next);
        Ok(plan)
    }

    pub fn plan_link(&self, path: &TreePath, target: &[u8]) -> Result<Plan, Errno> {
        let parent = self.dir(&path.parent())?;
        if target.is_empty() {
            return Err(Errno::NOENT);
        }
        self.plan_new(path, parent, Body::Link(target.into()), 0o777)
    }

    fn plan_new(&self, path: &TreePath, parent: Ino, body: Body, mode: u32) -> Result<Plan, Errno> {
        if self.slot(path, parent)?.is_some() {
            return Err(Errno::EXIST);
        }
        let op = EntryOp::new(parent, path.name(), Some(self.next));
        let born = Some((body, mode));
        Ok(Plan { op, born })
    }

    pub fn plan_remove_file(&self, path: &TreePath) -> Result<Plan, Errno> {
        let parent = self.dir(&path.parent())?;
        let ino = self.slot(path, parent)?.ok_or(Errno::NOENT)?;
        if self.face(ino).is_dir() {
            return Err(Errno::ISDIR);
        }
        Ok(EntryOp::new(parent, path.name(), None).into())
    }

    pub fn plan_remove_dir(&self, path: &TreePath) -> Result<Plan, Errno> {
        let parent = self.dir(&path.parent())?;
        let ino = self.slot(path, parent)?.ok_or(Errno::NOENT)?;
        if !self.names(ino)?.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        let mut op = EntryOp::new(parent, path.name(), None);
        op.emptied = Some(ino);
        Ok(op.into())
    }

    /// Nothing is to be done where both names are those of one file.
    pub fn plan_rename(
        &self,
        from: &TreePath,
        to: &TreePath,
        mode: RenameMode,
    ) -> Result<Option<Plan>, Errno> {
        let old = self.dir(&from.parent())?;
        let new = self.dir(&to.parent())?;
        if to.is_root() {
            return Err(Errno::NOENT);
        }
        let moved = self.slot(from, old)?.ok_or(Errno::NOENT)?;
        let target = self.slot(to, new)?;
        match mode {
            RenameMode::NoReplace if target.is_some() => return Err(Errno::EXIST),
            RenameMode::Exchange if target.is_none() => return Err(Errno::NOENT),
            _ => {}
        }
        if to.is_below(from) {
            // Had it not been a directory, its parent would not have been found.
            return Err(Errno::INVAL);
        }
        let exchange = mode == RenameMode::Exchange;
        if from.is_below(to) {
            return Err(if exchange {
                Errno::INVAL
            } else {
                Errno::NOTEMPTY
            });
        }
        if target == Some(moved) {
            return Ok(None);
        }
        let mut op = EntryOp {
            places: self.only_dirs([Some(moved), target.filter(|_| exchange)]),
            ..EntryOp::default()
        };
        // Within one directory nothing comes to stand where it could be lost.
        if old != new {
            op.beneath = self.lineage(&to.parent())?;
            if exchange {
                op.beneath.extend(self.lineage(&from.parent())?);
            }
        }
        if let Some(target) = target.filter(|_| !exchange) {
            self.check_replaces(moved, target)?;
            op.emptied = self.only_dirs([Some(target), None]).pop();
        }
        let left_behind = target.filter(|_| exchange);
        let op = op
            .and(old, from.name(), left_behind)
            .and(new, to.name(), Some(moved));
        Ok(Some(op.into()))
    }

    fn check_replaces(&self, moved: Ino, target: Ino) -> Result<(), Errno> {
        match (self.face(moved).is_dir(), self.names(target)) {
            (false, Err(_)) => Ok(()),
            (false, Ok(_)) => Err(Errno::ISDIR),
            (true, Err(_)) => Err(Errno::NOTDIR),
            (true, Ok(names)) if names.is_empty() => Ok(()),
            (true, Ok(_)) => Err(Errno::NOTEMPTY),
        }
    }

    fn only_dirs(&self, inos: [Option<Ino>; 2]) -> Vec<Ino> {
        let mut inos: Vec<Ino> = inos.into_iter().flatten().collect();
        inos.retain(|&ino| self.face(ino).is_dir());
        inos
    }

    /// The directory at `dir` and those above it, without the root.
    fn lineage(&self, dir: &TreePath) -> Result<Vec<Ino>, Errno> {
        let above = dir.ancestors().chain(Some(dir.clone()));
        above
            .filter(|dir| !dir.is_root())
            .map(|dir| self.dir(&dir))
            .collect()
    }
}
