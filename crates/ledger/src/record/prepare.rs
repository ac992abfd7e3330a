//! From what a file was and what it is to the bodies of its events.

use std::sync::Arc;

use ledger_core::diff::{self, TextDiff};
use ledger_core::edit::LineEdit;
use ledger_core::storage::{Storage, StorageError};
use ledger_core::{
    AFFECTED_LINES_MAX, Action, ActionScope, ArtifactImpact, Body, Change, Clock, DiffMode, Digest,
    FileEdit, FileState, Mode, ObjectRef, SemanticBlock, TreePath,
    objects::{self, Staging},
};
use ledger_semantic::{Located, Outline};

/// Bytes inserted and deleted that a row holds; past that an object does.
const INLINE_MAX: usize = 64 * 1024;
/// JSON of line operations that a row holds: escapes can make six bytes of one.
const INLINE_JSON_MAX: usize = 200 * 1024;
/// Hunks of one file that become events of their own.
const HUNKS_MAX: usize = 256;
/// Bytes that may be hashed for the states between hunks, so that huge files stay quick.
const HASHED_MAX: usize = 256 << 20;

/// A file as it stands before or after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub mode: Mode,
    pub content: Arc<Vec<u8>>,
    pub hash: Digest,
}

impl Version {
    pub fn new(mode: Mode, content: Arc<Vec<u8>>) -> Self {
        let hash = Digest::of(&content);
        Version {
            mode,
            content,
            hash,
        }
    }

    pub fn state(&self) -> FileState {
        FileState {
            mode: self.mode,
            hash: self.hash,
        }
    }
}

/// The events of one file, and what is needed to write their patches.
#[derive(Debug)]
pub(crate) struct FileEvents {
    pub before: Option<Version>,
    pub bodies: Vec<Body>,
}

/// What making events needs of the world.
pub(crate) struct Preparer<'a> {
    pub storage: &'a dyn Storage,
    pub clock: &'a dyn Clock,
    /// Names temporary files.
    pub token: u64,
    /// Where objects wait to be made durable together; without it each is durable at once.
    pub staging: Option<&'a Staging<'a>>,
    /// Whether blocks are looked for.
    pub semantics: bool,
    /// What each body begins with.
    pub template: &'a Body,
}

