mod creation;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use rustix::io::Errno;
use tempfile::TempDir;

use super::watch::Step;
use super::*;
use crate::list_all;

#[test]
fn deletion_is_durable_before_the_answer() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "a/b")?;
    store.disk.watch.take();
    block_on(store.delete(&key("a/b")))?;
    assert_eq!(steps(&store), [(Step::Unlink, "a/b"), (Step::SyncDirectory, "a")]);
    Ok(())
}

#[test]
fn listing_reads_no_directory_that_cannot_hold_the_prefix_or_what_follows() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    for name in ["packs/aa/1", "packs/ab/1", "packs/b0/1", "state/1"] {
        create(&store, name)?;
    }
    let read = |prefix, after: Option<&str>| {
        store.disk.watch.take();
        block_on(store.list(prefix, after.map(key).as_ref(), 100)).map(|_| steps(&store))
    };
    let reading = |path| (Step::ReadDirectory, path);
    assert_eq!(read("packs/a", None)?, [reading("packs"), reading("packs/aa"), reading("packs/ab")]);
    assert_eq!(read("packs/aa/", None)?, [reading("packs/aa")]);
    assert_eq!(read("packs/", Some("packs/ab/0"))?, [reading("packs"), reading("packs/ab"), reading("packs/b0")]);
    Ok(())
}

#[test]
fn a_pack_of_content_is_stored_whole_whatever_its_length() -> Result<(), StoreError> {
    // Beside the tests' programs: what is temporary may lie in memory, where nothing is written past the page cache.
    let program = std::env::current_exe().expect("a program");
    let place = tempfile::tempdir_in(program.parent().expect("a directory")).expect("a directory");
    let store = FsStore::open(place.path())?;
    for length in [(16 << 20) - 1, 16 << 20, (20 << 20) + 5] {
        let bytes: Bytes = (0..length).map(|at: u32| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
        let key = key(&format!("packs/ab/{length}"));
        assert_eq!(block_on(store.create(&key, bytes.clone()))?, Created::New);
        assert!(block_on(store.read(&key))? == bytes, "{length} bytes");
    }
    assert_eq!(names(&store, "tmp/")?, [""; 0]);
    Ok(())
}

#[test]
fn unfinished_writes_are_listed_only_when_asked_for() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "a")?;
    write(&store, "tmp/left");
    assert_eq!(names(&store, "")?, ["a"]);
    assert_eq!(names(&store, "t")?, [""; 0]);
    assert_eq!(names(&store, "tmp/")?, ["tmp/left"]);
    Ok(())
}

#[test]
fn files_whose_names_are_no_keys_are_not_listed() -> Result<(), StoreError> {
    let (place, store) = new_store();
    create(&store, "a")?;
    for name in ["lost+found", "a~", "with space", "ä"] {
        std::fs::write(place.path().join(name), "").expect("write");
    }
    assert_eq!(names(&store, "")?, ["a"]);
    Ok(())
}

#[test]
fn what_is_neither_object_nor_directory_is_reported_not_skipped() -> Result<(), StoreError> {
    let (place, store) = new_store();
    std::os::unix::fs::symlink("/", place.path().join("packs")).expect("symlink");
    assert!(matches!(names(&store, ""), Err(StoreError::Obstructed { key }) if key == "packs"));
    let packs = key("packs");
    assert!(matches!(block_on(store.read(&packs)), Err(StoreError::Obstructed { .. })));
    assert!(matches!(block_on(store.stat(&packs)), Err(StoreError::Obstructed { .. })));
    assert!(matches!(create(&store, "packs"), Err(StoreError::Obstructed { .. })));
    Ok(())
}

#[test]
fn reading_a_pipe_does_not_wait_for_a_writer() {
    let (place, store) = new_store();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, place.path().join("pipe"), rustix::fs::FileType::Fifo, mode, 0)
        .expect("mkfifo");
    assert!(matches!(block_on(store.read(&key("pipe"))), Err(StoreError::Obstructed { .. })));
}

#[test]
fn key_that_leads_through_another_object_is_obstructed() -> Result<(), StoreError> {
    let (place, store) = new_store();
    create(&store, "a/b")?;
    for name in ["a", "a/b/c", "a/b/c/d"] {
        assert!(matches!(create(&store, name), Err(StoreError::Obstructed { .. })), "{name}");
    }
    assert_eq!(unfinished(&place), 0);
    Ok(())
}

