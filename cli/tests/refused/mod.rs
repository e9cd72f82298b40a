//! Refused: a full disk, a repository that may not be written or read, one that goes away. Each ends with an error that
//! names the thing and what to do, does no damage, and everything goes on once the cause is gone.

mod rejected;
mod restored;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::kill::{at_points, every, with_key};
use crate::kit::{COPAL, Machine, Ran, Run, Volume, noise, number, run_by};

/// A machine with one snapshot, and with something new to save.
fn machine() -> Machine {
    let machine = Machine::saved([("old", noise(1, 100_000))]);
    machine.write("new", noise(2, 300_000));
    machine
}

/// Nothing is damaged, a backup works again, and both files are in it.
#[track_caller]
fn goes_on(machine: &Machine, label: &str) {
    let check = machine.run(&["check", "--full"]);
    assert_eq!(check.code, 0, "{label}: {check}");
    let id = machine.backup(&[]);
    machine.run(&["restore", &format!("{id}:source"), "--target", "out", "--verify"]).ok();
    for name in ["old", "new"] {
        assert!(
            fs::read(machine.path("out").join(name)).unwrap() == fs::read(machine.source(name)).unwrap(),
            "{label}"
        );
    }
}

/// Fails as it should: with exit code 1, the reason, and what to do.
#[track_caller]
fn fails(ran: Ran, reason: &str, remedy: &str, label: &str) {
    assert_eq!(ran.code, 1, "{label}: {ran}");
    assert!(ran.err.contains(reason), "{label}: {reason:?} in {ran}");
    assert!(ran.err.contains(remedy), "{label}: {remedy:?} in {ran}");
}

#[test]
fn a_disk_that_becomes_full_anywhere_in_a_command_does_no_damage() {
    for command in [&["backup", "source"][..], &["forget", "latest"], &["prune", "--grace", "0s"], &["rebuild-index"]] {
        let template = machine();
        if command[0] == "prune" {
            template.backup(&[]);
            let oldest = template.snapshots().remove(0);
            template.ok(&["forget", &oldest]);
        }
        at_points(
            "COPAL_FULL_AT",
            &template,
            every(3),
            with_key(command),
            |ran, label| {
                // What only tidies up needs no room.
                if ran.code != 0 {
                    fails(ran, "no space left", "free some space and run it again", &format!("{command:?} {label}"));
                }
            },
            |machine, label| goes_on(&machine, &format!("{command:?} {label}")),
        );
    }
}

#[test]
fn on_a_full_disk_forget_and_prune_find_room_and_a_backup_does_not() {
    let machine = Machine::saved([("large", noise(3, 20_000_000))]);
    machine.write("large", noise(4, 100_000));
    machine.backup(&[]);
    let reserve = machine.path("repository/work/reserve");
    let oldest = machine.snapshots().remove(0);
    let on_a_full_disk = |words: &[&str]| machine.with_key(words).env("COPAL_FULL_WHILE", &reserve).ran();
    assert!(reserve.exists(), "who stores much keeps a reserve");
    machine.write("new", noise(5, 100_000));
    fails(on_a_full_disk(&["backup", "source"]), "no space left", "free some space and run it again", "a backup");
    assert!(reserve.exists(), "it is for what makes room");
    on_a_full_disk(&["forget", &oldest]).ok();
    assert!(!reserve.exists(), "it was given up");
    machine.ok(&["prune", "--grace", "24h"]);
    assert!(reserve.exists(), "a prune keeps a new one");
    on_a_full_disk(&["prune", "--grace", "0s"]).ok();
    let left: u64 = machine.objects().values().map(|bytes| bytes.len() as u64).sum();
    assert!(left < 10_000_000, "{left} bytes are left");
    machine.run(&["check", "--full"]).ok();
}

#[test]
fn what_was_stored_before_the_disk_was_full_is_not_uploaded_again() {
    let machine = Machine::bare();
    let _volume = Volume::mount(&machine, "repository", &["mkfs.ext4", "-q"]);
    fs::remove_dir(machine.path("repository/lost+found")).unwrap();
    machine.init(&[]).ok();
    machine.write("first", noise(6, 70 << 20));
    machine.write("second", noise(7, 70 << 20));
    let ran = machine.run(&["backup", "source"]);
    assert!(ran.err.contains("copal: repository repository: no space left"), "{ran}");
    assert!(ran.err.contains("of this run are kept: the next one does not upload them again"), "{ran}");
    fails(ran, "no space left", "free some space and run it again", "a small disk");
    assert_eq!(number(&machine.run(&["stats", "--json"]), "unclaimed_bytes"), 0);
    machine.remove("second");
    let saved = number(&machine.run(&["backup", "source", "--json"]).ok(), "bytes_new");
    assert!(saved < 20 << 20, "{saved} bytes were stored again");
    machine.run(&["check", "--full"]).ok();
}