impl Preparer<'_> {
    /// The events that take `path` from one version to another; none when they are equal.
    pub fn change(
        &self,
        path: &TreePath,
        before: Option<&Version>,
        after: Option<&Version>,
    ) -> Result<Vec<FileEvents>, StorageError> {
        let events = |before: Option<&Version>, bodies| FileEvents {
            before: before.cloned(),
            bodies,
        };
        Ok(match (before, after) {
            (None, None) => Vec::new(),
            (None, Some(new)) => vec![events(None, vec![self.create(path, new)?])],
            (Some(old), None) => vec![events(before, vec![self.delete(path, old)?])],
            (Some(old), Some(new)) if old.mode.is_symlink() != new.mode.is_symlink() => vec![
                events(before, vec![self.delete(path, old)?]),
                events(None, vec![self.create(path, new)?]),
            ],
            (Some(old), Some(new)) => {
                let mut bodies = Vec::new();
                if old.mode != new.mode {
                    bodies.push(self.set_mode(path, old, new.mode));
                }
                if old.hash != new.hash {
                    self.edit(path, old, new, &mut bodies)?;
                }
                match bodies.is_empty() {
                    true => Vec::new(),
                    false => vec![events(before, bodies)],
                }
            }
        })
    }

    /// The event that gives a file another name and nothing else.
    pub fn rename(
        &self,
        from: &TreePath,
        to: &TreePath,
        version: &Version,
        mode: Mode,
    ) -> FileEvents {
        let action = match from.parent() == to.parent() {
            true => Action::FileRename,
            false => Action::FileMove,
        };
        let after = FileState {
            mode,
            hash: version.hash,
        };
        let edit = FileEdit {
            path: to.clone(),
            from: Some(from.clone()),
            before: Some(version.state()),
            after: Some(after),
            change: Change::None,
        };
        FileEvents {
            before: Some(version.clone()),
            bodies: vec![self.body(action, edit)],
        }
    }

    fn body(&self, action: Action, edit: FileEdit) -> Body {
        Body {
            action,
            action_scope: ActionScope::File,
            edits: vec![Arc::new(edit)],
            ..self.template.clone()
        }
    }

    fn create(&self, path: &TreePath, new: &Version) -> Result<Body, StorageError> {
        let text = diff::is_text(&new.content);
        let change = match new.content.len() {
            0 => Change::None,
            length if text && length <= INLINE_MAX => {
                let lines = LineEdit::between(b"", &new.content);
                match fits_in_row(&lines) {
                    true => Change::Lines(lines),
                    false => self.content(new)?,
                }
            }
            _ => self.content(new)?,
        };
        let after = Some(new.state());
        let edit = FileEdit {
            path: path.clone(),
            from: None,
            before: None,
            after,
            change,
        };
        let mut body = self.body(Action::FileCreate, edit);
        if !text {
            mark_binary(&mut body, path, None, Some(new));
        }
        Ok(body)
    }

    fn delete(&self, path: &TreePath, old: &Version) -> Result<Body, StorageError> {
        let text = diff::is_text(&old.content);
        let change = match old.content.is_empty() || !text {
            true => Change::None,
            false => self.lines(LineEdit::between(&old.content, b""))?,
        };
        let before = Some(old.state());
        let edit = FileEdit {
            path: path.clone(),
            from: None,
            before,
            after: None,
            change,
        };
        let mut body = self.body(Action::FileDelete, edit);
        if !text {
            mark_binary(&mut body, path, Some(old), None);
        }
        Ok(body)
    }

    fn set_mode(&self, path: &TreePath, old: &Version, mode: Mode) -> Body {
        let after = FileState {
            mode,
            hash: old.hash,
        };
        let edit = FileEdit {
            path: path.clone(),
            from: None,
            before: Some(old.state()),
            after: Some(after),
            change: Change::None,
        };
        let mut body = self.body(Action::EditReplace, edit);
        body.semantic_block = Some(whole_file(path));
        body
    }

    /// The events of a change of content; the mode is the new one already.
    fn edit(
        &self,
        path: &TreePath,
        old: &Version,
        new: &Version,
        bodies: &mut Vec<Body>,
    ) -> Result<(), StorageError> {
        let state = |hash| {
            Some(FileState {
                mode: new.mode,
                hash,
            })
        };
        let edit = |before, after, change| FileEdit {
            path: path.clone(),
            from: None,
            before: state(before),
            after: state(after),
            change,
        };
        if !diff::is_text(&old.content) || !diff::is_text(&new.content) {
            let edit = edit(old.hash, new.hash, self.content(new)?);
            let mut body = self.body(Action::EditReplace, edit);
            body.semantic_block = Some(whole_file(path));
            mark_binary(&mut body, path, Some(old), Some(new));
            bodies.push(body);
            return Ok(());
        }
        let compared = TextDiff::between(&old.content, &new.content);
        let whole = LineEdit::from_diff(&compared);
        let mut blocks = Blocks::new(self, path, old, new);
        let hunks = compared.hunks();
        let hashed = hunks.len().saturating_mul(new.content.len());
        if hunks.len() > HUNKS_MAX || hashed > HASHED_MAX {
            let all = hunks
                .iter()
                .flat_map(|hunk| hunk.new.clone())
                .map(|line| line + 1);
            let span = hunks.first().zip(hunks.last());
            let span = span.map_or(0..0, |(first, last)| first.new.start..last.new.end);
            let mut body = self.body(
                Action::EditReplace,
                edit(old.hash, new.hash, self.lines(whole)?),
            );
            set_lines(&mut body, all);
            blocks.locate(
                &mut body,
                &(0..1),
                &(span.start..span.end.max(span.start + 1)),
            );
            bodies.push(body);
            return Ok(());
        }
        let hashes = hashes_between(&compared);
        let mut before = old.hash;
        for ((hunk, step), after) in hunks.iter().zip(whole.split()).zip(hashes) {
            let action = match (hunk.old.is_empty(), hunk.new.is_empty()) {
                (true, _) => Action::EditInsert,
                (_, true) => Action::EditDelete,
                _ => Action::EditReplace,
            };
            // What is deleted has lines of the text before this event: above it all is done already.
            let deleted = hunk.new.start..hunk.new.start + (hunk.old.end - hunk.old.start);
            let lines = if hunk.new.is_empty() {
                deleted
            } else {
                hunk.new.clone()
            };
            let mut body = self.body(action, edit(before, after, self.lines(step)?));
            body.action_scope = ActionScope::Line;
            set_lines(&mut body, lines.map(|line| line + 1));
            blocks.locate(&mut body, &hunk.old, &hunk.new);
            bodies.push(body);
            before = after;
        }
        Ok(())
    }

    /// Line operations in the row, or in an object.
    fn lines(&self, lines: LineEdit) -> Result<Change, StorageError> {
        if lines.inserted_bytes() + lines.deleted_bytes() <= INLINE_MAX && fits_in_row(&lines) {
            return Ok(Change::Lines(lines));
        }
        // Line operations always serialise.
        let json = serde_json::to_vec(&lines).unwrap_or_default();
        Ok(Change::LinesObject(self.put(&json)?))
    }

    fn content(&self, new: &Version) -> Result<Change, StorageError> {
        Ok(Change::Content(self.put(&new.content)?))
    }

    fn put(&self, bytes: &[u8]) -> Result<ObjectRef, StorageError> {
        match self.staging {
            Some(staging) => staging.put(bytes),
            None => objects::put(self.storage, bytes, self.token),
        }
    }
}

