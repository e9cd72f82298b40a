//! What `backup` makes of the paths it is given, and says about those that may be meant otherwise.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use crate::kit::{Machine, PASSPHRASE, Run, Running, assert_same, noise, number, text, until};
use copal_client::backend::Backend;
use copal_client::backup::{Options, Outcome, Source, backup};
use copal_client::location::Location;
use copal_client::repository::{LocalClient, Repository};
use copal_client::scan::{Root, Scan, ScanOptions};
use copal_format::keys::slot::SlotInput;

#[test]
fn a_link_that_is_named_is_saved_as_such_and_that_is_told() {
    let machine = Machine::new();
    fs::create_dir(machine.path("elsewhere")).unwrap();
    fs::write(machine.path("elsewhere/file"), "1").unwrap();
    symlink(machine.path("elsewhere"), machine.path("link")).unwrap();
    let told = machine.run(&["backup", "link"]).ok().err;
    assert!(told.contains("/link is a link to a directory"), "{told}");
    assert!(!machine.run(&["backup", "link/"]).ok().err.contains("is a link"), "it is followed");
    assert!(machine.ok(&["find", "file", "--path", "elsewhere"]).contains("/elsewhere/file"));
    assert!(!machine.run(&["backup", "link", "elsewhere"]).ok().err.contains("is a link"), "what it leads to is saved");
    fs::write(machine.source("file"), "1").unwrap();
    symlink("file", machine.source("to file")).unwrap();
    assert_eq!(machine.run(&["backup", "source/to file"]).ok().err, "");
}

