//! Reading a manifest.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use ledger_core::{Digest, Mode, TreePath};
use serde::de::{self, DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Format, Manifest, ManifestError, field};
use crate::archive::Stored;
use crate::tree::{FileEntry, find_nested};

#[derive(Deserialize)]
struct FileFields {
    size: u64,
    mode: Mode,
    frame: u32,
}

#[derive(Deserialize)]
struct RawHash {
    path: TreePath,
    hash: Digest,
}

#[derive(Deserialize)]
struct RawFile {
    path: TreePath,
    #[serde(flatten)]
    fields: FileFields,
}

/// The fields of a manifest, not yet looked into.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    fn optional<T: Deserialize<'a>>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<T>, ManifestError> {
        let Some(raw) = self.0.remove(field) else {
            return Ok(None);
        };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|source| ManifestError::Field { field, source })
    }

    fn required<T: Deserialize<'a>>(&mut self, field: &'static str) -> Result<T, ManifestError> {
        self.optional(field)?
            .ok_or(ManifestError::Missing { field })
    }

    /// A map by name, each name once.
    fn values(&mut self, field: &'static str) -> Result<BTreeMap<String, Value>, ManifestError> {
        Ok(self.optional::<Unique<Value>>(field)?.unwrap_or_default().0)
    }
}

impl Manifest {
    /// Reads a manifest. Fields that it does not know are kept; those of its own must be right.
    pub fn from_json(json: &[u8]) -> Result<Self, ManifestError> {
        let fields: Unique<&RawValue> =
            serde_json::from_slice(json).map_err(ManifestError::Json)?;
        let mut fields = Fields(fields.0);
        // First, so that a later version is named as that, and not by what it does differently.
        check_format(fields.required(field::FORMAT)?)?;
        let hashes = hashes(&mut fields)?;
        let files = files(&mut fields)?;
        let manifest = Manifest {
            id: fields.required(field::ID)?,
            ts: fields.required(field::TS)?,
            base_event_id: fields.required(field::BASE_EVENT_ID)?,
            event_offset: fields.required(field::EVENT_OFFSET)?,
            tar_uri: fields.required(field::TAR_URI)?,
            env: fields.values(field::ENV)?,
            seeds: fields.values(field::SEEDS)?,
            tools: fields.values(field::TOOLS)?,
            archive: fields.required(field::ARCHIVE)?,
            files: pair(hashes, files)?,
            unknown: fields
                .0
                .into_iter()
                .map(|(name, raw)| (name, raw.to_owned()))
                .collect(),
        };
        let holds = |path: &TreePath| manifest.files.contains_key(path);
        match find_nested(manifest.files.keys(), holds) {
            Some((path, above)) => Err(ManifestError::Nested { path, above }),
            None => Ok(manifest),
        }
    }
}

fn check_format(found: Format) -> Result<(), ManifestError> {
    let known = Format::current();
    if (&found.name, found.version, found.level) == (&known.name, known.version, known.level) {
        return Ok(());
    }
    Err(ManifestError::Version {
        name: found.name,
        version: found.version,
        level: found.level,
        supported: format!(
            "{} version {} level {}",
            known.name, known.version, known.level
        ),
    })
}

fn hashes(fields: &mut Fields<'_>) -> Result<Vec<(TreePath, Digest)>, ManifestError> {
    let Entries(mut entries) = fields.required(field::HASHES)?;
    let raw: Vec<RawHash> = fields.optional(field::HASHES_RAW)?.unwrap_or_default();
    entries.extend(raw.into_iter().map(|raw| (raw.path, raw.hash)));
    sort(field::HASHES, entries)
}

fn files(fields: &mut Fields<'_>) -> Result<Vec<(TreePath, FileFields)>, ManifestError> {
    let Entries(mut entries) = fields.required(field::FILES)?;
    let raw: Vec<RawFile> = fields.optional(field::FILES_RAW)?.unwrap_or_default();
    entries.extend(raw.into_iter().map(|raw| (raw.path, raw.fields)));
    sort(field::FILES, entries)
}

/// Brings entries into path order, each path once.
fn sort<V>(
    field: &'static str,
    mut entries: Vec<(TreePath, V)>,
) -> Result<Vec<(TreePath, V)>, ManifestError> {
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let path = pair[0].0.clone();
            Err(ManifestError::Duplicate { field, path })
        }
        None => Ok(entries),
    }
}

fn pair(
    hashes: Vec<(TreePath, Digest)>,
    files: Vec<(TreePath, FileFields)>,
) -> Result<BTreeMap<TreePath, Stored>, ManifestError> {
    let alone = match hashes.len() < files.len() {
        true => files.get(hashes.len()).map(|(path, _)| path),
        false => hashes.get(files.len()).map(|(path, _)| path),
    };
    let mut unpaired = alone.cloned();
    let paired = hashes
        .into_iter()
        .zip(files)
        .map(|((path, hash), (other, file))| {
            if path != other && unpaired.as_ref().is_none_or(|known| path < *known) {
                unpaired = Some(path.clone().min(other));
            }
            let FileFields { size, mode, frame } = file;
            let entry = FileEntry { mode, hash, size };
            (path, Stored { entry, frame })
        });
    let paired = paired.collect();
    match unpaired {
        Some(path) => Err(ManifestError::Unpaired { path }),
        None => Ok(paired),
    }
}

/// A JSON object with each key once. (`serde_json` takes the last of several.)
struct Unique<V>(BTreeMap<String, V>);

impl<V> Default for Unique<V> {
    fn default() -> Self {
        Unique(BTreeMap::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Keys<V> {
            type Value = Unique<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut values = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, V>()? {
                    if values.contains_key(&key) {
                        return Err(de::Error::custom(format_args!(
                            "key {key:?} is there twice"
                        )));
                    }
                    values.insert(key, value);
                }
                Ok(Unique(values))
            }
        }

        deserializer.deserialize_map(Keys(PhantomData))
    }
}

/// A JSON object from paths to something, in the order of the text: no value is built for the whole.
struct Entries<V>(Vec<(TreePath, V)>);

impl<'de, V: DeserializeOwned> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Paths<V>(PhantomData<V>);

        impl<'de, V: DeserializeOwned> Visitor<'de> for Paths<V> {
            type Value = Entries<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with paths as its keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Key(path), value)) = map.next_entry()? {
                    entries.push((path, value));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Paths(PhantomData))
    }
}

/// A path as a key.
struct Key(TreePath);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Key, E> {
                TreePath::parse(text).map(Key).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}
