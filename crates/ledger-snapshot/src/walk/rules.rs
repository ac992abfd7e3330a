//! Ignore files: read, compiled, and asked in order of strength.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ledger_core::TreePath;
use ledger_core::storage::{
    FileKind, OpenMode, Storage, StorageError, StorageFile, if_present, read_range,
};

use super::{IgnoreWarning, glob, stat_if_present};

pub(super) const GITIGNORE: &[u8] = b".gitignore";
pub(super) const BENCHIGNORE: &[u8] = b".benchignore";

/// An ignore file longer than this is a mistake or an attack.
const MAX_FILE: u64 = 1024 * 1024;
/// Patterns of one file; as many compile in a moment.
const MAX_PATTERNS: usize = 4096;
/// Bytes of one pattern; no path is longer.
const MAX_PATTERN: usize = 4096;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The ignore files of one directory, and through it those above.
#[derive(Debug)]
pub(super) struct Layer {
    above: Option<Arc<Layer>>,
    /// How much of a path leads to this directory.
    prefix: usize,
    git: Gitignore,
    bench: Gitignore,
}

impl Layer {
    /// The rules in a directory: those of its own ignore files over `above`.
    pub fn load(
        storage: &dyn Storage,
        dir: &TreePath,
        above: Option<Arc<Layer>>,
        warnings: &mut Vec<IgnoreWarning>,
    ) -> Result<Option<Arc<Layer>>, StorageError> {
        let mut present = |name: &[u8]| match dir.join(name) {
            Ok(path) => match stat_if_present(storage, &path)? {
                Some(stat) if stat.kind == FileKind::File => read(storage, &path, warnings),
                _ => Ok(Gitignore::empty()),
            },
            Err(_) => Ok(Gitignore::empty()),
        };
        let (git, bench) = (present(GITIGNORE)?, present(BENCHIGNORE)?);
        Ok(Layer::over(above, dir, git, bench))
    }

    /// The same where it is known which files are there.
    pub fn over(
        above: Option<Arc<Layer>>,
        dir: &TreePath,
        git: Gitignore,
        bench: Gitignore,
    ) -> Option<Arc<Layer>> {
        if git.is_empty() && bench.is_empty() {
            return above;
        }
        let prefix = match dir.as_bytes().len() {
            0 => 0,
            len => len + 1,
        };
        Some(Arc::new(Layer {
            above,
            prefix,
            git,
            bench,
        }))
    }

    /// This layer and those above it, the deepest first.
    fn upwards(&self) -> impl Iterator<Item = &Layer> {
        std::iter::successors(Some(self), |layer| layer.above.as_deref())
    }
}

/// Layers above one another are let go one by one: a tree may be deeper than the stack.
impl Drop for Layer {
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(mut layer) = above.and_then(Arc::into_inner) {
            above = layer.above.take();
        }
    }
}

/// Whether the strongest rule that has something to say of `path` ignores it. The directories above
/// it are not looked at.
pub(super) fn is_ignored(
    configured: &Gitignore,
    layer: Option<&Layer>,
    path: &TreePath,
    is_dir: bool,
) -> bool {
    let matched = |rules: &Gitignore, prefix: usize| {
        let path = Path::new(OsStr::from_bytes(&path.as_bytes()[prefix..]));
        match rules.matched(path, is_dir) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    };
    let layers = || layer.into_iter().flat_map(Layer::upwards);
    matched(configured, 0)
        .or_else(|| layers().find_map(|layer| matched(&layer.bench, layer.prefix)))
        .or_else(|| layers().find_map(|layer| matched(&layer.git, layer.prefix)))
        .unwrap_or(false)
}

/// Reads and compiles an ignore file. One that may not be read, or is too long, is a warning.
pub(super) fn read(
    storage: &dyn Storage,
    path: &TreePath,
    warnings: &mut Vec<IgnoreWarning>,
) -> Result<Gitignore, StorageError> {
    let mut skip = |why: String| {
        let file = Some(path.clone());
        warnings.push(IgnoreWarning { file, line: 0, why });
        Ok(Gitignore::empty())
    };
    let file = match if_present(storage.open(path, OpenMode::Read)) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Gitignore::empty()),
        Err(error) => return skip(error.source.to_string()),
    };
    let bytes = read_at_most(file.as_ref(), MAX_FILE + 1)?;
    if bytes.len() as u64 > MAX_FILE {
        return skip(format!("it is longer than {MAX_FILE} bytes"));
    }
    let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    Ok(compile(Some(path), text.split(|&b| b == b'\n'), warnings))
}

fn read_at_most(file: &dyn StorageFile, limit: u64) -> Result<Vec<u8>, StorageError> {
    let len = file.stat()?.size.min(limit);
    read_range(file, 0, usize::try_from(len).unwrap_or(0))
}

/// Compiles lines; those that are no patterns are warnings.
pub(super) fn compile<'a>(
    file: Option<&TreePath>,
    lines: impl Iterator<Item = &'a [u8]>,
    warnings: &mut Vec<IgnoreWarning>,
) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    builder.allow_unclosed_class(false);
    let mut warn = |line: usize, why: String| {
        let file = file.cloned();
        warnings.push(IgnoreWarning { file, line, why });
    };
    let mut patterns = 0;
    for (at, line) in lines.enumerate() {
        let added = match glob::translate(line) {
            Ok(None) => continue,
            Ok(Some(pattern)) if pattern.len() <= MAX_PATTERN => builder
                .add_line(None, &pattern)
                .map(|_| ())
                .map_err(|error| error.to_string()),
            Ok(Some(_)) => Err(format!("it is longer than {MAX_PATTERN} bytes")),
            Err(why) => Err(why.to_owned()),
        };
        match added {
            Ok(()) => patterns += 1,
            Err(why) => warn(at + 1, why),
        }
        if patterns == MAX_PATTERNS {
            warn(
                at + 2,
                format!("it and those after it are more than {MAX_PATTERNS} patterns"),
            );
            break;
        }
    }
    builder.build().unwrap_or_else(|error| {
        warn(0, error.to_string());
        Gitignore::empty()
    })
}
