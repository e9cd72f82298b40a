//! `export`: a snapshot in one file.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use copal_reader::Streams;
use serde_json::json;

use crate::kit::{Harm, Machine, Ran, Run, Running, Volume, assert_same, needs_root, noise, set_xattr, text, until};

const SECRET: &str = "of the export";

fn saved() -> Machine {
    let machine = Machine::new();
    machine.write("dir/a very private name", noise(1, 3_000_000));
    machine.write("dir/text", "a".repeat(300_000));
    machine.write("empty", "");
    machine.write("inline", "inline");
    symlink("dir/text", machine.source("link")).unwrap();
    fs::hard_link(machine.source("inline"), machine.source("second name")).unwrap();
    fs::set_permissions(machine.source("inline"), fs::Permissions::from_mode(0o4710)).unwrap();
    set_xattr(&machine.source("dir"), "user.note", b"noted");
    machine.backup(&["--tag", "kept"]);
    machine
}

fn exports(machine: &Machine, options: &[&str]) -> Ran {
    let mut command = machine.with_key(&[&["export", "--json"], options].concat());
    command.env("COPAL_TO_PASSWORD", SECRET).ran()
}

/// A command on an export, on a machine that knows nothing else.
fn reads(machine: &Machine, arguments: &[&str]) -> Ran {
    let mut command = machine.command(&[&["-r", "holiday.copal", "--json"], arguments].concat());
    command.env("HOME", machine.path("elsewhere")).env("COPAL_HOST", "other").env("COPAL_PASSWORD", SECRET).ran()
}

