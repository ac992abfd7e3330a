use ledger_semantic::Warning;

use crate::{check, check_range, outline};

#[test]
fn pairs_and_members_are_pointers() {
    check(
        "m.json",
        r#"
{                               <- json_path
  "a": {                        <- json_path /a
    "x": 1,                     <- json_path /a/x
    "y": [                      <- json_path /a/y
      1,                        <- json_path /a/y/0
      {"id": "m", "w": 1},      <- json_path /a/y/m
      {                         <- json_path /a/y/n
        "name": "n"           <- json_path /a/y/n/name
      },                        <- json_path /a/y/n
      [                         <- json_path /a/y/3
        2                       <- json_path /a/y/3/0
      ]                         <- json_path /a/y/3
    ]                           <- json_path /a/y
  },                            <- json_path /a
                                <- json_path
  "b": null // beside           <- json_path /b
}                               <- json_path
"#,
    );
}

#[test]
fn a_line_is_of_the_smallest_block_that_holds_all_on_it() {
    check(
        "m.json",
        r#"
{"a": {                         <- json_path
  "x": 1, "y": 2,               <- json_path /a
  "z": 3                        <- json_path /a/z
}, "b": {                       <- json_path
  "x": {"y": 1}                 <- json_path /b/x
  , "w": 1                      <- json_path /b/w
}}                              <- json_path
"#,
    );
    check_range("m.json", r#"{"a": 1, "b": 2}"#, (1, 1), "json_path");
    check_range("m.json", "{\n\"a\": 1,\n\"b\": 2\n}", (2, 3), "json_path");
}

#[test]
fn strings_are_unescaped_and_pointers_escaped() {
    check(
        "m.json",
        r#"
{                               <- json_path
  "a/b~c": 1,                   <- json_path /a~1b~0c
  "\u00e9\ud83d\ude00\"": 1,    <- json_path /é😀"
  "\ud83d": 1,                  <- json_path /�
  "\u12": 1,                    <- json_path /�12
  "": {                         <- json_path /
    "\\": 1                     <- json_path //\
  }                             <- json_path /
}                               <- json_path
"#,
    );
}

#[test]
fn values_one_after_the_other_are_a_list() {
    check(
        "m.json",
        r#"
{"id": "x", "v": 1}             <- json_path /x
{                               <- json_path /1
  "v": 2                        <- json_path /1/v
}                               <- json_path /1
"#,
    );
}

#[test]
fn lines_in_a_syntax_error_are_lines_and_others_are_not() {
    let outline = outline("m.json", "{\n\"a\": 1,\n\"b\": ,\n\"c\": 3\n}\n");
    assert_eq!(outline.block(3, 3).warning, Some(Warning::ParseError));
    assert_eq!(outline.block(2, 2).block.id, "/a");
    assert_eq!(outline.block(4, 4).block.id, "/c");
}
