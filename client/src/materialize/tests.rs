mod acl;
mod way;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use copal_format::time::Time;
use rustix::fs::{FileType, XattrFlags, lsetxattr};

use super::*;
use crate::filter::{Selection, excluding};
use crate::privileges::as_nobody;
use crate::read::{Extras, SourceFile, holes_of};
use crate::stat::EntryStat;
use crate::system::Errno;

struct Playground {
    path: PathBuf,
    _guard: tempfile::TempDir,
}

impl Playground {
    /// An empty directory `target`, and beside it a directory `outside/below` with one file.
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let path = guard.path().canonicalize().unwrap();
        fs::create_dir(path.join("target")).unwrap();
        fs::create_dir_all(path.join("outside/below")).unwrap();
        fs::write(path.join("outside/below/file"), "safe").unwrap();
        Self { path, _guard: guard }
    }

    fn target(&self, options: TargetOptions) -> Target {
        Target::open(&self.path.join("target"), options).unwrap()
    }

    fn overwriting(&self, overwrite: Overwrite) -> Target {
        self.target(TargetOptions { overwrite, ..TargetOptions::default() })
    }

    /// Lets every user write into the target.
    fn open_to_all(&self) {
        fs::set_permissions(&self.path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(self.at(""), fs::Permissions::from_mode(0o777)).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.path.join("target").join(path)
    }

    fn stat(&self, path: &str) -> EntryStat {
        EntryStat::of_path(&self.at(path)).unwrap()
    }

    /// The bits that new files do not get.
    fn umask(&self) -> u32 {
        fs::write(self.path.join("outside/new"), "").unwrap();
        let mode = EntryStat::of_path(&self.path.join("outside/new")).unwrap().mode;
        fs::remove_file(self.path.join("outside/new")).unwrap();
        !mode & 0o666
    }

    fn assert_outside_is_untouched(&self) {
        let file = self.path.join("outside/below/file");
        assert_eq!(fs::read_to_string(&file).unwrap(), "safe");
        assert_ne!(EntryStat::of_path(&file).unwrap().mtime, MTIME);
        for directory in ["outside", "outside/below"] {
            assert_eq!(fs::read_dir(self.path.join(directory)).unwrap().count(), 1);
            assert_ne!(EntryStat::of_path(&self.path.join(directory)).unwrap().mtime, MTIME);
        }
    }
}

fn path(text: &str) -> TreePath {
    TreePath::new(text).unwrap()
}

fn metadata(mode: u32) -> Metadata<'static> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Metadata { mode, uid, gid, mtime: MTIME, birth: None.into(), xattrs: &[] }
}

fn wanted(size: u64) -> Wanted<'static> {
    Wanted { metadata: metadata(0o100644), size, points_to: None, device: None, is_alone: true }
}

fn write(target: &Target, at: &str, content: &[u8]) {
    let file = target.create_file(&path(at), 0o600).unwrap();
    file.write_at(0, content).unwrap();
    target.set_file_metadata(&file, &metadata(0o100644));
}

const MTIME: Time = Time(-1_234_567_890_123_456_789);
const NEEDS_ACLS: &str = "the tests need a file system with POSIX ACLs for temporary files";

#[test]
fn a_file_comes_with_content_and_metadata() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    let file = target.create_file(&path("a/b/file"), 0o600).unwrap();
    file.write_at(5, b" world").unwrap();
    file.write_at(0, b"hello").unwrap();
    let xattrs = [(b"user.note".to_vec(), b"\0".to_vec())];
    target.set_file_metadata(&file, &Metadata { xattrs: &xattrs, ..metadata(0o104751) });
    assert_eq!(fs::read(place.at("a/b/file")).unwrap(), b"hello world");
    assert_eq!((place.stat("a/b/file").mode, place.stat("a/b/file").mtime), (0o104751, MTIME));
    assert_eq!(Extras::read(&place.at("a/b/file")).xattrs, xattrs);
    assert!(target.finish().is_empty());
}