#[test]
fn a_file_larger_than_the_system_takes_ends_with_its_name() {
    let machine = machine();
    // Blocks of 512 or 1,024 bytes, as the shell has it: smaller than the pack either way.
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    let ran = run_by("sh", &["-c", script, COPAL], &machine.with_key(&["backup", "source"])).ran();
    fails(ran, "cannot create packs/", "ulimit -f", "a limit of file sizes");
    goes_on(&machine, "a limit of file sizes");
}

#[test]
fn a_repository_that_may_only_be_read_is_read_and_no_more() {
    let machine = machine();
    machine.ok(&["backup", "source"]);
    machine.ok(&["forget", "latest"]);
    let before = machine.objects();
    let stats = machine.json(&["stats"]);
    permit(&machine.path("repository"), 0o555, 0o444);
    let reader = Reader::new(&machine);
    for words in [
        &["snapshots"][..],
        &["ls", "-R", "latest"],
        &["restore", "latest:source", "-t", "mine/out", "--no-owner"],
        &["status"],
        &["client", "list"],
        &["policy", "show"],
        &["prune", "--dry-run"],
        &["forget", "--keep-last", "1", "--dry-run"],
    ] {
        reader.run(words).ok();
    }
    assert_eq!(reader.run(&["stats", "--json"]).ok().json(), stats);
    let doctor = reader.run(&["doctor"]);
    assert!(doctor.text().contains("not known: the repository takes no writes from here"), "{doctor}");
    assert!(doctor.text().contains("state"), "{doctor}");
    assert_eq!(fs::read(machine.path("mine/out/old")).unwrap(), noise(1, 100_000));
    let check = reader.run(&["check", "--full"]);
    assert!(check.code == 0 && check.text().contains("no damage found"), "{check}");
    for words in [&["backup", "source"][..], &["forget", "latest"], &["prune"], &["rebuild-index"]] {
        fails(reader.run(words), "not permitted to", "who may read and write", &format!("{words:?}"));
    }
    permit(&machine.path("repository"), 0o755, 0o644);
    assert!(machine.objects() == before, "nothing was changed");
    goes_on(&machine, "a read-only repository");
}

#[test]
fn what_may_not_be_read_makes_no_snapshot_and_no_profile_forgets_because_of_it() {
    let machine = Machine::new();
    for (name, folder) in [("private/file", 0o700), ("open/file", 0o755)] {
        machine.write(name, name);
        let folder = fs::Permissions::from_mode(folder);
        fs::set_permissions(machine.source(name).parent().unwrap(), folder).unwrap();
    }
    let paths = [machine.source("private"), machine.source("open")];
    machine.ok(&["backup", "source/private", "source/open"]);
    permit(&machine.path("repository"), 0o777, 0o666);
    let reader = Reader::new(&machine);
    fs::set_permissions(&paths[0], fs::Permissions::from_mode(0o000)).unwrap();
    let ran = reader.run(&["backup", "source/private"]).exits(1);
    assert!(ran.err.contains("nothing was saved: ") && ran.err.contains("private: Permission denied"), "{ran}");
    let config = format!(
        "[profiles.home]\nrepository = {:?}\nkey-file = {:?}\n[profiles.home.backup]\npaths = {paths:?}\n\
         [profiles.home.forget]\nkeep-last = 1\n",
        machine.path("repository"),
        machine.path("key")
    );
    fs::write(machine.path("mine/config.toml"), config).unwrap();
    let mut run = reader.command(&["--config", "mine/config.toml", "run"]);
    let ran = run.env_remove("COPAL_REPOSITORY").ran().exits(1);
    assert!(ran.text().contains("private could be saved: the profile ends here, and nothing is forgotten"), "{ran}");
    assert_eq!(machine.snapshots().len(), 2);
}

#[test]
fn a_directory_that_may_not_be_written_takes_no_repository_and_no_restored_files() {
    let machine = machine();
    let closed = machine.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let reader = Reader::new(&machine);
    let ran = reader
        .command(&["init", "-r", "closed/repository"])
        .env("COPAL_PASSWORD", "x")
        .env_remove("COPAL_KEY_FILE")
        .ran();
    fails(ran, "not permitted to create", "who may read and write", "init");
    fails(
        reader.run(&["restore", "latest:source", "-t", "closed/out"]),
        "closed/out",
        "who may read and write it",
        "restore",
    );
}

