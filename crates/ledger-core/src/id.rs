//! Identifiers: of events, of snapshots, and the names people give.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares a dense numeric id that is written as a prefix and at least so many digits.
macro_rules! numbered_id {
    ($(#[$doc:meta])* $name:ident, $number:ty, $prefix:literal, $digits:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{:0width$}"), self.0, width = $digits)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let bad = || InvalidId { expected: concat!($prefix, "NNNN"), found: text.to_owned() };
                let digits = text.strip_prefix($prefix).ok_or_else(bad)?;
                if !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(bad());
                }
                let id = digits.parse().map($name).map_err(|_| bad())?;
                // One way to write each id, so that text can be searched for it.
                if id.to_string() == text { Ok(id) } else { Err(bad()) }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

numbered_id!(
    /// The number of an event: `evt-000123`. Dense and in file order; 0 is the genesis row.
    EventId, u64, "evt-", 6
);
numbered_id!(
    /// The number of a snapshot: `snap-0007`. Counted from 1; there may be gaps.
    SnapshotId, u32, "snap-", 4
);

impl EventId {
    /// The first row of every ledger.
    pub const GENESIS: EventId = EventId(0);

    /// The id of the row after this one.
    pub fn next(self) -> EventId {
        EventId(self.0 + 1)
    }
}

/// Text that should have been an id was not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected {expected}, found {found:?}")]
pub struct InvalidId {
    expected: &'static str,
    found: String,
}

/// Why a text cannot name a branch or a bookmark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot be a name: {why}")]
pub struct InvalidName {
    name: String,
    why: &'static str,
}

/// Longest name of a branch or bookmark, in bytes.
const NAME_MAX: usize = 255;

/// Checks that `name` may name a branch or a bookmark.
///
/// Both share one namespace with the other refs, so a name must not read as an id or as ref syntax.
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    let looks_like_id = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > NAME_MAX {
        "it is longer than 255 bytes"
    } else if name.chars().any(crate::bytes::is_unsafe_char) {
        "it holds a control character"
    } else if name.contains("..") || name.contains(['~', '@', ':']) {
        "it holds one of .. ~ @ : which are ref syntax"
    } else if name.starts_with('-') || name.trim() != name {
        "it begins with - or begins or ends with a space"
    } else if looks_like_id("evt-") || looks_like_id("snap-") {
        "it looks like an id"
    } else {
        return Ok(());
    };
    Err(InvalidName {
        name: name.to_owned(),
        why,
    })
}
