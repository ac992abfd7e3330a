use ledger_semantic::Outline;
use proptest::prelude::*;

use crate::outline;

/// Texts of the tokens that languages are made of, and of other bytes.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    const TOKENS: &[&str] = &[
        "def f():", "class A:", "@d", "if x:", "\n", "\n  ", "\n    ", "\n\t", "\r\n", "- ", "? ",
        "a: ", "id: x", ": ", "|\n", "{", "}", "[", "]", "(", ")", ",", "\"", "'", "\"a\":", "1",
        "x", "# c", "// c", "\\", "---\n", "&a ", "*a", "f\"{", "\u{feff}", "é", "\0",
    ];
    let token = prop_oneof![
        20 => prop::sample::select(TOKENS).prop_map(|token| token.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(token, 0..80).prop_map(|tokens| tokens.concat())
}

fn paths() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["m.py", "m.yaml", "m.json"][..])
}

/// The blocks around a block, by their lines: no two blocks overlap in part.
fn lines_of(outline: &Outline) -> Vec<(u32, u32)> {
    outline
        .symbols()
        .map(|symbol| (symbol.first_line, symbol.last_line))
        .collect()
}

proptest! {
    #[test]
    fn blocks_nest_and_stand_in_order(path in paths(), text in texts()) {
        let blocks = lines_of(&outline(path, text));
        for pair in blocks.windows(2) {
            prop_assert!(pair[0].0 <= pair[1].0);
        }
        for (at, &(first, last)) in blocks.iter().enumerate() {
            prop_assert!(first <= last);
            for &(from, to) in &blocks[..at] {
                prop_assert!(to < first || (from <= first && last <= to));
            }
        }
    }

    #[test]
    fn the_block_of_lines_is_the_innermost_that_holds_them(
        path in paths(), text in texts(), first in 1u32..40, more in 0u32..6,
    ) {
        let outline = outline(path, &text);
        let located = outline.block(first, first + more);
        if located.warning.is_none() {
            let holds = |lines: &(u32, u32)| lines.0 <= first && first + more <= lines.1;
            let innermost = outline
                .symbols()
                .filter(|symbol| holds(&(symbol.first_line, symbol.last_line)))
                .last()
                .or_else(|| outline.symbols().next());
            prop_assert_eq!(Some(located.block), innermost.map(|symbol| symbol.block));
        }
    }

    #[test]
    fn any_bytes_have_an_answer(
        path in paths(), text in prop::collection::vec(any::<u8>(), 0..300), first: u32, last: u32,
    ) {
        let located = outline(path, &text).block(first, last);
        prop_assert_eq!(located.warning.is_some(), located.block.kind == "lines");
    }
}
