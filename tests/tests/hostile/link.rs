//! A hostile client saves entries below a link. A restore of them writes nothing where the link leads.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use copal_format::client::Role;
use copal_format::id::SnapshotId;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, Extras, Mode};
use copal_tests::kit::World;
use futures::executor::block_on;

use super::{Readers, TOLD, holds};

#[test]
fn nothing_is_restored_through_a_link_of_the_snapshot() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("there"), "before").unwrap();
    fs::create_dir(outside.path().join("sub")).unwrap();
    let before = state(outside.path());
    let world = World::new();
    let snapshot = save(&world, outside.path()).to_string();
    let readers = Readers::of(&world);

    for when in ["always", "if-changed", "if-newer", "never"] {
        let out = readers.path(when);
        let target = out.to_str().unwrap();
        // The second time over what the first time has made.
        for _ in 0..2 {
            let ran = readers.copal(&["restore", &snapshot, "--target", target, "--overwrite", when]);
            assert_eq!(state(outside.path()), before, "{when}: {ran:?}");
            assert!(!holds(&ran.stderr, "panicked"), "{when}: {ran:?}");
            assert!(ran.status.code() == Some(4) && holds(&ran.stderr, "link/there"), "{when}: {ran:?}");
            assert!(holds(&ran.stderr, TOLD) && fs::symlink_metadata(out.join("link")).unwrap().is_symlink(), "{when}");
        }
        assert_eq!(fs::read(out.join("other")).unwrap(), b"fine", "{when}");
    }

    let out = readers.path("out");
    let (code, _, messages) = readers.reader(&["restore", out.to_str().unwrap()]);
    assert_eq!((code, state(outside.path())), (4, before), "{messages}");
    for below in ["/link/sub", "/link/sub/deep", "/link/there"] {
        assert!(messages.contains(&format!("not wholly restored: {below}: it")), "{messages}");
    }
    assert!(messages.contains(TOLD) && fs::symlink_metadata(out.join("link")).unwrap().is_symlink(), "{messages}");
    assert_eq!(fs::read(out.join("other")).unwrap(), b"fine");
}

/// A snapshot in which entries lie below a link that leads outside.
fn save(world: &World, outside: &Path) -> SnapshotId {
    let inline = |path: &str, text: &str| {
        let content = Content::Inline(text.as_bytes().to_vec().into());
        Entry { size: text.len() as u64, content, ..entry(path, EntryKind::File) }
    };
    let target = Some(outside.as_os_str().as_bytes().to_vec());
    let extras = Extras { link_target: target, ..Extras::default() };
    let entries = vec![
        entry("", EntryKind::Directory),
        Entry { extras, ..entry("link", EntryKind::Symlink) },
        entry("link/sub", EntryKind::Directory),
        inline("link/sub/deep", "evil"),
        inline("link/there", "evil"),
        inline("other", "fine"),
    ];
    let hostile = world.register(2, Role::WriteOnly);
    let job = world.job();
    let mut run = hostile.begin(&job).unwrap();
    let packs = block_on(run.take_entries(&job, b"a chunk", |_| entries)).unwrap();
    block_on(hostile.commit_run(&job, &world.view(), &mut run, packs, false)).unwrap()
}

fn entry(path: &str, kind: EntryKind) -> Entry {
    let plain = Entry::new(TreePath::new(path).unwrap(), Mode::new(kind, 0o777));
    Entry { mtime: Time(1), ctime: Time(1), inode: 1, ..plain }
}

/// The names in a directory, with content, mode and time, and those of the directory itself.
fn state(directory: &Path) -> Vec<(String, Vec<u8>, u32, i64)> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.chain([directory.to_owned()]).collect();
    paths.sort();
    let told = |path: &PathBuf| {
        let metadata = fs::metadata(path).unwrap();
        (path.display().to_string(), fs::read(path).unwrap_or_default(), metadata.mode(), metadata.mtime_nsec())
    };
    paths.iter().map(told).collect()
}