/// The names in a directory.
fn names(place: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_export_is_a_repository_that_opens_with_its_own_passphrase_alone() {
    let machine = saved();
    let made = exports(&machine, &["latest", "holiday.copal"]).ok().json();
    let bytes = fs::read(machine.path("holiday.copal")).unwrap();
    assert_eq!((made["bytes"].as_u64().unwrap(), &made["errors"]), (bytes.len() as u64, &json!(0)));
    assert!(!bytes.windows(19).any(|part| part == b"a very private name"));
    assert!(names(&machine.path("")).iter().all(|name| !name.starts_with(".copal")), "nothing unfinished is left");
    let id = text(&made["repository_id"]);
    assert!(!machine.path("home/.local/state/copal").join(id).exists(), "no key of it is kept");
    fs::rename(machine.path("repository"), machine.path("gone")).unwrap();

    let whole = machine.whole();
    reads(&machine, &["restore", &whole, "-t", "out"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
    let row = reads(&machine, &["snapshots"]).ok().json()[0].clone();
    assert_eq!((&row["host"], &row["tags"]), (&json!("laptop"), &json!(["kept"])));
    assert_eq!(row["paths"], json!([machine.path("source")]));
    assert_eq!(reads(&machine, &["check", "--full"]).ok().err, "");
    let mut wrong = machine.command(&["-r", "holiday.copal", "ls", "latest"]);
    wrong.env("COPAL_PASSWORD", crate::kit::PASSPHRASE).ran().exits(12);
    let mut code = machine.command(&["-r", "holiday.copal", "ls", "latest"]);
    code.env("COPAL_PASSWORD", text(&made["recovery_code"])).ran().ok();
    let refused = reads(&machine, &["backup", "source"]).exits(1);
    assert!(refused.err.contains("an export is never changed"), "{refused}");
    assert_eq!(fs::read(machine.path("holiday.copal")).unwrap(), bytes);

    let unpacked = machine.path("unpacked");
    fs::create_dir(&unpacked).unwrap();
    Command::new("tar").arg("-xf").arg(machine.path("holiday.copal")).current_dir(&unpacked).ran().ok();
    let mut command = machine.command(&["-r", "unpacked", "restore", &whole, "-t", "again"]);
    command.env("COPAL_PASSWORD", SECRET).ran().ok();
    assert_same(&machine.path("source"), &machine.path("again"));
    let mut command = machine.command(&["-r", "unpacked", "backup", "source"]);
    command.env("COPAL_PASSWORD", SECRET).ran().ok();
}

#[test]
fn the_reader_reads_an_export_in_its_place() {
    let machine = saved();
    fs::write(machine.path("reader.wasm"), b"\0asm\x01\0\0\0 and so on").unwrap();
    let stored = machine.json(&["reader", "--reader", "reader.wasm"]);
    let made = exports(&machine, &["latest", "holiday.copal"]).ok().json();
    assert_eq!(
        made["reader"], stored["reader"],
        "without a reader of its own, the command takes that of the repository"
    );
    let listed = Command::new("tar").arg("-tf").arg(machine.path("holiday.copal")).ran().ok().text();
    assert!(listed.starts_with("README") && listed.contains("reader/"), "{listed}");
    let export = machine.path("holiday.copal");
    let run = |words: &[&str]| {
        let arguments: Vec<OsString> =
            words.iter().map(|word| if *word == "HERE" { export.clone().into() } else { word.into() }).collect();
        let (mut output, mut messages) = (Vec::new(), Vec::new());
        let input = &mut SECRET.as_bytes();
        let code = copal_reader::run(&arguments, Streams { input, output: &mut output, messages: &mut messages });
        (code, output, String::from_utf8(messages).unwrap())
    };
    let (code, archive, told) = run(&["restore", "HERE", "--tar", "-"]);
    assert_eq!(code, 0, "{told}");
    assert!(archive == machine.run(&["dump", "latest:/"]).ok().out);

    let bytes = fs::read(&export).unwrap();
    fs::write(&export, &bytes[..bytes.len() - 1024]).unwrap();
    let (code, _, told) = run(&["list", "HERE"]);
    assert!(code == 4 && told.contains("cut off after"), "{told}");
    let ran = reads(&machine, &["snapshots"]).exits(4);
    assert!(ran.err.contains("cut off after") && ran.err.contains("copy the file once more"), "{ran}");
    // As after a crash: the length is right, and the rest was never written.
    let cut = bytes.len() / 2 / 512 * 512;
    fs::write(&export, [&bytes[..cut], &vec![0; bytes.len() - cut]].concat()).unwrap();
    assert_eq!((run(&["list", "HERE"]).0, reads(&machine, &["snapshots"]).code), (4, 4));
    // tar fills up an archive.
    fs::write(&export, [&bytes[..], &[0; 9 << 10]].concat()).unwrap();
    reads(&machine, &["snapshots"]).ok();
    fs::write(&export, "something else").unwrap();
    assert_eq!((run(&["list", "HERE"]).0, reads(&machine, &["snapshots"]).code), (10, 10));
}

#[test]
fn plain_archives_unpack_to_the_same_tree_and_are_the_same_each_time() {
    let machine = saved();
    let unpack = |program: &[&str], name: &str, into: &str| {
        fs::create_dir(machine.path(into)).unwrap();
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(machine.path(name)).current_dir(machine.path(into)).ran().ok();
    };
    let whole = machine.whole();
    for (format, name) in [("tar", "a.tar"), ("tar.zst", "a.tar.zst"), ("zip", "a.zip")] {
        exports(&machine, &[&whole, name, "--format", format]).ok();
        let bytes = fs::read(machine.path(name)).unwrap();
        exports(&machine, &[&whole, name, "--format", format, "--replace"]).ok();
        assert!(fs::read(machine.path(name)).unwrap() == bytes, "{format}");
        assert!(machine.run(&["dump", &whole, "--format", format]).ok().out == bytes, "{format}");
        assert!(machine.run(&["export", &whole, "-", "--format", format]).ok().out == bytes, "{format}");
    }
    let tar = ["tar", "--xattrs", "--xattrs-include=*", "--preserve-permissions", "-xf"];
    unpack(&tar, "a.tar", "of tar");
    assert_same(&machine.path("source"), &machine.path("of tar"));
    unpack(
        &["tar", "--zstd", "--xattrs", "--xattrs-include=*", "--preserve-permissions", "-xf"],
        "a.tar.zst",
        "of zst",
    );
    assert_same(&machine.path("source"), &machine.path("of zst"));
    unpack(&["python3", "-c", UNZIP], "a.zip", "of zip");
    for name in ["dir/a very private name", "dir/text", "empty", "inline", "second name"] {
        let [found, expected] = [machine.path("of zip").join(name), machine.source(name)];
        assert!(fs::read(&found).unwrap() == fs::read(&expected).unwrap(), "{name}");
        assert_eq!(fs::metadata(&found).unwrap().permissions(), fs::metadata(&expected).unwrap().permissions());
    }
    assert_eq!(fs::read_link(machine.path("of zip/link")).unwrap(), Path::new("dir/text"));
}

/// Unpacks a zip, after a test of every checksum, with modes and links.
const UNZIP: &str = r#"
import os, stat, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
for info in archive.infolist():
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        os.symlink(archive.read(info), info.filename)
    else:
        archive.extract(info)
        os.chmod(info.filename, stat.S_IMODE(mode))
"#;

#[test]
fn what_a_zip_cannot_hold_is_named() {
    let machine = Machine::with([("file", "content"), ("..\\..\\sly", "x")]);
    machine.fifo();
    machine.backup(&[]);
    let ran = exports(&machine, &["latest", "a.zip", "--format", "zip"]).exits(3);
    assert!(ran.err.contains("fifo") && ran.err.contains("sly"), "{ran}");
}

#[test]
fn nothing_is_replaced_unasked_and_what_fails_leaves_nothing() {
    let machine = saved();
    let before = names(&machine.path(""));
    fs::write(machine.path("there"), "precious").unwrap();
    exports(&machine, &["latest", "there"]).exits(2);
    exports(&machine, &["latest", "there", "--format", "tar"]).exits(2);
    exports(&machine, &["latest", "a.zip"]).exits(2);
    exports(&machine, &["latest:/", "part.copal"]).exits(2);
    exports(&machine, &["latest", "source"]).exits(2);
    exports(&machine, &["latest", "nowhere/file"]).exits(1);
    machine.run(&["export", "latest", "b.copal"]).exits(1);
    machine.damage(&machine.packs(0)[0], Harm::Delete);
    exports(&machine, &["latest", "there", "--format", "tar", "--replace"]).exits(4);
    assert_eq!(fs::read(machine.path("there")).unwrap(), b"precious");
    fs::remove_file(machine.path("there")).unwrap();
    assert_eq!(names(&machine.path("")), before);
    let ran = exports(&machine, &["latest", "rest.copal"]).exits(4);
    assert!(ran.err.contains("a very private name"), "{ran}");
    assert_eq!(fs::metadata(machine.path("rest.copal")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_export_to_a_full_disk_names_its_file_and_does_not_advise_to_prune() {
    needs_root("mount a file system");
    let machine = saved();
    let disk = machine.path("disk");
    fs::create_dir(&disk).unwrap();
    Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&disk).ran().ok();
    let _mounted = Volume::at(disk);
    for options in [&["latest", "disk/a.copal"][..], &["latest", "disk/a.copal", "--format", "tar"]] {
        let ran = exports(&machine, options).exits(1);
        assert!(ran.err.contains("cannot write disk/a.copal") && ran.err.contains("free some space there"), "{ran}");
        assert!(ran.kind() == "io" && !ran.err.contains("prune"), "{ran}");
    }
}

#[test]
fn an_export_that_is_killed_leaves_nothing() {
    let machine = saved();
    machine.write("large", noise(2, 40_000_000));
    machine.backup(&[]);
    let before = names(&machine.path(""));
    for words in [&["export", "latest", "a.tar", "--format", "tar"][..], &["export", "latest", "a.copal"]] {
        let mut running = Running::start(machine.with_key(words).env("COPAL_TO_PASSWORD", SECRET));
        let opened = PathBuf::from(format!("/proc/{}/fd", running.child().id()));
        let is_written = |link: fs::DirEntry| {
            let file = fs::read_link(link.path()).unwrap_or_default();
            file.parent() == Some(&machine.path("")) && fs::metadata(link.path()).is_ok_and(|file| file.len() > 0)
        };
        until("it writes", || fs::read_dir(&opened).unwrap().flatten().any(is_written).then_some(()));
        running.child().kill().unwrap();
        running.end().exits(-1);
        assert_eq!(names(&machine.path("")), before, "{words:?}");
    }
}
