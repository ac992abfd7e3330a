//! For the tests' own use: putting files on the disk, and looking at what is there.
//!
//! None of it counts as a step, meets a fault, or minds that the machine has stopped.

use std::collections::BTreeMap;
use std::fmt;

use ledger_core::TreePath;

use super::SimStorage;
use super::disk::Disk;
use super::inode::{Body, Change, Ino};

/// What stands at a path.
#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link, and its target.
    Link(Vec<u8>),
    /// A directory, and its permission bits.
    Dir(u32),
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::File { bytes, mode } => write!(f, "{mode:04o} \"{}\"", bytes.escape_ascii()),
            Node::Link(target) => write!(f, "-> \"{}\"", target.escape_ascii()),
            Node::Dir(mode) => write!(f, "{mode:04o} dir"),
        }
    }
}

impl SimStorage {
    /// All that the process sees, by path; the root left out.
    pub fn tree(&self) -> BTreeMap<TreePath, Node> {
        let machine = self.machine();
        let disk = &machine.disk;
        let mut tree = BTreeMap::new();
        let mut dirs = vec![TreePath::root()];
        while let Some(dir) = dirs.pop() {
            let names = disk.lookup(&dir).and_then(|ino| disk.names(ino));
            for (name, &ino) in names.expect("it was listed as a directory") {
                let path = dir.join(name).expect("the name was part of a path");
                let face = disk.face(ino);
                let node = match &face.body {
                    Body::File(bytes) => Node::File {
                        bytes: bytes.to_vec(),
                        mode: face.mode,
                    },
                    Body::Link(target) => Node::Link(target.to_vec()),
                    Body::Dir(_) => {
                        dirs.push(path.clone());
                        Node::Dir(face.mode)
                    }
                };
                tree.insert(path, node);
            }
        }
        tree
    }

    /// The tree as text, a line for each path: its mode, and what it holds, escaped.
    pub fn dump(&self) -> String {
        let lines = self.tree().into_iter();
        lines
            .map(|(path, node)| format!("{path} {node:?}\n"))
            .collect()
    }

    /// The bytes of the file at `path`; nothing where there is none.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        let machine = self.machine();
        let ino = machine.disk.lookup(&parse(path)).ok()?;
        match &machine.disk.face(ino).body {
            Body::File(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }

    /// Puts a durable file there (`0o644`), or replaces the bytes of the one that is; makes the
    /// directories above it (`0o755`).
    pub fn write_file(&self, path: &str, bytes: &[u8]) {
        let path = parse(path);
        let disk = &mut self.machine().disk;
        disk.make_dirs(&path.parent());
        let ino = match disk.lookup(&path) {
            Ok(ino) => ino,
            Err(_) => {
                let made = disk.plan_file(&path, 0o644).map(|plan| disk.commit(plan));
                made.ok().flatten().expect("a file can be made there")
            }
        };
        disk.replace_bytes(ino, bytes);
        disk.sync_lineage(&path.parent());
    }

    /// Makes directories (`0o755`), durable, down to `dir`.
    pub fn make_dirs(&self, dir: &str) {
        let dir = parse(dir);
        let disk = &mut self.machine().disk;
        disk.make_dirs(&dir);
        disk.sync_lineage(&dir);
    }

    /// Makes everything durable, as it is seen.
    pub fn settle(&self) {
        self.machine().disk.settle();
    }
}

impl Disk {
    fn make_dirs(&mut self, dir: &TreePath) {
        if self.dir(dir).is_ok() {
            return;
        }
        self.make_dirs(&dir.parent());
        let plan = self.plan_dir(dir, 0o755);
        self.commit(plan.expect("a directory can be made there"));
    }

    fn replace_bytes(&mut self, ino: Ino, bytes: &[u8]) {
        let offset = 0;
        let bytes = bytes.into();
        self.change(ino, Change::SetLen(0));
        self.change(ino, Change::Write { offset, bytes });
        self.inode(ino).settle();
    }

    fn sync_lineage(&mut self, dir: &TreePath) {
        for dir in dir.ancestors().chain([dir.clone(), TreePath::root()]) {
            let ino = self.dir(&dir).expect("it was just made");
            self.sync_dir(ino);
        }
    }
}

fn parse(path: &str) -> TreePath {
    TreePath::parse(path).expect("a plain relative path")
}
