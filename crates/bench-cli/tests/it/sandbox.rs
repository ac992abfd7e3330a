//! A directory to play in, and commands run in it as a user would, with nothing of the outside.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A workspace, or what is to become one.
pub struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("w")).unwrap();
        Sandbox { dir }
    }

    /// A workspace with these files, and a ledger.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::empty();
        for (name, content) in files {
            sandbox.write(name, content);
        }
        assert!(sandbox.output(&["init"], "").status.success());
        sandbox
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("w")
    }

    pub fn write(&self, name: impl AsRef<Path>, content: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap()
    }

    pub fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        command.args(args).current_dir(self.root()).env_clear();
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .env("PATH", path)
            .env("TZ", "UTC")
            .env("USER", "tester");
        command.env("COLUMNS", "80");
        command
    }

    pub fn output(&self, args: &[impl AsRef<OsStr>], input: &str) -> Output {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What is typed, what comes back, and the exit status, with what differs from run to run masked.
    pub fn run(&self, args: &[&str]) -> String {
        self.run_with(args, "")
    }

    pub fn run_with(&self, args: &[&str], input: &str) -> String {
        let output = self.output(args, input);
        let mut text = format!("$ bench {}\n", args.join(" "));
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            text.push_str(&format!("! {line}\n"));
        }
        match output.status.code() {
            Some(0) => {}
            Some(status) => text.push_str(&format!("[status {status}]\n")),
            None => text.push_str(&format!("[{}]\n", output.status)),
        }
        let dir = self.dir.path().to_string_lossy().into_owned();
        mask(&text.replace(&dir, "DIR"))
    }
}

/// Replaces dates, fresh ids, digests and sizes.
pub fn mask(text: &str) -> String {
    let shapes = [
        ("2099-99-99 99:99:99 +99:99", "DATE"),
        ("2099-99-99T99:99:99.999Z", "DATE"),
        ("2099-99-99 99:99", "DATE"),
        ("op-XXXXXXXXXXXXXXXXXXXXXXXXXX", "OPERATION"),
        (&format!("blake3:{}", "f".repeat(64)), "DIGEST"),
        ("999.9 kB", "SIZE"),
        ("99.9 kB", "SIZE"),
        ("9.9 kB", "SIZE"),
        ("999 B", "SIZE"),
        ("\"bytes\":9999", "\"bytes\":SIZE"),
        ("\"bytes\":999", "\"bytes\":SIZE"),
    ];
    let bytes = text.as_bytes();
    let mut masked = Vec::new();
    let mut at = 0;
    'next: while at < bytes.len() {
        for (shape, name) in &shapes {
            let shape = shape.as_bytes();
            let found = bytes.get(at..at + shape.len());
            if found.is_some_and(|found| found.iter().zip(shape).all(|(&b, &s)| fits(b, s))) {
                masked.extend_from_slice(name.as_bytes());
                at += shape.len();
                continue 'next;
            }
        }
        masked.push(bytes[at]);
        at += 1;
    }
    String::from_utf8(masked).unwrap()
}

fn fits(byte: u8, shape: u8) -> bool {
    match shape {
        b'9' => byte.is_ascii_digit(),
        b'X' => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
        b'f' => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
        _ => byte == shape,
    }
}

/// Compares a transcript with what it should be; the literal may be indented.
#[track_caller]
pub fn check(actual: &str, expect: &str) {
    let expect = expect.strip_prefix('\n').unwrap_or(expect);
    let lines = || expect.lines().filter(|line| !line.trim().is_empty());
    let indent = lines()
        .map(|line| line.len() - line.trim_start().len())
        .min();
    let indent = indent.unwrap_or(0);
    let expect: Vec<&str> = expect
        .lines()
        .map(|line| line.get(indent..).unwrap_or(""))
        .collect();
    let actual: Vec<&str> = actual.lines().map(str::trim_end).collect();
    let (expect, actual) = (expect.join("\n"), actual.join("\n"));
    assert_eq!(
        actual.trim_end(),
        expect.trim_end(),
        "\n--- actual:\n{actual}\n"
    );
}
