//! `restore`: what went in comes out, and nothing else is touched.

mod damaged;
mod incomplete;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use crate::kit::{Harm, Machine, assert_same, image, name, noise, number, set_xattr};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, linkat, makedev, mknodat, utimensat};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn set_mtime(place: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, place, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// One of everything that a POSIX tree can hold.
fn fill_with_oddities(machine: &Machine) {
    machine.write("empty", "");
    machine.write("small", "small");
    machine.write("zeros", [0; 100_000]);
    machine.write("mid", noise(1, 70_000));
    machine.write("big", noise(2, 3_000_000));
    machine.write("huge", noise(3, 24_000_000));
    machine.write("twice", [noise(2, 3_000_000), noise(2, 3_000_000)].concat());
    machine.write("a/b/c/deep", "deep");
    for directory in ["nothing", "closed", "sticky"] {
        fs::create_dir(machine.source(directory)).unwrap();
    }
    for odd in [&b"\xff\xfe"[..], b"new\nline", b" ", b"*?[", b"-r", b"a.b", b"\\"] {
        fs::write(machine.path("source").join(name(odd)), odd).unwrap();
    }
    fs::create_dir_all(machine.source(format!("{0}/{0}/{0}", "n".repeat(250)))).unwrap();

    symlink("nowhere/at all", machine.source("dangling")).unwrap();
    symlink("a/b", machine.source("to a directory")).unwrap();
    symlink(name(b"\xff"), machine.source("to odd bytes")).unwrap();
    fs::hard_link(machine.source("big"), machine.source("a/big again")).unwrap();
    fs::hard_link(machine.source("small"), machine.source("zz")).unwrap();
    linkat(CWD, machine.source("dangling"), CWD, machine.source("dangling too"), AtFlags::empty()).unwrap();
    machine.fifo();
    let _ = UnixListener::bind(machine.path("source").join("s")).unwrap();

    let sparse = File::create(machine.source("sparse")).unwrap();
    sparse.set_len(10 << 20).unwrap();
    sparse.write_all_at(&noise(4, 1 << 20), 3 << 20).unwrap();
    sparse.write_all_at(b"end", (8 << 20) + 5).unwrap();
    File::create(machine.source("hole")).unwrap().set_len(1 << 28).unwrap();
    let few = File::create(machine.source("few")).unwrap();
    few.set_len(1 << 20).unwrap();
    few.write_all_at(b"few", 500_000).unwrap();

    set_xattr(&machine.source("mid"), "user.note", b"\0bytes\xff");
    set_xattr(&machine.source("empty"), "user.nothing", b"");
    set_xattr(&machine.source("a"), "user.on a directory", b"1");
    let acl = [
        &2u32.to_le_bytes()[..],
        &entry(0x01, 6, u32::MAX),
        &entry(0x02, 7, 1000),
        &entry(0x04, 4, u32::MAX),
        &entry(0x10, 7, u32::MAX),
        &entry(0x20, 4, u32::MAX),
    ]
    .concat();
    set_xattr(&machine.source("mid"), "system.posix_acl_access", &acl);
    set_xattr(&machine.source("a"), "system.posix_acl_default", &acl);

    let modes = [("small", 0o6755), ("sticky", 0o1777), ("a/b/c/deep", 0o400), ("closed", 0o500), ("huge", 0o604)];
    for (name, mode) in modes {
        fs::set_permissions(machine.source(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    if is_root() {
        for (kind, file, numbers) in
            [(FileType::CharacterDevice, "char", (1, 3)), (FileType::BlockDevice, "block", (7, 300))]
        {
            let mode = Mode::from_bits_truncate(0o606);
            mknodat(CWD, machine.source(file), kind, mode, makedev(numbers.0, numbers.1)).unwrap();
        }
        for (file, uid, gid) in [("mid", 1234, 4321), ("dangling", 77, 88), ("a/b", 99, 0), ("char", 5, 6)] {
            std::os::unix::fs::lchown(machine.source(file), Some(uid), Some(gid)).unwrap();
        }
    }
    for (file, seconds, nanoseconds) in [
        ("zeros", -315_619_200, 500_000_000),
        ("mid", 4_102_444_800, 1),
        ("dangling", 981_173_106, 123_456_789),
        ("a/b/c", 1, 999_999_999),
        ("sparse", 2, 0),
        ("fifo", 3, 3),
        ("", 1_000_000_000, 7),
    ] {
        set_mtime(&machine.source(file), seconds, nanoseconds);
    }
}

/// An entry of an ACL, in the kernel's form.
fn entry(tag: u16, permissions: u16, id: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&tag.to_le_bytes());
    bytes[2..4].copy_from_slice(&permissions.to_le_bytes());
    bytes[4..].copy_from_slice(&id.to_le_bytes());
    bytes
}

#[test]
fn a_tree_with_every_oddity_comes_out_as_it_went_in_twice_with_changes_between() {
    let machine = Machine::new();
    fill_with_oddities(&machine);
    machine.backup(&[]);
    let first = machine.restore(&["--verify"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
    assert_eq!(number(&first, "files_verified"), number(&first, "files_restored"));

    let again = machine.restore(&["--verify"]).ok();
    assert_eq!((number(&again, "files_restored"), number(&again, "bytes_written")), (0, 0));
    assert_eq!(number(&again, "files_unchanged"), number(&first, "files_restored"));
    assert_same(&machine.path("source"), &machine.path("out"));

    machine.write("new/file", "new");
    machine.write("mid", noise(9, 80_000));
    fs::remove_file(machine.source("empty")).unwrap();
    fs::remove_dir_all(machine.source("a/b/c")).unwrap();
    fs::remove_file(machine.source("zz")).unwrap();
    fs::remove_dir(machine.source("nothing")).unwrap();
    machine.write("nothing", "a file in the place of a directory");
    fs::remove_file(machine.source("few")).unwrap();
    machine.write("few/are", "a directory in the place of a file");
    fs::remove_file(machine.source("dangling")).unwrap();
    symlink("elsewhere", machine.source("dangling")).unwrap();
    fs::set_permissions(machine.source("huge"), fs::Permissions::from_mode(0o600)).unwrap();
    // One of two names becomes a file of its own, with the same content and time.
    fs::copy(machine.source("big"), machine.source("copy")).unwrap();
    let time = fs::metadata(machine.source("big")).unwrap().modified().unwrap();
    File::options().write(true).open(machine.source("copy")).unwrap().set_modified(time).unwrap();
    fs::rename(machine.source("copy"), machine.source("big")).unwrap();
    File::options().write(true).open(machine.source("sparse")).unwrap().write_all_at(b"in a hole", 7 << 20).unwrap();
    machine.backup(&[]);
    // A directory that became empty is looked into only with this.
    machine.restore(&["--delete", "--delete-excluded", "--verify"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn overwriting_always_writes_everything_anew() {
    let machine = Machine::new();
    machine.write("a/file", noise(1, 300_000));
    machine.write("other", "1");
    machine.backup(&[]);
    machine.restore(&[]).ok();
    let before = image(&machine.path("out"));
    fs::write(machine.path("out/other"), "2").unwrap();
    fs::File::options().write(true).open(machine.path("out/a/file")).unwrap().write_all_at(b"x", 5).unwrap();
    let stat = fs::metadata(machine.source("a/file")).unwrap().modified().unwrap();
    File::options().write(true).open(machine.path("out/a/file")).unwrap().set_modified(stat).unwrap();
    let run = machine.restore(&["--overwrite", "always"]).ok();
    assert_eq!((number(&run, "files_restored"), number(&run, "files_unchanged")), (2, 0));
    let read = number(&run, "bytes_read");
    assert!((300_000..310_000).contains(&read), "what does not compress is read once: {read}");
    assert_eq!(number(&machine.restore(&[]).ok(), "bytes_read"), 0, "nothing is read for what is right");
    assert_eq!(image(&machine.path("out")), before);
}

#[test]
fn what_is_newer_than_in_the_snapshot_stays_if_that_is_wanted() {
    let machine = Machine::with([("older", "from the backup"), ("newer", "from the backup")]);
    fs::hard_link(machine.source("newer"), machine.source("second")).unwrap();
    machine.backup(&[]);
    fs::create_dir(machine.path("out")).unwrap();
    for (name, seconds) in [("older", -9), ("newer", 9), ("second", 9)] {
        let saved = fs::metadata(machine.source(name)).unwrap().modified().unwrap();
        let time = if seconds < 0 { saved - Duration::from_secs(9) } else { saved + Duration::from_secs(9) };
        fs::write(machine.path("out").join(name), "mine").unwrap();
        File::options().write(true).open(machine.path("out").join(name)).unwrap().set_modified(time).unwrap();
    }
    let run = machine.restore(&["--overwrite", "if-newer"]).ok();
    assert_eq!((number(&run, "files_restored"), number(&run, "files_skipped")), (1, 2));
    assert_eq!(
        ["older", "newer", "second"].map(|name| fs::read(machine.path("out").join(name)).unwrap()),
        [b"from the backup".to_vec(), b"mine".to_vec(), b"mine".to_vec()]
    );
}

#[test]
fn overwriting_never_leaves_what_is_there() {
    let machine = Machine::saved([("kept", "from the backup"), ("missing", "from the backup")]);
    fs::create_dir(machine.path("out")).unwrap();
    fs::write(machine.path("out/kept"), "mine").unwrap();
    let run = machine.restore(&["--overwrite", "never", "--verify"]).ok();
    assert_eq!(
        (number(&run, "files_restored"), number(&run, "files_skipped"), number(&run, "files_verified")),
        (1, 1, 1)
    );
    assert_eq!(fs::read(machine.path("out/kept")).unwrap(), b"mine");
    assert_eq!(fs::read(machine.path("out/missing")).unwrap(), b"from the backup");
}

#[test]
fn a_path_goes_directly_into_the_target_and_a_snapshot_with_its_full_paths() {
    let machine = Machine::saved([("docs/a/file", "1"), ("docs/b", "2"), ("other", "3")]);
    let restore = |what: &str, out: &str| machine.run(&["restore", what, "-t", machine.path(out).to_str().unwrap()]);
    restore("latest:docs", "directory").ok();
    assert_same(&machine.source("docs"), &machine.path("directory"));
    restore("latest:docs/a/file", "file").ok();
    assert_eq!(fs::read(machine.path("file/file")).unwrap(), b"1");
    assert_eq!(fs::read_dir(machine.path("file")).unwrap().count(), 1);
    restore("latest", "full").ok();
    let below = machine.path("full").join(machine.path("source").strip_prefix("/").unwrap());
    assert_same(&machine.path("source"), &below);
    restore("latest:nowhere", "x").exits(1);
    assert!(!machine.path("x").exists());
}

#[test]
fn patterns_choose_and_directories_on_the_way_come_with_their_metadata() {
    let machine = Machine::new();
    for file in ["a/one.txt", "a/two.o", "b/c/three.txt", "b/c/four.TXT", "d/five.o"] {
        machine.write(file, file);
    }
    fs::set_permissions(machine.source("b"), fs::Permissions::from_mode(0o711)).unwrap();
    set_mtime(&machine.source("b"), 5, 5);
    machine.backup(&[]);
    machine.restore(&["--include", "*.txt"]).ok();
    let names = |out: &Path| image(out).into_keys().map(|path| path.display().to_string()).collect::<Vec<_>>();
    assert_eq!(names(&machine.path("out")), [".", "a", "a/one.txt", "b", "b/c", "b/c/three.txt"]);
    let b = fs::metadata(machine.path("out/b")).unwrap();
    assert_eq!(b.permissions().mode() & 0o7777, 0o711);
    assert_eq!(b.modified().unwrap(), fs::metadata(machine.source("b")).unwrap().modified().unwrap());

    fs::remove_dir_all(machine.path("out")).unwrap();
    machine.restore(&["--exclude", "*.o", "--iexclude", "four.txt", "--exclude", "d/"]).ok();
    assert_eq!(names(&machine.path("out")), [".", "a", "a/one.txt", "b", "b/c", "b/c/three.txt"]);
    machine.restore(&["--include", "[a"]).exits(2);
}

#[test]
fn patterns_that_fit_nothing_are_told() {
    let machine = Machine::saved([("file", "1")]);
    let run = machine.restore(&["--include", "fiel"]).ok();
    assert!(run.err.contains("matches the patterns"), "{run}");
    assert_eq!(machine.restore(&["--include", "file"]).ok().err, "");
}

#[test]
fn deleting_stays_within_what_was_backed_up() {
    let machine = Machine::saved([("kept", "1"), ("excluded.o", "1")]);
    let full = |options: &[&str]| machine.run(&[&["restore", "--json", "latest", "-t", "out"], options].concat());
    full(&[]).ok();
    let below = machine.path("out").join(machine.path("source").strip_prefix("/").unwrap());
    for surplus in ["surplus", "more/deep", "mine.o"] {
        fs::create_dir_all(below.join(surplus).parent().unwrap()).unwrap();
        fs::write(below.join(surplus), "").unwrap();
    }
    fs::write(machine.path("out/beside"), "").unwrap();
    fs::write(below.parent().unwrap().join("beside"), "").unwrap();

    let planned = full(&["--delete", "--dry-run", "--exclude", "*.o"]).ok();
    assert_eq!(number(&planned, "deleted"), 3);
    assert!(below.join("more/deep").exists());
    assert_eq!(number(&full(&["--delete", "--exclude", "*.o"]).ok(), "deleted"), 3);
    assert!(!below.join("surplus").exists() && !below.join("more").exists() && below.join("mine.o").exists());
    assert_eq!(number(&full(&["--delete"]).ok(), "deleted"), 1);
    assert_same(&machine.path("source"), &below);
    assert!(machine.path("out/beside").exists() && below.parent().unwrap().join("beside").exists());
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let machine = Machine::new();
    machine.write("a/file", noise(1, 200_000));
    machine.write("b", "b");
    fs::hard_link(machine.source("b"), machine.source("c")).unwrap();
    machine.backup(&[]);
    let told = machine.run(&["restore", &machine.whole(), "-t", "out", "-n", "-v"]).ok().err;
    assert!(told.contains("copal: would restore /") && !told.contains("copal: restored"), "{told}");
    let planned = machine.restore(&["--dry-run"]).ok();
    assert_eq!((number(&planned, "files_restored"), number(&planned, "bytes_written")), (3, 200_001));
    assert!(!machine.path("out").exists());
    machine.restore(&[]).ok();
    fs::write(machine.path("out/b"), "changed").unwrap();
    let before = image(&machine.path("out"));
    let planned = machine.restore(&["-n"]).ok();
    assert_eq!((number(&planned, "files_restored"), number(&planned, "files_unchanged")), (2, 1));
    assert_eq!(image(&machine.path("out")), before);
}

#[test]
fn the_target_itself_becomes_like_the_original_only_if_nothing_was_in_it() {
    let machine = Machine::with([("file", "1")]);
    fs::set_permissions(machine.path("source"), fs::Permissions::from_mode(0o750)).unwrap();
    machine.backup(&[]);
    fs::create_dir(machine.path("out")).unwrap();
    fs::set_permissions(machine.path("out"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(machine.path("out/mine"), "").unwrap();
    let mode = || fs::metadata(machine.path("out")).unwrap().permissions().mode() & 0o7777;
    machine.restore(&[]).ok();
    assert_eq!(mode(), 0o777);
    fs::remove_dir_all(machine.path("out")).unwrap();
    fs::create_dir(machine.path("out")).unwrap();
    machine.restore(&[]).ok();
    assert_eq!(mode(), 0o750);
}

#[test]
fn links_in_the_target_are_not_followed() {
    let machine = Machine::saved([("directory/file", "restored"), ("file", "restored")]);
    fs::create_dir(machine.path("outside")).unwrap();
    fs::write(machine.path("outside/file"), "safe").unwrap();
    fs::create_dir(machine.path("out")).unwrap();
    symlink("../outside", machine.path("out/directory")).unwrap();
    symlink("../outside/file", machine.path("out/file")).unwrap();
    machine.restore(&["--overwrite", "never"]).exits(3);
    assert_eq!(fs::read(machine.path("outside/file")).unwrap(), b"safe");
    machine.restore(&["--delete"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
    assert_eq!(fs::read(machine.path("outside/file")).unwrap(), b"safe");
}

#[test]
fn nothing_is_restored_into_the_repository() {
    let machine = Machine::saved([("file", "1")]);
    let run = machine.run(&["restore", "--json", "latest", "-t", machine.path("repository/packs/x").to_str().unwrap()]);
    assert!(run.exits(1).err.contains("inside_repository"));
    assert!(!machine.path("repository/packs/x").exists());
}
