//! Rows of `events.jsonl`, format version 1: one JSON object a line, in fixed key order.
//!
//! The private structs here are the format; `docs/format/events.md` describes it. They are mapped to
//! the types of [`crate::event`] and nowhere else used. A row ends with `,"hash":"blake3:<64 hex>"}`,
//! and that hash is the digest of the bytes before the comma.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;

use crate::bytes::is_unsafe_char;
use crate::digest::Digest;
use crate::edit::LineEdit;
use crate::event::{
    Action, ActionScope, ArtifactImpact, Author, BatchPlace, Body, BookmarkOp, Change, DiffMode,
    Event, FileEdit, FileState, Format, Mode, ObjectRef, RewindNote, SemanticBlock, SnapshotNote,
};
use crate::id::{EventId, SnapshotId};
use crate::path::TreePath;
use crate::time::Timestamp;

/// The format's name, on the first row.
pub const FORMAT_NAME: &str = "bench-ledger";
/// The version that this module reads and writes.
pub const FORMAT_VERSION: u32 = 1;
/// Longest row in bytes, with its newline.
pub const ROW_MAX: usize = 256 * 1024;

const HASH_KEY: &[u8] = b",\"hash\":\"";
/// Length of what follows the hashed bytes: the key, the digest, a quote and a brace.
const SUFFIX_LEN: usize = HASH_KEY.len() + Digest::TEXT_LEN + 2;

/// Why a line is not a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowFault {
    /// It does not end with a hash.
    #[error("the line does not end with a row's hash")]
    NoHash,
    /// Its bytes are not those that were hashed.
    #[error("the hash of the row does not match: expected {expected}, actual {actual}")]
    WrongHash {
        /// What the row says.
        expected: Digest,
        /// What its bytes give.
        actual: Digest,
    },
    /// It is not the JSON of a row.
    #[error("the row cannot be read: {0}")]
    Malformed(String),
}

/// Which rows hang together: all that is needed to follow the chain.
#[derive(Debug, Deserialize)]
pub struct Link {
    pub id: EventId,
    #[serde(default)]
    pub batch: Option<BatchPlace>,
    pub prev: Option<Digest>,
}

#[derive(Serialize, Deserialize)]
struct Row<'a> {
    id: EventId,
    ts: Timestamp,
    author: Cow<'a, Author>,
    action_type: Cow<'a, Action>,
    branch: Cow<'a, str>,
    run_id: Option<Cow<'a, str>>,
    parent_event_id: Option<EventId>,
    files: Vec<TreePath>,
    diff_path: Option<String>,
    affected_lines: Cow<'a, [u32]>,
    semantic_block: Option<Cow<'a, SemanticBlock>>,
    rationale: Option<Cow<'a, str>>,
    artifacts: Cow<'a, [String]>,
    snapshot_ref: Option<SnapshotId>,
    bookmark: Option<Cow<'a, str>>,
    operation_id: Option<Cow<'a, str>>,
    action_scope: Cow<'a, ActionScope>,
    diff_mode: Cow<'a, DiffMode>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<Edit<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<BatchPlace>,
    parent_at: Option<u64>,
    base_snapshot: Option<SnapshotId>,
    #[serde(default)]
    in_workspace: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    affected_range: Option<[u32; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    semantic_warning: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boundary: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bookmark_op: Option<Cow<'a, BookmarkOp>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snapshot: Option<Cow<'a, SnapshotNote>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rewind: Option<Cow<'a, RewindNote>>,
    #[serde(default, skip_serializing_if = "map_is_empty")]
    artifact_digests: Cow<'a, BTreeMap<String, Digest>>,
    #[serde(default, skip_serializing_if = "slice_is_empty")]
    artifact_impacts: Cow<'a, [ArtifactImpact]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authored_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<Cow<'a, Format>>,
    prev: Option<Digest>,
}

fn map_is_empty(map: &BTreeMap<String, Digest>) -> bool {
    map.is_empty()
}

fn slice_is_empty(slice: &[ArtifactImpact]) -> bool {
    slice.is_empty()
}

#[derive(Serialize, Deserialize)]
struct Edit<'a> {
    path: TreePath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<TreePath>,
    /// Mode after; of a deletion, before.
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode_before: Option<Mode>,
    hash_before: Option<Digest>,
    hash_after: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Cow<'a, LineEdit>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines_object: Option<ObjectRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<ObjectRef>,
}