#[test]
fn what_gives_rights_is_left_out_and_counted_where_it_is_not_trusted() {
    // The default leaves rights out where owners are left out: they would be those of the user who restores.
    for (powers, no_owner) in [(Powers::LeftOut, false), (Powers::default(), true)] {
        let place = Playground::new();
        let target = place.target(TargetOptions { powers, no_owner, ..TargetOptions::default() });
        let file = target.create_file(&path("program"), 0o600).unwrap();
        let xattr = |name: &[u8]| (name.to_vec(), b"\x01".to_vec());
        let xattrs = [b"security.capability".as_slice(), b"trusted.t", b"user.note"].map(xattr);
        target.set_file_metadata(&file, &Metadata { xattrs: &xattrs, ..metadata(0o106751) });
        assert_eq!(place.stat("program").mode, 0o100751);
        assert_eq!(Extras::read(&place.at("program")).xattrs, xattrs[2..]);
        target.ensure_directory(&path("shared")).unwrap();
        target.set_metadata(&path("shared"), &metadata(0o042775)).unwrap();
        assert_eq!(place.stat("shared").mode, 0o042775, "its new entries get its group: nobody gets a right by that");
        let shortfalls = target.finish();
        let told: Vec<_> = shortfalls.iter().map(|(lack, count, _)| (lack, count)).collect();
        assert_eq!(told, [(Lack::LeftOut(Power::Bits), 1), (Lack::LeftOut(Power::Attribute), 2)]);
        assert_eq!(shortfalls.left_out(), 3);
    }
}

#[test]
fn nobody_else_sees_anything_before_its_metadata_is_set() {
    for is_empty in [true, false] {
        let place = Playground::new();
        if !is_empty {
            fs::write(place.at("other"), "").unwrap();
        }
        let target = place.target(TargetOptions::default());
        target.create_file(&path("directory/file"), 0o644).unwrap();
        target.create_file(&path("directory/program"), 0o4755).unwrap();
        assert_eq!(place.stat("directory").mode & 0o7777, 0o700);
        // What lies in a closed directory may have its mode from the beginning, but not the rights of its owner.
        let at_once = is_empty && place.umask() & 0o644 == 0;
        assert_eq!(place.stat("directory/file").mode & 0o7777, if at_once { 0o644 } else { 0o600 });
        assert_eq!(place.stat("directory/program").mode & 0o7777, 0o600);
    }
}

#[test]
fn modes_and_attributes_come_out_the_same_whether_the_target_was_empty_or_passes_an_acl_on() {
    let acl = b"\x02\0\0\0\x01\0\x07\0\xff\xff\xff\xff\x04\0\x07\0\xff\xff\xff\xff\x20\0\x07\0\xff\xff\xff\xff";
    let makes: [&dyn Fn(&Playground); 3] = [&|_| {}, &|place| fs::write(place.at("other"), "").unwrap(), &|place| {
        let top = fs::File::open(place.at(".")).unwrap();
        rustix::fs::fsetxattr(top, "system.posix_acl_default", acl, XattrFlags::empty()).expect(NEEDS_ACLS);
    }];
    for make in makes {
        let place = Playground::new();
        make(&place);
        let target = place.target(TargetOptions::default());
        let mut later = DirectoriesLater::default();
        let modes = [0o644, 0o600, 0o444, 0o664, 0o755, 0o4755, 0o2711, 0o777, 0];
        for mode in modes {
            let directory = format!("d{mode:o}");
            target.ensure_directory(&path(&directory)).unwrap();
            later.push(&path(&directory), &metadata(0o040000 | mode));
            let file = target.create_file(&path(&format!("{directory}/file")), mode).unwrap();
            target.set_file_metadata(&file, &metadata(0o100000 | mode));
        }
        later.apply(&target, 2, |error| panic!("{error}"));
        for mode in modes {
            let (directory, file) = (format!("d{mode:o}"), format!("d{mode:o}/file"));
            assert_eq!((place.stat(&directory).mode, place.stat(&directory).mtime), (0o040000 | mode, MTIME));
            assert_eq!((place.stat(&file).mode, place.stat(&file).mtime), (0o100000 | mode, MTIME));
            assert!(Extras::read(&place.at(&directory)).xattrs.is_empty());
            assert!(Extras::read(&place.at(&file)).xattrs.is_empty());
        }
        assert!(target.finish().is_empty());
    }
}

#[test]
fn what_is_not_written_stays_a_hole() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    let file = target.create_file(&path("sparse"), 0o600).unwrap();
    file.set_length(3 << 20).unwrap();
    let made = file.id().unwrap();
    drop(file);
    target.reopen_file(&path("sparse"), made).unwrap().write_at(1 << 20, &[1; 4096]).unwrap();
    let ending = SourceFile::open(&place.at("sparse")).unwrap().finish().unwrap();
    let holes: Vec<_> = ending.holes.iter().map(|hole| (hole.start, hole.end - hole.start)).collect();
    assert_eq!(holes, [(0, 1 << 20), ((1 << 20) + 4096, (2 << 20) - 4096)]);
}

