//! `backup --as-path`: a source that is read at one place and stands at another path in the snapshot.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::kit::{Machine, Run, assert_same, number, text};

/// A machine that reads `elsewhere` as if it were `source`.
fn with_elsewhere() -> Machine {
    let machine = Machine::new();
    fs::create_dir(machine.path("elsewhere")).unwrap();
    machine
}

fn source(machine: &Machine) -> String {
    machine.path("source").display().to_string()
}

fn date(path: &Path, time: SystemTime) {
    File::options().write(true).open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

#[test]
fn a_source_that_is_read_elsewhere_continues_the_series_of_its_path_and_is_restored_there() {
    let machine = Machine::new();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    machine.write("a/letter", "first");
    fs::hard_link(machine.source("a/letter"), machine.source("b")).unwrap();
    symlink("a", machine.source("link")).unwrap();
    date(&machine.source("b"), long_ago);
    let first = machine.backup(&[]);
    fs::rename(machine.path("source"), machine.path("elsewhere")).unwrap();
    // A file that is read again would show this, since its time and size are the same.
    fs::write(machine.path("elsewhere/b"), "other").unwrap();
    date(&machine.path("elsewhere/b"), long_ago);
    fs::write(machine.path("elsewhere/new"), "new").unwrap();
    let backup = ["backup", "elsewhere/", "--as-path", &source(&machine), "--ignore-ctime", "--json"];
    let ran = machine.run(&backup).ok();
    assert_eq!(text(&ran.json()["parent_id"]), first);
    assert_eq!((number(&ran, "files_new"), number(&ran, "files_changed")), (1, 1), "{ran}");
    machine.restore(&[]).ok();
    fs::write(machine.path("elsewhere/b"), "first").unwrap();
    date(&machine.path("elsewhere/b"), long_ago);
    assert_same(&machine.path("elsewhere"), &machine.path("out"));
    assert_eq!(machine.run(&["ls", "-R", "latest:/", "--json"]).ok().text().matches("elsewhere").count(), 0);
    // The other way round as well.
    fs::rename(machine.path("elsewhere"), machine.path("source")).unwrap();
    let again = machine.run(&["backup", "source", "--ignore-ctime", "--json"]).ok();
    assert_eq!((&again.json()["parent_id"], number(&again, "files_new")), (&ran.json()["snapshot_id"], 0));
}

#[test]
fn what_was_written_shortly_before_a_snapshot_of_a_file_system_is_read_again_however_late_the_backup_begins() {
    let machine = with_elsewhere();
    let file = machine.path("elsewhere/file");
    fs::write(&file, "first").unwrap();
    let written = fs::metadata(&file).unwrap().modified().unwrap() - Duration::from_secs(20);
    date(&file, written);
    // The backup begins long after the file was written.
    std::thread::sleep(Duration::from_millis(2_100));
    let path = source(&machine);
    let backup = ["backup", "elsewhere", "--as-path", &path, "--ignore-ctime"];
    machine.ok(&backup);
    // The snapshot of the file system had the new time already, and the old bytes.
    fs::write(&file, "other").unwrap();
    date(&file, written);
    machine.ok(&backup);
    assert_eq!(machine.ok(&["dump", &format!("latest:{path}/file")]), "other");
}

#[test]
fn directories_above_the_path_are_as_on_this_machine_or_as_the_one_that_the_source_lies_in() {
    use std::os::unix::fs::PermissionsExt;
    let machine = with_elsewhere();
    fs::write(machine.path("elsewhere/file"), "1").unwrap();
    for (name, mode) in [("here", 0o710), ("lies", 0o731)] {
        fs::create_dir(machine.path(name)).unwrap();
        fs::set_permissions(machine.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::write(machine.path("here/file"), "2").unwrap();
    fs::rename(machine.path("elsewhere"), machine.path("lies/elsewhere")).unwrap();
    let path = machine.path("here/gone/home");
    machine.ok(&["backup", "lies/elsewhere", "--as-path", path.to_str().unwrap()]);
    machine.ok(&["restore", "latest", "-t", "out"]);
    let out = machine.path("out").join(path.strip_prefix("/").unwrap());
    assert_eq!(fs::read(out.join("file")).unwrap(), b"1");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let gone = out.parent().unwrap();
    assert_eq!((mode(gone), mode(gone.parent().unwrap())), (0o731, 0o710));
    assert!(!gone.parent().unwrap().join("file").exists(), "nothing else of them is saved");
}

#[test]
fn patterns_and_lists_know_the_path_in_the_snapshot_and_messages_the_one_on_this_machine() {
    let machine = with_elsewhere();
    for (name, content) in [("keep", "1"), ("out", "22"), (".ignore", "/ignored\n"), ("ignored", ""), ("cache/big", "")]
    {
        let path = machine.path("elsewhere").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::write(machine.path("elsewhere/cache/.nobackup"), "").unwrap();
    let _socket = UnixListener::bind(machine.path("elsewhere/socket")).unwrap();
    let path = source(&machine);
    let out = format!("{path}/out");
    let elsewhere = machine.path("elsewhere").display().to_string();
    let left_out = ["-e", &out, "-e", &elsewhere, "--ignore-file", ".ignore", "--exclude-if-present", ".nobackup"];
    let backup = [&["backup", "-v", "elsewhere", "--as-path", &path], &left_out[..]].concat();
    let dry = machine.run(&[&backup[..], &["-n", "--json"]].concat()).ok();
    let excluded = dry.rows().pop().unwrap()["excluded"].clone();
    let by = excluded.as_array().unwrap().iter().find(|row| row["by"] == out.as_str()).unwrap().clone();
    assert_eq!((&by["entries"], &by["bytes"]), (&1.into(), &2.into()), "it is measured where it lies");
    let ran = machine.run(&backup).ok();
    assert!(ran.err.contains(&format!("{elsewhere}/socket: a socket")), "{ran}");
    assert!(ran.err.contains(&format!("{elsewhere}/cache: it holds .nobackup")), "{ran}");
    assert!(format!("{}{}", ran.text(), ran.err).contains(&format!("{path}/keep")), "{ran}");
    let saved = machine.run(&["ls", "-R", "--json", &format!("latest:{path}")]).ok().rows();
    let names: Vec<_> =
        saved.iter().map(|row| text(&row["path"])).map(|name| name[path.len() + 1..].to_owned()).collect();
    assert_eq!(names, [".ignore", "cache", "cache/.nobackup", "keep"]);
    let ran = machine.run(&["backup", "elsewhere", "--as-path", "/a", "-e", "/a"]).exits(1);
    assert!(ran.err.contains("nothing was saved: ") && ran.err.contains("elsewhere: it is excluded"), "{ran}");
}

#[test]
fn what_cannot_be_read_is_named_where_it_lies_and_recorded_where_it_stands() {
    let machine = Machine::new();
    // In it are files that nobody may read, root neither.
    let ran = machine.run(&["backup", "/proc/sys/vm", "--as-path", "/home/closed"]).exits(3);
    assert!(ran.err.contains("/proc/sys/vm/compact_memory: Permission denied"), "{ran}");
    let troubles = machine.json(&["cat", &machine.snapshots()[0]])["snapshot"]["info"]["troubles"].clone();
    assert!(text(&troubles["unreadable_paths"][0]).ends_with("home/closed/compact_memory"), "{troubles}");
}

#[test]
fn names_are_bytes_and_a_path_may_be_the_top_or_lie_in_the_repository_which_is_not_touched() {
    let machine = with_elsewhere();
    let odd = OsStr::from_bytes(b"odd\xff\n");
    fs::create_dir(machine.path("elsewhere").join(odd)).unwrap();
    fs::write(machine.path("elsewhere").join(odd).join(odd), "1").unwrap();
    let backup = |path: &OsStr| {
        machine.with_key(&["backup", "--as-path"]).arg(path).arg(Path::new("elsewhere").join(odd)).ran().ok();
        fs::remove_dir_all(machine.path("out")).unwrap_or_default();
        machine.ok(&["restore", "latest", "-t", "out"]);
    };
    backup(OsStr::from_bytes(b"/home/\xfe//./x/"));
    assert!(machine.path("out/home").join(OsStr::from_bytes(b"\xfe")).join("x").join(odd).exists());
    backup("/".as_ref());
    assert!(machine.path("out").join(odd).is_file());
    let before: Vec<_> = machine.objects().into_keys().collect();
    let inside = machine.path("repository/packs/x");
    backup(inside.as_os_str());
    assert!(machine.path("out").join(inside.strip_prefix("/").unwrap()).join(odd).is_file());
    assert!(before.iter().all(|name| !name.starts_with("packs/x")) && !inside.exists());
    machine.ok(&["check", "--read-data"]);
}

#[test]
fn a_path_below_a_link_means_what_a_source_there_means() {
    let machine = with_elsewhere();
    machine.write("home/file", "1");
    fs::write(machine.path("elsewhere/file"), "1").unwrap();
    symlink(machine.path("source"), machine.path("link")).unwrap();
    let first = text(&machine.json(&["backup", "link/home"])["snapshot_id"]);
    let path = machine.path("link/home").display().to_string();
    assert_eq!(text(&machine.json(&["backup", "elsewhere", "--as-path", &path])["parent_id"]), first);
}

#[test]
fn what_cannot_stand_there_is_refused_before_anything_is_read() {
    let machine = with_elsewhere();
    machine.fifo();
    fs::write(machine.path("file"), "").unwrap();
    fs::write(machine.path("list"), "elsewhere\n").unwrap();
    symlink("elsewhere", machine.path("link")).unwrap();
    let refused: [(&[&str], &str); 12] = [
        (&["elsewhere", "--as-path", "home"], "absolute"),
        (&["elsewhere", "--as-path", ""], "value"),
        (&["elsewhere", "--as-path", "/home/../etc"], "\"..\""),
        (&["elsewhere", "--as-path", "/.."], "\"..\""),
        (&["elsewhere", "source", "--as-path", "/home"], "exactly one"),
        (&["--as-path", "/home"], "PATH"),
        (&["--files-from", "list", "--as-path", "/home"], "--files-from"),
        (&["--stdin", "--as-path", "/home"], "--stdin"),
        (&["--stdin-from-command", "--as-path", "/home", "--", "true"], "--stdin-from-command"),
        (&["link", "--as-path", "/home"], "is a symbolic link: add a slash"),
        (&["source/fifo", "--as-path", "/home"], "neither a directory nor a file"),
        (&["file", "--as-path", "/"], "only a directory"),
    ];
    for (words, why) in refused {
        let ran = machine.run(&[&["backup"], words].concat()).exits(2);
        assert!(ran.err.contains(why), "{words:?}: {ran}");
    }
    let long = "/x".repeat(33_000);
    machine.run(&["backup", "elsewhere", "--as-path", &long]).exits(2);
    assert!(machine.run(&["backup", "missing", "--as-path", "/home"]).exits(1).err.contains("missing"));
    for inside in ["repository", "repository/packs"] {
        let ran = machine.run(&["backup", inside, "--as-path", "/home"]).exits(1);
        assert!(ran.err.contains("repository"), "{ran}");
    }
    assert!(machine.snapshots().is_empty());
    machine.ok(&["backup", "link/", "--as-path", "/home"]);
    machine.ok(&["backup", "file", "--as-path", "/home/file"]);
}
