//! Who made a change, and why: what every event of an operation has in common.

use std::collections::BTreeMap;
use std::str::FromStr;

use ledger_core::storage::{
    Durability, OpenMode, Storage, StorageError, create_dirs, read_range, write_atomically,
};
use ledger_core::{Action, Author, Body, Digest, Timestamp, TreePath, layout};

use crate::record::RecordError;

/// Longest rationale that a row holds; what is longer becomes an artifact.
const RATIONALE_MAX: usize = 32 * 1024;
/// How much of a longer one stays in the row.
const RATIONALE_KEPT: usize = 1024;
/// Longest name, version, run id, operation id or key.
const WORD_MAX: usize = 1024;
/// Most artifacts of one event.
const ARTIFACTS_MAX: usize = 256;

/// A moment in the work that is worth a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Boundary {
    /// A proposal was approved.
    Approval,
    /// Branches were merged.
    Merge,
    /// A branch was opened.
    Branch,
    /// A pull request was made.
    PullRequest,
    /// A run was completed.
    RunCompleted,
    /// The result of an optimizer was accepted.
    OptimizerAccepted,
}

impl Boundary {
    /// All of them.
    pub const ALL: [Boundary; 6] = [
        Boundary::Approval,
        Boundary::Merge,
        Boundary::Branch,
        Boundary::PullRequest,
        Boundary::RunCompleted,
        Boundary::OptimizerAccepted,
    ];

    /// The word that it is written as.
    pub fn as_str(self) -> &'static str {
        match self {
            Boundary::Approval => "approval",
            Boundary::Merge => "merge",
            Boundary::Branch => "branch",
            Boundary::PullRequest => "pull_request",
            Boundary::RunCompleted => "run_completed",
            Boundary::OptimizerAccepted => "optimizer_accepted",
        }
    }
}

impl FromStr for Boundary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = text.replace('-', "_");
        Boundary::ALL
            .into_iter()
            .find(|boundary| boundary.as_str() == word)
            .ok_or_else(|| {
                let words = Boundary::ALL.map(Boundary::as_str).join(", ");
                format!("expected one of {words}")
            })
    }
}

/// Who made a change, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Who.
    pub author: Author,
    /// Why.
    pub rationale: Option<String>,
    /// The operation that it is part of; a fresh one unless it is given.
    pub operation_id: Option<String>,
    /// The run that it happened in.
    pub run_id: Option<String>,
    /// Files under `results/artifacts/`, relative to the root, that belong to it.
    pub artifacts: Vec<String>,
    /// The boundary that it is.
    pub boundary: Option<Boundary>,
    /// When it was made, where that is not now.
    pub authored_at: Option<Timestamp>,
}

impl Provenance {
    /// A change by `author`, of which nothing else is known.
    pub fn by(author: Author) -> Self {
        Provenance {
            author,
            rationale: None,
            operation_id: None,
            run_id: None,
            artifacts: Vec::new(),
            boundary: None,
            authored_at: None,
        }
    }

    /// What the bodies of its events begin with. Artifacts are durable, and digested, when it returns.
    pub(crate) fn body(
        &self,
        storage: &dyn Storage,
        token: u64,
        action: Action,
        branch: &str,
        operation_id: String,
    ) -> Result<Body, RecordError> {
        let words = [
            ("author.name", Some(&self.author.name)),
            ("author.version", self.author.version.as_ref()),
            ("run_id", self.run_id.as_ref()),
            ("operation_id", Some(&operation_id)),
        ];
        for (what, word) in words {
            check_word(what, word.map_or("", |word| word))?;
        }
        if self.artifacts.len() > ARTIFACTS_MAX {
            return Err(RecordError::invalid(
                "artifacts",
                format!("more than {ARTIFACTS_MAX}"),
            ));
        }
        let mut artifacts = self.artifacts.clone();
        let mut digests = BTreeMap::new();
        for artifact in &artifacts {
            digests.insert(artifact.clone(), keep_artifact(storage, artifact)?);
        }
        let mut rationale = self.rationale.clone();
        if let Some(long) = rationale.as_mut().filter(|text| text.len() > RATIONALE_MAX) {
            let (path, digest) = rationale_artifact(storage, token, long)?;
            long.truncate(long.floor_char_boundary(RATIONALE_KEPT));
            long.push_str(&format!(" [... the rest is in {path}]"));
            artifacts.push(path.clone());
            digests.insert(path, digest);
        }
        let mut body = Body::new(self.author.clone(), action, branch);
        body.rationale = rationale;
        body.run_id = self.run_id.clone();
        body.operation_id = Some(operation_id);
        body.artifacts = artifacts;
        body.artifact_digests = digests;
        body.boundary = self.boundary.map(|boundary| boundary.as_str().to_owned());
        body.authored_at = self.authored_at;
        Ok(body)
    }
}

pub(crate) fn check_word(what: &'static str, word: &str) -> Result<(), RecordError> {
    match word.len() > WORD_MAX {
        true => Err(RecordError::invalid(
            what,
            format!("longer than {WORD_MAX} bytes"),
        )),
        false => Ok(()),
    }
}

/// Checks that an artifact is one, makes it durable, and digests it.
fn keep_artifact(storage: &dyn Storage, artifact: &str) -> Result<Digest, RecordError> {
    let refused = |why: &str| RecordError::invalid("artifact", format!("{artifact:?}: {why}"));
    let path = TreePath::parse(artifact)
        .ok()
        .filter(|path| path.is_below(&layout::artifacts_dir()))
        .ok_or_else(|| refused("it is not a path under results/artifacts/"))?;
    let file = storage
        .open(&path, OpenMode::Read)
        .map_err(|error| refused(&format!("it cannot be read: {}", error.source)))?;
    file.sync()?;
    sync_up(storage, &path.parent())?;
    Ok(digest_file(storage, &path)?)
}

/// The digest of a file, read piece by piece.
pub(crate) fn digest_file(storage: &dyn Storage, path: &TreePath) -> Result<Digest, StorageError> {
    const PIECE: usize = 1 << 20;
    let file = storage.open(path, OpenMode::Read)?;
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    loop {
        let piece = read_range(file.as_ref(), offset, PIECE)?;
        if piece.is_empty() {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&piece);
        offset += piece.len() as u64;
    }
}

/// Makes the names of a directory durable, and its own, up to the root.
fn sync_up(storage: &dyn Storage, dir: &TreePath) -> Result<(), StorageError> {
    storage.sync_dir(dir)?;
    for above in dir.ancestors().skip(1) {
        storage.sync_dir(&above)?;
    }
    storage.sync_dir(&TreePath::root())
}

fn rationale_artifact(
    storage: &dyn Storage,
    token: u64,
    text: &str,
) -> Result<(String, Digest), RecordError> {
    let digest = Digest::of(text.as_bytes());
    let name = format!("rationale-{}.txt", &digest.hex()[..16]);
    let dir = layout::artifacts_dir();
    create_dirs(storage, &dir, 0o777, Durability::Durable)?;
    let path = dir
        .join(&name)
        .map_err(|error| RecordError::invalid("artifact", error.to_string()))?;
    write_atomically(storage, &path, text.as_bytes(), token, Durability::Durable)?;
    Ok((path.to_string(), digest))
}
