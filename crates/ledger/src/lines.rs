//! Recording by lines of JSON: one object a line in, one out, as `bench record --stdin` does.
//!
//! A line is taken as it is meant or not at all: unknown and repeated keys are refused, at any depth,
//! since a word that is misspelt would otherwise be lost without a sound.

use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ledger_core::bytes::ByteString;
use ledger_core::{Author, AuthorKind, EventId, Mode, TreePath, safe_json};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::codes::ErrorCode;
use crate::provenance::Provenance;
use crate::record::{FileChange, FileTarget, Record, RecordError};
use crate::workspace::Workspace;

/// Longest line that is read, in bytes.
pub const LINE_MAX: usize = 256 << 20;

/// What became of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is durable.
    Recorded {
        /// Its events; none where nothing had changed.
        events: Vec<EventId>,
        /// The key that it came with.
        key: Option<String>,
    },
    /// Nothing was recorded.
    Refused {
        /// What kind of failure it was.
        code: ErrorCode,
        /// What was wrong, and where.
        error: String,
    },
}

impl Answer {
    /// The answer to a line longer than [`LINE_MAX`].
    pub fn too_long() -> Self {
        Answer::Refused {
            code: ErrorCode::TooLarge,
            error: format!("the line has more than {LINE_MAX} bytes"),
        }
    }

    /// The answer as one line of JSON, without its newline; safe to show on a terminal.
    pub fn to_json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Recorded<'a> {
            ok: bool,
            events: &'a [EventId],
            key: &'a Option<String>,
        }
        #[derive(Serialize)]
        struct Refused<'a> {
            ok: bool,
            code: &'a str,
            error: &'a str,
        }
        let json = match self {
            Answer::Recorded { events, key } => safe_json(&Recorded {
                ok: true,
                events,
                key,
            }),
            Answer::Refused { code, error } => safe_json(&Refused {
                ok: false,
                code: code.as_str(),
                error,
            }),
        };
        // Strings and ids always serialise.
        json.unwrap_or_default()
    }
}

/// A line that was refused.
struct Refusal {
    code: ErrorCode,
    error: String,
}

impl Refusal {
    fn invalid(error: impl Into<String>) -> Self {
        Refusal {
            code: ErrorCode::Invalid,
            error: error.into(),
        }
    }
}

