//! Which files that went and came are one file with another name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::Bound;

use ledger_core::TreePath;

/// Pairs files that went with files that came with equal content, where no other has it: new name to
/// old. What the content is, and that it is not empty, is for the caller to say: it gives each file's
/// identity.
pub(crate) fn renames<'a, K: Hash + Eq>(
    gone: impl IntoIterator<Item = (K, &'a TreePath)>,
    come: impl IntoIterator<Item = (K, &'a TreePath)>,
) -> BTreeMap<TreePath, TreePath> {
    let (gone, come) = (only_ones(gone), only_ones(come));
    let mut pairs = BTreeMap::new();
    for (identity, from) in &gone {
        if let (Some(from), Some(Some(to))) = (from, come.get(identity)) {
            pairs.insert((*to).clone(), (*from).clone());
        }
    }
    // A file that moves where another's directory was, or below itself, cannot move in one step.
    let sources: BTreeSet<TreePath> = pairs.values().cloned().collect();
    pairs.retain(|to, _| {
        !to.ancestors().any(|dir| sources.contains(&dir)) && !has_below(&sources, to)
    });
    pairs
}

/// The file of each identity; nothing where several have it.
fn only_ones<'a, K: Hash + Eq>(
    files: impl IntoIterator<Item = (K, &'a TreePath)>,
) -> HashMap<K, Option<&'a TreePath>> {
    let mut found = HashMap::new();
    for (identity, path) in files {
        found
            .entry(identity)
            .and_modify(|only| *only = None)
            .or_insert(Some(path));
    }
    found
}

/// Whether one of the paths lies below `dir`.
fn has_below(paths: &BTreeSet<TreePath>, dir: &TreePath) -> bool {
    let first = [dir.as_bytes(), b"/"].concat();
    let after = (Bound::Included(first.as_slice()), Bound::Unbounded);
    paths
        .range::<[u8], _>(after)
        .next()
        .is_some_and(|path| path.is_below(dir))
}
