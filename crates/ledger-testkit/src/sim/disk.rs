//! The file system: names resolved and changed as the kernel does it, without following a link.
//!
//! What changes a directory comes in two halves: a [`Plan`] finds the kernel's answer and changes
//! nothing; `commit` carries it out. Faults strike between the two.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger_core::TreePath;
use rustix::io::Errno;

use super::inode::{Body, Change, Face, Ino, Inode, Names};
use super::journal::{EntryOp, Journal};
use super::plan::Plan;

const ROOT: Ino = 1;
const NAME_MAX: usize = 255;

/// The whole of a disk, in both images.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    pub inodes: BTreeMap<Ino, Inode>,
    pub journal: Journal,
    pub next: Ino,
    pub now_ns: i64,
    pub tick_ns: i64,
}

impl Disk {
    pub fn new() -> Self {
        // 2023-11-14: before the clocks that tests use.
        let now_ns = 1_700_000_000_000_000_000;
        let root = Inode::new(Face::new(Body::Dir(Arc::default()), 0o755, now_ns));
        Disk {
            inodes: BTreeMap::from([(ROOT, root)]),
            journal: Journal::default(),
            next: ROOT + 1,
            now_ns,
            tick_ns: 1_000_000,
        }
    }

    fn tick(&mut self) -> i64 {
        self.now_ns += self.tick_ns;
        self.now_ns
    }

    pub fn face(&self, ino: Ino) -> &Face {
        &self.inodes[&ino].live
    }

    pub fn inode(&mut self, ino: Ino) -> &mut Inode {
        self.inodes.get_mut(&ino).expect("an inode stays")
    }

    pub fn names(&self, dir: Ino) -> Result<&Names, Errno> {
        match &self.face(dir).body {
            Body::Dir(names) => Ok(names),
            _ => Err(Errno::NOTDIR),
        }
    }

    /// The directory at `path`. A link before its end is a loop; `link_at_end` says what one there is.
    pub fn walk(&self, path: &TreePath, link_at_end: Errno) -> Result<Ino, Errno> {
        let mut at = ROOT;
        let mut left = path.components().count();
        for name in path.components() {
            left -= 1;
            at = self.find(at, name)?;
            match self.face(at).body {
                Body::Dir(_) => {}
                Body::File(_) => return Err(Errno::NOTDIR),
                Body::Link(_) if left > 0 => return Err(Errno::LOOP),
                Body::Link(_) => return Err(link_at_end),
            }
        }
        Ok(at)
    }

    /// The directory at `path`, as it is opened by itself.
    pub fn dir(&self, path: &TreePath) -> Result<Ino, Errno> {
        self.walk(path, Errno::NOTDIR)
    }

    /// The directory that holds `path`, and what the name stands for there.
    pub fn slot(&self, path: &TreePath, parent: Ino) -> Result<Option<Ino>, Errno> {
        if path.is_root() {
            return Err(Errno::NOENT);
        }
        if_found(self.find(parent, path.name()))
    }

    fn find(&self, dir: Ino, name: &[u8]) -> Result<Ino, Errno> {
        if name.len() > NAME_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        self.names(dir)?.get(name).copied().ok_or(Errno::NOENT)
    }

    /// What stands at `path`, links included.
    pub fn lookup(&self, path: &TreePath) -> Result<Ino, Errno> {
        if path.is_root() {
            return Ok(ROOT);
        }
        self.find(self.dir(&path.parent())?, path.name())
    }

    /// What stands at a path that is opened as a file: all of it is resolved in one call.
    pub fn lookup_to_open(&self, path: &TreePath) -> Result<Option<Ino>, Errno> {
        let parent = self.walk(&path.parent(), Errno::LOOP)?;
        self.slot(path, parent)
    }

    /// Carries a plan out in the live image; returns what was made, if something was.
    pub fn commit(&mut self, plan: Plan) -> Option<Ino> {
        let Plan { mut op, born } = plan;
        op.at_ns = self.tick();
        let made = born.map(|(body, mode)| {
            let ino = self.next;
            self.next += 1;
            let inode = Inode::new(Face::new(body, mode, op.at_ns));
            self.inodes.insert(ino, inode);
            ino
        });
        for edit in &op.edits {
            let dir = &mut self.inode(edit.dir).live;
            let was = dir.set_name(&edit.name, edit.ino, op.at_ns);
            for ino in [was, edit.ino].into_iter().flatten() {
                self.inode(ino).live.ctime_ns = op.at_ns;
            }
        }
        self.journal.push(op);
        made
    }

    /// Changes a file in the live image.
    pub fn change(&mut self, ino: Ino, change: Change) {
        let at_ns = self.tick();
        self.inode(ino).change(change, at_ns);
    }

    /// Makes the names in a directory durable.
    pub fn sync_dir(&mut self, dir: Ino) {
        let synced = self.journal.take_synced(dir);
        self.make_durable(&synced);
    }

    pub fn make_durable(&mut self, ops: &[EntryOp]) {
        for op in ops {
            for edit in &op.edits {
                let dir = &mut self.inode(edit.dir).durable;
                dir.set_name(&edit.name, edit.ino, op.at_ns);
            }
        }
    }

    /// Makes everything durable.
    pub fn settle(&mut self) {
        self.journal.clear();
        self.inodes.values_mut().for_each(Inode::settle);
    }
}

fn if_found(found: Result<Ino, Errno>) -> Result<Option<Ino>, Errno> {
    match found {
        Ok(ino) => Ok(Some(ino)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}
