//! What the ledger holds at the end of the branch, and the steps from there to the tree of a commit.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use ledger_core::{Digest, FileState, Mode, TreePath};
use ledger_snapshot::Tree;

use super::oid::Oid;
use crate::record::renames::renames;

/// A file that the ledger holds, and where its content can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// From the ledger's own state before the import.
    Ledger(FileState),
    /// From the repository.
    Git(Mode, Oid),
}

impl Held {
    fn mode(&self) -> Mode {
        match self {
            Held::Ledger(state) => state.mode,
            Held::Git(mode, _) => *mode,
        }
    }
}

/// What a commit has at a path: nothing, or a file with this mode and content.
pub(super) type Wanted = Option<(Mode, Oid)>;

/// One file that is to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub path: TreePath,
    /// Its old name, where that is all that changes.
    pub from: Option<TreePath>,
    /// What the ledger holds, under the old name.
    pub before: Option<Held>,
    pub after: Wanted,
}

/// The files that the ledger holds. Every step is made from what is in here, not from what git says
/// that a commit's parent had: so each state follows from the one before it, whatever was left out.
#[derive(Debug, Default)]
pub(super) struct Mirror(BTreeMap<TreePath, Held>);

/// Equal for files with equal content, of one kind; none where that is empty or not known.
type Identity = Option<(Content, bool)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Content {
    Digest(Digest),
    Oid(Oid),
}

impl Mirror {
    /// The files of a recorded tree.
    pub fn of(tree: &Tree) -> Self {
        let held = |(path, entry): (&TreePath, &ledger_snapshot::FileEntry)| {
            (path.clone(), Held::Ledger(entry.state()))
        };
        Mirror(tree.iter().map(held).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Notes what a file has become.
    pub fn set(&mut self, path: &TreePath, wanted: Wanted) {
        match wanted {
            Some((mode, oid)) => self.0.insert(path.clone(), Held::Git(mode, oid)),
            None => self.0.remove(path),
        };
    }

    /// The files that are not among `wanted`.
    pub fn missing_from(&self, wanted: &BTreeMap<TreePath, Wanted>) -> Vec<TreePath> {
        let missing = self.0.keys().filter(|path| !wanted.contains_key(*path));
        missing.cloned().collect()
    }

    /// A file that has another one below it, or above, which no disk can hold.
    pub fn nested_with(&self, path: &TreePath) -> Option<TreePath> {
        let below = [path.as_bytes(), b"/"].concat();
        let after = (Bound::Included(below.as_slice()), Bound::Unbounded);
        let next = self.0.range::<[u8], _>(after).next().map(|(next, _)| next);
        next.filter(|next| next.is_below(path))
            .cloned()
            .or_else(|| path.ancestors().find(|dir| self.0.contains_key(dir)))
    }

    /// The steps that make the files `wanted`: deletions first, then renames, then the rest, each by
    /// path. `digests` knows what the contents in the repository are in the ledger's terms, as far as
    /// files of the ledger have to be compared with them.
    pub fn steps(
        &self,
        wanted: BTreeMap<TreePath, Wanted>,
        digests: &HashMap<Oid, Digest>,
    ) -> Vec<Step> {
        let same = |held: &Held, mode: Mode, oid: Oid| match held {
            Held::Git(old_mode, old) => (*old_mode, *old) == (mode, oid),
            Held::Ledger(state) => {
                state.mode == mode && digests.get(&oid).is_some_and(|hash| *hash == state.hash)
            }
        };
        let changed: Vec<(TreePath, Option<Held>, Wanted)> = wanted
            .into_iter()
            .map(|(path, after)| {
                let before = self.0.get(&path).copied();
                (path, before, after)
            })
            .filter(|(_, before, after)| match (before, after) {
                (None, None) => false,
                (Some(held), Some((mode, oid))) => !same(held, *mode, *oid),
                _ => true,
            })
            .collect();
        let gone = changed
            .iter()
            .filter(|(.., after)| after.is_none())
            .filter_map(|(path, before, _)| Some((identity(before.as_ref()?, digests)?, path)));
        let come = changed
            .iter()
            .filter(|(_, before, _)| before.is_none())
            .filter_map(|(path, _, after)| {
                let (mode, oid) = (*after)?;
                Some((identity(&Held::Git(mode, oid), digests)?, path))
            });
        in_order(renames(gone, come), changed, self)
    }
}

/// What makes a file the same under another name.
fn identity(held: &Held, digests: &HashMap<Oid, Digest>) -> Identity {
    let content = match held {
        Held::Ledger(state) if state.hash == Digest::of(b"") => return None,
        Held::Git(_, oid) if oid.is_empty_content() => return None,
        Held::Ledger(state) => Content::Digest(state.hash),
        Held::Git(_, oid) => digests
            .get(oid)
            .map_or(Content::Oid(*oid), |hash| Content::Digest(*hash)),
    };
    Some((content, held.mode().is_symlink()))
}

fn in_order(
    renames: BTreeMap<TreePath, TreePath>,
    changed: Vec<(TreePath, Option<Held>, Wanted)>,
    mirror: &Mirror,
) -> Vec<Step> {
    let sources: std::collections::BTreeSet<&TreePath> = renames.values().collect();
    let (mut gone, mut moved, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (path, before, after) in changed {
        if sources.contains(&path) {
            continue;
        }
        let from = renames.get(&path).cloned();
        let before = match &from {
            Some(from) => mirror.0.get(from).copied(),
            None => before,
        };
        let list = match (&from, after) {
            (Some(_), _) => &mut moved,
            (None, None) => &mut gone,
            (None, Some(_)) => &mut rest,
        };
        list.push(Step {
            path,
            from,
            before,
            after,
        });
    }
    gone.append(&mut moved);
    gone.append(&mut rest);
    gone
}
