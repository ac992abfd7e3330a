//! The JSON form of edits.

use std::num::NonZeroU64;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{LineEdit, LineOp};
use crate::bytes::ByteString;
use crate::diff::{is_terminated, split_lines};

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum WrittenOp<'a> {
    Retain(u64),
    Delete(WrittenLines<'a>),
    Insert(WrittenLines<'a>),
}

struct WrittenLines<'a>(&'a [u8]);

impl Serialize for WrittenLines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(split_lines(self.0).map(ByteString::borrowed))
    }
}

impl Serialize for LineEdit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ops.iter().map(|op| match op {
            LineOp::Retain(lines) => WrittenOp::Retain(*lines),
            LineOp::Delete(lines) => WrittenOp::Delete(WrittenLines(lines)),
            LineOp::Insert(lines) => WrittenOp::Insert(WrittenLines(lines)),
        }))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReadOp {
    Retain(NonZeroU64),
    Delete(ReadLines),
    Insert(ReadLines),
}

struct ReadLines(Vec<u8>);

impl<'de> Deserialize<'de> for ReadLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfLines;

        impl<'de> Visitor<'de> for OfLines {
            type Value = ReadLines;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array of lines")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ReadLines, A::Error> {
                let mut lines = Vec::new();
                while let Some(line) = seq.next_element::<ByteString<'static>>()? {
                    push_line(&mut lines, line.as_bytes()).map_err(de::Error::custom)?;
                }
                match lines.is_empty() {
                    true => Err(de::Error::custom("expected at least one line")),
                    false => Ok(ReadLines(lines)),
                }
            }
        }

        deserializer.deserialize_seq(OfLines)
    }
}

fn push_line(lines: &mut Vec<u8>, line: &[u8]) -> Result<(), &'static str> {
    if !is_terminated(lines) {
        return Err("only the last line may lack its newline");
    }
    if split_lines(line).count() != 1 {
        return Err("expected exactly one line in each string");
    }
    lines.extend_from_slice(line);
    Ok(())
}

impl<'de> Deserialize<'de> for LineEdit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ops: Vec<LineOp> = Vec::<ReadOp>::deserialize(deserializer)?
            .into_iter()
            .map(|op| match op {
                ReadOp::Retain(lines) => LineOp::Retain(lines.get()),
                ReadOp::Delete(ReadLines(lines)) => LineOp::Delete(lines),
                ReadOp::Insert(ReadLines(lines)) => LineOp::Insert(lines),
            })
            .collect();
        if !is_normal(&ops) {
            return Err(de::Error::custom("line operations are not in normal form"));
        }
        LineEdit::from_ops(ops).map_err(de::Error::custom)
    }
}

/// Whether [`LineEdit::from_ops`] would leave these operations as they are.
fn is_normal(ops: &[LineOp]) -> bool {
    use LineOp::{Delete, Insert, Retain};
    let follows = |pair: &[LineOp]| {
        !matches!(
            pair,
            [Retain(_), Retain(_)] | [Delete(_), Delete(_)] | [Insert(_), Insert(_) | Delete(_)]
        )
    };
    ops.windows(2).all(follows) && !matches!(ops.last(), Some(Retain(_)))
}
