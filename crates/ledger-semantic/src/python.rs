//! The blocks of a Python text.
//!
//! What a block's lines are is `ast`'s word: from the first decorator to the end of the last statement.
//! The grammar puts comments that follow a body into it, so ends are taken from statements alone.

use tree_sitter::{Node, Tree};

use crate::blocks::{Blocks, Builder, Kind};
use crate::source::Source;
use crate::syntax::{first_line, last_line};

/// A node that the walk is inside of.
struct Inside {
    is_error: bool,
    /// Its first line.
    first: u32,
    /// First line of the block that it opened, if it did.
    opened: Option<u32>,
    /// Last line of its statements so far.
    last: u32,
}

/// Finds functions and classes.
pub(crate) fn outline(tree: &Tree, source: &Source<'_>, mut blocks: Builder) -> Blocks {
    let mut cursor = tree.walk();
    let mut inside: Vec<Inside> = Vec::new();
    loop {
        let node = cursor.node();
        if holds_statements(node) && is_placed(node, &inside) {
            let first = first_line(node);
            let opened = open(node, source, &mut blocks).then(|| {
                // Decorators stand beside the definition, in a node around both.
                let decorated = inside
                    .last()
                    .filter(|_| cursor.field_name() == Some("definition"));
                decorated.map_or(first, |around| around.first)
            });
            if cursor.goto_first_child() {
                inside.push(Inside {
                    is_error: node.is_error(),
                    first,
                    opened,
                    last: first,
                });
                continue;
            }
            if let Some(first) = opened {
                blocks.close(first, first);
            }
        } else if let Some(around) = inside.last_mut()
            && is_content(node)
        {
            around.last = around.last.max(last_line(node));
        }
        while !cursor.goto_next_sibling() {
            let Some(left) = inside.pop() else {
                return blocks.finish();
            };
            cursor.goto_parent();
            if let Some(first) = left.opened {
                blocks.close(first, left.last);
            }
            if let Some(around) = inside.last_mut() {
                around.last = around.last.max(left.last);
            }
        }
    }
}

/// Opens the block of a definition; of any other node, and of one without a name, none.
fn open(node: Node<'_>, source: &Source<'_>, blocks: &mut Builder) -> bool {
    let kind = match node.kind() {
        "class_definition" => Kind::Class,
        "function_definition" if blocks.current_kind() == Kind::Class => Kind::Method,
        "function_definition" => Kind::Function,
        _ => return false,
    };
    let name = node.child_by_field_name("name").map(|name| source.of(name));
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return false;
    };
    blocks.open(kind, name);
    true
}

/// Whether a child of an error is a statement of the module, whatever went wrong before it: nothing
/// else that is a statement begins in the first column.
pub(crate) fn stands_alone(node: Node<'_>) -> bool {
    node.start_position().column == 0 && is_content(node) && !node.is_error()
}

/// Whether it is known what a node is in. Within errors only statements of the module are.
fn is_placed(node: Node<'_>, inside: &[Inside]) -> bool {
    match inside {
        [.., around] if around.is_error => stands_alone(node),
        _ => !node.is_error() || inside.len() <= 1,
    }
}

/// Whether there may be definitions below. Expressions hold none, and are not looked into.
fn holds_statements(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "module"
            | "block"
            | "function_definition"
            | "class_definition"
            | "decorated_definition"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "for_statement"
            | "while_statement"
            | "try_statement"
            | "except_clause"
            | "except_group_clause"
            | "finally_clause"
            | "with_statement"
            | "match_statement"
            | "case_clause"
            | "ERROR"
    )
}

/// Whether a node is part of the code: a comment is not, nor is a `;` or a backslash at a line's end.
fn is_content(node: Node<'_>) -> bool {
    node.is_named() && !matches!(node.kind(), "comment" | "line_continuation")
}
