//! The blocks of YAML and JSON: the pairs of mappings and the members of lists.
//!
//! One walk serves both grammars; no node has the same name in both and another meaning here.

use std::collections::HashMap;

use tree_sitter::{Node, Tree};

use crate::blocks::{BlockIndex, Blocks, Builder, Kind};
use crate::scalars::{self, text_of};
use crate::source::Source;

/// A node that the walk is inside of.
struct Inside<'tree> {
    kind: &'tree str,
    start: usize,
    /// End of its last byte so far that is not of a comment.
    end: usize,
    /// How many blocks it opened.
    opened: usize,
    /// Whether its children are members of the innermost list.
    is_list: bool,
}

/// A member of a list.
struct Member {
    block: BlockIndex,
    /// Rank of the key that names it, and the name.
    name: Option<(usize, String)>,
}

/// Finds pairs and members.
pub(crate) fn outline(tree: &Tree, source: &Source<'_>, blocks: Builder) -> Blocks {
    let mut walk = Walk {
        source,
        kind: blocks.current_kind(),
        blocks,
        inside: Vec::new(),
        lists: Vec::new(),
    };
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let is_key = cursor.field_name() == Some("key");
        if node.kind() != "comment" {
            walk.enter(node);
            if !is_key && may_hold_blocks(node) && cursor.goto_first_child() {
                continue;
            }
            walk.leave(Some(node.end_byte()));
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return walk.blocks.finish();
            }
            walk.leave(None);
        }
    }
}

struct Walk<'a, 'tree> {
    source: &'a Source<'a>,
    kind: Kind,
    blocks: Builder,
    inside: Vec<Inside<'tree>>,
    /// The lists that the walk is inside of.
    lists: Vec<Vec<Member>>,
}

impl<'tree> Walk<'_, 'tree> {
    fn enter(&mut self, node: Node<'tree>) {
        let mut opened = 0;
        let around = self.inside.last();
        let in_list = around.is_some_and(|around| around.is_list);
        let in_flow_mapping = around.is_some_and(|around| around.kind == "flow_mapping");
        if in_list && is_value(node) {
            self.open_member();
            opened += 1;
        }
        if is_pair(node) || (in_flow_mapping && is_value(node)) {
            self.open_pair(node);
            opened += 1;
        }
        let is_list = match node.kind() {
            "array" | "block_sequence" | "flow_sequence" => true,
            // A stream of documents, or of values.
            _ if self.inside.is_empty() => holds_several(node),
            _ => false,
        };
        if is_list {
            self.lists.push(Vec::new());
        }
        self.inside.push(Inside {
            kind: node.kind(),
            start: node.start_byte(),
            end: node.start_byte(),
            opened,
            is_list,
        });
    }

    /// Leaves a node; `end` is where it ends, for one whose children were not looked at.
    fn leave(&mut self, end: Option<usize>) {
        let Some(left) = self.inside.pop() else {
            return;
        };
        let end = end.unwrap_or(left.end);
        if left.is_list
            && let Some(members) = self.lists.pop()
        {
            self.name_members(&members);
        }
        if left.opened > 0 {
            let (first, last) = self.source.own_lines(left.start, end);
            (0..left.opened).for_each(|_| self.blocks.close(first, last));
        }
        if let Some(around) = self.inside.last_mut() {
            around.end = around.end.max(end);
        }
    }

    fn open_member(&mut self) {
        // It is named when its list is left, for only then it is known which names are unique.
        let block = self.blocks.open(self.kind, "");
        if let Some(list) = self.lists.last_mut() {
            list.push(Member { block, name: None });
        }
    }

    fn open_pair(&mut self, node: Node<'tree>) {
        // In `{a, b}` each key stands for a pair without a value.
        let key = if is_pair(node) {
            node.child_by_field_name("key")
        } else {
            Some(node)
        };
        let key = key.map(|key| text_of(key, self.source)).unwrap_or_default();
        let rank = ["id", "name", "key"].iter().position(|name| *name == key);
        let around = self.blocks.current();
        self.blocks.open(self.kind, &key);

        let member = self.lists.last_mut().and_then(|list| list.last_mut());
        if let Some(rank) = rank
            && let Some(member) = member.filter(|member| member.block == around)
            && member.name.as_ref().is_none_or(|(best, _)| rank < *best)
            && let Some(value) = node.child_by_field_name("value")
            && let Some(name) = scalars::name_in(value, self.source)
        {
            member.name = Some((rank, name));
        }
    }

    fn name_members(&mut self, members: &[Member]) {
        let names = members.iter().filter_map(|member| member.name.as_ref());
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for (_, name) in names {
            *uses.entry(name).or_default() += 1;
        }
        let unique = |member: &Member| {
            let (_, name) = member.name.as_ref()?;
            (uses.get(name.as_str()) == Some(&1)).then(|| name.clone())
        };
        let some_by_index = members.iter().any(|member| unique(member).is_none());
        for (index, member) in members.iter().enumerate() {
            let name = unique(member).filter(|name| !(some_by_index && is_decimal(name)));
            let name = name.unwrap_or_else(|| index.to_string());
            self.blocks.rename(member.block, &name);
        }
    }
}

fn is_pair(node: Node<'_>) -> bool {
    matches!(node.kind(), "pair" | "block_mapping_pair" | "flow_pair")
}

/// Whether a node in a list or a flow mapping is something that the text's author put there, rather
/// than punctuation, or the grammar's trouble.
fn is_value(node: Node<'_>) -> bool {
    node.is_named() && !matches!(node.kind(), "comment" | "ERROR")
}

fn holds_several(root: Node<'_>) -> bool {
    let mut cursor = root.walk();
    let values = root.children(&mut cursor).filter(|child| is_value(*child));
    values.take(2).count() == 2
}

/// Scalars hold no blocks, and are not looked into.
fn may_hold_blocks(node: Node<'_>) -> bool {
    !matches!(node.kind(), "string" | "plain_scalar" | "block_scalar")
}

fn is_decimal(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_digit())
}