#[test]
fn a_pack_that_may_not_be_read_is_named_and_the_rest_is_restored() {
    let machine = machine();
    machine.backup(&[]);
    // The pack of the later backup, which holds the larger file.
    let pack = machine.packs(0).remove(0);
    fs::set_permissions(machine.object(&pack), fs::Permissions::from_mode(0o000)).unwrap();
    let reader = Reader::new(&machine);
    let root = machine.names("roots/");
    for depth in [&["check"][..], &["check", "--read-data"], &["check", "--full"]] {
        let ran = reader.run(depth);
        let told = format!("{}{}", ran.text(), ran.err);
        assert!(ran.code == 4 && told.contains(&pack) && told.contains("it may not be read"), "{depth:?}: {ran}");
        assert!(told.contains("the right to read") && !told.contains("Back up the sources"), "{depth:?}: {ran}");
    }
    assert_eq!(machine.names("roots/"), root, "nothing is noted of it");
    let restored = reader.run(&["restore", "latest:source", "-t", "mine/out", "--no-owner"]);
    assert!(restored.code == 4 && restored.err.contains(&pack), "{restored}");
    assert_eq!(fs::read(machine.path("mine/out/old")).unwrap(), noise(1, 100_000), "what can be read is there");
    fs::set_permissions(machine.object(&pack), fs::Permissions::from_mode(0o600)).unwrap();
    goes_on(&machine, "an unreadable pack");
}

#[test]
fn a_repository_that_goes_away_is_missed_and_nothing_is_written_in_its_place() {
    for is_mount_point in [false, true] {
        let machine = machine();
        let mut command = machine.with_key(&["backup", "--stdin", "--stdin-name", "stream"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than a pipe holds: it reads, so it has opened the repository.
        stdin.write_all(&noise(5, 4 << 20)).unwrap();
        fs::rename(machine.path("repository"), machine.path("away")).unwrap();
        if is_mount_point {
            fs::create_dir(machine.path("repository")).unwrap();
        }
        stdin.write_all(&noise(6, 1 << 20)).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!err.contains("panicked"), "{err}");
        let ran = Ran { code: output.status.code().unwrap(), out: output.stdout, err };
        fails(ran, "is not there", "once it is back", "a repository that went away");
        if is_mount_point {
            assert_eq!(fs::read_dir(machine.path("repository")).unwrap().count(), 0, "nothing was written there");
            fs::remove_dir(machine.path("repository")).unwrap();
        }
        assert_eq!(machine.run(&["snapshots"]).code, 10);
        fs::rename(machine.path("away"), machine.path("repository")).unwrap();
        goes_on(&machine, "a repository that came back");
    }
}

/// Somebody without rights: the user `nobody` if the tests run as root, who has them all.
struct Reader<'a> {
    machine: &'a Machine,
    is_root: bool,
}

impl<'a> Reader<'a> {
    /// Lets him come as far as the repository, and gives him a place of his own and the command.
    fn new(machine: &'a Machine) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        fs::set_permissions(machine.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(machine.path("key"), fs::Permissions::from_mode(0o444)).unwrap();
        fs::create_dir(machine.path("mine")).unwrap();
        // Where it was built, not everybody may go. Not copied by this process: whoever has it open for writing, like a
        // child that another thread is about to start, keeps it from being run.
        let copied = Command::new("cp").arg(COPAL).arg(machine.path("mine/copal")).status();
        assert!(copied.unwrap().success());
        if is_root {
            std::os::unix::fs::chown(machine.path("mine"), Some(NOBODY), Some(NOBODY)).unwrap();
            open_up(&machine.path("repository"));
        }
        Self { machine, is_root }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = run_by(self.machine.path("mine/copal"), &[], &self.machine.with_key(words));
        command.env("HOME", self.machine.path("mine"));
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.command(words).ran()
    }
}

/// Sets the modes of directories and files.
fn permit(directory: &Path, of_directories: u32, of_files: u32) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            permit(&path, of_directories, of_files);
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(of_files)).unwrap();
        }
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(of_directories)).unwrap();
}

/// Lets everybody read what has not been closed to all.
fn open_up(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            open_up(&path);
        } else if path.metadata().unwrap().permissions().mode() & 0o777 != 0 {
            let mode = path.metadata().unwrap().permissions().mode();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o444)).unwrap();
        }
    }
    let mode = directory.metadata().unwrap().permissions().mode();
    fs::set_permissions(directory, fs::Permissions::from_mode(mode | 0o555)).unwrap();
}

/// A user who owns nothing.
const NOBODY: u32 = 65_534;
