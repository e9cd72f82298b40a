//! Listings: where a listing lacks a pack that is there, no job takes the pack for lost.

use std::time::Duration;

use async_trait::async_trait;
use copal_jobs::check::{Depth, check};
use copal_jobs::error::JobError;
use copal_jobs::rebuild::rebuild;
use copal_store::fault::{Fate, Fault};
use copal_store::memory::MemoryStore;
use copal_store::{Key, ListPage, Op, Store, StoreError};
use copal_tests::kit::{World, files};
use futures::executor::block_on;

/// A store whose listings lack an object.
struct Lacking<'a> {
    store: &'a MemoryStore,
    name: String,
}

#[async_trait]
impl Store for Lacking<'_> {
    copal_store::pass_on!(store: create, read, read_range, stat, delete, now);

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let mut page = self.store.list(prefix, after, limit).await?;
        page.objects.retain(|listed| listed.key.as_str() != self.name);
        Ok(page)
    }
}

fn is_transient<T>(ended: &Result<T, JobError>) -> bool {
    matches!(ended, Err(JobError::Store(error)) if error.is_transient())
}

#[test]
fn a_rebuild_ends_before_it_writes_anything_if_a_listing_lacks_a_pack_that_is_there() {
    let (world, client) = World::with_client();
    let tree = files(1, 4);
    let kept = world.back_up(&client, &tree);
    world.lose_state();
    let before = world.names("");
    for name in world.names("packs/") {
        let ended = block_on(rebuild(&world.job_of(&Lacking { store: &world.store, name })));
        assert!(is_transient(&ended), "{ended:?}");
    }
    assert_eq!(world.names(""), before);
    assert_eq!(world.rebuild().lost, 0);
    assert_eq!(world.restore(kept), Ok(tree));
}

#[test]
fn a_prune_does_not_mark_a_pack_as_missing_that_only_a_listing_lacks() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 4));
    for name in world.names("packs/") {
        let ended = world.prune_on(&Lacking { store: &world.store, name }, Duration::ZERO);
        assert!(is_transient(&ended), "{ended:?}");
    }
    assert!(world.view().state.packs.values().all(|pack| !pack.is_missing));
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn a_pack_that_cannot_even_be_looked_up_keeps_no_prune_from_its_work_once_a_check_has_found_it() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 4));
    let name = world.names("packs/").remove(0);
    let lacking = Lacking { store: &world.store, name: name.clone() };
    let looks = [Op::Read, Op::ReadRange, Op::Map, Op::Stat];
    let store = Fault::at(lacking, move |call| call.key == name && looks.contains(&call.op), Fate::broken);
    assert!(world.prune_on(&store, Duration::ZERO).is_err(), "nobody knows yet what is wrong with it");
    block_on(check(&world.job_of(&store), Depth::Structure)).unwrap();
    assert_eq!(world.view().state.packs.values().filter(|pack| pack.is_damaged).count(), 1);
    world.prune_on(&store, Duration::ZERO).unwrap();
    assert!(world.view().state.packs.values().all(|pack| !pack.is_missing), "it is damaged, and there");
}