#[test]
fn every_kind_of_entry_can_be_made() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    target.symlink(&path("dangling"), b"\xff/nowhere").unwrap();
    target.fifo(&path("fifo")).unwrap();
    write(&target, "file", b"1");
    target.hardlink(&path("second/name"), &path("file")).unwrap();
    for (name, mode) in [("dangling", 0o120777), ("fifo", 0o010640), ("second", 0o041775)] {
        target.set_metadata(&path(name), &metadata(mode)).unwrap();
        assert_eq!((place.stat(name).mode, place.stat(name).mtime), (mode, MTIME), "{name}");
    }
    assert_eq!(fs::read_link(place.at("dangling")).unwrap().as_os_str().as_bytes(), b"\xff/nowhere");
    assert_eq!(place.stat("file").inode, place.stat("second/name").inode);
    assert!(target.finish().is_empty());
}

#[test]
fn a_device_is_made_or_noted_as_missing() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    let created = target.device(&path("null"), FileType::CharacterDevice, (1, 3)).unwrap();
    let shortfalls = target.finish();
    match created {
        Created::New => assert_eq!(place.stat("null").rdev, (1, 3)),
        _ => assert_eq!(shortfalls.iter().next().map(|(lack, count, _)| (lack, count)), Some((Lack::Device, 1))),
    }
}

#[test]
fn metadata_of_directories_outlives_their_content() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    let mut later = DirectoriesLater::default();
    let note = [(b"user.note".to_vec(), b"1".to_vec())];
    let directories = ["", "a", "a/b", "a/b/c", "a/d/e", "f"];
    for (index, directory) in directories.into_iter().enumerate() {
        target.ensure_directory(&path(directory)).unwrap();
        let xattrs = if index % 2 == 1 { &note[..] } else { &[] };
        let mtime = Time(index as i64);
        later.push(&path(directory), &Metadata { mtime, xattrs, ..metadata(0o040500 + index as u32) });
    }
    for directory in &directories[1..] {
        write(&target, &format!("{directory}/file"), b"");
    }
    later.apply(&target, 2, |error| panic!("{error}"));
    for (index, directory) in directories.into_iter().enumerate() {
        let stat = place.stat(directory);
        assert_eq!((stat.mode, stat.mtime), (0o040500 + index as u32, Time(index as i64)), "{directory:?}");
        assert_eq!(Extras::read(&place.at(directory)).xattrs.len(), index % 2, "{directory:?}");
    }
}

#[test]
fn attributes_that_were_there_before_do_not_stay() {
    let place = Playground::new();
    fs::create_dir(place.at("directory")).unwrap();
    for name in ["user.old", "user.kept"] {
        lsetxattr(place.at("directory"), name, b"old", XattrFlags::empty()).unwrap();
    }
    let target = place.target(TargetOptions::default());
    let xattrs = [(b"user.kept".to_vec(), b"new".to_vec())];
    target.set_metadata(&path("directory"), &Metadata { xattrs: &xattrs, ..metadata(0o040755) }).unwrap();
    assert_eq!(Extras::read(&place.at("directory")).xattrs, xattrs);
}

#[test]
fn a_copy_has_the_holes_of_the_original() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    let file = target.create_file(&path("original"), 0o600).unwrap();
    file.set_length(3 << 20).unwrap();
    file.write_at(1 << 20, &[7; 100_000]).unwrap();
    let from = target.open_to_read(&path("original")).unwrap();
    let copy = target.copy(&path("copy"), &from, &EntryStat::of(&from).unwrap()).unwrap();
    assert_eq!(fs::read(place.at("copy")).unwrap(), fs::read(place.at("original")).unwrap());
    assert_eq!(holes_of(&copy.file, 3 << 20).unwrap(), holes_of(&from, 3 << 20).unwrap());
}

#[test]
fn metadata_that_is_right_is_not_set_again() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    write(&target, "file", b"1");
    let before = place.stat("file").ctime;
    target.renew_metadata(&path("file"), &metadata(0o100644)).unwrap();
    assert_eq!(place.stat("file").ctime, before);
    lsetxattr(place.at("file"), "user.surplus", b"", XattrFlags::empty()).unwrap();
    target.renew_metadata(&path("file"), &metadata(0o100600)).unwrap();
    assert_eq!((place.stat("file").mode, Extras::read(&place.at("file")).xattrs), (0o100600, Vec::new()));
}

