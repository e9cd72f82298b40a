use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use copal_engine::time::Time;
use rustix::fs::{FileType, XattrFlags, lsetxattr};

use super::*;
use crate::filter::{Case, Filter, FilterBuilder, Selection};
use crate::privileges::as_nobody;
use crate::read::{Extras, SourceFile, Xattr};
use crate::stat::EntryStat;

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

    fn at(&self, path: &str) -> PathBuf {
        self.path.join("target").join(path)
    }

    fn stat(&self, path: &str) -> EntryStat {
        EntryStat::of_path(&self.at(path)).unwrap()
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
    Metadata { mode, uid, gid, mtime: MTIME, xattrs: &[] }
}

fn wanted(size: u64) -> Wanted<'static> {
    Wanted { kind: FileType::RegularFile, size, mtime: MTIME, points_to: None, device: None, is_alone: true }
}

fn write(target: &Target, at: &str, content: &[u8]) {
    let file = target.create_file(&path(at)).unwrap();
    file.write_at(0, content).unwrap();
    target.set_file_metadata(&file, &metadata(0o100644));
}

fn patterns(patterns: &[&str]) -> Filter {
    let mut builder = FilterBuilder::new();
    patterns.iter().for_each(|pattern| builder.add(pattern, Case::Exact).unwrap());
    builder.finish().unwrap()
}

const MTIME: Time = Time(-1_234_567_890_123_456_789);

#[test]
fn a_file_comes_with_content_and_metadata() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    let file = target.create_file(&path("a/b/file")).unwrap();
    file.write_at(5, b" world").unwrap();
    file.write_at(0, b"hello").unwrap();
    let xattrs = [Xattr { name: b"user.note".into(), value: b"\0".into() }];
    target.set_file_metadata(&file, &Metadata { xattrs: &xattrs, ..metadata(0o104751) });
    assert_eq!(fs::read(place.at("a/b/file")).unwrap(), b"hello world");
    assert_eq!((place.stat("a/b/file").mode, place.stat("a/b/file").mtime), (0o104751, MTIME));
    assert_eq!(Extras::read(&place.at("a/b/file")).xattrs, xattrs);
    assert!(target.finish().is_empty());
}

#[test]
fn nobody_else_sees_anything_before_its_metadata_is_set() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    target.create_file(&path("directory/file")).unwrap();
    assert_eq!(place.stat("directory").mode & 0o7777, 0o700);
    assert_eq!(place.stat("directory/file").mode & 0o7777, 0o600);
}

#[test]
fn what_is_not_written_stays_a_hole() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    let file = target.create_file(&path("sparse")).unwrap();
    file.set_length(3 << 20).unwrap();
    drop(file);
    target.reopen_file(&path("sparse")).unwrap().write_at(1 << 20, &[1; 4096]).unwrap();
    let ending = SourceFile::open(&place.at("sparse")).unwrap().finish().unwrap();
    let holes: Vec<_> = ending.holes.iter().map(|hole| (hole.offset, hole.length)).collect();
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
    let mut later = DirectoriesLater::new();
    let note = [Xattr { name: b"user.note".into(), value: b"1".into() }];
    let directories = ["", "a", "a/b", "a/b/c", "a/d/e", "f"];
    for (index, directory) in directories.into_iter().enumerate() {
        target.ensure_directory(&path(directory)).unwrap();
        let xattrs = if index % 2 == 1 { &note[..] } else { &[] };
        let mtime = Time(index as i64);
        later.push(&path(directory), &Metadata { mtime, xattrs, ..metadata(0o040500 + index as u32) });
    }
    assert_eq!(later.len(), directories.len());
    for directory in &directories[1..] {
        write(&target, &format!("{directory}/file"), b"");
    }
    later.apply(&target, |error| panic!("{error}"));
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
    let xattrs = [Xattr { name: b"user.kept".into(), value: b"new".into() }];
    target.set_metadata(&path("directory"), &Metadata { xattrs: &xattrs, ..metadata(0o040755) }).unwrap();
    assert_eq!(Extras::read(&place.at("directory")).xattrs, xattrs);
}

#[test]
fn overwriting_never_changed_and_always_do_what_they_say() {
    for (overwrite, same, other) in [
        (Overwrite::Never, Place::Kept, Place::Kept),
        (Overwrite::Changed, Place::Same, Place::Free),
        (Overwrite::Always, Place::Free, Place::Free),
    ] {
        let place = Playground::new();
        let target = place.overwriting(overwrite);
        write(&target, "file", b"12345");
        write(&target, "other", b"1");
        symlink("nowhere", place.at("link")).unwrap();
        assert_eq!(target.make_way(&path("file"), &wanted(5)).unwrap(), same, "{overwrite:?}");
        assert_eq!(target.make_way(&path("other"), &wanted(5)).unwrap(), other, "{overwrite:?}");
        assert_eq!(target.make_way(&path("link"), &wanted(5)).unwrap(), other, "{overwrite:?}");
        assert_eq!(target.make_way(&path("absent"), &wanted(5)).unwrap(), Place::Free, "{overwrite:?}");
        assert_eq!(place.at("other").exists(), other == Place::Kept);
    }
}

