use ledger_semantic::Warning;

use crate::{check, check_range, outline};

#[test]
fn pairs_and_members_are_pointers() {
    check(
        "rubric.yaml",
        "
# head                          <- yaml_path
title: x                        <- yaml_path /title
criteria:                       <- yaml_path /criteria
  - id: foo                     <- yaml_path /criteria/foo
    threshold: 3 # beside       <- yaml_path /criteria/foo/threshold
    # between                   <- yaml_path /criteria/foo
    text: |                     <- yaml_path /criteria/foo/text
      one                       <- yaml_path /criteria/foo/text
                                <- yaml_path /criteria/foo/text
      two                       <- yaml_path /criteria/foo/text
                                <- yaml_path /criteria
  -                             <- yaml_path /criteria/b
    name: b                     <- yaml_path /criteria/b/name
    weights:                    <- yaml_path /criteria/b/weights
    - 1                         <- yaml_path /criteria/b/weights/0
    - 2                         <- yaml_path /criteria/b/weights/1
                                <- yaml_path
last:                           <- yaml_path /last
  a: 1                          <- yaml_path /last/a
",
    );
}

#[test]
fn lines_of_two_siblings_are_their_parents() {
    let text = "a:\n  b: 1\n  c: 2\nd: 3\n";
    check_range("m.yml", text, (2, 3), "yaml_path /a");
    check_range("m.yml", text, (1, 2), "yaml_path /a");
    check_range("m.yml", text, (3, 4), "yaml_path");
}

#[test]
fn keys_go_by_what_they_mean() {
    check(
        "m.yaml",
        r#"
a/b~c: 1                        <- yaml_path /a~1b~0c
"q\x41\u00e9\"": 1              <- yaml_path /qAé"
'it''s': 1                      <- yaml_path /it's
12: 1                           <- yaml_path /12
null: 1                         <- yaml_path /null
&anchor !!str tagged: 1         <- yaml_path /tagged
<<: *anchor                     <- yaml_path /<<
? complex                       <- yaml_path /complex key
  key                           <- yaml_path /complex key
: value                         <- yaml_path /complex key
? [a, b]                        <- yaml_path /[a, b]
: - 1                           <- yaml_path /[a, b]
"#,
    );
}

#[test]
fn flow_style_is_as_json() {
    check(
        "m.yaml",
        "
one: {a: 1, b: 2}               <- yaml_path /one
two: {                          <- yaml_path /two
  a: 1,                         <- yaml_path /two/a
  b,                            <- yaml_path /two/b
  c: [                          <- yaml_path /two/c
    {id: x},                    <- yaml_path /two/c/x
    k: v,                       <- yaml_path /two/c/1/k
  ], d: 3                       <- yaml_path /two
}                               <- yaml_path /two
",
    );
}

#[test]
fn members_without_a_name_of_their_own_go_by_index() {
    check(
        "m.yaml",
        "
twice:                          <- yaml_path /twice
  - id: a                       <- yaml_path /twice/0
    x: 1                        <- yaml_path /twice/0/x
  - id: b                       <- yaml_path /twice/b
  - id: a                       <- yaml_path /twice/2
numbers:                        <- yaml_path /numbers
  - {id: 7}                     <- yaml_path /numbers/7
  - {id: 0}                     <- yaml_path /numbers/0
mixed:                          <- yaml_path /mixed
  - {id: 1}                     <- yaml_path /mixed/0
  - 5                           <- yaml_path /mixed/1
  - {id: x}                     <- yaml_path /mixed/x
order:                          <- yaml_path /order
  - {key: k, name: n}           <- yaml_path /order/n
  - {key: k, name: m, id: i}    <- yaml_path /order/i
  - {id: null, key: k}          <- yaml_path /order/k
  - id: [not, a, scalar]        <- yaml_path /order/3
  - - deep                      <- yaml_path /order/4
    - id: x                     <- yaml_path /order/4/x
  - *alias                      <- yaml_path /order/5
  - sub: {id: not-mine}         <- yaml_path /order/6
",
    );
}

#[test]
fn documents_of_a_stream_are_a_list() {
    check(
        "m.yaml",
        "
kind: Service                   <- yaml_path /0/kind
---                             <- yaml_path /web
name: web                       <- yaml_path /web/name
spec:                           <- yaml_path /web/spec
  port: 1                       <- yaml_path /web/spec/port
",
    );
    check_range(
        "m.yaml",
        "%YAML 1.2\n---\na: 1\n...\n",
        (3, 3),
        "yaml_path /a",
    );
}

#[test]
fn lines_in_a_syntax_error_are_lines_and_others_are_not() {
    let outline = outline("m.yaml", "a: 1\nb: [1, 2\nc: 3\n");
    assert_eq!(outline.block(2, 2).warning, Some(Warning::ParseError));
    assert_eq!(outline.block(2, 2).block.id, "2-2");
}

/// Where tree-sitter gives up, its root is an error that ends before the text does.
#[test]
fn lines_after_an_error_that_ends_the_parse_are_lines() {
    let outline = outline("m.yaml", "  a: { b: 1 }\n- !c\n");
    assert_eq!(outline.block(2, 2).warning, Some(Warning::ParseError));
}
