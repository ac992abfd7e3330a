//! What `tar` and `zstd` make of our archives.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use ledger_core::Mode;
use proptest::prelude::*;

use crate::support::*;

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.env("LC_ALL", "C").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    assert!(errors.is_empty(), "{command:?}: {errors}");
    output.stdout
}

/// All files and links below a directory, by the standard library.
fn on_disk(root: &Path, dir: &Path, files: &mut Files) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let at = entry.unwrap().path();
        let data = at.symlink_metadata().unwrap();
        if data.is_dir() {
            on_disk(root, &at, files);
            continue;
        }
        let file = match (data.is_symlink(), data.mode() & 0o777) {
            (true, _) => {
                let target = std::fs::read_link(&at).unwrap().into_os_string().into_vec();
                (Mode::Symlink, target)
            }
            (false, 0o644) => (Mode::File, std::fs::read(&at).unwrap()),
            (false, 0o755) => (Mode::Executable, std::fs::read(&at).unwrap()),
            (false, mode) => panic!("{mode:o}"),
        };
        let name = at.strip_prefix(root).unwrap().as_os_str().as_bytes();
        files.insert(path(name), file);
    }
}

fn unpacks_to_itself(files: &Files) {
    let disk = Disk::new();
    write_archive(&disk, "a.tar.zst", files);
    let archive = disk.os_path("a.tar.zst");
    let to = disk.os_path("to");
    std::fs::create_dir(&to).unwrap();
    // `-p`: modes as they are in the archive, whatever the umask.
    run(Command::new("tar")
        .args(["--zstd", "-xpf"])
        .arg(&archive)
        .arg("-C")
        .arg(&to));
    let mut unpacked = Files::new();
    on_disk(&to, &to, &mut unpacked);
    assert!(unpacked == *files);
    run(Command::new("zstd").args(["-t", "-q"]).arg(&archive));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn tar_unpacks_any_tree_exactly(files in any_files(25)) {
        unpacks_to_itself(&files);
    }
}

#[test]
fn tar_unpacks_names_of_every_length_around_its_fields() {
    let mut files = Files::new();
    for len in [1, 98, 99, 100, 101, 102, 154, 155, 156, 255] {
        files.insert(path("n".repeat(len)), (Mode::File, vec![b'x'; len]));
        files.insert(path(format!("l{len}")), (Mode::Symlink, vec![b't'; len]));
        let deep = [vec![b'd'; 90], vec![b'e'; len]].join(&b'/');
        files.insert(path(deep), (Mode::Symlink, vec![0xff; len]));
    }
    let deep = vec!["component-of-a-path"; 190].join("/");
    files.insert(path(deep), (Mode::File, b"deep".to_vec()));
    unpacks_to_itself(&files);
}

#[test]
fn tar_unpacks_a_large_project_with_a_file_of_many_frames() {
    let mut files = project(2000, 3000);
    files.insert(path("big"), (Mode::File, noise(3, 20_000_001)));
    unpacks_to_itself(&files);
}

#[test]
fn zstd_and_tar_list_the_members_in_path_order() {
    let disk = Disk::new();
    let files = project(50, 100);
    write_archive(&disk, "a.tar.zst", &files);
    let archive = disk.os_path("a.tar.zst");
    let stream = run(Command::new("zstd").arg("-dcq").arg(&archive));
    std::fs::write(disk.os_path("a.tar"), &stream).unwrap();
    let listed = run(Command::new("tar").arg("-tf").arg(disk.os_path("a.tar")));
    let names: Vec<_> = files
        .keys()
        .map(|path| [path.as_bytes(), b"\n"].concat())
        .collect();
    assert_eq!(listed, names.concat());

    // Each frame on its own, in the order of the seek table, gives the same stream.
    let bytes = disk.bytes("a.tar.zst");
    let frames = frames_of(&bytes);
    let (index, data) = frames.split_last().unwrap();
    let decode = |frame: &&[u8]| zstd::bulk::decompress(frame, 8 << 20).unwrap();
    assert!(data.iter().flat_map(decode).eq(stream));
    assert_eq!(index[..4], 0x184D_2A50u32.to_le_bytes());
}