#[test]
fn a_file_with_several_names_is_replaced_under_one_only() {
    let place = Playground::new();
    let target = place.overwriting(Overwrite::Always);
    write(&target, "file", b"old");
    fs::hard_link(place.at("file"), place.path.join("elsewhere")).unwrap();
    assert_eq!(target.make_way(&path("file"), &wanted(3)).unwrap(), Place::Free);
    write(&target, "file", b"new");
    assert_eq!(fs::read(place.path.join("elsewhere")).unwrap(), b"old");
}

#[test]
fn a_directory_with_content_makes_way_only_if_allowed() {
    let place = Playground::new();
    fs::create_dir_all(place.at("full/below")).unwrap();
    fs::create_dir(place.at("empty")).unwrap();
    fs::write(place.at("full/below/file"), "").unwrap();
    symlink(place.path.join("outside"), place.at("full/link")).unwrap();
    let target = place.target(TargetOptions::default());
    assert_eq!(target.make_way(&path("empty"), &wanted(1)).unwrap(), Place::Free);
    assert!(matches!(target.make_way(&path("full"), &wanted(1)), Err(WriteError::InTheWay { .. })));
    assert!(place.at("full/below/file").exists());
    let target = place.target(TargetOptions { replace_full_directories: true, ..TargetOptions::default() });
    assert_eq!(target.make_way(&path("full"), &wanted(1)).unwrap(), Place::Free);
    assert!(!place.at("full").exists());
    place.assert_outside_is_untouched();
}

#[test]
fn a_file_in_the_place_of_a_directory_is_replaced_only_if_it_may() {
    let place = Playground::new();
    fs::write(place.at("entry"), "").unwrap();
    let never = place.overwriting(Overwrite::Never);
    assert!(matches!(never.ensure_directory(&path("entry")), Err(WriteError::InTheWay { .. })));
    assert!(matches!(never.create_file(&path("entry/file")), Err(WriteError::InTheWay { .. })));
    assert_eq!(place.overwriting(Overwrite::Changed).ensure_directory(&path("entry")).unwrap(), Created::New);
}

