//! Contents of files, from one `git cat-file` that is asked ahead.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::Read;
use std::sync::Arc;

use super::error::ImportError;
use super::git::{Git, Questions, Running};
use super::oid::Oid;
use crate::record::prepare::Version;
use ledger_core::{Digest, Mode};

/// Bytes of contents that are kept: most old versions of files are among them.
const KEPT_BYTES: usize = 64 << 20;
/// Questions that wait for their answer at once.
const ASKED_MAX: usize = 256;

/// A content and its digest.
#[derive(Debug, Clone)]
pub(super) struct Blob {
    pub content: Arc<Vec<u8>>,
    pub hash: Digest,
}

impl Blob {
    pub fn with(&self, mode: Mode) -> Version {
        Version {
            mode,
            content: Arc::clone(&self.content),
            hash: self.hash,
        }
    }
}

/// What the repository has under a name.
#[derive(Debug, Clone)]
pub(super) enum Found {
    Blob(Blob),
    /// A content over the limit, of so many bytes.
    TooLarge(u64),
    /// Nothing.
    Missing,
    /// Something that is no content.
    NotAContent,
}

/// The contents of a repository.
pub(super) struct Blobs {
    running: Running,
    questions: Questions,
    limit: u64,
    /// What will be needed, and was not asked for yet.
    wanted: VecDeque<Oid>,
    /// What was asked for, in order.
    asked: VecDeque<Oid>,
    asked_set: HashSet<Oid>,
    kept: Kept,
    /// Contents over the limit, with their size.
    too_large: HashMap<Oid, u64>,
}

impl Blobs {
    const COMMAND: &'static str = "cat-file";

    /// Contents of more than `limit` bytes are not read.
    pub fn open(git: &Git, limit: u64) -> Result<Self, ImportError> {
        let (running, questions) = git.converse(Self::COMMAND, &["--batch"])?;
        Ok(Blobs {
            running,
            questions,
            limit,
            wanted: VecDeque::new(),
            asked: VecDeque::new(),
            asked_set: HashSet::new(),
            kept: Kept::default(),
            too_large: HashMap::new(),
        })
    }

    /// Says that a content will be needed soon.
    pub fn want(&mut self, oid: Oid) {
        self.wanted.push_back(oid);
        self.ask_ahead();
    }

    fn ask_ahead(&mut self) {
        let mut question = Vec::new();
        while self.asked.len() < ASKED_MAX {
            let Some(oid) = self.wanted.pop_front() else {
                break;
            };
            if !self.is_at_hand(&oid) && self.asked_set.insert(oid) {
                self.asked.push_back(oid);
                question.extend_from_slice(format!("{oid}\n").as_bytes());
            }
        }
        if !question.is_empty() {
            self.questions.ask(question);
        }
    }

    fn is_at_hand(&self, oid: &Oid) -> bool {
        self.kept.holds(oid) || self.too_large.contains_key(oid)
    }

    /// A content.
    pub fn get(&mut self, oid: Oid) -> Result<Found, ImportError> {
        loop {
            if let Some(bytes) = self.too_large.get(&oid) {
                return Ok(Found::TooLarge(*bytes));
            }
            if let Some(blob) = self.kept.get(&oid) {
                return Ok(Found::Blob(blob));
            }
            if !self.asked_set.contains(&oid) {
                self.asked_set.insert(oid);
                self.asked.push_back(oid);
                self.questions.ask(format!("{oid}\n").into_bytes());
            }
            let (answered, found) = self.read_answer()?;
            match &found {
                Found::Blob(blob) => self.kept.keep(answered, blob),
                Found::TooLarge(bytes) => {
                    self.too_large.insert(answered, *bytes);
                }
                Found::Missing | Found::NotAContent => {}
            }
            self.ask_ahead();
            if answered == oid {
                return Ok(found);
            }
        }
    }

    /// Reads the answer to the first question that waits for one.
    fn read_answer(&mut self) -> Result<(Oid, Found), ImportError> {
        let not_understood = |what: &str| ImportError::answer(Self::COMMAND, what);
        let Some(oid) = self.asked.pop_front() else {
            return Err(not_understood("an answer without a question"));
        };
        self.asked_set.remove(&oid);
        let Some(header) = self.running.field(b'\n')? else {
            return Err(self.running.broken_off());
        };
        let mut words = header.split(|byte| *byte == b' ');
        if words.next().and_then(Oid::parse) != Some(oid) {
            return Err(not_understood("another object than the one asked for"));
        }
        let kind = words.next().unwrap_or_default();
        if kind == b"missing" {
            return Ok((oid, Found::Missing));
        }
        let size = words
            .next()
            .and_then(|size| std::str::from_utf8(size).ok()?.parse::<u64>().ok())
            .ok_or_else(|| not_understood("an object without a size"))?;
        let found = if kind != b"blob" {
            self.pass_over(size)?;
            Found::NotAContent
        } else if size > self.limit {
            self.pass_over(size)?;
            Found::TooLarge(size)
        } else {
            let content = Arc::new(self.read_content(size)?);
            let hash = Digest::of(&content);
            Found::Blob(Blob { content, hash })
        };
        // A newline follows the bytes.
        self.pass_over(1)?;
        Ok((oid, found))
    }

    fn read_content(&mut self, size: u64) -> Result<Vec<u8>, ImportError> {
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        let read = (&mut self.running.answers)
            .take(size)
            .read_to_end(&mut content);
        self.complete(read.map(|count| count as u64), size)?;
        Ok(content)
    }

    fn pass_over(&mut self, bytes: u64) -> Result<(), ImportError> {
        let mut answers = (&mut self.running.answers).take(bytes);
        let read = std::io::copy(&mut answers, &mut std::io::sink());
        self.complete(read, bytes)
    }

    fn complete(&mut self, read: std::io::Result<u64>, bytes: u64) -> Result<(), ImportError> {
        match read {
            Ok(count) if count == bytes => Ok(()),
            Ok(_) => Err(self.running.broken_off()),
            Err(error) => Err(ImportError::answer(Self::COMMAND, error.to_string())),
        }
    }
}

/// The contents used last.
#[derive(Default)]
struct Kept {
    by_oid: HashMap<Oid, (Blob, u64)>,
    by_use: BTreeMap<u64, Oid>,
    uses: u64,
    bytes: usize,
}

impl Kept {
    fn holds(&self, oid: &Oid) -> bool {
        self.by_oid.contains_key(oid)
    }

    fn get(&mut self, oid: &Oid) -> Option<Blob> {
        let (blob, used) = self.by_oid.get_mut(oid)?;
        self.by_use.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert(self.uses, *oid);
        Some(blob.clone())
    }

    fn keep(&mut self, oid: Oid, blob: &Blob) {
        let bytes = blob.content.len();
        if bytes > KEPT_BYTES / 4 {
            return;
        }
        self.uses += 1;
        if let Some((_, used)) = self.by_oid.insert(oid, (blob.clone(), self.uses)) {
            self.by_use.remove(&used);
            self.bytes -= bytes;
        }
        self.by_use.insert(self.uses, oid);
        self.bytes += bytes;
        while self.bytes > KEPT_BYTES {
            let Some((_, oldest)) = self.by_use.pop_first() else {
                break;
            };
            let gone = self.by_oid.remove(&oldest);
            self.bytes -= gone.map_or(0, |(blob, _)| blob.content.len());
        }
    }
}
