//! Names of files and directories inside a workspace.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bytes::ByteString;

/// A path relative to a root, of bytes, with `/` between its components.
///
/// It never leaves the root: no component is empty, `.` or `..`, and there is no NUL.
/// Ordered by bytes, which is the order of git's index and of archive members.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Arc<[u8]>);

/// Why bytes are not a [`TreePath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPath {
    /// There was nothing.
    #[error("path is empty")]
    Empty,
    /// A component is empty, `.` or `..`, or the path is absolute.
    #[error("path {0:?} is not a plain relative path")]
    NotPlain(String),
    /// A NUL byte, which no file name can hold.
    #[error("path {0:?} holds a NUL byte")]
    Nul(String),
}

impl TreePath {
    /// The root itself: the only empty path. No file that is tracked has it.
    pub fn root() -> Self {
        TreePath(Arc::from(&[][..]))
    }

    /// Checks `bytes` and takes them as a path.
    pub fn parse(bytes: impl AsRef<[u8]>) -> Result<Self, InvalidPath> {
        let bytes = bytes.as_ref();
        let shown = || String::from_utf8_lossy(bytes).into_owned();
        if bytes.is_empty() {
            return Err(InvalidPath::Empty);
        }
        if bytes.contains(&0) {
            return Err(InvalidPath::Nul(shown()));
        }
        let plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        if !bytes.split(|&b| b == b'/').all(plain) {
            return Err(InvalidPath::NotPlain(shown()));
        }
        Ok(TreePath(Arc::from(bytes)))
    }

    /// The bytes of the path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of `name` inside this directory; `name` is one component or several.
    pub fn join(&self, name: impl AsRef<[u8]>) -> Result<Self, InvalidPath> {
        let name = name.as_ref();
        if self.is_root() {
            return TreePath::parse(name);
        }
        let mut joined = Vec::with_capacity(self.0.len() + 1 + name.len());
        joined.extend_from_slice(&self.0);
        joined.push(b'/');
        joined.extend_from_slice(name);
        TreePath::parse(joined)
    }

    /// The directory that holds it; the root for a top-level name and for the root itself.
    pub fn parent(&self) -> Self {
        match self.0.iter().rposition(|&b| b == b'/') {
            Some(slash) => TreePath(Arc::from(&self.0[..slash])),
            None => TreePath::root(),
        }
    }

    /// The last component.
    pub fn name(&self) -> &[u8] {
        match self.0.iter().rposition(|&b| b == b'/') {
            Some(slash) => &self.0[slash + 1..],
            None => &self.0,
        }
    }

    /// The components, first to last.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&b| b == b'/').filter(|part| !part.is_empty())
    }

    /// Whether it lies below `dir`, at any depth, and is not `dir` itself.
    pub fn is_below(&self, dir: &TreePath) -> bool {
        if dir.is_root() {
            return !self.is_root();
        }
        self.0.len() > dir.0.len() && self.0.starts_with(&dir.0) && self.0[dir.0.len()] == b'/'
    }

    /// The directories above it, nearest first, without the root.
    pub fn ancestors(&self) -> impl Iterator<Item = TreePath> {
        let bytes = self.0.clone();
        let slashes: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i] == b'/').collect();
        slashes
            .into_iter()
            .rev()
            .map(move |end| TreePath(Arc::from(&bytes[..end])))
    }
}

/// Shows the path with control characters, and bytes that are not UTF-8, escaped.
impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        f.write_str(&crate::bytes::printable(&self.0))
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreePath({self})")
    }
}

impl Borrow<[u8]> for TreePath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ByteString::borrowed(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TreePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = ByteString::deserialize(deserializer)?;
        TreePath::parse(bytes.as_bytes()).map_err(serde::de::Error::custom)
    }
}
