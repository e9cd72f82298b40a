//! Checkpoints: what a run that goes on has stored stays.

use copal_engine::backup::content::FileContent;
use copal_format::id::ChunkId;
use copal_format::state::SnapshotState;
use copal_tests::kit::{DAY, How, Tree, World, path};
use futures::executor::block_on;

use super::files;

#[test]
fn a_checkpoint_is_kept_until_it_is_followed_or_its_client_is_silent_and_then_it_is_gone() {
    let (world, client) = World::with_client();
    let tree = files(1, 4, 3000);
    let open = world.try_back_up(&client, &tree, &How { partial: true, ..How::default() }).unwrap();
    world.wait(DAY * 29);
    world.prune(DAY);
    world.wait(DAY / 2);
    world.prune(DAY);
    assert_eq!(world.restore(open), Ok(tree));
    world.wait(DAY * 2);
    world.prune(DAY);
    world.wait(DAY * 2);
    world.prune(DAY);
    assert_eq!(world.snapshot(open).state, SnapshotState::Gone);
    // The client wakes up: its old checkpoint is not missed.
    world.back_up(&client, &files(2, 1, 100));
    assert_eq!(world.prune(DAY).lost, 0);
    assert!(world.check().is_ok());
}

#[test]
fn a_checkpoint_waits_for_a_later_whole_snapshot_of_its_source() {
    let (world, client) = World::with_client();
    let checkpoint = |seed| world.try_back_up(&client, &files(seed, 4, 3000), &How { partial: true, ..How::default() });
    world.back_up(&client, &files(1, 4, 3000));
    let open = [checkpoint(2).unwrap(), checkpoint(3).unwrap()];
    world.wait_and_prune(3, DAY * 2);
    assert_eq!(open.map(|id| world.restore(id)), [2, 3].map(|seed| Ok(files(seed, 4, 3000))));
    world.back_up(&client, &files(4, 4, 3000));
    world.wait_and_prune(3, DAY * 2);
    assert_eq!(open.map(|id| world.snapshot(id).state), [SnapshotState::Gone; 2]);
}

/// A file takes days to upload, and prunes run meanwhile.
#[test]
fn the_beginning_of_a_file_is_there_when_its_end_has_come() {
    let (world, client) = World::with_client();
    let content = files(1, 1, 64 * 600).into_values().next().unwrap();
    let (path, mut file) = (path("huge"), FileContent::default());
    let job = world.job();
    let mut run = client.begin(&job).unwrap();
    for part in content.chunks(64 * 200) {
        let view = world.view();
        let is_good = |id: &ChunkId| view.index(client.domain).is_some_and(|index| index.status(id).may_deduplicate());
        run.take_part(&mut file, part, &is_good).unwrap();
        let so_far = block_on(run.stop_within(&job, (&path, &file), &is_good)).unwrap();
        block_on(client.commit_run(&job, &view, &mut run, so_far, true)).unwrap();
        world.prune_and_wait(3, DAY * 2);
    }
    let view = world.view();
    let is_good = |id: &ChunkId| view.index(client.domain).is_some_and(|index| index.status(id).may_deduplicate());
    let whole = block_on(run.end_with(&job, (&path, file, &content), &is_good)).unwrap();
    let snapshot = block_on(client.commit_run(&job, &view, &mut run, whole, false)).unwrap();
    assert_eq!(world.restore(snapshot), Ok(Tree::from([(path, content)])));
}
