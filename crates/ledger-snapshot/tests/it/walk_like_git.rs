//! Generated trees and ignore files, on which a walk must say what git says.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use ledger_core::storage::OsStorage;
use ledger_snapshot::{Exclusion, Walker};
use proptest::prelude::*;

use crate::support::*;

/// A tree: for each file its path, and for ignore files their content.
type Plan = Vec<(String, Vec<u8>)>;

fn make(plan: &Plan) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    // The least that git takes for a repository.
    for part in [".git/objects", ".git/refs"] {
        fs::create_dir_all(dir.path().join(part)).unwrap();
    }
    fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for (name, content) in plan {
        let at = dir.path().join(name);
        // A file may stand where another one needs a directory: then the first stays.
        let parent_made = fs::create_dir_all(at.parent().unwrap()).is_ok();
        if parent_made && !at.exists() {
            fs::write(at, content).unwrap();
        }
    }
    dir
}

fn by_git(dir: &tempfile::TempDir, patterns: &[String]) -> BTreeSet<Vec<u8>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(dir.path()).env_clear();
    git.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    git.env("GIT_CEILING_DIRECTORIES", dir.path().parent().unwrap());
    git.args(["ls-files", "-z", "--others", "--exclude-standard"]);
    git.args(
        patterns
            .iter()
            .map(|pattern| format!("--exclude={pattern}")),
    );
    let output = git.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = output
        .stdout
        .split(|&b| b == 0)
        .filter(|name| !name.is_empty());
    names.map(<[u8]>::to_vec).collect()
}

fn agree(plan: &Plan, patterns: &[String]) {
    let dir = make(plan);
    let storage = OsStorage::open(dir.path()).unwrap();
    let walker = Walker::new(&storage, patterns).threads(threads(2));
    let walk = walker.walk().unwrap();
    let found = walk
        .files
        .iter()
        .map(|found| found.path.as_bytes().to_vec());
    let (ours, git) = (found.collect::<BTreeSet<_>>(), by_git(&dir, patterns));
    let show = |set: &BTreeSet<Vec<u8>>| -> Vec<String> {
        set.iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    };
    assert_eq!(show(&ours), show(&git), "warnings: {:?}", walk.warnings);

    // Asked for one path, the answer is the same.
    for (name, _) in plan
        .iter()
        .filter(|(name, _)| dir.path().join(name).is_file())
    {
        let excluded = walker.exclusion(&path(name), false).unwrap();
        let expected = (!ours.contains(name.as_bytes())).then_some(Exclusion::Ignored);
        assert_eq!(excluded, expected, "{name}");
    }
}

fn name() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a", "b", "c", "d", "ab", "ba", "a.b", ".a", "-", "!a", "#a", "a b", "a ", "[a]", "[a",
        "]", "{a,b}", "\\a", "a*", "?", "^", "1", "A", "é", "a\t", "build", "**",
    ]);
    part.prop_map(str::to_owned)
}

fn file_name() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn line() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "c", "ab", "build", ".", "/", "*"]),
        3 => prop::sample::select(vec!["/**", "**/", "**", "/**/", "?", "***", "*a", "a*"]),
        2 => prop::sample::select(vec!["[ab]", "[!a]", "[^a]", "[a-c]", "[a/b]", "[]a]", "[a-]",
            "[!]-]", "[[:alpha:]]", "[![:digit:]]", "[[:bad:]]", "[[:alpha]", "[\\]a]", "[\\a-c]",
            "[a-\\c]", "[!-^]", "[-!^]", "[!^]", "[\\!^]", "[\\^]", "[.-a]", "[z-a]", "[[a]", "[!/]"]),
        1 => prop::sample::select(vec!["[", "]", "{a,b}", "{", "}", ",", "!", "#", "\\", "\\a",
            "\\*", "\\/", "\\ ", " ", "\t", "-", "é", "^", "\r", "\u{a0}", "\\!", "\\#", "\0"]),
    ];
    let negated = prop::sample::select(vec!["", "", "", "!"]);
    (negated, prop::collection::vec(token, 0..5))
        .prop_map(|(negated, tokens)| format!("{negated}{}", tokens.concat()))
}