/// Whether the JSON of line operations leaves room for the rest of a row.
fn fits_in_row(lines: &LineEdit) -> bool {
    let bytes = lines.inserted_bytes() + lines.deleted_bytes();
    // Even if each byte were escaped.
    bytes * 6 <= INLINE_JSON_MAX
        || ledger_core::safe_json(lines).is_ok_and(|json| json.len() <= INLINE_JSON_MAX)
}

/// The digest of the text after each hunk, top to bottom.
fn hashes_between(compared: &TextDiff<'_>) -> Vec<Digest> {
    let (old, new) = (compared.old_text(), compared.new_text());
    let mut above = blake3::Hasher::new();
    let mut done = 0;
    let hashes = compared.hunks().iter().map(|hunk| {
        above.update(new.range(done..hunk.new.end).unwrap_or_default());
        done = hunk.new.end;
        let mut whole = above.clone();
        whole.update(old.range(hunk.old.end..old.len()).unwrap_or_default());
        Digest::from(whole.finalize())
    });
    hashes.collect()
}

fn set_lines(body: &mut Body, lines: impl Iterator<Item = u32>) {
    let mut lines = lines.peekable();
    let first = lines.peek().copied();
    let mut last = None;
    let mut count = 0;
    for line in lines {
        if count < AFFECTED_LINES_MAX {
            body.affected_lines.push(line);
        }
        count += 1;
        last = Some(line);
    }
    if count > AFFECTED_LINES_MAX {
        body.affected_range = first.zip(last).map(|(first, last)| [first, last]);
    }
}

fn whole_file(path: &TreePath) -> SemanticBlock {
    SemanticBlock {
        kind: "file".to_owned(),
        id: path.to_string(),
    }
}

fn mark_binary(body: &mut Body, path: &TreePath, old: Option<&Version>, new: Option<&Version>) {
    let length = |version: Option<&Version>| version.map_or(0, |version| version.content.len());
    let (was, is) = (length(old), length(new));
    body.diff_mode = DiffMode::Binary;
    body.artifact_impacts = vec![ArtifactImpact {
        path: path.clone(),
        bytes_changed: is as i64 - was as i64,
        hash_before: old.map(|version| version.hash),
        hash_after: new.map(|version| version.hash),
        summary: format!("{was} bytes -> {is} bytes"),
    }];
}

/// The blocks of the two texts, each parsed when it is first asked for.
struct Blocks<'a> {
    preparer: &'a Preparer<'a>,
    path: &'a TreePath,
    old: &'a [u8],
    new: &'a [u8],
    old_outline: Option<Outline>,
    new_outline: Option<Outline>,
}

impl<'a> Blocks<'a> {
    fn new(
        preparer: &'a Preparer<'a>,
        path: &'a TreePath,
        old: &'a Version,
        new: &'a Version,
    ) -> Self {
        Blocks {
            preparer,
            path,
            old: &old.content,
            new: &new.content,
            old_outline: None,
            new_outline: None,
        }
    }

    /// Notes the block of a change: in the new text, or in the old one for a deletion.
    fn locate(&mut self, body: &mut Body, old: &std::ops::Range<u32>, new: &std::ops::Range<u32>) {
        let Blocks { preparer, path, .. } = *self;
        let (lines, text, outline) = match new.is_empty() {
            true => (old, self.old, &mut self.old_outline),
            false => (new, self.new, &mut self.new_outline),
        };
        let (first, last) = (lines.start + 1, lines.end.max(lines.start + 1));
        if !preparer.semantics {
            let id = format!("{first}-{last}");
            body.semantic_block = Some(SemanticBlock {
                kind: "lines".to_owned(),
                id,
            });
            return;
        }
        let outline = outline.get_or_insert_with(|| Outline::parse(path, text, preparer.clock));
        let Located { block, warning } = outline.block(first, last);
        body.semantic_block = Some(block);
        body.semantic_warning = warning.map(|warning| warning.to_string());
    }
}
