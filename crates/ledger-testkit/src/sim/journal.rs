//! Names that were made, removed or moved, and are not durable yet.
//!
//! **Invariants:** each directory after a crash is as it was at some moment before it: what survives of
//! one directory's changes is a prefix of them. A rename is kept or lost whole, so that nothing that
//! had a durable name is left with none, or with two.

use std::collections::BTreeSet;

use super::inode::Ino;

/// One atomic change to one directory or two.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryOp {
    /// Names given and taken away, in order.
    pub edits: Vec<Edit>,
    /// Directories that get a place by it: one made or moved, two exchanged.
    pub places: Vec<Ino>,
    /// Directories that must have their place for it to be kept: something is moved beneath them from
    /// another directory.
    pub beneath: Vec<Ino>,
    /// A directory that it removes: what was moved out of it must have been.
    pub emptied: Option<Ino>,
    /// When it happened.
    pub at_ns: i64,
}

/// One name in one directory.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub dir: Ino,
    pub name: Box<[u8]>,
    pub ino: Option<Ino>,
}

impl EntryOp {
    /// Changes one name.
    pub fn new(dir: Ino, name: &[u8], ino: Option<Ino>) -> Self {
        EntryOp::default().and(dir, name, ino)
    }

    /// Changes one more name with it.
    pub fn and(mut self, dir: Ino, name: &[u8], ino: Option<Ino>) -> Self {
        let name = name.into();
        self.edits.push(Edit { dir, name, ino });
        self
    }

    pub fn dirs(&self) -> impl Iterator<Item = Ino> {
        self.edits.iter().map(|edit| edit.dir)
    }
}

/// The changes that wait, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal(Vec<EntryOp>);

impl Journal {
    pub fn push(&mut self, op: EntryOp) {
        self.0.push(op);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes out what a sync of `dir` makes durable: its own changes and those that they stand on.
    pub fn take_synced(&mut self, dir: Ino) -> Vec<EntryOp> {
        let mut changes = BTreeSet::from([dir]);
        let mut places: BTreeSet<Ino> = BTreeSet::new();
        let (mut synced, mut waiting) = (Vec::new(), Vec::new());
        for op in self.0.drain(..).rev() {
            let wanted = op.dirs().any(|dir| changes.contains(&dir))
                || op.places.iter().any(|dir| places.contains(dir));
            if !wanted {
                waiting.push(op);
                continue;
            }
            changes.extend(op.dirs().chain(op.emptied));
            places.extend(&op.beneath);
            synced.push(op);
        }
        waiting.reverse();
        synced.reverse();
        self.0 = waiting;
        synced
    }

    /// Takes out what a crash leaves, when `keep` says of each change whether its directories keep it.
    pub fn take_surviving(&mut self, mut keep: impl FnMut(&EntryOp) -> bool) -> Vec<EntryOp> {
        let mut cut: BTreeSet<Ino> = BTreeSet::new();
        let mut placeless: BTreeSet<Ino> = BTreeSet::new();
        let mut survives = |op: &EntryOp| {
            let stands = !op.dirs().chain(op.emptied).any(|dir| cut.contains(&dir))
                && !op.beneath.iter().any(|dir| placeless.contains(dir));
            let kept = stands && keep(op);
            if !kept {
                cut.extend(op.dirs());
                placeless.extend(op.places.iter().copied());
            }
            kept
        };
        let mut ops = std::mem::take(&mut self.0);
        ops.retain(|op| survives(op));
        ops
    }
}