impl<'a> Edit<'a> {
    fn from_domain(edit: &'a FileEdit) -> Result<Self, RowFault> {
        let mode = edit.after.or(edit.before).map(|state| state.mode);
        let mode = mode.ok_or_else(|| malformed("an edit has no state before or after"))?;
        let mode_before = edit.before.map(|state| state.mode);
        let mut wire = Edit {
            path: edit.path.clone(),
            from: edit.from.clone(),
            mode,
            mode_before: mode_before.filter(|before| *before != mode),
            hash_before: edit.before.map(|state| state.hash),
            hash_after: edit.after.map(|state| state.hash),
            lines: None,
            lines_object: None,
            object: None,
        };
        match &edit.change {
            Change::None => {}
            Change::Lines(lines) => wire.lines = Some(Cow::Borrowed(lines)),
            Change::LinesObject(object) => wire.lines_object = Some(*object),
            Change::Content(object) => wire.object = Some(*object),
        }
        Ok(wire)
    }

    fn into_domain(self) -> Result<FileEdit, RowFault> {
        let mode_before = self.mode_before.unwrap_or(self.mode);
        let before = self.hash_before.map(|hash| FileState {
            mode: mode_before,
            hash,
        });
        let after = self.hash_after.map(|hash| FileState {
            mode: self.mode,
            hash,
        });
        if before.is_none() && after.is_none() {
            return Err(malformed("an edit has no state before or after"));
        }
        if self
            .from
            .iter()
            .chain([&self.path])
            .any(crate::layout::is_reserved)
        {
            return Err(malformed("an edit names a path that is not tracked"));
        }
        let change = match (self.lines, self.lines_object, self.object) {
            (None, None, None) => Change::None,
            (Some(lines), None, None) => Change::Lines(lines.into_owned()),
            (None, Some(object), None) => Change::LinesObject(object),
            (None, None, Some(object)) => Change::Content(object),
            _ => {
                return Err(malformed(
                    "an edit has more than one of lines, lines_object, object",
                ));
            }
        };
        if let Change::Content(object) = &change
            && after.is_none_or(|state| state.hash != object.hash)
        {
            return Err(malformed("an edit's object is not its content after"));
        }
        Ok(FileEdit {
            path: self.path,
            from: self.from,
            before,
            after,
            change,
        })
    }
}

fn malformed(why: &str) -> RowFault {
    RowFault::Malformed(why.to_owned())
}

/// The name of an event's patch file, relative to the root.
pub fn diff_path(id: EventId) -> String {
    format!("results/diffs/diff-{id}.patch")
}

/// Writes an event as a line, without its newline, and returns its hash. `event.hash` is not looked at.
pub fn encode(event: &Event, line: &mut Vec<u8>) -> Result<Digest, RowFault> {
    let body = &event.body;
    let text = |value: &'_ Option<String>| value.clone().map(Cow::<str>::Owned);
    let row = Row {
        id: event.id,
        ts: event.ts,
        author: Cow::Borrowed(&body.author),
        action_type: Cow::Borrowed(&body.action),
        branch: Cow::Borrowed(&body.branch),
        run_id: text(&body.run_id),
        parent_event_id: event.parent,
        files: body
            .edits
            .iter()
            .flat_map(|edit| edit.paths())
            .cloned()
            .collect(),
        diff_path: body.patch.then(|| diff_path(event.id)),
        affected_lines: Cow::Borrowed(&body.affected_lines),
        semantic_block: body.semantic_block.as_ref().map(Cow::Borrowed),
        rationale: text(&body.rationale),
        artifacts: Cow::Borrowed(&body.artifacts),
        snapshot_ref: body.snapshot_ref,
        bookmark: text(&body.bookmark),
        operation_id: text(&body.operation_id),
        action_scope: Cow::Borrowed(&body.action_scope),
        diff_mode: Cow::Borrowed(&body.diff_mode),
        edits: body
            .edits
            .iter()
            .map(|edit| Edit::from_domain(edit))
            .collect::<Result<_, _>>()?,
        batch: (event.batch != BatchPlace::ALONE).then_some(event.batch),
        parent_at: event.parent_at,
        base_snapshot: event.base_snapshot,
        in_workspace: body.in_workspace,
        affected_range: body.affected_range,
        semantic_warning: text(&body.semantic_warning),
        boundary: text(&body.boundary),
        bookmark_op: body.bookmark_op.as_ref().map(Cow::Borrowed),
        snapshot: body.snapshot.as_ref().map(Cow::Borrowed),
        rewind: body.rewind.as_ref().map(Cow::Borrowed),
        artifact_digests: Cow::Borrowed(&body.artifact_digests),
        artifact_impacts: Cow::Borrowed(&body.artifact_impacts),
        key: text(&event.key),
        key_digest: event.key_digest,
        authored_at: body.authored_at,
        clock: event.clock,
        format: event.format.as_ref().map(Cow::Borrowed),
        prev: event.prev,
    };
    let start = line.len();
    let mut serializer = serde_json::Serializer::with_formatter(&mut *line, SafeText);
    row.serialize(&mut serializer)
        .map_err(|error| RowFault::Malformed(error.to_string()))?;
    // The closing brace comes after the hash instead.
    line.pop();
    let hash = Digest::of(&line[start..]);
    line.extend_from_slice(HASH_KEY);
    line.extend_from_slice(hash.to_string().as_bytes());
    line.extend_from_slice(b"\"}");
    Ok(hash)
}