#[test]
fn store_whose_directory_vanished_is_gone_not_empty() -> Result<(), StoreError> {
    let (place, store) = new_store();
    create(&store, "a")?;
    std::fs::remove_dir_all(place.path()).expect("remove");
    assert_gone(&store);
    // Nor is another directory at the same path taken for it, such as the one a mount had covered.
    std::fs::create_dir(place.path()).expect("create");
    assert_gone(&store);
    Ok(())
}

#[test]
fn a_directory_that_seems_missing_is_listed_whole_or_not_at_all() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "packs/aa/1")?;
    for path in ["", "packs", "packs/aa", "packs/aa/1"] {
        store.disk.watch.hide(path, 1);
        assert_eq!(names(&store, "")?, ["packs/aa/1"], "{path:?} is missing for a moment");
    }
    for prefix in ["", "packs/", "packs/aa/"] {
        store.disk.watch.hide("packs/aa", 2);
        let listed = names(&store, prefix);
        assert!(listed.as_ref().is_err_and(StoreError::is_transient), "{prefix:?}: {listed:?}");
    }
    Ok(())
}

#[test]
fn what_is_deleted_while_it_is_listed_is_left_out() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "a")?;
    create(&store, "packs/aa/1")?;
    store.disk.watch.hide("packs/aa/1", 2);
    assert_eq!(names(&store, "")?, ["a"]);
    assert_eq!(names(&store, "packs/bb/")?, [""; 0]);
    Ok(())
}

#[test]
fn nothing_is_created_in_a_directory_that_was_moved_away() -> Result<(), StoreError> {
    let place = tempfile::tempdir().expect("a temporary directory");
    let store = FsStore::create(place.path().join("here"))?;
    std::fs::rename(place.path().join("here"), place.path().join("there")).expect("rename");
    assert!(matches!(create(&store, "a"), Err(StoreError::Gone { .. })));
    assert_eq!(std::fs::read_dir(place.path().join("there")).expect("readable").count(), 0);
    Ok(())
}

#[test]
fn missing_directory_cannot_be_opened() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = place.path().join("none");
    assert!(matches!(FsStore::open(&path), Err(StoreError::Gone { root }) if root == path));
}

#[test]
fn created_root_and_all_within_are_for_the_owner_only() -> Result<(), StoreError> {
    let place = tempfile::tempdir().expect("a temporary directory");
    let store = FsStore::create(place.path().join("deep/repository"))?;
    FsStore::create(place.path().join("deep/repository"))?;
    create(&store, "a/b")?;
    let mode = |path: &str| {
        let metadata = std::fs::metadata(place.path().join("deep").join(path)).expect("exists");
        metadata.permissions().mode() & 0o7777
    };
    assert_eq!(["", "repository", "repository/a", "repository/tmp"].map(mode), [0o700; 4]);
    assert_eq!(mode("repository/a/b"), 0o600);
    Ok(())
}

#[test]
fn opening_writes_nothing() -> Result<(), StoreError> {
    let (place, store) = new_store();
    assert_eq!(names(&store, "")?, [""; 0]);
    assert_eq!(std::fs::read_dir(place.path()).expect("readable").count(), 0);
    Ok(())
}

#[test]
fn objects_lie_where_their_keys_say() -> Result<(), StoreError> {
    let (place, store) = new_store();
    create(&store, "packs/aa/1")?;
    let path = store.disk.path().join("packs/aa/1");
    assert_eq!(path, place.path().canonicalize().expect("exists").join("packs/aa/1"));
    assert_eq!(std::fs::read(path).expect("readable"), b"bytes");
    Ok(())
}

#[test]
fn age_is_the_files_modification_time() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "a")?;
    date(&store, "a", std::time::UNIX_EPOCH + Duration::new(1_000, 7));
    let stat = block_on(store.stat(&key("a")))?;
    assert_eq!(stat, Some(Stat { length: 5, created: StoreTime(1_000_000_000_007), sha256: None }));
    Ok(())
}

