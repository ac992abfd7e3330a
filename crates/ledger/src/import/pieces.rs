//! Commits in pieces: what the thread that reads hands to the one that makes events.

use std::sync::mpsc::SyncSender;

use ledger_core::TreePath;

use super::error::ImportError;
use super::history::Commit;
use crate::record::prepare::Version;

/// Bytes of contents that go out together.
const CHUNK_BYTES: usize = 4 << 20;
/// Pieces that go out together.
const CHUNK_PIECES: usize = 1024;
/// What a piece is counted as beside its contents.
const PIECE_BYTES: usize = 256;

/// A file that changes, with its contents.
#[derive(Debug)]
pub(super) struct FileStep {
    pub path: TreePath,
    /// Its old name, where that is all that changes.
    pub from: Option<TreePath>,
    pub before: Option<Version>,
    pub after: Option<Version>,
}

/// A part of a commit.
#[derive(Debug)]
pub(super) enum Piece {
    /// A commit begins.
    Commit(Commit),
    /// A file of it changes.
    File(FileStep),
    /// It is complete.
    End,
}

/// Pieces, or why there are no more.
pub(super) type Chunk = Result<Vec<Piece>, ImportError>;

/// Why reading stops early.
pub(super) enum Stop {
    Failed(Box<ImportError>),
    /// Nobody listens any more.
    Unwanted,
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Stop::Failed(Box::new(error))
    }
}

/// Collects pieces until they are worth sending.
pub(super) struct Outbox {
    out: SyncSender<Chunk>,
    pieces: Vec<Piece>,
    bytes: usize,
}

impl Outbox {
    pub fn new(out: SyncSender<Chunk>) -> Self {
        Outbox {
            out,
            pieces: Vec::new(),
            bytes: 0,
        }
    }

    /// Sends out what there is, and why there is no more.
    pub fn fail(mut self, error: ImportError) {
        // What is complete goes out before the error; nobody may be listening.
        if self.flush().is_ok() {
            let _ = self.out.send(Err(error));
        }
    }

    pub fn push(&mut self, piece: Piece) -> Result<(), Stop> {
        let length = |version: &Option<Version>| version.as_ref().map_or(0, |v| v.content.len());
        self.bytes += PIECE_BYTES;
        if let Piece::File(step) = &piece {
            self.bytes += length(&step.before) + length(&step.after);
        }
        self.pieces.push(piece);
        match self.bytes >= CHUNK_BYTES || self.pieces.len() >= CHUNK_PIECES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    pub fn flush(&mut self) -> Result<(), Stop> {
        self.bytes = 0;
        let pieces = std::mem::take(&mut self.pieces);
        self.out.send(Ok(pieces)).map_err(|_| Stop::Unwanted)
    }
}
