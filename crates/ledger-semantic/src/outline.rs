//! One parsed text, asked for many ranges of lines.

use std::fmt;

use ledger_core::{Clock, SemanticBlock, TreePath};

use crate::blocks::{Blocks, Builder, Kind};
use crate::language::Language;
use crate::source::Source;
use crate::syntax::{self, Errors};
use crate::{depth, python, selectors};

/// The blocks of one text.
#[derive(Debug)]
pub struct Outline(Content);

#[derive(Debug)]
enum Content {
    Parsed { blocks: Blocks, errors: Errors },
    Lines(Option<Warning>),
}

/// The block that some lines fall in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The innermost block that holds all the lines; of kind `lines` where none can be told.
    pub block: SemanticBlock,
    /// Why the block is of kind `lines`, where one would be expected to be found.
    pub warning: Option<Warning>,
}

/// Why lines were not located in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// The text is over 512 KiB or 10,000 lines.
    TooLarge,
    /// The text may be nested more deeply than can be parsed: past 200 blocks in YAML, past 300 indents
    /// in Python.
    TooDeep,
    /// The lines touch a syntax error.
    ParseError,
    /// Parsing took over 2 seconds. Another run, on a machine less busy, may do better.
    TimedOut,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Warning::TooLarge => "text is over 512 KiB or 10,000 lines, too large to be parsed",
            Warning::TooDeep => "text is nested too deeply to be parsed",
            Warning::ParseError => "lines touch a syntax error",
            Warning::TimedOut => "text was not parsed within 2 seconds",
        })
    }
}

/// A block and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Kind and id. Ids may repeat: a function can be defined twice.
    pub block: SemanticBlock,
    /// Its first line, from 1.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
}

impl Outline {
    /// Parses a text in the language that the path's extension tells. Any bytes will do.
    pub fn parse(path: &TreePath, text: &[u8], clock: &dyn Clock) -> Outline {
        let Some(language) = Language::of(path) else {
            return Outline(Content::Lines(None));
        };
        Outline(match parse(language, path, text, clock) {
            Ok((blocks, errors)) => Content::Parsed { blocks, errors },
            Err(warning) => Content::Lines(Some(warning)),
        })
    }

    /// Locates the lines `first` to `last`, from 1 and inclusive. Lines after the end of the text are in
    /// its root; a `last` before `first` counts as `first`.
    pub fn block(&self, first: u32, last: u32) -> Located {
        let first = first.max(1);
        let last = last.max(first);
        let warning = match &self.0 {
            Content::Lines(warning) => *warning,
            Content::Parsed { errors, .. } if errors.touch(first, last) => {
                Some(Warning::ParseError)
            }
            Content::Parsed { blocks, .. } => {
                return Located {
                    block: blocks.describe(blocks.innermost(first, last)),
                    warning: None,
                };
            }
        };
        let block = SemanticBlock {
            kind: "lines".to_owned(),
            id: format!("{first}-{last}"),
        };
        Located { block, warning }
    }

    /// All blocks in the order in which they begin, outer before inner, the root first. Nothing for a
    /// text that was not parsed.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let blocks = match &self.0 {
            Content::Parsed { blocks, .. } => Some(blocks),
            Content::Lines(_) => None,
        };
        blocks.into_iter().flat_map(|blocks| {
            (0..blocks.len()).map(|at| {
                let (first_line, last_line) = blocks.lines(at);
                Symbol {
                    block: blocks.describe(at),
                    first_line,
                    last_line,
                }
            })
        })
    }
}

fn parse(
    language: Language,
    path: &TreePath,
    text: &[u8],
    clock: &dyn Clock,
) -> Result<(Blocks, Errors), Warning> {
    let source = Source::new(text).ok_or(Warning::TooLarge)?;
    if depth::may_exceed(language, source.text()) {
        return Err(Warning::TooDeep);
    }
    let tree = syntax::parse(language, &source, clock)?;
    let lines = source.lines();
    Ok(match language {
        Language::Python => {
            let root = Builder::new(Kind::Module, &path.to_string(), lines);
            let errors = Errors::of(&tree, python::stands_alone);
            (python::outline(&tree, &source, root), errors)
        }
        Language::Yaml => {
            let root = Builder::new(Kind::YamlPath, "", lines);
            (
                selectors::outline(&tree, &source, root),
                Errors::of(&tree, |_| false),
            )
        }
        Language::Json => {
            let root = Builder::new(Kind::JsonPath, "", lines);
            (
                selectors::outline(&tree, &source, root),
                Errors::of(&tree, |_| false),
            )
        }
    })
}
