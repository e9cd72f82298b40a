//! `restore`: what went in comes out, and nothing else is touched.

mod bed;
mod kit;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use bed::{Bed, assert_same, image, name, noise, number, set_xattr};
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
fn fill_with_oddities(bed: &Bed) {
    bed.write("empty", "");
    bed.write("small", "small");
    bed.write("zeros", [0; 100_000]);
    bed.write("mid", noise(70_000, 1));
    bed.write("big", noise(3_000_000, 2));
    bed.write("huge", noise(24_000_000, 3));
    bed.write("twice", [noise(3_000_000, 2), noise(3_000_000, 2)].concat());
    bed.write("a/b/c/deep", "deep");
    for directory in ["nothing", "closed", "sticky"] {
        fs::create_dir(bed.source(directory)).unwrap();
    }
    for odd in [&b"\xff\xfe"[..], b"new\nline", b" ", b"*?[", b"-r", b"a.b", b"\\"] {
        fs::write(bed.at("source").join(name(odd)), odd).unwrap();
    }
    fs::create_dir_all(bed.source(format!("{0}/{0}/{0}", "n".repeat(250)))).unwrap();

    symlink("nowhere/at all", bed.source("dangling")).unwrap();
    symlink("a/b", bed.source("to a directory")).unwrap();
    symlink(name(b"\xff"), bed.source("to odd bytes")).unwrap();
    fs::hard_link(bed.source("big"), bed.source("a/big again")).unwrap();
    fs::hard_link(bed.source("small"), bed.source("zz")).unwrap();
    linkat(CWD, bed.source("dangling"), CWD, bed.source("dangling too"), AtFlags::empty()).unwrap();
    mknodat(CWD, bed.source("fifo"), FileType::Fifo, Mode::from_bits_truncate(0o640), 0).unwrap();
    let _ = UnixListener::bind(bed.at("source").join("s")).unwrap();

    let sparse = File::create(bed.source("sparse")).unwrap();
    sparse.set_len(10 << 20).unwrap();
    sparse.write_all_at(&noise(1 << 20, 4), 3 << 20).unwrap();
    sparse.write_all_at(b"end", (8 << 20) + 5).unwrap();
    File::create(bed.source("hole")).unwrap().set_len(1 << 28).unwrap();
    let few = File::create(bed.source("few")).unwrap();
    few.set_len(1 << 20).unwrap();
    few.write_all_at(b"few", 500_000).unwrap();

    set_xattr(&bed.source("mid"), "user.note", b"\0bytes\xff");
    set_xattr(&bed.source("empty"), "user.nothing", b"");
    set_xattr(&bed.source("a"), "user.on a directory", b"1");
    let acl = [
        &2u32.to_le_bytes()[..],
        &entry(0x01, 6, u32::MAX),
        &entry(0x02, 7, 1000),
        &entry(0x04, 4, u32::MAX),
        &entry(0x10, 7, u32::MAX),
        &entry(0x20, 4, u32::MAX),
    ]
    .concat();
    set_xattr(&bed.source("mid"), "system.posix_acl_access", &acl);
    set_xattr(&bed.source("a"), "system.posix_acl_default", &acl);

    let modes = [("small", 0o6755), ("sticky", 0o1777), ("a/b/c/deep", 0o400), ("closed", 0o500), ("huge", 0o604)];
    for (name, mode) in modes {
        fs::set_permissions(bed.source(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    if is_root() {
        for (kind, file, numbers) in
            [(FileType::CharacterDevice, "char", (1, 3)), (FileType::BlockDevice, "block", (7, 300))]
        {
            let mode = Mode::from_bits_truncate(0o606);
            mknodat(CWD, bed.source(file), kind, mode, makedev(numbers.0, numbers.1)).unwrap();
        }
        for (file, uid, gid) in [("mid", 1234, 4321), ("dangling", 77, 88), ("a/b", 99, 0), ("char", 5, 6)] {
            std::os::unix::fs::lchown(bed.source(file), Some(uid), Some(gid)).unwrap();
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
        set_mtime(&bed.source(file), seconds, nanoseconds);
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
    let bed = Bed::new();
    fill_with_oddities(&bed);
    bed.backup();
    let first = bed.restore(&["--verify"]).ok();
    assert_same(&bed.at("source"), &bed.at("out"));
    assert_eq!(number(&first, "files_verified"), number(&first, "files_restored"));

    let again = bed.restore(&["--verify"]).ok();
    assert_eq!((number(&again, "files_restored"), number(&again, "bytes_written")), (0, 0));
    assert_eq!(number(&again, "files_unchanged"), number(&first, "files_restored"));
    assert_same(&bed.at("source"), &bed.at("out"));

    bed.write("new/file", "new");
    bed.write("mid", noise(80_000, 9));
    fs::remove_file(bed.source("empty")).unwrap();
    fs::remove_dir_all(bed.source("a/b/c")).unwrap();
    fs::remove_file(bed.source("zz")).unwrap();
    fs::remove_dir(bed.source("nothing")).unwrap();
    bed.write("nothing", "a file in the place of a directory");
    fs::remove_file(bed.source("few")).unwrap();
    bed.write("few/are", "a directory in the place of a file");
    fs::remove_file(bed.source("dangling")).unwrap();
    symlink("elsewhere", bed.source("dangling")).unwrap();
    fs::set_permissions(bed.source("huge"), fs::Permissions::from_mode(0o600)).unwrap();
    // One of two names becomes a file of its own, with the same content and time.
    fs::copy(bed.source("big"), bed.source("copy")).unwrap();
    let time = fs::metadata(bed.source("big")).unwrap().modified().unwrap();
    File::options().write(true).open(bed.source("copy")).unwrap().set_modified(time).unwrap();
    fs::rename(bed.source("copy"), bed.source("big")).unwrap();
    File::options().write(true).open(bed.source("sparse")).unwrap().write_all_at(b"in a hole", 7 << 20).unwrap();
    bed.backup();
    bed.restore(&["--delete", "--verify"]).ok();
    assert_same(&bed.at("source"), &bed.at("out"));
}

#[test]
fn overwriting_always_writes_everything_anew() {
    let bed = Bed::new();
    bed.write("a/file", noise(300_000, 1));
    bed.write("other", "1");
    bed.backup();
    bed.restore(&[]).ok();
    let before = image(&bed.at("out"));
    fs::write(bed.at("out/other"), "2").unwrap();
    fs::File::options().write(true).open(bed.at("out/a/file")).unwrap().write_all_at(b"x", 5).unwrap();
    let stat = fs::metadata(bed.source("a/file")).unwrap().modified().unwrap();
    File::options().write(true).open(bed.at("out/a/file")).unwrap().set_modified(stat).unwrap();
    let run = bed.restore(&["--overwrite", "always"]).ok();
    assert_eq!((number(&run, "files_restored"), number(&run, "files_unchanged")), (2, 0));
    assert_eq!(image(&bed.at("out")), before);
}

#[test]
fn overwriting_never_leaves_what_is_there() {
    let bed = Bed::new();
    bed.write("kept", "from the backup");
    bed.write("missing", "from the backup");
    bed.backup();
    fs::create_dir(bed.at("out")).unwrap();
    fs::write(bed.at("out/kept"), "mine").unwrap();
    let run = bed.restore(&["--overwrite", "never", "--verify"]).ok();
    assert_eq!(
        (number(&run, "files_restored"), number(&run, "files_skipped"), number(&run, "files_verified")),
        (1, 1, 1)
    );
    assert_eq!(fs::read(bed.at("out/kept")).unwrap(), b"mine");
    assert_eq!(fs::read(bed.at("out/missing")).unwrap(), b"from the backup");
}

#[test]
fn a_path_goes_directly_into_the_target_and_a_snapshot_with_its_full_paths() {
    let bed = Bed::new();
    bed.write("docs/a/file", "1");
    bed.write("docs/b", "2");
    bed.write("other", "3");
    bed.backup();
    let restore = |what: &str, out: &str| bed.run(&["restore", what, "-t", bed.at(out).to_str().unwrap()]);
    restore("latest:docs", "directory").ok();
    assert_same(&bed.source("docs"), &bed.at("directory"));
    restore("latest:docs/a/file", "file").ok();
    assert_eq!(fs::read(bed.at("file/file")).unwrap(), b"1");
    assert_eq!(fs::read_dir(bed.at("file")).unwrap().count(), 1);
    restore("latest", "full").ok();
    let below = bed.at("full").join(bed.at("source").strip_prefix("/").unwrap());
    assert_same(&bed.at("source"), &below);
    restore("latest:nowhere", "x").exits(1);
    assert!(!bed.at("x").exists());
}

#[test]
fn patterns_choose_and_directories_on_the_way_come_with_their_metadata() {
    let bed = Bed::new();
    for file in ["a/one.txt", "a/two.o", "b/c/three.txt", "b/c/four.TXT", "d/five.o"] {
        bed.write(file, file);
    }
    fs::set_permissions(bed.source("b"), fs::Permissions::from_mode(0o711)).unwrap();
    set_mtime(&bed.source("b"), 5, 5);
    bed.backup();
    bed.restore(&["--include", "*.txt"]).ok();
    let names = |out: &Path| image(out).into_keys().map(|path| path.display().to_string()).collect::<Vec<_>>();
    assert_eq!(names(&bed.at("out")), [".", "a", "a/one.txt", "b", "b/c", "b/c/three.txt"]);
    let b = fs::metadata(bed.at("out/b")).unwrap();
    assert_eq!(b.permissions().mode() & 0o7777, 0o711);
    assert_eq!(b.modified().unwrap(), fs::metadata(bed.source("b")).unwrap().modified().unwrap());

    fs::remove_dir_all(bed.at("out")).unwrap();
    bed.restore(&["--exclude", "*.o", "--iexclude", "four.txt", "--exclude", "d/"]).ok();
    assert_eq!(names(&bed.at("out")), [".", "a", "a/one.txt", "b", "b/c", "b/c/three.txt"]);
    bed.restore(&["--include", "[a"]).exits(2);
}

#[test]
fn deleting_stays_within_what_was_backed_up() {
    let bed = Bed::new();
    bed.write("kept", "1");
    bed.write("excluded.o", "1");
    bed.backup();
    let full = |options: &[&str]| bed.run(&[&["restore", "--json", "latest", "-t", "out"], options].concat());
    full(&[]).ok();
    let below = bed.at("out").join(bed.at("source").strip_prefix("/").unwrap());
    for surplus in ["surplus", "more/deep", "mine.o"] {
        fs::create_dir_all(below.join(surplus).parent().unwrap()).unwrap();
        fs::write(below.join(surplus), "").unwrap();
    }
    fs::write(bed.at("out/beside"), "").unwrap();
    fs::write(below.parent().unwrap().join("beside"), "").unwrap();

    let planned = full(&["--delete", "--dry-run", "--exclude", "*.o"]).ok();
    assert_eq!(number(&planned, "deleted"), 3);
    assert!(below.join("more/deep").exists());
    assert_eq!(number(&full(&["--delete", "--exclude", "*.o"]).ok(), "deleted"), 3);
    assert!(!below.join("surplus").exists() && !below.join("more").exists() && below.join("mine.o").exists());
    assert_eq!(number(&full(&["--delete"]).ok(), "deleted"), 1);
    assert_same(&bed.at("source"), &below);
    assert!(bed.at("out/beside").exists() && below.parent().unwrap().join("beside").exists());
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let bed = Bed::new();
    bed.write("a/file", noise(200_000, 1));
    bed.write("b", "b");
    fs::hard_link(bed.source("b"), bed.source("c")).unwrap();
    bed.backup();
    let planned = bed.restore(&["--dry-run"]).ok();
    assert_eq!((number(&planned, "files_restored"), number(&planned, "bytes_written")), (3, 200_001));
    assert!(!bed.at("out").exists());
    bed.restore(&[]).ok();
    fs::write(bed.at("out/b"), "changed").unwrap();
    let before = image(&bed.at("out"));
    let planned = bed.restore(&["-n"]).ok();
    assert_eq!((number(&planned, "files_restored"), number(&planned, "files_unchanged")), (2, 1));
    assert_eq!(image(&bed.at("out")), before);
}

#[test]
fn the_target_itself_becomes_like_the_original_only_if_nothing_was_in_it() {
    let bed = Bed::new();
    bed.write("file", "1");
    fs::set_permissions(bed.at("source"), fs::Permissions::from_mode(0o750)).unwrap();
    bed.backup();
    fs::create_dir(bed.at("out")).unwrap();
    fs::set_permissions(bed.at("out"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(bed.at("out/mine"), "").unwrap();
    let mode = || fs::metadata(bed.at("out")).unwrap().permissions().mode() & 0o7777;
    bed.restore(&[]).ok();
    assert_eq!(mode(), 0o777);
    fs::remove_dir_all(bed.at("out")).unwrap();
    fs::create_dir(bed.at("out")).unwrap();
    bed.restore(&[]).ok();
    assert_eq!(mode(), 0o750);
}

#[test]
fn links_in_the_target_are_not_followed() {
    let bed = Bed::new();
    bed.write("directory/file", "restored");
    bed.write("file", "restored");
    bed.backup();
    fs::create_dir(bed.at("outside")).unwrap();
    fs::write(bed.at("outside/file"), "safe").unwrap();
    fs::create_dir(bed.at("out")).unwrap();
    symlink("../outside", bed.at("out/directory")).unwrap();
    symlink("../outside/file", bed.at("out/file")).unwrap();
    bed.restore(&["--overwrite", "never"]).exits(3);
    assert_eq!(fs::read(bed.at("outside/file")).unwrap(), b"safe");
    bed.restore(&["--delete"]).ok();
    assert_same(&bed.at("source"), &bed.at("out"));
    assert_eq!(fs::read(bed.at("outside/file")).unwrap(), b"safe");
}

#[test]
fn damage_is_passed_by_and_every_file_it_hits_is_named() {
    let bed = Bed::new();
    bed.write("before", noise(100_000, 1));
    bed.write("hit", noise(5_000_000, 2));
    bed.write("hit too", [noise(100_000, 5), noise(5_000_000, 2)].concat());
    bed.write("zero after", noise(100_000, 3));
    fs::hard_link(bed.source("hit"), bed.source("hit again")).unwrap();
    bed.backup();
    let pack = bed.packs().remove(0);
    flip(&pack, 2_500_000);
    let run = bed.restore(&[]).exits(4);
    for (name, is_named) in [("hit", true), ("hit too", true), ("hit again", true), ("before", false)] {
        assert_eq!(run.err.contains(&format!("/{name}\"")), is_named, "{name}: {}", run.err);
    }
    assert_eq!((number(&run, "errors"), number(&run, "files_restored")), (3, 2));
    for whole in ["before", "zero after"] {
        assert_eq!(fs::read(bed.source(whole)).unwrap(), fs::read(bed.at("out").join(whole)).unwrap(), "{whole}");
    }
    let (original, found) = (fs::read(bed.source("hit")).unwrap(), fs::read(bed.at("out/hit")).unwrap());
    let same = original.iter().zip(&found).filter(|(a, b)| a == b).count();
    assert!(original.len() == found.len() && same > 2_000_000 && same < original.len());
    // What is not whole does not look whole to the next run.
    assert_eq!(number(&bed.restore(&[]).exits(4), "errors"), 3);
    flip(&pack, 2_500_000);
    bed.restore(&[]).ok();
    assert_same(&bed.at("source"), &bed.at("out"));
}

#[test]
fn a_file_of_which_nothing_can_be_read_does_not_replace_what_is_there() {
    let bed = Bed::new();
    bed.write("file", noise(100_000, 1));
    bed.backup();
    fs::create_dir(bed.at("out")).unwrap();
    fs::write(bed.at("out/file"), "mine").unwrap();
    fs::remove_file(bed.packs().remove(0)).unwrap();
    bed.restore(&[]).exits(4);
    assert_eq!(fs::read(bed.at("out/file")).unwrap(), b"mine");
}

#[test]
fn a_lost_page_is_told_as_a_range_of_paths_and_nothing_is_deleted() {
    let bed = Bed::new();
    for number in 0..3000 {
        bed.write(&format!("d{}/file {number:04}", number / 100), format!("{number}"));
    }
    bed.backup();
    bed.restore(&[]).ok();
    fs::write(bed.at("out/surplus"), "").unwrap();
    let before = bed.tree_packs();
    // This backup needs a few new pages; all others are lost.
    bed.write("d20/file 2050", "changed");
    bed.backup();
    for pack in &before {
        fs::rename(pack, bed.at(pack.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    let run = bed.restore(&["--delete"]).exits(4);
    assert!(run.err.contains("are lost") && run.err.contains(" up to "), "{}", run.err);
    assert_eq!(fs::read(bed.at("out/d20/file 2050")).unwrap(), b"changed");
    assert!(bed.at("out/surplus").exists());
    for pack in &before {
        fs::rename(bed.at(pack.file_name().unwrap().to_str().unwrap()), pack).unwrap();
    }
    bed.restore(&["--delete"]).ok();
    assert_same(&bed.at("source"), &bed.at("out"));
}

#[test]
fn verifying_finds_what_was_tampered_with() {
    let bed = Bed::new();
    bed.write("good", "good");
    bed.write("file", noise(400_000, 1));
    bed.write("inline", "inline");
    let sparse = File::create(bed.source("sparse")).unwrap();
    sparse.set_len(2 << 20).unwrap();
    sparse.write_all_at(b"x", 1 << 20).unwrap();
    bed.backup();
    bed.restore(&["--verify"]).ok();
    for (file, offset) in [("file", 300_000), ("inline", 2), ("sparse", 100)] {
        let time = fs::metadata(bed.source(file)).unwrap().modified().unwrap();
        let open = File::options().write(true).open(bed.at("out").join(file)).unwrap();
        open.write_all_at(b"!", offset).unwrap();
        open.set_modified(time).unwrap();
    }
    let run = bed.restore(&["--verify"]).exits(4);
    assert_eq!((number(&run, "errors"), number(&run, "files_verified")), (3, 1));
    for named in ["file", "inline", "sparse"] {
        assert!(run.err.contains(&format!("/{named}\"")), "{}", run.err);
    }
}

#[test]
fn nothing_is_restored_into_the_repository() {
    let bed = Bed::new();
    bed.write("file", "1");
    bed.backup();
    let run = bed.run(&["restore", "--json", "latest", "-t", bed.at("repository/packs/x").to_str().unwrap()]);
    assert!(run.exits(1).err.contains("inside_repository"));
    assert!(!bed.at("repository/packs/x").exists());
}

fn flip(pack: &Path, at: u64) {
    fs::set_permissions(pack, fs::Permissions::from_mode(0o600)).unwrap();
    let file = File::options().read(true).write(true).open(pack).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}
