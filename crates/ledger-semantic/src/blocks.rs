//! The blocks of one text, nested, and the search among them.
//!
//! **Invariant:** blocks stand in the order in which they begin, outer before inner; of two, one holds
//! all the lines of the other, or they share none. So the last block that begins at or before a line
//! has, among itself and those around it, all the blocks that hold the line.

use ledger_core::SemanticBlock;

/// Longest id, in bytes. What lies deeper belongs to the innermost block whose id is within this: an id
/// is written into a row of limited size, and ids of endless nesting would take quadratic space.
const MAX_ID: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Module,
    Class,
    Function,
    Method,
    YamlPath,
    JsonPath,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Module => "module",
            Kind::Class => "class",
            Kind::Function => "function",
            Kind::Method => "method",
            Kind::YamlPath => "yaml_path",
            Kind::JsonPath => "json_path",
        }
    }

    fn is_selector(self) -> bool {
        matches!(self, Kind::YamlPath | Kind::JsonPath)
    }
}

/// Index of a block; the root's is 0.
pub(crate) type BlockIndex = usize;

#[derive(Debug)]
struct Block {
    kind: Kind,
    /// Its own part of the id; of the root, all of it.
    name: Box<str>,
    parent: BlockIndex,
    first: u32,
    last: u32,
}

/// The blocks of one text; there is always a root, which holds every line.
#[derive(Debug)]
pub(crate) struct Blocks(Vec<Block>);

impl Blocks {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The innermost block that holds the lines.
    pub(crate) fn innermost(&self, first: u32, last: u32) -> BlockIndex {
        let after = self.0.partition_point(|block| block.first <= first);
        let mut at = after.saturating_sub(1);
        while at > 0 && self.0[at].last < last {
            at = self.0[at].parent;
        }
        at
    }

    /// First and last line of a block.
    pub(crate) fn lines(&self, at: BlockIndex) -> (u32, u32) {
        (self.0[at].first, self.0[at].last)
    }

    /// Kind and id of a block.
    pub(crate) fn describe(&self, at: BlockIndex) -> SemanticBlock {
        let kind = self.0[at].kind;
        let mut names = Vec::new();
        let mut up = at;
        while up > 0 {
            names.push(&*self.0[up].name);
            up = self.0[up].parent;
        }
        let id = match kind {
            _ if at == 0 => self.0[0].name.to_string(),
            kind if kind.is_selector() => {
                let steps = names.iter().rev();
                steps.map(|name| format!("/{}", escaped(name))).collect()
            }
            _ => {
                names.reverse();
                names.join(".")
            }
        };
        SemanticBlock {
            kind: kind.as_str().to_owned(),
            id,
        }
    }
}

/// Blocks in the making: opened and closed as a walk enters and leaves them.
pub(crate) struct Builder {
    blocks: Vec<Block>,
    open: Vec<BlockIndex>,
}

impl Builder {
    /// Begins with the root, which holds lines 1 to `lines` and all after them.
    pub(crate) fn new(kind: Kind, id: &str, lines: u32) -> Self {
        let root = Block {
            kind,
            name: id.into(),
            parent: 0,
            first: 1,
            last: lines,
        };
        Builder {
            blocks: vec![root],
            open: Vec::new(),
        }
    }

    /// The innermost block that is open.
    pub(crate) fn current(&self) -> BlockIndex {
        self.open.last().copied().unwrap_or(0)
    }

    /// Kind of the innermost block that is open.
    pub(crate) fn current_kind(&self) -> Kind {
        self.blocks[self.current()].kind
    }

    /// Opens a block in the current one. It has no lines until it is closed.
    pub(crate) fn open(&mut self, kind: Kind, name: &str) -> BlockIndex {
        let at = self.blocks.len();
        self.blocks.push(Block {
            kind,
            name: name.into(),
            parent: self.current(),
            first: 1,
            last: 0,
        });
        self.open.push(at);
        at
    }

    /// Closes the current block, now that its lines are known.
    pub(crate) fn close(&mut self, first: u32, last: u32) {
        if let Some(at) = self.open.pop() {
            (self.blocks[at].first, self.blocks[at].last) = (first, last);
        }
    }

    /// Gives a block another name.
    pub(crate) fn rename(&mut self, at: BlockIndex, name: &str) {
        self.blocks[at].name = name.into();
    }

    /// Takes the blocks, without those that have no line or too long an id, and what is in them.
    pub(crate) fn finish(self) -> Blocks {
        let mut kept: Vec<Block> = Vec::with_capacity(self.blocks.len());
        // For each block its new index and the length of its id, where it is kept.
        let mut moved: Vec<Option<(BlockIndex, usize)>> = Vec::with_capacity(self.blocks.len());
        for mut block in self.blocks {
            let at = kept.len();
            if at == 0 {
                moved.push(Some((0, 0)));
                kept.push(block);
                continue;
            }
            let around = moved.get(block.parent).copied().flatten();
            let place = around.and_then(|(parent, length)| {
                let length = length + 1 + escaped_len(&block.name);
                block.parent = parent;
                clip(&mut block, &kept);
                (length <= MAX_ID && block.first <= block.last).then_some((at, length))
            });
            moved.push(place);
            if place.is_some() {
                kept.push(block);
            }
        }
        Blocks(kept)
    }
}

/// Brings a block into the one around it and after the one beside it. Only a broken text needs this.
fn clip(block: &mut Block, before: &[Block]) {
    let around = &before[block.parent];
    block.first = block.first.max(around.first);
    block.last = block.last.min(around.last);
    let mut beside = before.len() - 1;
    while beside > block.parent && before[beside].parent != block.parent {
        beside = before[beside].parent;
    }
    if beside > block.parent {
        block.first = block.first.max(before[beside].last.saturating_add(1));
    }
}

/// A name as a step of a JSON Pointer (RFC 6901, section 3).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn escaped_len(name: &str) -> usize {
    let specials = name.bytes().filter(|b| matches!(b, b'~' | b'/')).count();
    name.len() + specials
}
