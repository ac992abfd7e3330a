//! Policy: `config.toml`, and the environment variables that win over it.

use std::time::Duration;

use ledger_core::layout;
use ledger_core::storage::{Storage, StorageError, if_present, read_file};
use serde::{Deserialize, Deserializer};

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The file is not what it should be; the message has the line.
    #[error(".user/ledger/config.toml: {0}")]
    Invalid(String),
    /// An environment variable is not what it should be.
    #[error("{name}={value:?}: {why}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What is wrong.
        why: String,
    },
}

/// The policy of a ledger.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// When snapshots are taken.
    pub snapshot: SnapshotPolicy,
    /// Which snapshots stay.
    pub retention: Retention,
    /// What is recorded.
    pub record: RecordPolicy,
    /// What is not tracked.
    pub ignore: IgnorePolicy,
    /// Rules for secrets.
    pub redact: RedactPolicy,
    /// What a replay does not compare.
    pub replay: ReplayPolicy,
    /// How artifacts are kept.
    pub artifacts: ArtifactPolicy,
}

/// When a snapshot is due, beside semantic boundaries.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SnapshotPolicy {
    /// After so many events that changed files.
    pub events_per_snapshot: u64,
    /// After so long a time of editing.
    #[serde(deserialize_with = "duration_value")]
    pub walltime_interval: Duration,
    /// After more bytes of changes than this.
    #[serde(deserialize_with = "size_value")]
    pub volume_bytes: u64,
}

impl Default for SnapshotPolicy {
    fn default() -> Self {
        SnapshotPolicy {
            events_per_snapshot: 80,
            walltime_interval: Duration::from_secs(30 * 60),
            volume_bytes: 5_000_000,
        }
    }
}

/// Which snapshots stay; events always do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// The last so many.
    pub keep_last: u32,
    /// Of the older ones, every so manieth by its number.
    pub keep_every: u32,
    /// Bytes that snapshots may take; the older ones thin out until they do.
    #[serde(deserialize_with = "size_value")]
    pub snapshot_budget: u64,
    /// Whether each automatic snapshot is followed by a collection.
    pub auto_gc: bool,
}

impl Default for Retention {
    fn default() -> Self {
        Retention {
            keep_last: 10,
            keep_every: 10,
            snapshot_budget: 2 << 30,
            auto_gc: true,
        }
    }
}

/// What is recorded, and how.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordPolicy {
    /// What happens to files that hold a secret: `warn` or `refuse`.
    pub secrets: String,
    /// Whether agents may only propose.
    pub agents_must_propose: bool,
    /// Larger files are not tracked.
    #[serde(deserialize_with = "size_value")]
    pub max_file_size: u64,
}

impl Default for RecordPolicy {
    fn default() -> Self {
        let secrets = "warn".to_owned();
        RecordPolicy {
            secrets,
            agents_must_propose: false,
            max_file_size: 100_000_000,
        }
    }
}

/// Patterns of files that are not tracked, as in a `.gitignore` at the root.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IgnorePolicy {
    /// The patterns.
    pub patterns: Vec<String>,
}

/// Rules for secrets beside those that bench knows.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RedactPolicy {
    /// The rules, in gitleaks' schema.
    pub rules: Vec<toml::Value>,
}

/// What a replay does not compare.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayPolicy {
    /// Rules that name volatile fields.
    pub volatile: Vec<toml::Value>,
}

/// How artifacts are kept.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArtifactPolicy {
    /// Who can open them.
    pub recipients: Vec<String>,
}

/// The largest `max_file_size`: objects are not read beyond it.
const MAX_FILE_SIZE: u64 = ledger_core::objects::OBJECT_MAX;

impl Config {
    /// Reads the configuration of a ledger; what it does not say is as by default.
    pub fn load(storage: &dyn Storage) -> Result<Self, ConfigError> {
        let Some(bytes) = if_present(read_file(storage, &layout::config()))? else {
            return Ok(Config::default());
        };
        let text = String::from_utf8(bytes)
            .map_err(|_| ConfigError::Invalid("it is not UTF-8".to_owned()))?;
        let config: Config =
            toml::from_str(&text).map_err(|error| ConfigError::Invalid(error.to_string()))?;
        config.check().map_err(ConfigError::Invalid)?;
        Ok(config)
    }

    /// Lets the ADR's environment variables win: `EVENTS_PER_SNAPSHOT`, `WALLTIME_SNAPSHOT_INTERVAL`,
    /// `VOLUME_SNAPSHOT_BYTES`.
    pub fn with_variables(
        mut self,
        read: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        fn take<T>(
            name: &'static str,
            value: Option<String>,
            parse: impl Fn(&str) -> Result<T, String>,
            into: &mut T,
        ) -> Result<(), ConfigError> {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                *into = parse(&value).map_err(|why| ConfigError::Variable { name, value, why })?;
            }
            Ok(())
        }
        let number = |text: &str| text.parse().map_err(|_| "expected a number".to_owned());
        let snapshot = &mut self.snapshot;
        let name = "EVENTS_PER_SNAPSHOT";
        take(name, read(name), number, &mut snapshot.events_per_snapshot)?;
        let name = "WALLTIME_SNAPSHOT_INTERVAL";
        take(
            name,
            read(name),
            parse_duration,
            &mut snapshot.walltime_interval,
        )?;
        let name = "VOLUME_SNAPSHOT_BYTES";
        take(name, read(name), parse_size, &mut snapshot.volume_bytes)?;
        Ok(self)
    }

    fn check(&self) -> Result<(), String> {
        if !matches!(self.record.secrets.as_str(), "warn" | "refuse") {
            return Err(format!(
                "record.secrets is {:?}: expected warn or refuse",
                self.record.secrets
            ));
        }
        if self.record.max_file_size > MAX_FILE_SIZE {
            return Err(format!(
                "record.max_file_size is over {MAX_FILE_SIZE} bytes"
            ));
        }
        if self.retention.keep_every == 0 || self.snapshot.events_per_snapshot == 0 {
            return Err("keep_every and events_per_snapshot are at least 1".to_owned());
        }
        Ok(())
    }
}

/// Reads `5MB`, `2GiB`, `512 KiB`, `1000`: kB, MB, GB are powers of 1000, KiB, MiB, GiB of 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err("expected a size such as 5MB or 2GiB".to_owned()),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "expected a size such as 5MB or 2GiB".to_owned())?;
    number
        .checked_mul(factor)
        .ok_or_else(|| "the size is too large".to_owned())
}

/// Reads `30m`, `1h 30m`, `90s`, `250ms`; a plain number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.trim().parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let wrong = || "expected a duration such as 30m or 90s".to_owned();
    let duration: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(duration).map_err(|_| wrong())
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

fn size_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(bytes) => Ok(bytes),
        NumberOrText::Text(text) => parse_size(&text).map_err(serde::de::Error::custom),
    }
}

fn duration_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(seconds) => Ok(Duration::from_secs(seconds)),
        NumberOrText::Text(text) => parse_duration(&text).map_err(serde::de::Error::custom),
    }
}
