//! Creating an object: what is durable when, and what a failure leaves.

use super::*;

#[test]
fn bytes_are_durable_before_the_name_and_the_name_before_the_answer() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "packs/aa/0")?;
    store.disk.watch.take();
    create(&store, "packs/aa/1")?;
    assert_eq!(
        steps(&store),
        [
            (Step::NewFile, "tmp/*"),
            (Step::Write, "tmp/*"),
            (Step::SyncFile, "tmp/*"),
            (Step::Link, "packs/aa/1"),
            (Step::Unlink, "tmp/*"),
            (Step::SyncDirectory, "packs/aa"),
        ]
    );
    Ok(())
}

#[test]
fn directories_are_durable_in_their_parents_before_anything_is_written() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "packs/aa/1")?;
    assert_eq!(
        steps(&store)[..4],
        [
            (Step::MakeDirectory, "packs"),
            (Step::SyncDirectory, ""),
            (Step::MakeDirectory, "packs/aa"),
            (Step::SyncDirectory, "packs"),
        ]
    );
    Ok(())
}

#[test]
fn directories_made_by_another_process_are_made_durable_too() -> Result<(), StoreError> {
    let (place, store) = new_store();
    create(&store, "packs/aa/1")?;
    let other = FsStore::open(place.path())?;
    create(&other, "packs/aa/2")?;
    let steps = steps(&other);
    assert!(steps.contains(&(Step::SyncDirectory, "")));
    assert!(steps.contains(&(Step::SyncDirectory, "packs")));
    Ok(())
}

#[test]
fn the_second_directory_of_another_process_brings_all_beside_it() -> Result<(), StoreError> {
    let (place, store) = new_store();
    for name in ["a/1", "b/1", "c/1", "d/1"] {
        create(&store, name)?;
    }
    let other = FsStore::open(place.path())?;
    let syncs = |name| {
        other.disk.watch.take();
        create(&other, name)?;
        Ok::<_, StoreError>(steps(&other).iter().filter(|step| **step == (Step::SyncDirectory, "")).count())
    };
    for (name, expected) in [("a/2", 1), ("b/2", 1), ("c/2", 0), ("d/2", 0), ("new/1", 1)] {
        assert_eq!(syncs(name)?, expected, "{name}");
    }
    // A directory that another process makes after that sync needs one of its own.
    create(&store, "e/1")?;
    assert_eq!(syncs("e/2")?, 1);
    Ok(())
}

#[test]
fn object_that_exists_is_made_durable_before_it_is_reported() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "a/b")?;
    store.disk.watch.take();
    assert_eq!(create(&store, "a/b")?, Created::Exists);
    assert_eq!(
        steps(&store)[3..],
        [(Step::Link, "a/b"), (Step::SyncFile, "a/b"), (Step::Unlink, "tmp/*"), (Step::SyncDirectory, "a"),]
    );
    Ok(())
}

#[test]
fn rename_without_replacing_serves_where_links_are_missing() -> Result<(), StoreError> {
    let (place, store) = new_store();
    store.disk.watch.refuse(Step::Link, Errno::PERM);
    assert_eq!(create(&store, "a")?, Created::New);
    assert_eq!(create(&store, "a")?, Created::Exists);
    assert_eq!(unfinished(&place), 0);
    assert_eq!(store.probe()?, Naming::Rename);
    Ok(())
}

#[test]
fn file_system_with_neither_links_nor_such_renames_is_refused() {
    let (place, store) = new_store();
    store.disk.watch.refuse(Step::Link, Errno::NOTSUP);
    store.disk.watch.refuse(Step::Rename, Errno::INVAL);
    assert!(matches!(create(&store, "a"), Err(StoreError::NotCreateOnly { .. })));
    assert!(matches!(store.probe(), Err(StoreError::NotCreateOnly { .. })));
    assert_eq!(unfinished(&place), 0);
}

#[test]
fn probe_finds_links_and_leaves_nothing_behind() -> Result<(), StoreError> {
    let (place, store) = new_store();
    assert_eq!(store.probe()?, Naming::Link);
    assert_eq!(unfinished(&place), 0);
    Ok(())
}

#[test]
fn failed_creation_leaves_no_name_and_no_unfinished_file() {
    for step in [Step::MakeDirectory, Step::NewFile, Step::Write, Step::SyncFile, Step::Link] {
        let (place, store) = new_store();
        store.disk.watch.refuse(step, Errno::IO);
        assert!(matches!(create(&store, "a/b"), Err(StoreError::Io { .. })), "{step:?}");
        assert_eq!(unfinished(&place), 0, "{step:?}");
        assert_eq!(block_on(store.stat(&key("a/b"))).ok(), Some(None), "{step:?}");
    }
}

#[test]
fn creation_whose_last_sync_failed_can_be_made_again() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    create(&store, "first")?;
    store.disk.watch.refuse(Step::SyncDirectory, Errno::IO);
    assert!(create(&store, "a").is_err());
    store.disk.watch.refuse_nothing();
    assert_eq!(create(&store, "a")?, Created::Exists);
    Ok(())
}

#[test]
fn name_that_comes_and_goes_is_a_failure_that_may_pass() {
    let (place, store) = new_store();
    store.disk.watch.refuse(Step::Link, Errno::EXIST);
    assert!(matches!(create(&store, "a"), Err(StoreError::Transient { .. })));
    assert_eq!(unfinished(&place), 0);
}

#[test]
fn full_disk_and_spent_quota_are_reported_as_full() {
    for errno in [Errno::NOSPC, Errno::DQUOT] {
        let (place, store) = new_store();
        store.disk.watch.refuse(Step::Write, errno);
        assert!(matches!(create(&store, "a"), Err(StoreError::Full { .. })), "{errno:?}");
        assert_eq!(unfinished(&place), 0, "{errno:?}");
    }
}

#[test]
fn file_system_that_cannot_sync_directories_is_accepted() -> Result<(), StoreError> {
    let (_place, store) = new_store();
    store.disk.watch.refuse(Step::SyncDirectory, Errno::INVAL);
    assert_eq!(create(&store, "a/b")?, Created::New);
    Ok(())
}

#[test]
fn empty_directory_removed_by_somebody_is_made_again() -> Result<(), StoreError> {
    let (place, store) = new_store();
    create(&store, "a/b")?;
    block_on(store.delete(&key("a/b")))?;
    std::fs::remove_dir(place.path().join("a")).expect("empty");
    assert_eq!(create(&store, "a/b")?, Created::New);
    Ok(())
}