#[test]
fn what_was_named_and_is_excluded_is_told() {
    let machine = Machine::with([("file", "1"), ("other/kept", "2")]);
    let ran = machine.run(&["backup", "source/file", "source/other", "--exclude", "file"]).ok();
    assert!(ran.err.contains("/source/file: it is excluded, though it was named"), "{ran}");
    let ran = machine.run(&["backup", "source", "--exclude", "source"]).exits(1);
    assert!(ran.err.contains("nothing was saved: ") && ran.err.contains("/source: it is excluded"), "{ran}");
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn a_source_that_has_lost_all_its_files_is_saved_only_if_that_is_allowed() {
    let machine = Machine::new();
    fs::create_dir_all(machine.source("folder")).unwrap();
    machine.backup(&[]);
    machine.write("folder/file", "1");
    let id = machine.backup(&[]);
    machine.remove("folder/file");
    for options in [&[][..], &["--force"], &["--dry-run"]] {
        let ran = machine.run(&[&["--json", "backup", "source"], options].concat()).exits(1);
        assert!(ran.kind() == "emptied" && ran.err.contains(&id[..8]) && ran.err.contains("--allow-empty"), "{ran}");
    }
    assert_eq!(machine.snapshots().len(), 2);
    machine.backup(&["--allow-empty"]);
    machine.backup(&[]);
    assert_eq!(machine.snapshots().len(), 4);
}

#[test]
fn a_path_of_several_that_has_lost_its_files_is_told_until_it_may_be_empty_or_they_are_back() {
    let machine = Machine::with([("disk/folder/file", "1"), ("home/file", "1")]);
    let save = |options: &[&str]| machine.run(&[&["backup", "source/disk", "source/home"], options].concat());
    save(&[]).ok();
    machine.remove("disk/folder/file");
    for options in [&[][..], &["--force"], &[]] {
        let ran = save(options).exits(3);
        assert!(ran.err.contains("/source/disk: it has only directories"), "{ran}");
    }
    save(&["--exclude", "source/disk"]).ok();
    machine.write("disk/folder/file", "1");
    save(&[]).ok();
    machine.remove("disk/folder/file");
    save(&[]).exits(3);
    save(&["--skip-if-unchanged"]).exits(3);
    save(&["--allow-empty", "--skip-if-unchanged"]).ok();
    save(&["--skip-if-unchanged"]).ok();
}

#[test]
fn ignore_files_of_every_name_given_are_obeyed() {
    let machine = Machine::new();
    for (name, content) in [(".one", "*.o\n"), (".two", "*.tmp\n"), ("a.o", ""), ("a.tmp", ""), ("a.c", "")] {
        machine.write(name, content);
    }
    machine.backup(&["--ignore-file", ".one", "--ignore-file", ".two"]);
    let rows = machine.run(&["ls", "--json", "latest:source"]).ok().rows();
    let names: Vec<_> = rows.iter().map(|row| text(&row["path"]).rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(names, [".one", ".two", "a.c"]);
}

/// Backs the source up, and does something to it once all of it was looked at and before anything of it is read.
fn meanwhile(machine: &Machine, act: impl FnOnce()) -> Outcome {
    let backend = Backend::open(&Location::Directory(machine.path("repository")), &Default::default()).unwrap();
    let input = SlotInput::key_file(&fs::read_to_string(machine.path("key")).unwrap()).unwrap();
    let repository = Repository::open(&backend, &input, |_| machine.path("state")).unwrap();
    let client = LocalClient::load_or_register(&repository, "laptop").unwrap();
    let root = Root::new(&machine.path("source")).unwrap();
    let options = Options::plain("laptop", &root, 2);
    let scan = Arc::new(Scan::new(ScanOptions { roots: vec![root], ..ScanOptions::default() }).unwrap());
    let sweep = scan.begin(1);
    while sweep.events.is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    act();
    let mut source = Source::Tree { scan: &scan, ahead: Some(sweep), changed: None };
    backup(&repository, &client, &mut source, &options, &Arc::default(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_file_whose_first_name_vanishes_is_read_by_the_next() {
    let machine = Machine::with([("a", "kept".repeat(5_000))]);
    for name in ["b", "c"] {
        fs::hard_link(machine.source("a"), machine.source(name)).unwrap();
    }
    machine.write("first", "other");
    fs::hard_link(machine.source("first"), machine.source("second")).unwrap();
    let outcome = meanwhile(&machine, || {
        machine.remove("a");
        machine.write("new", "written anew");
        fs::rename(machine.source("new"), machine.source("first")).unwrap();
    });
    assert_eq!((outcome.errors(), outcome.counts.files), (1, 4), "{:?}", outcome.troubles);
    machine.restore(&[]).ok();
    for name in ["b", "c", "first", "second"] {
        let restored = fs::read(machine.path("out").join(name)).unwrap();
        assert_eq!(restored, fs::read(machine.source(name)).unwrap(), "{name}");
    }
    use std::os::unix::fs::MetadataExt;
    let inode = |name: &str| fs::metadata(machine.path("out").join(name)).unwrap().ino();
    assert_eq!(inode("b"), inode("c"));
    assert_ne!(inode("first"), inode("second"));
}

/// Does something again and again for as long as it lives.
struct Meanwhile {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Meanwhile {
    fn every_millisecond(mut act: impl FnMut() + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = thread::spawn(move || {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                act();
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_counted_and_saved_and_no_error() {
    let machine = Machine::new();
    machine.write("log", noise(1, 40_000_000));
    machine.write("file", "1");
    let mut log = fs::OpenOptions::new().append(true).open(machine.source("log")).unwrap();
    let growing = Meanwhile::every_millisecond(move || log.write_all(b"one more line\n").unwrap());
    let ran = machine.run(&["backup", "source", "--json"]).ok();
    let told = machine.run(&["backup", "source"]).ok();
    let quiet = machine.run(&["backup", "source", "--quiet"]).ok();
    drop(growing);
    let summary = ran.json();
    assert_eq!((&summary["changing"], &summary["errors"]), (&1.into(), &0.into()), "{ran}");
    let note = ran.err.lines().find(|line| line.contains("\"note\"")).unwrap();
    let note: serde_json::Value = serde_json::from_str(note).unwrap();
    assert!(text(&note["path"]).ends_with("/log") && text(&note["note"]).contains("read last"), "{ran}");
    assert!(told.text().contains("1 file changed while being read") && told.err.contains("/log: it changed"), "{told}");
    assert_eq!(quiet.err, "");
    // The snapshot names it for whoever restores.
    let id = text(&summary["snapshot_id"]).to_owned();
    let troubles = &machine.run(&["cat", &id]).ok().json()["snapshot"]["info"]["troubles"];
    let named =
        (troubles["unreadable_paths"].as_array().unwrap().len(), troubles["changing_paths"].as_array().unwrap());
    assert!(troubles["changing"] == 1 && named.0 == 0 && text(&named.1[0]).ends_with("/log"), "{troubles}");
    let listed = machine.run(&["ls", &id]).ok();
    assert!(listed.err.contains("/log changed each time it was read, and is as it was read last"), "{listed}");
    let again = machine.run(&["restore", &id, "--target", "again"]).ok();
    assert!(again.err.contains("/log changed each time"), "{again}");
    // It is saved up to where it ended when it was opened.
    machine.restore(&[]).ok();
    let (whole, saved) = (fs::read(machine.source("log")).unwrap(), fs::read(machine.path("out/log")).unwrap());
    assert!(saved.len() >= 40_000_000 && whole.starts_with(&saved), "{}", saved.len());
}

#[test]
fn what_cannot_be_read_is_still_an_error_beside_a_file_that_grows() {
    let machine = Machine::with([("file", "1"), ("vanishes", "2")]);
    let outcome = meanwhile(&machine, || machine.remove("vanishes"));
    assert_eq!((outcome.errors(), outcome.changing()), (1, 0));
    let listed = machine.run(&["ls", "latest"]).ok();
    assert!(listed.err.contains("/vanishes could not be read when this snapshot was made"), "{listed}");
}

#[test]
fn an_empty_stream_is_saved_only_if_that_is_allowed() {
    let machine = Machine::new();
    let stdin = |words: &[&str]| {
        let mut command = machine.with_key(&[&["backup", "--json"], words].concat());
        command.stdin(std::process::Stdio::null()).ran()
    };
    for words in [&["--stdin"][..], &["--stdin-from-command", "--", "true"], &["--stdin", "--dry-run"]] {
        let ran = stdin(words).exits(1);
        assert!(ran.kind() == "empty_stream" && ran.err.contains("--allow-empty"), "{words:?}: {ran}");
        assert_eq!(machine.snapshots().len(), 0, "{words:?}");
    }
    stdin(&["--stdin", "--allow-empty"]).ok();
    assert_eq!(machine.snapshots().len(), 1);
    assert_eq!(machine.ok(&["dump", "latest:stdin"]), "");
}

#[test]
fn a_command_that_fails_saves_nothing_of_what_it_has_written() {
    let machine = Machine::new();
    let ran = machine.run(&["backup", "--stdin-from-command", "--", "sh", "-c", "echo half; exit 3"]).exits(1);
    assert!(ran.err.contains("exit status: 3"), "{ran}");
    assert_eq!(machine.snapshots().len(), 0);
    fs::write(machine.path("dump"), noise(3, 40 << 20)).unwrap();
    let dump = |end: &str| {
        machine.run(&["backup", "--json", "--stdin-from-command", "--", "sh", "-c", &format!("cat dump; {end}")])
    };
    let ran = dump("exit 3").exits(1);
    assert!(ran.err.contains("of this run are kept"), "{ran}");
    let saved = number(&dump("true").ok(), "bytes_new");
    assert!(saved < 10 << 20, "{saved} bytes were stored again");
}

#[test]
fn a_dry_run_makes_no_repository_and_registers_no_machine() {
    let machine = Machine::bare();
    machine.command(&["backup", "--init", "-n", "source"]).env("COPAL_PASSWORD", PASSPHRASE).ran().exits(2);
    assert!(!machine.path("repository").exists());
    let machine = Machine::with([("file", "1")]);
    let mut command = machine.with_key(&["backup", "-n", "source", "--json"]);
    let ran = command.env("HOME", machine.path("another home")).ran().ok();
    assert_eq!((number(&ran, "files_new"), machine.records()), (1, 1));
}

#[test]
fn a_command_that_is_started_gets_no_passphrase() {
    let machine = Machine::new();
    let mut command = machine.command(&["backup", "--stdin-from-command", "--", "env"]);
    command.env("COPAL_PASSWORD", PASSPHRASE).env("COPAL_TO_PASSWORD", PASSPHRASE).ran().ok();
    let line = format!("env > seen; echo {PASSPHRASE}");
    let mut command = machine.command(&["dump", "latest:stdin", "--password-command", &line]);
    let saved = command.env("COPAL_PASSWORD", PASSPHRASE).ran().ok().text();
    for seen in [saved, fs::read_to_string(machine.path("seen")).unwrap()] {
        assert!(seen.contains("COPAL_HOST=") && !seen.contains(PASSPHRASE), "{seen}");
    }
}

#[test]
fn a_backup_that_ends_ends_the_command_that_it_reads() {
    let machine = Machine::new();
    fs::write(machine.path("dump"), noise(3, 10 << 20)).unwrap();
    // Nothing but a signal stops it: that nobody reads any more does not.
    let script = "trap '' PIPE; echo $$ > pid; while :; do cat dump 2> /dev/null || sleep 0.1; done";
    let words = ["backup", "--stdin-from-command", "--", "sh", "-c", script];
    let child = Running::start(&mut machine.with_key(&words));
    let written = || fs::read_to_string(machine.path("pid")).ok().filter(|text| text.ends_with('\n'));
    let pid = until("the command runs", written);
    child.ends_at("TERM").exits(130);
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn paths_are_read_from_lists_by_lines_and_by_zeros() {
    let machine = Machine::new();
    for name in ["one", "line\nbreak", "other"] {
        machine.write(name, name);
    }
    fs::write(machine.path("lines"), "source/one\n").unwrap();
    fs::write(machine.path("zeros"), "source/line\nbreak\0").unwrap();
    machine.ok(&["backup", "--files-from", "lines", "--files-from0", "zeros"]);
    machine.ok(&["restore", "latest", "-t", "out"]);
    let out = machine.path("out").join(machine.path("source").strip_prefix("/").unwrap());
    let mut names: Vec<_> = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["line\nbreak", "one"]);
}

#[test]
fn how_hard_to_compress_is_the_writers_choice_and_readers_need_not_know_it() {
    let words: String = (0..60_000_u32).map(|n| format!("{:x} ", n.wrapping_mul(n))).collect();
    let mut stored = Vec::new();
    for level in ["max", "auto", "fast", "0"] {
        let machine = Machine::new();
        machine.write("words", &words);
        machine.write("noise", noise(1, 300_000));
        let told = machine.json(&["backup", "source", "--compression", level]);
        stored.push(told["bytes_stored"].as_u64().unwrap());
        assert_eq!(machine.check(&["--full"]).0, 0, "{level}");
        machine.restore(&[]).ok();
        crate::kit::assert_same(&machine.path("source"), &machine.path("out"));
    }
    assert!(stored.is_sorted_by(|small, large| small < large), "{stored:?}");
    assert!(stored[3] > words.len() as u64 + 300_000, "{stored:?}");
    let machine = Machine::new();
    assert_eq!(machine.run(&["backup", "source", "--compression", "best", "--json"]).exits(2).kind(), "usage");
}

#[test]
fn a_file_under_a_lease_is_saved_once_its_holder_gives_it_up() {
    let machine = Machine::with([("file", "text")]);
    let mut holder = Command::new("python3");
    let (holder, line) = Running::announced(holder.args(["-c", HOLDER]).arg(machine.path("source/file")));
    assert_eq!(line, "held\n");
    machine.run(&["backup", "source"]).ok();
    assert_eq!(holder.end().ok().code, 0);
    machine.ok(&["restore", &machine.whole(), "-t", "out"]);
    assert_same(&machine.path("source"), &machine.path("out"));
}

/// Holds a lease for writing, and gives it up 0.3 s after somebody else wants to read the file.
const HOLDER: &str = r#"
import fcntl, os, signal, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
signal.sigwait([signal.SIGIO])
time.sleep(0.3)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
"#;
