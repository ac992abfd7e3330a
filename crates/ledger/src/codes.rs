//! What kind of failure an error is: one word for every error, for those who act on it.

use ledger_core::log::{AppendError, LockError, ReadError, StandingError};
use ledger_core::objects::ObjectError;
use ledger_core::refs::RefError;
use ledger_core::storage::StorageError;
use ledger_replay::{BaseError, MoveError, RebuildError};
use ledger_snapshot::ReadFileError;

use crate::{
    BookmarkError, ConfigError, ImportError, InitError, OpenError, RecordError, RestoreError,
    RewindError, SnapshotCheckError, SnapshotError, VerifyError,
};

/// What kind of failure an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// Somebody else did something that does not go together with it.
    Conflict,
    /// The request is not as it should be.
    Invalid,
    /// There is no such branch.
    UnknownBranch,
    /// The idempotency key was used for other content.
    KeyReused,
    /// Something is larger than what is recorded.
    TooLarge,
    /// There is no such event, snapshot, bookmark or file.
    NotFound,
    /// The disk failed.
    Storage,
    /// The configuration or another part of the environment cannot be used.
    Environment,
    /// The ledger is damaged.
    Damaged,
    /// A lock was not to be had in time.
    Locked,
}

impl ErrorCode {
    /// The word that it is written as.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::Conflict => "conflict",
            ErrorCode::Invalid => "invalid",
            ErrorCode::UnknownBranch => "unknown_branch",
            ErrorCode::KeyReused => "key_reused",
            ErrorCode::TooLarge => "too_large",
            ErrorCode::NotFound => "not_found",
            ErrorCode::Storage => "storage",
            ErrorCode::Environment => "environment",
            ErrorCode::Damaged => "damaged",
            ErrorCode::Locked => "locked",
        }
    }
}

/// Of a file that truth depends on: that it is gone is damage, that it cannot be read is not.
fn needed(error: &StorageError) -> ErrorCode {
    match error.is_absent() {
        true => ErrorCode::Damaged,
        false => ErrorCode::Storage,
    }
}

/// Declares the code of each variant of some errors; other variants have the code after `_`.
macro_rules! codes {
    ($($error:ty { $($pattern:pat => $code:expr,)* })*) => {
        $(impl From<&$error> for ErrorCode {
            fn from(error: &$error) -> Self {
                use ErrorCode::*;
                match error { $($pattern => $code,)* }
            }
        })*
    };
}

