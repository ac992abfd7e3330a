//! Text and lines to semantic blocks: which function, class, or selector path a change falls in.
//!
//! An [`Outline`] is made of one text and asked for many ranges of lines. It is made by tree-sitter's
//! grammars, so a text that is broken in one place is still understood in the others.
//!
//! ```
//! use ledger_core::{System, TreePath};
//! use ledger_semantic::Outline;
//!
//! let path = TreePath::parse("pkg/parser.py")?;
//! let text = b"class Parser:\n    def parse(self):\n        return 1\n";
//! let outline = Outline::parse(&path, text, &System);
//!
//! let located = outline.block(3, 3);
//! assert_eq!(located.block.kind, "method");
//! assert_eq!(located.block.id, "Parser.parse");
//! assert_eq!(located.warning, None);
//! # Ok::<(), ledger_core::InvalidPath>(())
//! ```
//!
//! # Which block
//!
//! Lines are what `\n` ends, counted from 1. The answer is the innermost block that holds all of the
//! lines asked for.
//!
//! **Python**: `module` (its id is the path of the file), `class`, `function`, `method`; ids are nested
//! by dots. A block reaches from its first decorator to the end of its last statement, as Python's own
//! `ast` has it: comments and blank lines after that belong to what is around it.
//!
//! **YAML** (`yaml_path`) **and JSON** (`json_path`): the id is a JSON Pointer (RFC 6901), and the root's
//! is empty.
//! - Blocks are the pairs of mappings and the members of lists. A line belongs to the smallest block
//!   that holds all that stands on it, commas and comments aside. So `"a": {` and its `}` are lines of
//!   `/a`; a line with two pairs, such as `}, "b": {`, is one of their parent; and `- id: x`, where the
//!   dash stands before the pair, is one of the list's member.
//! - A member of a list is named by the string or number under its `id`, `name` or `key`, the first of
//!   these that it has; else by its index from 0. Where two members of a list have one name, both go by
//!   their index. Where any goes by its index, so do those whose names are decimal numbers: a number in
//!   a pointer is never both.
//! - A stream of more than one document (in JSON: more than one value) is a list of them: `/0/spec`,
//!   `/1/spec`.
//! - Keys that are not strings go by their text. Aliases are not followed.
//!
//! # When there is no block
//!
//! Of a file in another language, beyond the limits of size or depth, or where the lines touch a syntax error,
//! the answer is a block of kind `lines` whose id is `first-last`, and a [`Warning`] says why. The
//! limits look at the text alone, so that every machine gives the same answer; the limit of time is a
//! safety net.

mod blocks;
mod depth;
mod language;
mod outline;
mod python;
mod scalars;
mod selectors;
mod source;
mod syntax;

pub use language::Language;
pub use outline::{Located, Outline, Symbol, Warning};
