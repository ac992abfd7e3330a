//! Patches that `git apply` takes, and for text GNU `patch -p1` as well.
//!
//! They are what `git diff` writes, with these differences: a comment line on top, which both
//! tools skip; the blob ids of an `index` line only where a tool needs them, since they cost a
//! hash of the content; and names quoted also where they hold a space, since GNU patch finds no
//! other end of a name in a header line.
//!
//! GNU patch (2.7) cannot take binary content, nor names of more than 247 bytes, beside which it
//! finds no room for the suffix of its temporary file. It takes all other names.

mod binary;
mod name;

use sha1::{Digest as _, Sha1};

use crate::diff::{Hunk, TextDiff, is_text};
use crate::edit::LineEdit;
use crate::event::Mode;
use crate::path::TreePath;
use name::{Side, write_name};

/// Binary content over so many bytes is not in the patch, which then only says that it differs.
pub const BINARY_MAX: usize = 1 << 20;

const CONTEXT_LINES: u32 = 3;

/// What happens to one file: mode and content before and after, absent where there is no file.
///
/// The content of a symlink is its target.
#[derive(Debug, Clone, Copy)]
pub struct PatchFile<'a> {
    /// The file; after a rename, its new name.
    pub path: &'a TreePath,
    /// Its old name, where it is renamed.
    pub from: Option<&'a TreePath>,
    /// The file before.
    pub before: Option<(Mode, &'a [u8])>,
    /// The file after.
    pub after: Option<(Mode, &'a [u8])>,
    /// The edit that was recorded, so that its hunks are shown; without one, or where it is not
    /// between these contents, they are compared.
    pub edit: Option<&'a LineEdit>,
}

/// Writes a patch: `comment` as its first line, then each file in the order given.
///
/// A comment that holds a newline is cut there. A change between file and symlink is written as a
/// deletion and a creation.
pub fn write_patch(comment: &str, files: &[PatchFile<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(b"# ");
    out.extend_from_slice(comment.lines().next().unwrap_or_default().as_bytes());
    out.push(b'\n');
    for file in files {
        file.write(&mut out);
    }
    out
}

impl PatchFile<'_> {
    /// Appends what a patch says of this file; nothing if nothing happens to it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match (self.before, self.after) {
            (Some((old, _)), Some((new, _))) if old.is_symlink() != new.is_symlink() => {
                let path = self.from.unwrap_or(self.path);
                let deleted = PatchFile {
                    path,
                    from: None,
                    after: None,
                    edit: None,
                    ..*self
                };
                let created = PatchFile {
                    from: None,
                    before: None,
                    edit: None,
                    ..*self
                };
                deleted.write_section(out);
                created.write_section(out);
            }
            (before, after) if before == after && self.from.is_none() => {}
            _ => self.write_section(out),
        }
    }

    fn write_section(&self, out: &mut Vec<u8>) {
        let old = self.before.map_or(&[][..], |(_, content)| content);
        let new = self.after.map_or(&[][..], |(_, content)| content);
        let is_binary = old != new && (!is_text(old) || !is_text(new));
        let fits = old.len().max(new.len()) <= BINARY_MAX;
        self.write_header(out);
        if (is_binary && fits) || self.gnu_patch_needs_index() {
            self.write_index(out);
        }
        if old == new {
            return;
        }
        if !is_binary {
            self.write_text(old, new, out);
        } else if fits {
            binary::write(old, new, out);
        } else {
            out.extend_from_slice(b"Binary files ");
            self.write_old_name(out);
            out.extend_from_slice(b" and ");
            self.write_new_name(out);
            out.extend_from_slice(b" differ\n");
        }
    }

    fn write_header(&self, out: &mut Vec<u8>) {
        let from = self.from.unwrap_or(self.path);
        out.extend_from_slice(b"diff --git ");
        write_name(Some(Side::Old), from, out);
        out.push(b' ');
        write_name(Some(Side::New), self.path, out);
        out.push(b'\n');
        let mut line = |text: &str, mode: Mode| {
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(mode.as_str().as_bytes());
            out.push(b'\n');
        };
        match (self.before, self.after) {
            (None, Some((mode, _))) => line("new file mode ", mode),
            (Some((mode, _)), None) => line("deleted file mode ", mode),
            (Some((old, _)), Some((new, _))) if old != new => {
                line("old mode ", old);
                line("new mode ", new);
            }
            _ => {}
        }
        if self.from.is_some() {
            if self.before.map(|(_, c)| c) == self.after.map(|(_, c)| c) {
                out.extend_from_slice(b"similarity index 100%\n");
            }
            out.extend_from_slice(b"rename from ");
            write_name(None, from, out);
            out.extend_from_slice(b"\nrename to ");
            write_name(None, self.path, out);
            out.push(b'\n');
        }
    }

    /// GNU patch learns from the index line alone that a file stays a symlink, and that a deleted
    /// empty file was no mistake.
    fn gnu_patch_needs_index(&self) -> bool {
        match (self.before, self.after) {
            (Some((old, _)), Some((new, _))) => old.is_symlink() && new.is_symlink(),
            (Some((_, content)), None) => content.is_empty(),
            _ => false,
        }
    }

    /// The blob ids before and after, and the mode where it stays.
    fn write_index(&self, out: &mut Vec<u8>) {
        let id = |side: Option<(Mode, &[u8])>| side.map_or("0".repeat(40), |(_, c)| blob_id(c));
        let index = format!("index {}..{}", id(self.before), id(self.after));
        out.extend_from_slice(index.as_bytes());
        if let (Some((old, _)), Some((new, _))) = (self.before, self.after)
            && old == new
        {
            out.push(b' ');
            out.extend_from_slice(old.as_str().as_bytes());
        }
        out.push(b'\n');
    }

    fn write_text(&self, old: &[u8], new: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"--- ");
        self.write_old_name(out);
        out.extend_from_slice(name::tab_after(self.from.unwrap_or(self.path)));
        out.extend_from_slice(b"\n+++ ");
        self.write_new_name(out);
        out.extend_from_slice(name::tab_after(self.path));
        out.push(b'\n');
        let recorded = self
            .edit
            .and_then(recorded_hunks)
            .and_then(|hunks| TextDiff::with_hunks(old, new, hunks));
        recorded
            .unwrap_or_else(|| TextDiff::between(old, new))
            .write_unified(CONTEXT_LINES, out);
    }

    fn write_old_name(&self, out: &mut Vec<u8>) {
        match self.before {
            Some(_) => write_name(Some(Side::Old), self.from.unwrap_or(self.path), out),
            None => out.extend_from_slice(b"/dev/null"),
        }
    }

    fn write_new_name(&self, out: &mut Vec<u8>) {
        match self.after {
            Some(_) => write_name(Some(Side::New), self.path, out),
            None => out.extend_from_slice(b"/dev/null"),
        }
    }
}

/// The hunks of an edit, where its line numbers are those of a text.
fn recorded_hunks(edit: &LineEdit) -> Option<Vec<Hunk>> {
    let lines = |range: std::ops::Range<u64>| {
        let start = u32::try_from(range.start).ok()?;
        Some(start..u32::try_from(range.end).ok()?)
    };
    edit.hunks()
        .map(|hunk| {
            Some(Hunk {
                old: lines(hunk.old)?,
                new: lines(hunk.new)?,
            })
        })
        .collect()
}

/// Git's id of some content, in hexadecimal.
fn blob_id(content: &[u8]) -> String {
    let mut sha1 = Sha1::new();
    sha1.update(format!("blob {}\0", content.len()));
    sha1.update(content);
    let digits = sha1.finalize();
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}
