//! What a person sees on a terminal: nothing that a file holds gets there raw.

use std::fs::{self, File};
use std::io::Read;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::sandbox::Sandbox;

/// What a command writes to a terminal.
fn on_terminal(sandbox: &Sandbox, args: &[&str]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut command = sandbox.command(args);
    command.env("PAGER", "cat").env("NO_COLOR", "1");
    command
        .stdin(Stdio::null())
        .stdout(slave)
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut seen = Vec::new();
    // Ends with an error when the last writer is gone.
    let _ = File::from(master).read_to_end(&mut seen);
    assert!(child.wait().unwrap().success(), "{args:?}");
    String::from_utf8_lossy(&seen).replace("\r\n", "\n")
}

#[test]
fn nothing_raw_reaches_a_terminal() {
    let sandbox = Sandbox::empty();
    let evil = "\u{1b}]0;owned\u{7}\u{202e}\r";
    sandbox.write(format!("name{evil}"), "x\n");
    sandbox.write("a.txt", "plain\n");
    sandbox.output(&["init"], "");
    sandbox.write("a.txt", &format!("{evil}\ttab\n"));
    fs::remove_file(sandbox.root().join(format!("name{evil}"))).unwrap();
    sandbox.write(format!("other{evil}"), evil);
    let mut seen = on_terminal(&sandbox, &["status"]);
    seen += &on_terminal(&sandbox, &["diff"]);
    seen += &on_terminal(&sandbox, &["diff", "--side-by-side"]);
    seen += &on_terminal(&sandbox, &["diff", "--stat"]);
    sandbox.output(&["record", "-m", evil, "--author", evil, "--run", evil], "");
    sandbox.output(&["note", evil], "");
    seen += &on_terminal(&sandbox, &["history"]);
    seen += &on_terminal(&sandbox, &["history", "--json"]);
    seen += &on_terminal(&sandbox, &["history", "--group-by", "author"]);
    seen += &on_terminal(&sandbox, &["show"]);
    seen += &on_terminal(&sandbox, &["show", "@~1"]);
    seen += &on_terminal(&sandbox, &["cat", "@", "a.txt"]);
    let raw: Vec<char> = seen
        .chars()
        .filter(|&c| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}'))
        .collect();
    assert_eq!(raw, [], "{seen}");
    assert!(seen.contains("owned"), "{seen}");
    // What is piped is what was recorded.
    let piped = sandbox.output(&["cat", "@", "a.txt"], "").stdout;
    assert_eq!(piped, format!("{evil}\ttab\n").as_bytes());
}

#[test]
fn lines_of_the_history_fit_the_terminal() {
    let sandbox = Sandbox::with(&[("a.txt", "one\n")]);
    let long = "long ".repeat(60);
    sandbox.output(&["note", &long], "");
    let seen = on_terminal(&sandbox, &["history"]);
    // A terminal without a size is as wide as any text; one with a size is not wrapped.
    assert_eq!(seen.lines().count(), 3, "{seen}");
}