#[test]
fn whoever_asks_for_the_time_removes_what_dead_writers_have_left() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    let hour = Duration::from_secs(3600);
    create(&store, "a")?;
    for (name, hours) in [("tmp/old", 25), ("tmp/young", 23)] {
        write(&store, name);
        date(&store, name, std::time::SystemTime::now() - hours * hour);
    }
    date(&store, "a", std::time::SystemTime::now() - 25 * hour);
    block_on(store.now())?;
    assert_eq!(names(&store, "tmp/")?, ["tmp/young"]);
    assert_eq!(names(&store, "")?, ["a"]);
    Ok(())
}

#[test]
fn mapped_object_outlives_its_deletion() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "a")?;
    let mapped = block_on(store.map(&key("a")))?;
    block_on(store.delete(&key("a")))?;
    assert_eq!(mapped, Bytes::from_static(b"bytes"));
    Ok(())
}

#[test]
fn file_that_claims_more_than_memory_holds_is_an_error() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "a")?;
    let result = read_exactly(u64::MAX / 2 + 1, |_| Ok(()));
    assert_eq!(result.map_err(|error| error.kind()), Err(io::ErrorKind::OutOfMemory));
    Ok(())
}

#[test]
fn file_cut_short_while_it_is_read_is_an_error() {
    let result = read_exactly(4, |bytes| (&b"abc"[..]).read_exact(bytes));
    assert_eq!(result.map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
}

#[test]
fn concurrent_stores_of_one_directory_make_a_name_once() {
    let (place, _store) = new_store();
    let start = Arc::new(std::sync::Barrier::new(8));
    let creators: Vec<_> = (0..8)
        .map(|_| {
            let store = FsStore::open(place.path()).expect("the directory exists");
            let start = start.clone();
            std::thread::spawn(move || {
                start.wait();
                create(&store, "roots/1").expect("create")
            })
        })
        .collect();
    let created = creators.into_iter().map(|creator| creator.join().expect("no panic"));
    assert_eq!(created.filter(|created| *created == Created::New).count(), 1);
}

fn new_store() -> (TempDir, FsStore) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let store = FsStore::open(place.path()).expect("the directory exists");
    (place, store)
}

fn create(store: &FsStore, name: &str) -> Result<Created, StoreError> {
    block_on(store.create(&key(name), Bytes::from_static(b"bytes")))
}

fn names(store: &FsStore, prefix: &str) -> Result<Vec<String>, StoreError> {
    Ok(block_on(list_all(store, prefix))?.into_iter().map(|listed| listed.key.to_string()).collect())
}

/// The steps since the last look, with `*` for the random names.
fn steps(store: &FsStore) -> Vec<(Step, &'static str)> {
    let shown = |path: String| {
        if path.starts_with("tmp/") { "tmp/*".to_owned() } else { path }
    };
    store.disk.watch.take().into_iter().map(|(step, path)| (step, &*shown(path).leak())).collect()
}

fn unfinished(place: &TempDir) -> usize {
    std::fs::read_dir(place.path().join("tmp")).map_or(0, |entries| entries.count())
}

fn assert_gone(store: &FsStore) {
    let a = key("a");
    assert!(matches!(names(store, ""), Err(StoreError::Gone { .. })));
    assert!(matches!(names(store, "packs/"), Err(StoreError::Gone { .. })));
    assert!(matches!(block_on(store.read(&a)), Err(StoreError::Gone { .. })));
    assert!(matches!(block_on(store.stat(&a)), Err(StoreError::Gone { .. })));
    assert!(matches!(block_on(store.delete(&a)), Err(StoreError::Gone { .. })));
    assert!(matches!(block_on(store.now()), Err(StoreError::Gone { .. })));
    assert!(matches!(create(store, "b/c"), Err(StoreError::Gone { .. })));
}

fn write(store: &FsStore, name: &str) {
    let path = store.disk.path().join(name);
    std::fs::create_dir_all(path.parent().expect("within the root")).expect("create");
    std::fs::write(path, "").expect("write");
}

fn date(store: &FsStore, name: &str, time: std::time::SystemTime) {
    let file = File::options().write(true).open(store.disk.path().join(name)).expect("exists");
    file.set_modified(time).expect("settable");
}

fn key(name: &str) -> Key {
    Key::new(name).expect("a key")
}
