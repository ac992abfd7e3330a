//! Parsing by tree-sitter, within a budget of time.
//!
//! **Invariant:** trees are walked by cursors and loops, never by recursion: a text of brackets alone
//! makes a tree as deep as it is long.

use std::ops::ControlFlow;
use std::time::Duration;

use ledger_core::Clock;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::language::Language;
use crate::outline::Warning;
use crate::source::Source;

/// How long one text is parsed at most. A safety net: what is within the limits of size takes a
/// fraction of it.
const BUDGET: Duration = Duration::from_secs(2);

/// Parses a text; the tree of a broken one holds error nodes.
pub(crate) fn parse(
    language: Language,
    source: &Source<'_>,
    clock: &dyn Clock,
) -> Result<Tree, Warning> {
    let mut parser = Parser::new();
    // Refused only by a grammar of another generation of tree-sitter, which the tests would show.
    if parser.set_language(&language.grammar()).is_err() {
        return Err(Warning::ParseError);
    }
    let begun = clock.now();
    let mut progress = |_: &_| {
        if clock.now().since(begun) > BUDGET {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = source.text().as_bytes();
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    parser
        .parse_with_options(&mut read, None, Some(options))
        .ok_or(Warning::TimedOut)
}

/// The lines that syntax errors touch, in order.
#[derive(Debug, Default)]
pub(crate) struct Errors(Vec<(u32, u32)>);

/// What is left of an error that is looked into.
struct Rest {
    depth: usize,
    first: u32,
    last: u32,
}

impl Errors {
    /// Gathers the errors of a tree.
    ///
    /// An error at the top can hold a whole file. What in it `is_sound` (says the language) counts as
    /// parsed; it is asked for each child of such an error.
    pub(crate) fn of(tree: &Tree, is_sound: fn(Node<'_>) -> bool) -> Self {
        let mut errors = Errors::default();
        let mut rest: Option<Rest> = None;
        let mut cursor = tree.walk();
        let mut depth = 0;
        loop {
            let node = cursor.node();
            let (first, last) = (first_line(node), last_line(node));
            let in_error = rest.as_mut().filter(|rest| depth == rest.depth + 1);
            let mut enter = node.has_error();
            if let Some(rest) = in_error {
                enter &= is_sound(node);
                if is_sound(node) {
                    errors.add(rest.first, first - 1);
                    rest.first = last + 1;
                } else if node.kind() != "comment" {
                    rest.first = rest.first.min(first);
                }
            } else if node.is_error() && depth == 0 {
                // The whole text, though the node may end where the parser lost hope.
                let (first, last) = (1, u32::MAX);
                rest = Some(Rest { depth, first, last });
            } else if node.is_error() && depth == 1 {
                rest = Some(Rest { depth, first, last });
            } else if node.is_error() || node.is_missing() {
                errors.add(first, last);
                enter = false;
            }
            if enter && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            loop {
                if let Some(left) = rest.take_if(|rest| rest.depth == depth) {
                    errors.add(left.first, left.last);
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return errors;
                }
                depth -= 1;
            }
        }
    }

    fn add(&mut self, first: u32, last: u32) {
        if first <= last {
            self.0.push((first, last));
        }
    }

    /// Whether an error touches any of the lines.
    pub(crate) fn touch(&self, first: u32, last: u32) -> bool {
        let from = self.0.partition_point(|&(_, end)| end < first);
        self.0.get(from).is_some_and(|&(start, _)| start <= last)
    }
}

/// First line of a node, from 1.
pub(crate) fn first_line(node: Node<'_>) -> u32 {
    line(node.start_position().row)
}

/// Last line of a node; a line of which it holds only the beginning, before any byte, is not one.
pub(crate) fn last_line(node: Node<'_>) -> u32 {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row {
        return line(end.row - 1);
    }
    line(end.row)
}

fn line(row: usize) -> u32 {
    u32::try_from(row).map_or(u32::MAX, |row| row.saturating_add(1))
}