codes! {
    StorageError { _ => Storage, }
    LockError {
        LockError::TimedOut { .. } => Locked,
        _ => Storage,
    }
    ReadError {
        ReadError::NoLedger => NotFound,
        ReadError::NoEvent(_) => NotFound,
        ReadError::Damaged(_) => Damaged,
        ReadError::Version { .. } => Environment,
        _ => Storage,
    }
    StandingError {
        StandingError::Invalid(_) => Damaged,
        _ => Storage,
    }
    AppendError {
        AppendError::Exists => Conflict,
        AppendError::Read(error) => error.into(),
        AppendError::Lock(error) => error.into(),
        AppendError::Standing(error) => error.into(),
        AppendError::Moved { .. } => Conflict,
        AppendError::NoBranch(_) => UnknownBranch,
        AppendError::NameTaken(_) => Conflict,
        AppendError::Name(_) => Invalid,
        AppendError::KeyReused { .. } => KeyReused,
        AppendError::RowTooLarge { .. } => TooLarge,
        AppendError::Row(_) => Invalid,
        _ => Storage,
    }
    RefError {
        RefError::Read(error) => error.into(),
        RefError::NotANumber(_) => Invalid,
        _ => NotFound,
    }
    ObjectError {
        ObjectError::Storage(error) => needed(error),
        _ => Damaged,
    }
    BaseError {
        BaseError::Storage(error) => needed(error),
        _ => Damaged,
    }
    RebuildError {
        RebuildError::Read(error) => error.into(),
        RebuildError::Storage(_) => Storage,
        RebuildError::Base(error) => error.into(),
        RebuildError::NoBase { source: Some(error), .. } => error.into(),
        RebuildError::Object { source, .. } => source.into(),
        _ => Damaged,
    }
    ReadFileError {
        ReadFileError::Storage(_) => Storage,
        ReadFileError::TooLarge { .. } => TooLarge,
        _ => Invalid,
    }
    MoveError {
        MoveError::Rebuild(error) => error.into(),
        MoveError::Blocked(_) => Conflict,
        MoveError::Concluded => Conflict,
        MoveError::BadJournal { .. } => Damaged,
        MoveError::Host { source, .. } => of_host(source.as_ref()),
        _ => Storage,
    }
    RecordError {
        RecordError::Append(error) => error.into(),
        RecordError::Rebuild(error) => error.into(),
        RecordError::Storage(_) => Storage,
        RecordError::ReadFile(error) => error.into(),
        RecordError::Move(error) => error.into(),
        RecordError::NoFile(_) | RecordError::NothingThere(_) => NotFound,
        RecordError::TooLarge { .. } => TooLarge,
        RecordError::Conflict { .. } | RecordError::Nested { .. } => Conflict,
        RecordError::Diverged { .. } => Conflict,
        _ => Invalid,
    }
    RewindError {
        RewindError::Append(error) => error.into(),
        RewindError::Lock(error) => error.into(),
        RewindError::Standing(error) => error.into(),
        RewindError::Record(error) => error.into(),
        RewindError::Rebuild(error) => error.into(),
        RewindError::Move(error) => error.into(),
        RewindError::Storage(_) => Storage,
        RewindError::Name(_) => Invalid,
        RewindError::NoBranch(_) => UnknownBranch,
        _ => Conflict,
    }
    BookmarkError {
        BookmarkError::Append(error) => error.into(),
        BookmarkError::Record(error) => error.into(),
        BookmarkError::Name(_) => Invalid,
        BookmarkError::Unknown(_) | BookmarkError::NoTarget(_) => NotFound,
        _ => Conflict,
    }
    SnapshotError {
        SnapshotError::Append(error) => error.into(),
        SnapshotError::Rebuild(error) => error.into(),
        SnapshotError::Name(_) => Invalid,
        SnapshotError::NoBranch(_) => UnknownBranch,
        SnapshotError::Storage(_) => Storage,
        SnapshotError::Archive(error) => of_host(error),
        _ => Conflict,
    }
    SnapshotCheckError {
        SnapshotCheckError::Rebuild(error) => error.into(),
        SnapshotCheckError::Unknown(_) => NotFound,
        _ => Damaged,
    }
    RestoreError {
        RestoreError::Rebuild(error) => error.into(),
        RestoreError::Archive(_) => Damaged,
        RestoreError::NotEmpty(_) => Conflict,
        _ => Storage,
    }
    VerifyError {
        VerifyError::Open(error) => error.into(),
        VerifyError::Storage(_) => Storage,
        VerifyError::Read(error) => error.into(),
        VerifyError::Append(error) => error.into(),
        VerifyError::Snapshot(error) => error.into(),
        VerifyError::Rebuild(error) => error.into(),
    }
    ImportError {
        ImportError::NoGit(_) => Environment,
        ImportError::NotARepository { .. } => NotFound,
        ImportError::NoCommit { .. } => NotFound,
        ImportError::NotOnMainline { .. } | ImportError::BranchMoved { .. } => Conflict,
        ImportError::BadTree { .. } => Invalid,
        ImportError::Record(error) => error.into(),
        ImportError::Append(error) => error.into(),
        ImportError::Rebuild(error) => error.into(),
        ImportError::Storage(_) => Storage,
        ImportError::Move(error) => error.into(),
        _ => Environment,
    }
    ConfigError { _ => Environment, }
    OpenError {
        OpenError::Read(error) => error.into(),
        OpenError::Config(error) => error.into(),
        OpenError::NotFound(_) => NotFound,
        _ => Storage,
    }
    InitError {
        InitError::Exists => Conflict,
        InitError::Open(error) => error.into(),
        InitError::Snapshot(error) => error.into(),
    }
}

/// Of an error in a box: what it, or the nearest source that is known, says.
fn of_host(error: &(dyn std::error::Error + 'static)) -> ErrorCode {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<RecordError>() {
            return error.into();
        }
        if let Some(error) = error.downcast_ref::<AppendError>() {
            return error.into();
        }
        if let Some(error) = error.downcast_ref::<RebuildError>() {
            return error.into();
        }
        next = error.source();
    }
    ErrorCode::Storage
}
