use ledger_semantic::Warning;

use crate::{check, check_range, outline, show};

#[test]
fn definitions_are_nested_by_dots() {
    check(
        "pkg/mod.py",
        "
import os                       <- module pkg/mod.py
                                <- module pkg/mod.py
class Parser(                   <- class Parser
    object,                     <- class Parser
):                              <- class Parser
    limit = 1                   <- class Parser
                                <- class Parser
    def parse(self, text,       <- method Parser.parse
              limit=limit):     <- method Parser.parse
        def helper():           <- function Parser.parse.helper
            return 1            <- function Parser.parse.helper
                                <- method Parser.parse
        return helper           <- method Parser.parse
                                <- class Parser
    class Inner:                <- class Parser.Inner
        async def run(self):    <- method Parser.Inner.run
            pass                <- method Parser.Inner.run
                                <- module pkg/mod.py
def parse():                    <- function parse
    class Local:                <- class parse.Local
        def run(self): pass     <- method parse.Local.run
",
    );
}

#[test]
fn decorators_belong_to_what_they_decorate() {
    check(
        "m.py",
        "
@first                          <- function f
# between                       <- function f
                                <- function f
@second(                        <- function f
    1)                          <- function f
def f(): pass                   <- function f
class A:                        <- class A
    @property                   <- method A.p
    def p(self): pass           <- method A.p
    x = 1                       <- class A
@dataclass                      <- class B
class B: pass                   <- class B
",
    );
}

#[test]
fn a_definition_under_a_condition_in_a_class_is_a_method() {
    check(
        "m.py",
        "
class A:                        <- class A
    if fast:                    <- class A
        def m(self): pass       <- method A.m
    else:                       <- class A
        try:                    <- class A
            def n(self): pass   <- method A.n
        except* E:              <- class A
            def o(self): pass   <- method A.o
    match x:                    <- class A
        case 1:                 <- class A
            with y:             <- class A
                def p(): pass   <- method A.p
if x:                           <- module m.py
    def f(): pass               <- function f
",
    );
}

#[test]
fn comments_after_the_last_statement_are_outside() {
    check(
        "m.py",
        "
def f():                        <- function f
    # before                    <- function f
    x = 1                       <- function f
                                <- function f
    # between                   <- function f
    y = 2 ; # beside            <- function f
                                <- module m.py
    # after                     <- module m.py
# before g                      <- module m.py
def g():                        <- function g
    s = '''                     <- function g
# no comment                    <- function g
'''; t = 1                      <- function g
# end                           <- module m.py
",
    );
}

#[test]
fn several_lines_are_in_the_innermost_block_around_all_of_them() {
    let text = "class A:\n    def m(self):\n        return 1\n    def n(self):\n        return 2\n";
    check_range("m.py", text, (2, 3), "method A.m");
    check_range("m.py", text, (3, 4), "class A");
    check_range("m.py", text, (1, 5), "class A");
    check_range("m.py", text, (5, 6), "module m.py");
    check_range("m.py", text, (60, 70), "module m.py");
    check_range("m.py", text, (0, 0), "class A");
    check_range("m.py", text, (3, 1), "method A.m");
}

#[test]
fn line_ends_and_encodings_move_no_line() {
    let text = "class A:\r\n    def m(self):\r\n        return 1\r\n\r\nx = 1\r\n";
    check_range("m.py", text, (3, 3), "method A.m");
    check_range("m.py", text, (5, 5), "module m.py");
    check_range("m.py", "\u{feff}def f():\n    pass", (2, 2), "function f");

    let latin1 = b"# caf\xe9\ndef caf\xe9():\n    '\xff\xfe'\n";
    assert_eq!(
        show(&outline("m.py", latin1).block(3, 3)),
        "function caf\u{e9}"
    );
}

#[test]
fn lines_in_a_syntax_error_are_lines_and_others_are_not() {
    check(
        "m.py",
        "
class A:                        <- class A
    def a(self):                <- method A.a
        return 1                <- method A.a
    def b(self):                <- method A.b
        x = = 2                 <- lines 5-5
        return 2                <- method A.b
    def c(self):                <- method A.c
        return 3                <- method A.c
",
    );
    let outline = outline("m.py", "def f():\n    x = = 1\n    y = 1\n");
    assert_eq!(outline.block(2, 3).warning, Some(Warning::ParseError));
    assert_eq!(outline.block(3, 3).warning, None);
}

/// An error near the top can swallow the whole file: then tree-sitter's root holds one error node.
#[test]
fn statements_of_the_module_are_known_even_within_an_error_that_holds_the_file() {
    let mut text = "import os\nclass A:\n    def a(self):\n        return 1\n".to_owned();
    text += "    def b(self):\n        def z(self)\n            pass\n        return y\n";
    text += "    def c(self):\n        return 3\nclass B(A):\n    def d(self):\n        return 4\n";
    let outline = outline("m.py", text);
    let located = |line| show(&outline.block(line, line));
    assert_eq!(located(1), "module m.py");
    assert_eq!(located(4), "method A.a");
    // The class is cut short by the error; what comes after has lost its place.
    assert_eq!(located(10), "lines 10-10");
    assert_eq!(outline.block(1, 10).warning, Some(Warning::ParseError));
    assert!(
        outline
            .symbols()
            .all(|symbol| !["c", "d"].contains(&&*symbol.block.id))
    );
}

/// Only a broken text has two definitions on a line; the search relies on blocks that do not overlap.
#[test]
fn definitions_on_one_line_do_not_overlap() {
    let text = "def f():def f():\n  - def f():def f():def f():def f():";
    let symbols: Vec<_> = outline("m.py", text).symbols().skip(1).collect();
    for (before, after) in symbols.iter().zip(symbols.iter().skip(1)) {
        let nested = after.last_line <= before.last_line;
        assert!(
            nested || before.last_line < after.first_line,
            "{before:?} {after:?}"
        );
    }
}

#[test]
fn symbols_are_all_blocks_with_their_lines() {
    let outline = outline(
        "m.py",
        "@d\nclass A:\n    def m(self):\n        pass\n\nx = 1\n",
    );
    let symbols: Vec<String> = outline
        .symbols()
        .map(|s| {
            format!(
                "{} {} {}-{}",
                s.block.kind, s.block.id, s.first_line, s.last_line
            )
        })
        .collect();
    assert_eq!(
        symbols,
        ["module m.py 1-6", "class A 1-4", "method A.m 3-4"]
    );
}
