//! What went wrong, as a person is told: what and where, why, what to do; and the exit status.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};

use ledger::core::bytes::printable;
use ledger::core::log::{AppendError, LockError, ReadError, StandingError};
use ledger::core::refs::RefError;
use ledger::replay::RebuildError;
use ledger::{
    BookmarkError, ErrorCode, ImportError, InitError, OpenError, RecordError, RestoreError,
    RewindError, SnapshotCheckError, SnapshotError, VerifyError,
};

use crate::output::{Paint, Style};

/// Could not be done: unknown, in conflict, refused.
const FAILED: u8 = 1;
/// The disk or the environment failed.
const ENVIRONMENT: u8 = 3;
/// The ledger is damaged.
pub(crate) const DAMAGED: u8 = 4;
/// The lock was not to be had in time.
const LOCKED: u8 = 7;
/// Nobody reads the output any more; what a shell reports after SIGPIPE.
const OUTPUT_CLOSED: u8 = 141;

/// An error as a person is told of it.
#[derive(Debug)]
pub(crate) struct CommandError {
    what: String,
    causes: Vec<String>,
    hint: Option<String>,
    status: u8,
}

impl CommandError {
    fn new(status: u8, what: impl Display) -> Self {
        CommandError {
            what: what.to_string(),
            causes: Vec::new(),
            hint: None,
            status,
        }
    }

    /// It could not be done.
    pub fn failed(what: impl Display) -> Self {
        CommandError::new(FAILED, what)
    }

    /// The disk or the environment failed.
    pub fn environment(what: impl Display, cause: &(dyn Error + 'static)) -> Self {
        let mut error = CommandError::new(ENVIRONMENT, what);
        error.causes.push(cause.to_string());
        error.causes.extend(causes(cause));
        error
    }

    /// Says what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// What went wrong and why, without a hint.
    pub fn message(&self) -> String {
        let parts = std::iter::once(&self.what).chain(&self.causes);
        parts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }

    /// Tells the user, unless nobody is there to be told; returns the exit status.
    pub fn report(&self, style: Style) -> u8 {
        if self.status == OUTPUT_CLOSED {
            return self.status;
        }
        let what = safe(&self.message());
        tell(&format!("{} {what}", style.paint(Paint::Error, "error:")));
        if let Some(hint) = &self.hint {
            tell(&format!(
                "{} {}",
                style.paint(Paint::Hint, "hint:"),
                safe(hint)
            ));
        }
        self.status
    }
}

/// Prints a message on the standard error, where somebody may or may not be listening.
pub(crate) fn tell(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Makes a message safe to show; its lines stay lines.
pub(crate) fn safe(text: &str) -> String {
    let lines = text.trim_end().split('\n');
    let safe: Vec<String> = lines.map(|line| printable(line.as_bytes())).collect();
    safe.join("\n  ")
}

fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes
}

/// The exit status of a kind of failure.
pub(crate) fn status_of(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::Storage | ErrorCode::Environment => ENVIRONMENT,
        ErrorCode::Damaged => DAMAGED,
        ErrorCode::Locked => LOCKED,
        _ => FAILED,
    }
}

/// The standard output could not be written: the only bare I/O error that a command meets.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CommandError::new(OUTPUT_CLOSED, error),
            _ => CommandError::environment("cannot write to the standard output", &error),
        }
    }
}

macro_rules! from_library {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                let code = ErrorCode::from(&error);
                CommandError {
                    what: error.to_string(),
                    causes: causes(&error),
                    hint: hint(&error).or_else(|| hint_of(code)).map(str::to_owned),
                    status: status_of(code),
                }
            }
        })*
    };
}

from_library! {
    AppendError, BookmarkError, ImportError, InitError, OpenError, ReadError, RebuildError, RecordError, RefError,
    RestoreError, RewindError, SnapshotCheckError, SnapshotError, StandingError, VerifyError,
    LockError,
}

/// What to do about a kind of failure.
fn hint_of(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Damaged => Some(
            "`bench verify --full` says what is damaged; with --repair it makes again what can be",
        ),
        ErrorCode::Locked => Some("try again, or wait longer with --lock-timeout"),
        ErrorCode::UnknownBranch => Some("`bench branch list` shows the branches there are"),
        _ => None,
    }
}

/// What to do about one error.
fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(OpenError::NotFound(_) | OpenError::Read(ReadError::NoLedger)) =
        error.downcast_ref()
    {
        return Some("`bench init` makes one; --root DIR names a workspace elsewhere");
    }
    if let Some(InitError::Exists) = error.downcast_ref() {
        return Some("`bench status` says where it stands");
    }
    if let Some(RefError::Unknown(_)) = error.downcast_ref() {
        return Some(
            "`bench history`, `bench bookmark list` and `bench branch list` show what there is",
        );
    }
    if let Some(error) = error.downcast_ref::<RewindError>() {
        return match error {
            RewindError::Blocked(_) => {
                Some("record them first (`bench record PATH...`), or move them away")
            }
            RewindError::NameTaken(_) => Some("choose another name with --branch"),
            RewindError::Record(error) => hint(error),
            _ => None,
        };
    }
    if let Some(ImportError::NoGit(_)) = error.downcast_ref() {
        return Some("install git: it reads the repository");
    }
    if let Some(BookmarkError::Locked(_)) = error.downcast_ref() {
        return Some("`bench bookmark unlock NAME` lets it be changed again");
    }
    if let Some(RestoreError::NotEmpty(_)) = error.downcast_ref() {
        return Some("name a directory that is empty, or not there yet");
    }
    if let Some(SnapshotError::Busy) = error.downcast_ref() {
        return Some("try again when it is done");
    }
    match error.downcast_ref::<RecordError>()? {
        RecordError::Conflict { .. } => Some("make the change again from the branch's present tip"),
        RecordError::Diverged { .. } => {
            Some("put your versions aside, rewind to the tip, and make the changes there")
        }
        RecordError::TooLarge { .. } => {
            Some("raise max_file_size in .user/ledger/config.toml, or leave the file out")
        }
        RecordError::Invalid {
            what: "artifact", ..
        } => Some("put the file under results/artifacts/ and name it there"),
        _ => None,
    }
}
