//! Mount: real mounts and real WebDAV requests, compared with restores.

mod counted;
mod mounted;
mod webdav;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::kit::{Harm, Machine, Run, assert_same, image, name, noise, set_xattr, until};
use crate::look::harmed::damage_pages;
use mounted::Mounted;

/// A machine that has saved entries of every kind.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("letter", "Dear reader");
    machine.write("deep/er/noise", noise(1, 3_000_000));
    machine.write("deep/empty", "");
    fs::create_dir(machine.source("bare")).unwrap();
    fs::hard_link(machine.source("letter"), machine.source("deep/again")).unwrap();
    symlink("../letter", machine.source("deep/link")).unwrap();
    symlink("/nowhere/at/all", machine.source("dangling")).unwrap();
    fs::write(machine.source(name(b"not \xff text\n")), "odd").unwrap();
    fs::write(machine.source("ä".repeat(127)), "long").unwrap();
    mknodat(CWD, machine.source("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    fs::set_permissions(machine.source("letter"), fs::Permissions::from_mode(0o4750)).unwrap();
    fs::set_permissions(machine.source("bare"), fs::Permissions::from_mode(0o1711)).unwrap();
    for (attribute, value) in [("user.a", b"1".as_slice()), ("user.long", &[7; 3_000]), ("user.none", b"")] {
        set_xattr(&machine.source("letter"), attribute, value);
        set_xattr(&machine.source("deep"), attribute, value);
    }
    let sparse = File::create(machine.source("sparse")).unwrap();
    sparse.set_len(3 << 20).unwrap();
    sparse.write_all_at(&noise(2, 100_000), 1 << 20).unwrap();
    let old = File::open(machine.source("letter")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH - Duration::from_millis(1_500)).unwrap();
    machine.backup(&[]);
    machine
}

/// The source as a mount shows it in a snapshot.
fn shown(mounted: &Mounted, machine: &Machine, snapshot: &str) -> PathBuf {
    mounted.path(snapshot).join(machine.path("source").strip_prefix("/").unwrap())
}

#[test]
fn a_mount_shows_what_a_restore_brings_back() {
    let machine = machine();
    machine.restore(&[]).ok();
    let mut mounted = Mounted::start(&machine, &[]);
    let latest = shown(&mounted, &machine, "snapshots/latest");
    assert_same(&machine.path("out"), &latest);
    let [letter, again] = ["letter", "deep/again"].map(|name| fs::metadata(latest.join(name)).unwrap());
    assert_eq!((letter.ino(), letter.nlink()), (again.ino(), 2));
    assert!(fs::metadata(latest.join("sparse")).unwrap().blocks() < 300, "holes take no room");
    let inode = |path: &Path| fs::symlink_metadata(path).unwrap().ino();
    let before: Vec<_> = image(&latest).keys().map(|name| inode(&latest.join(name))).collect();
    assert_eq!(mounted.end("TERM"), 0);

    let mounted = Mounted::start(&machine, &[]);
    let latest = shown(&mounted, &machine, "snapshots/latest");
    let after: Vec<_> = image(&latest).keys().map(|name| inode(&latest.join(name))).collect();
    assert_eq!(before, after, "inode numbers stay");
}

#[test]
fn any_part_of_a_file_is_read_and_nothing_is_written() {
    let machine = machine();
    // So many chunks that their list is a tree of its own.
    machine.write("huge", noise(3, 24 << 20));
    machine.backup(&["--tag", "huge"]);
    let mounted = Mounted::start(&machine, &["--cache-memory", "1M"]);
    let latest = shown(&mounted, &machine, "snapshots/latest");
    for file in ["huge", "sparse", "deep/er/noise"] {
        let (expected, open) = (fs::read(machine.source(file)).unwrap(), File::open(latest.join(file)).unwrap());
        let mut at = 12_345;
        for length in [1, 4096, 70_000, 1 << 20].into_iter().cycle().take(60) {
            at = (at * 48_271) % expected.len();
            let mut bytes = vec![1; length.min(expected.len() - at)];
            open.read_exact_at(&mut bytes, at as u64).unwrap();
            assert!(bytes == expected[at..at + bytes.len()], "{file} from {at}");
        }
        assert_eq!(open.read_at(&mut [0; 10], expected.len() as u64).unwrap(), 0);
    }
    let refused = fs::write(latest.join("new"), "").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnlyFilesystem);
    assert_eq!(fs::remove_file(latest.join("letter")).unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn snapshots_are_found_by_id_by_host_and_by_time_and_new_ones_appear() {
    let machine = Machine::with([("file", "one")]);
    let first = machine.backup(&[]);
    let mounted = Mounted::start(&machine, &[]);
    assert_eq!(mounted.names("snapshots"), ["by-host", "by-id", "by-time", "latest"]);
    assert_eq!(mounted.names("snapshots/by-id"), [&first[..8]]);
    assert_eq!(mounted.names("snapshots/by-host"), ["laptop"]);
    let of_host = mounted.names("snapshots/by-host/laptop");
    assert_eq!((of_host.len(), of_host[1].as_str()), (2, "latest"));
    let time = &mounted.names("snapshots/by-time")[0];
    assert_eq!(&of_host[0], time);
    assert!(time.len() == 19 && time.as_bytes()[10] == b'T' && !time.contains(':'), "{time}");
    for alias in ["latest", &format!("by-time/{time}"), "by-host/laptop/latest"] {
        let file = shown(&mounted, &machine, &format!("snapshots/{alias}")).join("file");
        assert_eq!(fs::read(file).unwrap(), b"one", "{alias}");
    }

    machine.write("file", "two");
    let second = machine.backup(&[]);
    until("it appears", || (mounted.names("snapshots/by-id").len() == 2).then_some(()));
    let latest = fs::read_link(mounted.path("snapshots/latest")).unwrap();
    assert_eq!(latest, Path::new("by-id").join(&second[..8]));
    assert_eq!(fs::read(shown(&mounted, &machine, "snapshots/latest").join("file")).unwrap(), b"two");
    machine.ok(&["forget", &first]);
    until("it appears", || (mounted.names("snapshots/by-id") == [&second[..8]]).then_some(()));
    // Two snapshots of one second have two names.
    assert_eq!(mounted.names("snapshots/by-time").len(), 1);
}

#[test]
fn a_forgotten_snapshot_goes_from_a_mount_however_its_folder_was_found() {
    let machine = Machine::new();
    let ids = ["looked up", "listed", "kept"].map(|content| {
        machine.write("file", content);
        machine.backup(&[])
    });
    let mounted = Mounted::start(&machine, &[]);
    let forget = |id: &str| {
        let folder = mounted.path("snapshots/by-id").join(&id[..8]);
        assert!(folder.is_dir());
        machine.ok(&["forget", id]);
        until("it is gone", || (!folder.exists()).then_some(()));
    };
    forget(&ids[0]);
    assert_eq!(mounted.names("snapshots/by-id").len(), 2);
    forget(&ids[1]);
    assert_eq!(mounted.names("snapshots/by-id"), [&ids[2][..8]]);
}

#[test]
fn a_snapshot_without_entries_is_an_empty_folder_and_no_damage() {
    let machine = Machine::new();
    machine.with_key(&["import", "tar", "--allow-empty"]).fed([0_u8; 10_240]).ok();
    let mut mounted = Mounted::start(&machine, &[]);
    assert_eq!(mounted.names("snapshots/latest"), [""; 0]);
    assert_eq!(mounted.end("TERM"), 0, "{}", mounted.told());
}

#[test]
fn whoever_an_acl_keeps_out_is_kept_out_of_a_mount_for_others_too() {
    let machine = Machine::with([("file", "for user 34 alone")]);
    // user::rw-, user:34:r--, group::---, mask::r--, other::---
    let acl = [(1u16, 6u16, u32::MAX), (2, 4, 34), (4, 0, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];
    let entry = |(tag, rights, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let acl = [&2u32.to_le_bytes()[..], &acl.map(entry).concat()].concat();
    std::os::unix::fs::chown(machine.source("file"), None, Some(1234)).unwrap();
    set_xattr(&machine.source("file"), "system.posix_acl_access", &acl);
    machine.backup(&[]);
    // The machine's directory is its owner's alone.
    fs::set_permissions(machine.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let mounted = Mounted::start(&machine, &["--allow-other"]);
    let file = shown(&mounted, &machine, "snapshots/latest").join("file");
    let reads = |user: u32, group: u32| {
        let mut cat = std::process::Command::new("cat");
        cat.arg(&file).uid(user).gid(group).output().unwrap().status.success()
    };
    assert!(reads(34, 34), "the ACL lets this user read");
    assert!(!reads(5678, 1234), "and the group not, whatever the mask");
}

#[test]
fn a_new_snapshot_that_cannot_be_read_is_named() {
    let machine = Machine::saved([("file", "one")]);
    let mut mounted = Mounted::start(&machine, &[]);
    let manifests = || machine.names("manifests/");
    let before = manifests();
    machine.write("file", "two");
    machine.backup(&[]);
    let new = manifests().into_iter().find(|manifest| !before.contains(manifest)).unwrap();
    fs::remove_file(machine.object(&new)).unwrap();
    machine.write("file", "three");
    machine.backup(&[]);
    until("it appears", || (mounted.names("snapshots/by-id").len() == 2).then_some(()));
    assert_eq!(mounted.end("TERM"), 4);
    let told = mounted.told();
    assert_eq!(told.matches(&format!("{new} cannot be listed")).count(), 1, "{told}");
}

#[test]
fn a_mount_whose_program_was_killed_is_named_by_the_next_one() {
    let machine = Machine::saved([("file", "one")]);
    let mut mounted = Mounted::start(&machine, &[]);
    mounted.end("KILL");
    let ran = machine.run(&["mount", "mounted"]).exits(1);
    assert!(ran.err.contains("umount") && !ran.err.contains("not a directory"), "{ran}");
    assert!(std::process::Command::new("umount").arg(mounted.path("")).status().unwrap().success());
}

#[test]
fn the_options_choose_which_snapshots_are_shown() {
    let machine = Machine::with([("file", "one")]);
    let first = machine.backup(&["--tag", "a"]);
    machine.write("file", "two");
    let second = machine.backup(&["--tag", "b"]);
    for (options, chosen) in [(["--tag", "b"], &second), (["--snapshot", &first[..6]], &first)] {
        let mounted = Mounted::start(&machine, &options);
        assert_eq!(mounted.names("snapshots/by-id"), [&chosen[..8]]);
    }
}

#[test]
fn a_path_leads_through_the_links_that_were_there_before_the_mount_hid_them() {
    let machine = Machine::saved([("file", "one")]);
    fs::create_dir(machine.path("mounted")).unwrap();
    symlink(machine.path(""), machine.path("mounted/way")).unwrap();
    let mounted = Mounted::start(&machine, &["--path", "mounted/way/source"]);
    assert_eq!(mounted.names("snapshots/by-id").len(), 1);
    machine.write("file", "two");
    machine.backup(&[]);
    until("it appears", || (mounted.names("snapshots/by-id").len() == 2).then_some(()));
}

#[test]
fn damage_is_an_error_of_the_file_it_hits_and_a_line_that_names_it() {
    let machine = Machine::new();
    machine.write("before", noise(1, 100_000));
    machine.write("hit", noise(2, 5_000_000));
    machine.write("small", "in the page");
    machine.write("zero after", noise(3, 100_000));
    machine.backup(&[]);
    machine.damage(&machine.packs(0)[0], Harm::Flip);
    let mut mounted = Mounted::start(&machine, &[]);
    let latest = shown(&mounted, &machine, "snapshots/latest");
    let error = fs::read(latest.join("hit")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    for whole in ["before", "small", "zero after"] {
        assert_eq!(fs::read(latest.join(whole)).unwrap(), fs::read(machine.source(whole)).unwrap(), "{whole}");
    }
    assert_eq!(mounted.end("INT"), 4);
    let told: Vec<_> =
        mounted.told().lines().filter(|line| line.contains("cannot be read")).map(str::to_owned).collect();
    assert!(told.len() == 1 && told[0].contains("/source/hit"), "{told:?}");
}

#[test]
fn a_directory_of_which_not_everything_can_be_listed_ends_with_an_error() {
    let machine = Machine::new();
    for number in 0..3000 {
        machine.write(&format!("d{}/file {number:04}", number / 100), format!("{number}"));
    }
    for directory in (0..30).map(|number| format!("d{number}")).chain([String::new()]) {
        fs::set_permissions(machine.source(directory), fs::Permissions::from_mode(0o700)).unwrap();
    }
    machine.backup(&[]);
    let before: Vec<_> = machine.packs(1).iter().map(|pack| machine.object(pack)).collect();
    // This backup needs a few new pages; all others are lost.
    machine.write("d20/file 2050", "changed");
    machine.backup(&[]);
    before.iter().for_each(|pack| fs::remove_file(pack).unwrap());
    let mut mounted = Mounted::start(&machine, &[]);
    let latest = shown(&mounted, &machine, "snapshots/latest");
    assert_eq!(fs::read(latest.join("d20/file 2050")).unwrap(), b"changed");
    // Its own entry kept other users out. It is lost, unless the keys have cut it into a page with the changed file.
    assert!([0o500, 0o700].contains(&(fs::metadata(&latest).unwrap().permissions().mode() & 0o7777)));
    let listed: Vec<_> = fs::read_dir(&latest).unwrap().collect();
    let is_open = |entry: &fs::DirEntry| entry.metadata().unwrap().permissions().mode() & 0o077 != 0;
    assert!(!listed.iter().flatten().any(is_open));
    assert!(listed.iter().filter(|entry| entry.is_ok()).count() > 0);
    assert!(listed.last().unwrap().is_err(), "an rsync would delete what is missing");
    assert_eq!(mounted.end("TERM"), 4);
    assert!(mounted.told().contains("cannot be listed"), "{}", mounted.told());
}

#[test]
fn a_directory_that_has_lost_a_page_in_its_middle_ends_with_an_error_too() {
    let machine = Machine::new();
    for number in 0..3000 {
        machine.write(&format!("large/{number:04}"), format!("{number:04}").repeat(100));
    }
    machine.backup(&[]);
    damage_pages(&machine, |blocks| blocks / 2);
    let mut mounted = Mounted::start(&machine, &[]);
    let large = shown(&mounted, &machine, "snapshots/latest").join("large");
    let listed: Vec<_> = fs::read_dir(large).unwrap().collect();
    let has = |name: &str| listed.iter().flatten().any(|entry| entry.file_name() == name);
    assert!(has("0000") && has("2999"), "what lies on both sides is shown");
    assert!(listed.last().unwrap().is_err(), "an rsync would delete what is missing");
    assert_eq!(mounted.end("TERM"), 4);
}

#[test]
fn a_mount_that_is_in_use_ends_all_the_same() {
    let machine = machine();
    for signal in ["INT", "TERM", "HUP"] {
        let mut mounted = Mounted::start(&machine, &[]);
        let open = File::open(shown(&mounted, &machine, "snapshots/latest").join("deep/er/noise")).unwrap();
        open.read_at(&mut [0; 100], 0).unwrap();
        let started = Instant::now();
        assert_eq!(mounted.end(signal), 0);
        assert!(started.elapsed() < Duration::from_secs(10));
        assert_eq!(fs::read_dir(mounted.path("")).unwrap().count(), 0, "nothing is mounted");
    }
    // Somebody else unmounts it.
    let mut mounted = Mounted::start(&machine, &[]);
    assert!(std::process::Command::new("umount").arg(mounted.path("")).status().unwrap().success());
    assert_eq!(mounted.wait(), 0);
}

#[test]
fn no_mount_hides_the_repository_or_the_keys_below_it() {
    let machine = machine();
    let top = machine.path("");
    symlink(machine.path("repository"), machine.path("way")).unwrap();
    for (repository, directory) in [
        ("repository", top.as_path()),
        ("repository", &machine.path("repository")),
        ("way", &top),
        ("way", &machine.path("repository")),
    ] {
        let mut run = machine.with_key(&["mount", directory.to_str().unwrap()]);
        let ran = run.env("COPAL_REPOSITORY", machine.path(repository)).ran();
        assert!(ran.code == 2 && ran.err.contains("lies below"), "{ran}");
    }
    for directory in ["repository/roots", "repository/packs", "repository/new", "way/new"] {
        fs::create_dir_all(machine.path(directory)).unwrap();
        let ran = machine.run(&["mount", machine.path(directory).to_str().unwrap()]).exits(2);
        assert!(ran.err.contains("lies in the repository"), "{ran}");
    }
    fs::create_dir_all(machine.path("home")).unwrap();
    let ran = machine.run(&["mount", machine.path("home").to_str().unwrap()]).exits(2);
    assert!(ran.err.contains("lies below"), "{ran}");
    machine.run(&["mount", "no/such/directory"]).exits(1);
    machine.run(&["mount", "source/letter"]).exits(2);
    machine.run(&["mount"]).exits(2);
}