#[test]
fn a_link_in_the_target_never_leads_out_of_it() {
    for overwrite in [Overwrite::Never, Overwrite::Changed, Overwrite::Always] {
        let place = Playground::new();
        let out = place.at("out");
        let renew = || {
            let _ = fs::remove_file(&out);
            let _ = fs::remove_dir_all(&out);
            symlink("../outside", &out).unwrap();
        };
        let target = place.overwriting(overwrite);
        let inside = path("out/below/file");
        let acts: [&dyn Fn() -> Result<(), WriteError>; 11] = [
            &|| target.create_file(&path("out/below/new")).map(drop),
            &|| target.create_file(&path("out/new")).map(drop),
            &|| target.reopen_file(&inside).and_then(|file| file.write_at(0, b"escaped")),
            &|| target.ensure_directory(&path("out/below/new")).map(drop),
            &|| target.symlink(&path("out/below/link"), b"x"),
            &|| target.fifo(&path("out/fifo")),
            &|| target.hardlink(&path("stolen"), &inside),
            &|| target.hardlink(&path("out/below/name"), &path("out")),
            &|| target.remove_existing(&inside),
            &|| target.make_way(&inside, &wanted(0)).map(drop),
            &|| target.set_metadata(&inside, &metadata(0o100777)),
        ];
        for act in acts {
            renew();
            let _ = act();
            place.assert_outside_is_untouched();
        }
        assert!(!place.at("stolen").exists());
        renew();
        target.set_metadata(&path("out"), &metadata(0o120777)).unwrap();
        target.set_metadata(&path("out"), &metadata(0o040700)).unwrap();
        assert_eq!(target.existing(&inside).unwrap(), None);
        let nothing = std::iter::empty::<Result<TreePath, BadEnd>>();
        assert_eq!(target.surplus(&path("out"), nothing, all).unwrap(), []);
        target.remove_existing(&path("out")).unwrap();
        place.assert_outside_is_untouched();
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_not_followed() {
    let place = Playground::new();
    symlink("../outside/below/file", place.at("file")).unwrap();
    let target = place.overwriting(Overwrite::Always);
    assert!(target.create_file(&path("file")).is_err());
    assert!(target.reopen_file(&path("file")).is_err());
    assert_eq!(target.make_way(&path("file"), &wanted(4)).unwrap(), Place::Free);
    write(&target, "file", b"mine");
    place.assert_outside_is_untouched();
}

#[test]
fn surplus_is_what_the_snapshot_lacks_deepest_first() {
    let place = Playground::new();
    for file in ["a/kept", "a/extra", "b/c/extra", "b/c/keep.o", "kept", "z/y/x"] {
        fs::create_dir_all(place.at(file).parent().unwrap()).unwrap();
        fs::write(place.at(file), "").unwrap();
    }
    symlink("../outside", place.at("link")).unwrap();
    let target = place.target(TargetOptions::default());
    let snapshot = || ["a", "a/gone", "a/kept", "kept", "later"].map(|entry| Ok::<_, BadEnd>(path(entry)));
    let texts = |found: Vec<TreePath>| found.iter().map(TreePath::to_string).collect::<Vec<_>>();
    let surplus = target.surplus(&TreePath::TOP, snapshot(), all).unwrap();
    assert_eq!(texts(surplus), ["z/y/x", "z/y", "z", "link", "b/c/keep.o", "b/c/extra", "b/c", "b", "a/extra"]);

    let selection = Selection { excludes: patterns(&["*.o", "/z"]), ..Selection::default() };
    let surplus =
        target.surplus(&TreePath::TOP, snapshot(), |path, is_directory| selection.selects(path, is_directory)).unwrap();
    assert_eq!(texts(surplus.clone()), ["link", "b/c/extra", "b/c", "b", "a/extra"]);
    let removals: Vec<_> = surplus.iter().map(|path| target.remove(path).unwrap()).collect();
    assert_eq!(removals.iter().filter(|removal| **removal == Removal::NotEmpty).count(), 2);
    assert!(place.at("b/c/keep.o").exists() && !place.at("a/extra").exists() && !place.at("link").exists());
    place.assert_outside_is_untouched();

    let surplus = target.surplus(&path("z/y"), snapshot(), all).unwrap();
    assert_eq!(texts(surplus), ["z/y/x"]);
}

fn all(_: &TreePath, _: bool) -> bool {
    true
}

#[derive(Debug, thiserror::Error)]
#[error("the entries end too early")]
struct BadEnd;

#[test]
fn nothing_is_surplus_if_the_snapshot_cannot_be_read() {
    let place = Playground::new();
    fs::write(place.at("file"), "").unwrap();
    let target = place.target(TargetOptions::default());
    let surplus = target.surplus(&TreePath::TOP, [Err(BadEnd)], all);
    assert!(matches!(surplus, Err(SurplusError::Snapshot(BadEnd))));
}

#[test]
fn root_restores_owners_and_others_are_told_what_they_lack() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Playground::new();
    let foreign = Metadata { uid: 1234, gid: 4321, ..metadata(0o106755) };
    let target = place.target(TargetOptions::default());
    target.set_file_metadata(&target.create_file(&path("by root")).unwrap(), &foreign);
    assert!(target.finish().is_empty());
    let stat = place.stat("by root");
    assert_eq!((stat.uid, stat.gid, stat.mode), (1234, 4321, 0o106755));

    let target = place.target(TargetOptions { no_owner: true, ..TargetOptions::default() });
    target.set_file_metadata(&target.create_file(&path("left")).unwrap(), &foreign);
    assert_eq!((place.stat("left").uid, place.stat("left").mode), (0, 0o100755));

    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.at(""), fs::Permissions::from_mode(0o777)).unwrap();
    let target = place.target(TargetOptions::default());
    as_nobody(|| {
        for name in ["1", "2", "3", "4", "5"] {
            target.set_file_metadata(&target.create_file(&path(name)).unwrap(), &foreign);
        }
        target.device(&path("null"), FileType::CharacterDevice, (1, 3)).unwrap();
    });
    assert_eq!(place.stat("1").mode, 0o100755, "a program must not run with the rights of whoever restored it");
    let told: Vec<_> = target.finish().iter().map(|(lack, count, some)| (lack, count, some.len())).collect();
    assert_eq!(told, [(Lack::Owner, 5, 3), (Lack::SpecialBits, 10, 3), (Lack::Device, 1, 1)]);
}

#[test]
fn the_owner_can_write_again_into_a_directory_restored_as_closed() {
    let place = Playground::new();
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.at(""), fs::Permissions::from_mode(0o777)).unwrap();
    let target = place.target(TargetOptions::default());
    as_nobody(|| {
        let mine = metadata(0o040500);
        for name in ["closed/one", "closed/two"] {
            target.ensure_directory(&path("closed")).unwrap();
            target.create_file(&path(name)).unwrap();
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