fn ignore_file() -> impl Strategy<Value = (String, Vec<u8>)> {
    let dir = prop_oneof![
        3 => Just(String::new()),
        2 => prop::collection::vec(name(), 1..3).prop_map(|names| names.join("/") + "/"),
    ];
    let end = prop::sample::select(vec!["\n", "\n", "\r\n"]);
    let text = prop::collection::vec((line(), end), 0..6).prop_map(|lines| {
        lines
            .into_iter()
            .map(|(line, end)| line + end)
            .collect::<String>()
    });
    let mark = prop::sample::select(vec!["", "", "", "\u{feff}"]);
    (dir, mark, text).prop_map(|(dir, mark, text)| {
        (format!("{dir}.gitignore"), (mark.to_owned() + &text).into())
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let files = prop::collection::vec(file_name().prop_map(|name| (name, Vec::new())), 1..24);
    (files, prop::collection::vec(ignore_file(), 1..4))
        .prop_map(|(files, rules)| files.into_iter().chain(rules).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_walk_finds_what_git_finds(plan in plan()) {
        agree(&plan, &[]);
    }

    #[test]
    fn patterns_of_the_configuration_are_as_strong_as_those_of_gits_command_line(
        plan in plan(),
        patterns in prop::collection::vec(line(), 0..3),
    ) {
        // Git's command line knows no comments, cuts no spaces, and can hold no NUL.
        let given = |line: &String| {
            !line.contains(['\0', '\r']) && !line.ends_with(' ') && !line.starts_with('#')
        };
        let patterns: Vec<String> = patterns.into_iter().filter(given).collect();
        agree(&plan, &patterns);
    }
}

#[test]
fn the_lines_of_gits_own_manual_mean_what_they_mean_to_git() {
    let files = [
        "hello.c",
        "hello.o",
        "doc/frotz/x",
        "a/doc/frotz/x",
        "frotz/x",
        "a/frotz/x",
        "foo/test.json",
        "foo/bar/hello.c",
        "foo/bar/x",
        "vmlinux",
        "arch/foo/kernel/vmlinux.lds.S",
        "bar",
        "foo/other",
        "logs/debug.log",
        "build/logs/debug.log",
        "trailing ",
        "#comment",
        "!important",
        "x/y/z/w",
    ];
    let check = |rules: &str| {
        let mut plan: Plan = files
            .iter()
            .map(|name| (name.to_string(), Vec::new()))
            .collect();
        plan.push((".gitignore".to_owned(), rules.as_bytes().to_vec()));
        agree(&plan, &[]);
    };
    check("hello.*\n!hello.c\n");
    check("/hello.*\n");
    check("doc/frotz/\n");
    check("frotz/\n");
    check("foo/*\n!foo/bar\n");
    check("/*\n!/foo\n/foo/*\n!/foo/bar\n");
    check("**/logs\n");
    check("**/logs/debug.log\nx/**\n");
    check("x/**/w\n");
    check("foo/bar/\n!foo/bar/x\n");
    check("vmlinux*\n!arch/foo/kernel/vmlinux*\n");
    check("\\#comment\n\\!important\ntrailing\\ \n");
    check("trailing \n# vmlinux\n\n  \n*\n!*/\n!*.c\n");
    check("\u{feff}bar\r\nvmlinux\r\n");
}

/// Each of these is read otherwise by a common glob library, or by git's own manual.
#[test]
fn lines_that_are_easily_misread_mean_what_they_mean_to_git() {
    let files = [
        "{a,b}",
        "a",
        "b",
        "a}",
        "foo/x/hello.c",
        "foo/hello.c",
        "foohello.c",
        "fox/y/hello.c",
        "x/y/z/w",
        "xw",
        "x/w",
        "xy/w",
        "[a]",
        "[a",
        "a/b/c",
        "ab/c",
        "tab\t",
        "sp ",
        "a-b",
        "a]b",
        "a!b",
        "a^b",
        "a\\b",
        "d1/e",
        "dx/e",
        "q/r/s",
    ];
    let rules = [
        "{a,b}",
        "{a",
        "a}",
        "[{]a,b}",
        "fo**/hello.c",
        "/fo**/hello.c",
        "fo**",
        "/x**",
        "x**/w",
        "x**/**",
        "x**//**/",
        "**//",
        "**\\/w",
        "x/**\\/w",
        "x**\\/w",
        "x***/w",
        "a/**",
        "a/**/c",
        "**/c",
        "[a]",
        "\\[a]",
        "[a",
        "a[!-]b",
        "a[]-]b",
        "a[!]!]b",
        "a[!^]b",
        "a[\\]]b",
        "a[\\\\]b",
        "a[^^-]b",
        "d[[:digit:]]",
        "d[![:digit:]]",
        "d[[:nope:]]",
        "tab\t",
        "sp ",
        "sp\\ ",
        "q[/]r",
        "q[!x]r",
        "q?r",
        "/q*r*",
        "a\\b",
        "a\\\\b",
        "a\\",
        "!a",
        "\\!a",
    ];
    for rule in rules {
        let mut plan: Plan = files
            .iter()
            .map(|name| (name.to_string(), Vec::new()))
            .collect();
        plan.push((".gitignore".to_owned(), format!("{rule}\n").into_bytes()));
        agree(&plan, &[]);
        // And the other way round.
        plan.pop();
        plan.push((
            ".gitignore".to_owned(),
            format!("*\n!*/\n!{rule}\n").into_bytes(),
        ));
        agree(&plan, &[]);
    }
}