#[test]
fn root_restores_owners_and_others_are_told_what_they_lack() {
    assert!(rustix::process::geteuid().is_root(), "the tests run as root: this one sets owners");
    let place = Playground::new();
    let foreign = Metadata { uid: 1234, gid: 4321, ..metadata(0o106755) };
    let target = place.target(TargetOptions::default());
    target.set_file_metadata(&target.create_file(&path("by root"), 0o600).unwrap(), &foreign);
    assert!(target.finish().is_empty());
    let stat = place.stat("by root");
    assert_eq!((stat.uid, stat.gid, stat.mode), (1234, 4321, 0o106755));

    let target = place.target(TargetOptions { no_owner: true, ..TargetOptions::default() });
    target.set_file_metadata(&target.create_file(&path("left"), 0o600).unwrap(), &foreign);
    assert_eq!((place.stat("left").uid, place.stat("left").mode), (0, 0o100755));

    place.open_to_all();
    let target = place.target(TargetOptions::default());
    as_nobody(|| {
        for name in ["1", "2", "3", "4", "5"] {
            target.set_file_metadata(&target.create_file(&path(name), 0o600).unwrap(), &foreign);
        }
        target.device(&path("null"), FileType::CharacterDevice, (1, 3)).unwrap();
    });
    assert_eq!(place.stat("1").mode, 0o100755, "a program must not run with the rights of whoever restored it");
    let told: Vec<_> = target.finish().iter().map(|(lack, count, some)| (lack, count, some.len())).collect();
    assert_eq!(told, [(Lack::Owner, 5, 3), (Lack::SpecialBits, 10, 3), (Lack::Device, 1, 1)]);
}

#[test]
fn a_program_does_not_run_with_the_group_of_the_directory_that_it_is_restored_to() {
    assert!(rustix::process::geteuid().is_root(), "the tests run as root: this one sets groups");
    let place = Playground::new();
    std::os::unix::fs::chown(place.at(""), None, Some(4321)).unwrap();
    fs::set_permissions(place.at(""), fs::Permissions::from_mode(0o2755)).unwrap();
    let options = TargetOptions { no_owner: true, powers: Powers::Restored, ..TargetOptions::default() };
    let target = place.target(options);
    target.set_file_metadata(&target.create_file(&path("program"), 0o600).unwrap(), &metadata(0o102755));
    assert_eq!((place.stat("program").gid, place.stat("program").mode), (4321, 0o100755));
    let told: Vec<_> = target.finish().iter().map(|(lack, count, _)| (lack, count)).collect();
    assert_eq!(told, [(Lack::SpecialBits, 1)]);
}

#[test]
fn what_neither_rights_nor_the_file_system_explain_is_a_failure() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    for (lack, error) in [
        (Lack::Owner, Errno::PERM),
        (Lack::Mode, Errno::IO),
        (Lack::Xattr, Errno::NOTSUP),
        (Lack::Xattr, Errno::NOSPC),
        (Lack::Times, Errno::INVAL),
        (Lack::Names, Errno::MLINK),
    ] {
        target.lacks(lack, &path("file"), error);
    }
    let shortfalls = target.finish();
    let (failures, failed) = shortfalls.failures();
    let failures: Vec<_> = failures.iter().map(|(lack, _)| *lack).collect();
    assert_eq!((failures, failed), (vec![Lack::Mode, Lack::Xattr], 2));
    let told: Vec<_> = shortfalls.iter().map(|(lack, count, _)| (lack, count)).collect();
    assert_eq!(told, [Lack::Owner, Lack::Xattr, Lack::Times, Lack::Names].map(|lack| (lack, 1)));
}

#[test]
fn the_owner_can_write_again_into_a_directory_restored_as_closed() {
    let place = Playground::new();
    place.open_to_all();
    let target = place.target(TargetOptions::default());
    as_nobody(|| {
        let mine = metadata(0o040500);
        for name in ["closed/one", "closed/two"] {
            target.ensure_directory(&path("closed")).unwrap();
            target.create_file(&path(name), 0o600).unwrap();
            target.set_metadata(&path("closed"), &mine).unwrap();
        }
    });
    assert_eq!(place.stat("closed").mode, 0o040500);
    assert!(target.finish().is_empty());
}

#[test]
fn a_target_may_be_made_and_may_itself_be_reached_by_a_link() {
    let place = Playground::new();
    symlink("target", place.path.join("link")).unwrap();
    let target = Target::open(&place.path.join("link/new/deep"), TargetOptions::default()).unwrap();
    write(&target, "file", b"1");
    assert!(place.at("new/deep/file").exists());
    let refused = Target::open(Path::new("/dev/null/x"), TargetOptions::default());
    assert!(matches!(refused, Err(WriteError::Target { .. })));
}
