//! Writing a manifest.

use ledger_core::bytes::is_unsafe_char;
use ledger_core::{Digest, Mode, TreePath};
use serde::Serialize;

use super::{Format, Manifest, field};
use crate::archive::Stored;

#[derive(Serialize)]
struct FileFields {
    size: u64,
    mode: Mode,
    frame: u32,
}

#[derive(Serialize)]
struct RawHash<'a> {
    path: &'a TreePath,
    hash: Digest,
}

#[derive(Serialize)]
struct RawFile<'a> {
    path: &'a TreePath,
    #[serde(flatten)]
    fields: FileFields,
}

impl Manifest {
    /// The manifest as JSON, ended by a line feed.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Document::new(self.files.len());
        out.field(field::ID, &self.id);
        out.field(field::TS, &self.ts);
        out.field(field::BASE_EVENT_ID, &self.base_event_id);
        out.field(field::EVENT_OFFSET, &self.event_offset);
        out.field(field::TAR_URI, &self.tar_uri);
        out.field(field::ENV, &self.env);
        out.field(field::SEEDS, &self.seeds);
        out.field(field::TOOLS, &self.tools);
        out.field(field::FORMAT, &Format::current());
        out.field(field::ARCHIVE, &self.archive);

        let text = |(path, stored)| Some((utf8(path)?, stored));
        let raw = |(path, _): &(&TreePath, &Stored)| utf8(path).is_none();
        let hash = |stored: &Stored| stored.entry.hash;
        let texts = || self.files.iter().filter_map(text);
        let raws = || self.files.iter().filter(raw);
        out.map(
            field::HASHES,
            texts().map(|(path, stored)| (path, hash(stored))),
        );
        out.list(
            field::HASHES_RAW,
            raws().map(|(path, stored)| RawHash {
                path,
                hash: hash(stored),
            }),
        );
        out.map(
            field::FILES,
            texts().map(|(path, stored)| (path, file(stored))),
        );
        out.list(
            field::FILES_RAW,
            raws().map(|(path, stored)| RawFile {
                path,
                fields: file(stored),
            }),
        );
        for (name, value) in &self.unknown {
            out.field(name, value);
        }
        out.finish()
    }
}

fn utf8(path: &TreePath) -> Option<&str> {
    std::str::from_utf8(path.as_bytes()).ok()
}

fn file(stored: &Stored) -> FileFields {
    FileFields {
        size: stored.entry.size,
        mode: stored.entry.mode,
        frame: stored.frame,
    }
}

/// A JSON object that is written field by field.
struct Document(String);

impl Document {
    fn new(files: usize) -> Self {
        let mut text = String::with_capacity(1024 + 256 * files);
        text.push('{');
        Document(text)
    }

    fn name(&mut self, name: &str) {
        self.0
            .push_str(if self.0.len() == 1 { "\n  " } else { ",\n  " });
        self.value(name);
        self.0.push_str(": ");
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        // None of the types that come here can fail: no map has a key that is not a string.
        self.0
            .push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()));
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.name(name);
        self.value(value);
    }

    fn map<'a>(&mut self, name: &str, entries: impl Iterator<Item = (&'a str, impl Serialize)>) {
        self.name(name);
        self.lines('{', '}', entries, |out, (key, value)| {
            out.value(key);
            out.0.push_str(": ");
            out.value(&value);
        });
    }

    /// An array, left out when it is empty.
    fn list(&mut self, name: &str, items: impl Iterator<Item = impl Serialize>) {
        let mut items = items.peekable();
        if items.peek().is_some() {
            self.name(name);
            self.lines('[', ']', items, |out, item| out.value(&item));
        }
    }

    fn lines<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.0.push(open);
        let mut separator = "\n    ";
        for item in items {
            self.0.push_str(separator);
            write(self, item);
            separator = ",\n    ";
        }
        if separator.starts_with(',') {
            self.0.push_str("\n  ");
        }
        self.0.push(close);
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push_str("\n}\n");
        escape_unsafe(self.0).into_bytes()
    }
}

/// Escapes what could mislead a terminal or a reader. Beside the line feeds between entries such
/// characters stand in strings only, where JSON lets each be written as `\u`.
fn escape_unsafe(json: String) -> String {
    let is_unsafe = |c: char| c != '\n' && is_unsafe_char(c);
    // Below U+007F serde_json has escaped them.
    if !json.bytes().any(|b| b >= 0x7f) || !json.contains(is_unsafe) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_unsafe(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}