/// Checks a line (without its newline) against the hash that ends it, and returns that hash.
pub fn check_hash(line: &[u8]) -> Result<Digest, RowFault> {
    let split = line.len().checked_sub(SUFFIX_LEN).ok_or(RowFault::NoHash)?;
    let (hashed, suffix) = line.split_at(split);
    let digest = suffix
        .strip_prefix(HASH_KEY)
        .and_then(|rest| rest.strip_suffix(b"\"}"))
        .and_then(|text| std::str::from_utf8(text).ok())
        .and_then(|text| text.parse::<Digest>().ok())
        .ok_or(RowFault::NoHash)?;
    let actual = Digest::of(hashed);
    if actual == digest {
        Ok(digest)
    } else {
        Err(RowFault::WrongHash {
            expected: digest,
            actual,
        })
    }
}

/// Reads of a line only what chains it to its neighbours.
pub fn link(line: &[u8]) -> Result<Link, RowFault> {
    serde_json::from_slice(line).map_err(|error| RowFault::Malformed(error.to_string()))
}

/// Reads a line whose hash was checked and found to be `hash`.
pub fn decode(line: &[u8], hash: Digest) -> Result<Event, RowFault> {
    let row: Row<'_> =
        serde_json::from_slice(line).map_err(|error| RowFault::Malformed(error.to_string()))?;
    let edits = row
        .edits
        .into_iter()
        .map(|edit| edit.into_domain().map(Arc::new))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Event {
        id: row.id,
        ts: row.ts,
        clock: row.clock,
        parent: row.parent_event_id,
        parent_at: row.parent_at,
        base_snapshot: row.base_snapshot,
        batch: row.batch.unwrap_or(BatchPlace::ALONE),
        key: row.key.map(Cow::into_owned),
        key_digest: row.key_digest,
        format: row.format.map(Cow::into_owned),
        prev: row.prev,
        hash,
        body: Body {
            author: row.author.into_owned(),
            action: row.action_type.into_owned(),
            branch: row.branch.into_owned(),
            run_id: row.run_id.map(Cow::into_owned),
            patch: row.diff_path.is_some(),
            affected_lines: row.affected_lines.into_owned(),
            affected_range: row.affected_range,
            semantic_block: row.semantic_block.map(Cow::into_owned),
            semantic_warning: row.semantic_warning.map(Cow::into_owned),
            rationale: row.rationale.map(Cow::into_owned),
            artifacts: row.artifacts.into_owned(),
            artifact_digests: row.artifact_digests.into_owned(),
            snapshot_ref: row.snapshot_ref,
            bookmark: row.bookmark.map(Cow::into_owned),
            operation_id: row.operation_id.map(Cow::into_owned),
            action_scope: row.action_scope.into_owned(),
            diff_mode: row.diff_mode.into_owned(),
            edits,
            in_workspace: row.in_workspace,
            boundary: row.boundary.map(Cow::into_owned),
            bookmark_op: row.bookmark_op.map(Cow::into_owned),
            snapshot: row.snapshot.map(Cow::into_owned),
            rewind: row.rewind.map(Cow::into_owned),
            artifact_impacts: row.artifact_impacts.into_owned(),
            authored_at: row.authored_at,
        },
    })
}

/// Writes JSON in which nothing can mislead a terminal or a reader: what serde_json leaves as it
/// is, but is not safe to show, is escaped too.
struct SafeText;

impl Formatter for SafeText {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|b| (0x20..0x7f).contains(&b)) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut plain_from = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| is_unsafe_char(*c)) {
            writer.write_all(&fragment.as_bytes()[plain_from..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain_from = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain_from..])
    }
}

/// The JSON of a value, written as rows are: safe to show.
pub fn safe_json<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut bytes, SafeText,
    ))?;
    Ok(bytes)
}
