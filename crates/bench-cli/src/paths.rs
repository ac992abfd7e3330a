//! Files as they are named on a command line, and as the ledger names them.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ledger::core::TreePath;

use crate::error::CommandError;

/// The root, and the directory that arguments are relative to.
pub(crate) struct Paths {
    root: PathBuf,
    cwd: PathBuf,
}

impl Paths {
    /// `cwd` is absolute; `root` may be relative to it.
    pub fn new(root: &Path, cwd: &Path) -> Self {
        Paths {
            root: normal(&cwd.join(root)),
            cwd: cwd.to_path_buf(),
        }
    }

    /// The path of an argument, which is relative to the current directory. No link below the root is
    /// followed: `..` takes a name away, as it does in git.
    pub fn of_arg(&self, arg: &Path) -> Result<TreePath, CommandError> {
        let absolute = normal(&self.cwd.join(arg));
        match self.below_root(&absolute) {
            Some(relative) if relative.as_os_str().is_empty() => Ok(TreePath::root()),
            Some(relative) => parse(&relative),
            None => Err(outside(arg)),
        }
    }

    /// The path of an argument that is relative to the root.
    pub fn of_root(&self, arg: &Path) -> Result<TreePath, CommandError> {
        let absolute = normal(&self.root.join(arg));
        match absolute.strip_prefix(&self.root) {
            Ok(relative) => parse(relative),
            Err(_) => Err(outside(arg)),
        }
    }

    /// The path of an argument to a command that looks into a state: relative to the root, and with
    /// `./` or `../` before it relative to the current directory, as in `git show REV:PATH`.
    pub fn in_state(&self, arg: &Path) -> Result<TreePath, CommandError> {
        let here = arg.as_os_str().as_bytes();
        match here.starts_with(b"./") || here.starts_with(b"../") || arg.is_absolute() {
            true => self.of_arg(arg),
            false => self.of_root(arg),
        }
    }

    /// What remains of an absolute path below the root, whichever links lead to that.
    fn below_root(&self, absolute: &Path) -> Option<PathBuf> {
        if let Ok(relative) = absolute.strip_prefix(&self.root) {
            return Some(relative.to_path_buf());
        }
        let root = self.root.canonicalize().ok()?;
        let mut above: Vec<&Path> = absolute.ancestors().collect();
        above.reverse();
        let found = above
            .into_iter()
            .find(|dir| dir.canonicalize().is_ok_and(|dir| dir == root))?;
        absolute.strip_prefix(found).ok().map(Path::to_path_buf)
    }
}

/// Takes `.` and `..` out of an absolute path, by its names alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

fn parse(path: &Path) -> Result<TreePath, CommandError> {
    TreePath::parse(path.as_os_str().as_bytes()).map_err(CommandError::failed)
}

fn outside(arg: &Path) -> CommandError {
    CommandError::failed(format!("{} is outside the workspace", arg.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(root: &str, cwd: &str, arg: &str, expect: &str) {
        let paths = Paths::new(Path::new(root), Path::new(cwd));
        let found = paths.of_arg(Path::new(arg));
        let found = found.map_or_else(|_| "outside".to_owned(), |path| path.to_string());
        assert_eq!(found, expect, "{arg} in {cwd}");
    }

    #[test]
    fn arguments_are_relative_to_the_current_directory() {
        check("/w", "/w", "a.py", "a.py");
        check("/w", "/w/sub", "a.py", "sub/a.py");
        check("/w", "/w/sub", "../a.py", "a.py");
        check("/w", "/w/sub", "./x/../y/", "sub/y");
        check("/w", "/w/sub", "..", ".");
        check("/w", "/w", "/w/a/b", "a/b");
        check("sub", "/w", "sub/a", "a");
    }

    #[test]
    fn what_lies_outside_is_refused() {
        check("/w", "/w", "../a", "outside");
        check("/w", "/w/sub", "../../w2/a", "outside");
        check("/w", "/w", "/etc/passwd", "outside");
    }
}
