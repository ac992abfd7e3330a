//! The texts of keys and of names, as their authors mean them: without quotes and escapes.

use tree_sitter::Node;

use crate::source::Source;

/// Longest name that a member of a list goes by, in bytes; a longer text is no name.
const MAX_NAME: usize = 200;

/// The text of a key: of a scalar its value, of anything else what is written, on one line.
pub(crate) fn text_of(node: Node<'_>, source: &Source<'_>) -> String {
    let scalar = scalar_in(node);
    let text = source.of(scalar);
    match scalar.kind() {
        "string" | "double_quote_scalar" => unescaped(&on_one_line(inner(text))),
        "single_quote_scalar" => on_one_line(inner(text)).replace("''", "'"),
        _ => on_one_line(text),
    }
}

/// The name that a value gives: a string or a number that is not empty.
pub(crate) fn name_in(node: Node<'_>, source: &Source<'_>) -> Option<String> {
    let scalar = scalar_in(node);
    let names = match scalar.kind() {
        "string" | "number" | "double_quote_scalar" | "single_quote_scalar" => true,
        "plain_scalar" => scalar.named_child(0).is_some_and(|value| {
            matches!(
                value.kind(),
                "string_scalar" | "integer_scalar" | "float_scalar"
            )
        }),
        _ => false,
    };
    let name = names.then(|| text_of(scalar, source))?;
    (!name.is_empty() && name.len() <= MAX_NAME).then_some(name)
}

/// The scalar that a node of YAML wraps, past its tag and anchor; else the node itself.
fn scalar_in(node: Node<'_>) -> Node<'_> {
    if !matches!(node.kind(), "flow_node" | "block_node") {
        return node;
    }
    let mut cursor = node.walk();
    let mut children = node.named_children(&mut cursor);
    let scalar = children.find(|child| child.kind().ends_with("_scalar"));
    scalar.unwrap_or(node)
}

/// A quoted text without its quotes.
fn inner(quoted: &str) -> &str {
    let mut chars = quoted.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// Folds line breaks, with the white space around them, to one space each, as YAML reads them.
fn on_one_line(text: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Resolves the escapes of JSON (RFC 8259, section 7) and those that YAML adds (1.2.2, section 5.7).
/// What is no escape, or no character, becomes U+FFFD.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut chars = rest.chars();
        let Some(letter) = chars.next() else {
            break;
        };
        rest = chars.as_str();
        match letter {
            'x' => out.push(hex(&mut rest, 2)),
            'u' => out.push(utf16(&mut rest)),
            'U' => out.push(hex(&mut rest, 8)),
            _ => out.push(simple_escape(letter)),
        }
    }
    out.push_str(rest);
    out
}

fn simple_escape(letter: char) -> char {
    match letter {
        '"' | '\\' | '/' | ' ' | '\t' => letter,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        'a' => '\u{7}',
        'v' => '\u{b}',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Takes up the four digits after `\u` and, where they are the first half of a surrogate pair, the
/// second half that follows.
fn utf16(rest: &mut &str) -> char {
    let Some(unit) = digits(rest, 4) else {
        return char::REPLACEMENT_CHARACTER;
    };
    if let Some(mut after) = rest.strip_prefix("\\u")
        && (0xd800..0xdc00).contains(&unit)
        && let Some(low @ 0xdc00..0xe000) = digits(&mut after, 4)
    {
        *rest = after;
        let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn hex(rest: &mut &str, count: usize) -> char {
    let code = digits(rest, count).and_then(char::from_u32);
    code.unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Takes up exactly `count` hexadecimal digits; leaves the text as it is where they are not there.
fn digits(rest: &mut &str, count: usize) -> Option<u32> {
    let (head, tail) = rest.split_at_checked(count)?;
    if !head.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    *rest = tail;
    u32::from_str_radix(head, 16).ok()
}
