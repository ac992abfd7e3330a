//! Bytes in JSON and on terminals: UTF-8 where they are, marked or escaped where they are not.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes as JSON: a string where they are UTF-8, `{"b64": "..."}` where they are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteString<'a>(Cow<'a, [u8]>);

impl<'a> ByteString<'a> {
    /// Wraps bytes to be written.
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        ByteString(Cow::Borrowed(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Takes the bytes out.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_owned()
    }
}

impl Serialize for ByteString<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("b64", &STANDARD.encode(&self.0))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for ByteString<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = ByteString<'static>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or {\"b64\": \"...\"}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ByteString(Cow::Owned(text.as_bytes().to_vec())))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let Some(("b64", text)) = map
                    .next_entry::<Cow<'de, str>, String>()?
                    .as_ref()
                    .map(|(k, v)| (k.as_ref(), v.clone()))
                else {
                    return Err(de::Error::custom("expected the single key b64"));
                };
                if map.next_key::<Cow<'de, str>>()?.is_some() {
                    return Err(de::Error::custom("expected the single key b64"));
                }
                let bytes = STANDARD
                    .decode(text)
                    .map_err(|_| de::Error::custom("b64 is not base64"))?;
                Ok(ByteString(Cow::Owned(bytes)))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// Whether a terminal, or a reader, could be misled by `c`: control characters, and those that
/// reorder or hide text (bidirectional marks, zero-width characters, line separators).
pub fn is_unsafe_char(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061C}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{2069}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

/// Makes bytes fit to be shown on one line: what is not UTF-8 as `\xNN`, unsafe characters as
/// `\n`, `\t`, `\u{202e}` and the like.
pub fn printable(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_unsafe_char(c) {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}
