//! What has to change, and what stands in the way.

use std::collections::BTreeSet;

use ledger_core::TreePath;
use ledger_core::storage::{FileKind, Storage, StorageError, if_present};
use ledger_snapshot::Tree;

use super::Step;

/// Something that was never recorded stands where the move has to put a file or a directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} was never recorded, and stands where the move puts {wanted}")]
pub struct Obstacle {
    /// What stands in the way.
    pub path: TreePath,
    /// What has to be there instead.
    pub wanted: TreePath,
}

/// The steps from one tree to another: deletions first, then the rest; by path.
pub fn plan(from: &Tree, to: &Tree) -> Vec<Step> {
    let (mut deletions, mut others) = (Vec::new(), Vec::new());
    for (path, before, after) in from.diff(to) {
        let step = Step {
            path: path.clone(),
            before: before.map(|entry| entry.state()),
            after: after.map(|entry| entry.state()),
        };
        // An exchange keeps a link a link and a file a file: another type is a deletion and a new file,
        // which is what exchanging does, too.
        match step.after {
            None => deletions.push(step),
            Some(_) => others.push(step),
        }
    }
    deletions.append(&mut others);
    deletions
}

/// What stands in the way of the steps, apart from files that they themselves take away.
pub fn obstacles(storage: &dyn Storage, steps: &[Step]) -> Result<Vec<Obstacle>, StorageError> {
    let leaving: BTreeSet<&TreePath> = steps
        .iter()
        .filter(|step| step.before.is_some())
        .map(|step| &step.path)
        .collect();
    let mut found = Vec::new();
    let mut clear: BTreeSet<TreePath> = BTreeSet::new();
    for step in steps.iter().filter(|step| step.after.is_some()) {
        let obstacle = |path: &TreePath| Obstacle {
            path: path.clone(),
            wanted: step.path.clone(),
        };
        // A directory that has to be there may have something else in its place.
        for dir in step.path.ancestors() {
            if clear.contains(&dir) {
                break;
            }
            let standing = if_present(storage.stat(&dir))?;
            let in_the_way = standing.is_some_and(|stat| stat.kind != FileKind::Dir);
            if in_the_way && !leaving.contains(&dir) {
                found.push(obstacle(&dir));
            }
            clear.insert(dir);
        }
        if step.before.is_some() {
            continue;
        }
        let Some(stat) = if_present(storage.stat(&step.path))? else {
            continue;
        };
        if stat.kind != FileKind::Dir {
            found.push(obstacle(&step.path));
        } else if let Some(path) = first_staying(storage, &step.path, &leaving)? {
            found.push(obstacle(&path));
        }
    }
    Ok(found)
}

/// A file below `dir` that the move does not take away, or an empty directory, which has to stay.
fn first_staying(
    storage: &dyn Storage,
    dir: &TreePath,
    leaving: &BTreeSet<&TreePath>,
) -> Result<Option<TreePath>, StorageError> {
    let mut dirs = vec![dir.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in storage.list(&dir)? {
            let Ok(path) = dir.join(&entry.name) else {
                continue;
            };
            match entry.stat.kind {
                FileKind::Dir => dirs.push(path),
                _ if leaving.contains(&path) => {}
                _ => return Ok(Some(path)),
            }
        }
    }
    Ok(None)
}