impl From<RecordError> for Refusal {
    fn from(error: RecordError) -> Self {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        Refusal {
            code: ErrorCode::from(&error),
            error: text,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    // The fields of `File`, spelt out: serde cannot refuse unknown keys in a flattened struct.
    path: Option<ByteString<'static>>,
    content: Option<String>,
    content_b64: Option<String>,
    delete: Option<bool>,
    rename_to: Option<ByteString<'static>>,
    mode: Option<String>,
    files: Option<Vec<Object<File>>>,
    author: Option<Object<LineAuthor>>,
    rationale: Option<String>,
    operation_id: Option<String>,
    run_id: Option<String>,
    branch: Option<String>,
    base: Option<String>,
    key: Option<String>,
    artifacts: Option<Vec<String>>,
    in_workspace: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: Option<ByteString<'static>>,
    content: Option<String>,
    content_b64: Option<String>,
    delete: Option<bool>,
    rename_to: Option<ByteString<'static>>,
    mode: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineAuthor {
    name: String,
    version: Option<String>,
    kind: Option<AuthorKind>,
}

/// A JSON object, and nothing else: serde would read the fields of a struct from an array, too.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

impl Workspace {
    /// Records what one line asks for, and answers it. What the line leaves out is as in `defaults`.
    ///
    /// After [`ErrorCode::Storage`] or [`ErrorCode::Damaged`] nothing more should be recorded.
    pub fn record_line(&self, defaults: &Provenance, line: &[u8]) -> Answer {
        let recorded = self.request_of(defaults, line).and_then(|request| {
            let recorded = self.record(&request)?;
            Ok((recorded.events, request.key))
        });
        match recorded {
            Ok((events, key)) => Answer::Recorded { events, key },
            Err(Refusal { code, error }) => Answer::Refused { code, error },
        }
    }

    fn request_of(&self, defaults: &Provenance, line: &[u8]) -> Result<Record, Refusal> {
        let Object(mut line) = serde_json::from_slice::<Object<Line>>(line)
            .map_err(|error| Refusal::invalid(format!("the line cannot be read: {error}")))?;
        let changes = changes_of(&mut line)?;
        let base = line.base.map(|base| self.base_of(&base)).transpose()?;
        let mut provenance = defaults.clone();
        if let Some(Object(author)) = line.author {
            provenance.author = author_of(author, &defaults.author)?;
        }
        provenance.rationale = line.rationale.or(provenance.rationale);
        provenance.operation_id = line.operation_id.or(provenance.operation_id);
        provenance.run_id = line.run_id.or(provenance.run_id);
        provenance.artifacts = line.artifacts.unwrap_or(provenance.artifacts);
        Ok(Record {
            changes,
            provenance,
            branch: line.branch,
            base,
            key: line.key,
            in_workspace: line.in_workspace.unwrap_or(false),
        })
    }

    fn base_of(&self, text: &str) -> Result<EventId, Refusal> {
        if let Ok(id) = text.parse() {
            let last = self.view().map_err(RecordError::from)?.last();
            return match id <= last {
                true => Ok(id),
                false => Err(Refusal {
                    code: ErrorCode::NotFound,
                    error: format!("base: there is no event {id}"),
                }),
            };
        }
        let point = self.resolve(text).map_err(|error| Refusal {
            code: ErrorCode::from(&error),
            error: format!("base: {error}"),
        })?;
        Ok(point.event)
    }
}

fn changes_of(line: &mut Line) -> Result<Vec<FileChange>, Refusal> {
    let single = File {
        path: line.path.take(),
        content: line.content.take(),
        content_b64: line.content_b64.take(),
        delete: line.delete.take(),
        rename_to: line.rename_to.take(),
        mode: line.mode.take(),
    };
    match line.files.take() {
        None => Ok(vec![single.into_change()?]),
        Some(_) if !single.is_empty() => Err(Refusal::invalid(
            "files holds the changes, so there is none beside it",
        )),
        Some(files) if files.is_empty() => Err(Refusal::invalid("files is empty")),
        Some(files) => files
            .into_iter()
            .map(|Object(file)| file.into_change())
            .collect(),
    }
}

fn author_of(author: LineAuthor, default: &Author) -> Result<Author, Refusal> {
    let kind = author.kind.unwrap_or(default.kind);
    if author.kind == Some(AuthorKind::System) {
        return Err(Refusal::invalid("author.kind is agent or human"));
    }
    if author.name.is_empty() {
        return Err(Refusal::invalid("author.name is empty"));
    }
    Ok(Author {
        name: author.name,
        version: author.version,
        kind,
    })
}

impl File {
    fn is_empty(&self) -> bool {
        self.path.is_none() && self.mode.is_none() && self.targets() == 0
    }

    /// How many things it says that the file became, apart from its mode.
    fn targets(&self) -> usize {
        [
            self.content.is_some(),
            self.content_b64.is_some(),
            self.delete == Some(true),
            self.rename_to.is_some(),
        ]
        .into_iter()
        .filter(|said| *said)
        .count()
    }

    fn into_change(self) -> Result<FileChange, Refusal> {
        let targets = self.targets();
        let Some(path) = self.path else {
            return Err(Refusal::invalid("there is no path"));
        };
        let path = tree_path("path", &path)?;
        if targets > 1 {
            let why = "more than one of content, content_b64, delete, rename_to";
            return Err(Refusal::invalid(format!("{path}: {why}")));
        }
        let mode = self.mode.as_deref().map(mode_of).transpose()?;
        let content = match (self.content, self.content_b64) {
            (Some(text), _) => Some(text.into_bytes()),
            (None, Some(text)) => Some(
                STANDARD
                    .decode(text)
                    .map_err(|_| Refusal::invalid(format!("{path}: content_b64 is not base64")))?,
            ),
            (None, None) => None,
        };
        let to = match (content, self.rename_to, self.delete, mode) {
            (Some(bytes), ..) => FileTarget::Content { bytes, mode },
            (None, Some(to), _, None) => FileTarget::Renamed(tree_path("rename_to", &to)?),
            (None, None, Some(true), None) => FileTarget::Deleted,
            (None, None, None | Some(false), Some(mode)) => FileTarget::Mode(mode),
            (None, _, _, Some(_)) => {
                let why = "a mode goes with a content, or alone";
                return Err(Refusal::invalid(format!("{path}: {why}")));
            }
            (None, None, ..) => {
                let why = "none of content, content_b64, delete, rename_to, mode";
                return Err(Refusal::invalid(format!("{path}: {why}")));
            }
        };
        Ok(FileChange { path, to })
    }
}

fn tree_path(what: &str, bytes: &ByteString<'_>) -> Result<TreePath, Refusal> {
    TreePath::parse(bytes.as_bytes()).map_err(|error| Refusal::invalid(format!("{what}: {error}")))
}

fn mode_of(text: &str) -> Result<Mode, Refusal> {
    Mode::from_octal(text).ok_or_else(|| {
        let known = "expected 100644, 100755 or 120000";
        Refusal::invalid(format!("mode {text:?}: {known}"))
    })
}
