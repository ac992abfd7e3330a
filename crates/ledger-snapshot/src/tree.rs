//! A tree of files, as names and digests.

use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;

use ledger_core::{Digest, FileState, Mode, TreePath};

/// What a tree says of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEntry {
    /// Mode.
    pub mode: Mode,
    /// Digest of the content; of a link, of its target.
    pub hash: Digest,
    /// Length of the content in bytes.
    pub size: u64,
}

impl FileEntry {
    /// The part of it that events record.
    pub fn state(&self) -> FileState {
        FileState {
            mode: self.mode,
            hash: self.hash,
        }
    }
}

/// The files of a tree, in the byte order of their paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(BTreeMap<TreePath, FileEntry>);

impl Tree {
    /// A tree without files.
    pub fn new() -> Self {
        Tree::default()
    }

    /// What stands at `path`.
    pub fn get(&self, path: &TreePath) -> Option<&FileEntry> {
        self.0.get(path)
    }

    /// Puts a file at `path`; returns what stood there.
    pub fn insert(&mut self, path: TreePath, entry: FileEntry) -> Option<FileEntry> {
        self.0.insert(path, entry)
    }

    /// Takes the file at `path` away; returns what it was.
    pub fn remove(&mut self, path: &TreePath) -> Option<FileEntry> {
        self.0.remove(path)
    }

    /// The files, in path order.
    pub fn iter(&self) -> btree_map::Iter<'_, TreePath, FileEntry> {
        self.0.iter()
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths at which the two trees differ, in path order, each with what stands there in
    /// this tree and in `other`.
    pub fn diff<'a>(&'a self, other: &'a Tree) -> TreeDiff<'a> {
        TreeDiff {
            left: self.iter().peekable(),
            right: other.iter().peekable(),
        }
    }
}

impl FromIterator<(TreePath, FileEntry)> for Tree {
    fn from_iter<I: IntoIterator<Item = (TreePath, FileEntry)>>(files: I) -> Self {
        Tree(files.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Tree {
    type Item = (&'a TreePath, &'a FileEntry);
    type IntoIter = btree_map::Iter<'a, TreePath, FileEntry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The differences of two trees; see [`Tree::diff`].
#[derive(Debug)]
pub struct TreeDiff<'a> {
    left: Peekable<btree_map::Iter<'a, TreePath, FileEntry>>,
    right: Peekable<btree_map::Iter<'a, TreePath, FileEntry>>,
}

impl<'a> Iterator for TreeDiff<'a> {
    type Item = (&'a TreePath, Option<&'a FileEntry>, Option<&'a FileEntry>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let path = match (self.left.peek(), self.right.peek()) {
                (Some((a, _)), Some((b, _))) => (*a).min(*b),
                (Some((path, _)), None) | (None, Some((path, _))) => *path,
                (None, None) => return None,
            };
            let at = |side: &mut Peekable<btree_map::Iter<'a, _, _>>| {
                side.next_if(|(p, _)| *p == path).map(|(_, entry)| entry)
            };
            let (left, right) = (at(&mut self.left), at(&mut self.right));
            if left != right {
                return Some((path, left, right));
            }
        }
    }
}

/// Finds a path that stands below another path of the same list, which no disk can hold.
///
/// `paths` are in ascending order; `holds` tells whether a path is in the list.
pub(crate) fn find_nested<'a>(
    paths: impl Iterator<Item = &'a TreePath>,
    holds: impl Fn(&TreePath) -> bool,
) -> Option<(TreePath, TreePath)> {
    let mut parent_before: Option<TreePath> = None;
    for path in paths {
        let parent = path.parent();
        if parent_before.as_ref() == Some(&parent) {
            continue;
        }
        if let Some(above) = path.ancestors().find(&holds) {
            return Some((path.clone(), above));
        }
        parent_before = Some(parent);
    }
    None
}
