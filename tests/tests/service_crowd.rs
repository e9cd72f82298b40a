//! Crowd: ten thousand clients that commit within an hour, on a store that answers as slowly as S3, by a clock of its own.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use copal_format::client::Role;
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::receipt::Outcome;
use copal_format::repository::IngestBy;
use copal_jobs::commit::commit;
use copal_jobs::ingest::{Scope, work};
use copal_jobs::prune::{self, Options};
use copal_tests::kit::{Client, How, Random, Slow, World, craft, tree};
use futures::executor::block_on;
use futures::future::join_all;

use super::service_prune::moves::mostly_forgotten;

#[test]
fn ten_thousand_clients_an_hour_are_answered_by_two_workers_within_seconds_and_none_waits_a_minute() {
    let world = crowded(10_000);
    let slow = Slow::new(&world.store);
    let waited = slow.run(async { hour(&world, &slow).await });
    let commits = waited.len();
    let calls = slow.calls();
    let total: u64 = calls.values().map(|(count, _)| count).sum();
    let (median, most) = (waited[commits / 2], waited[commits - 1]);
    println!("{commits} commits in {:?}; a receipt after {median:?} in the median, {most:?} at most", slow.now());
    for (of, (count, bytes)) in &calls {
        println!("{of}: {:.1} per commit, {} bytes", *count as f64 / commits as f64, bytes / commits as u64);
    }
    // Two workers race for the next root; whoever has more to decide loses more often.
    assert!(median < Duration::from_secs(4) && most < Duration::from_secs(60), "{median:?} {most:?}");
    assert!((total as f64) < 80.0 * commits as f64, "{calls:?}");
}

#[test]
fn beside_ten_thousand_clients_an_hour_a_prune_decides_as_often_as_alone() {
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let begin = || {
        let world = World::new();
        let client = world.register(200, Role::Full);
        let (kept, _) = mostly_forgotten(&world, &client);
        (world, kept)
    };
    let looks = |slow: &Slow<'_>| slow.calls()["list packs"].0;
    let alone = {
        let (world, _) = begin();
        let slow = Slow::new(&world.store);
        slow.run(prune::prune(&world.job_of(&slow), &options)).unwrap();
        looks(&slow)
    };
    let (world, kept) = begin();
    // A look at very many packs takes longer than it takes others to write several roots.
    let slow = Slow::new(&world.store).with_packs(Duration::from_secs(5));
    let pruned = async {
        slow.sleep(Duration::from_secs(10)).await;
        let report = prune::prune(&world.job_of(&slow), &options).await.unwrap();
        (report, slow.now() - Duration::from_secs(10))
    };
    let (waited, (report, took)) = slow.run(async { futures::join!(hour(&world, &slow), pruned) });
    let (median, most) = (waited[waited.len() / 2], waited[waited.len() - 1]);
    println!("pruned within {took:?}: {report:?}; a receipt after {median:?} in the median, {most:?} at most");
    assert!(report.entries_removed > 0 && report.packs_rewritten > 0 && report.objects_deleted > 0);
    assert_eq!(looks(&slow), alone, "nothing is decided twice");
    assert!(median < Duration::from_secs(4), "{median:?}");
    assert!(world.restore(kept).is_ok());
}

/// Ten thousand clients back up within an hour, and two workers answer them. Returns how long each waited, ascending.
async fn hour(world: &World, slow: &Slow<'_>) -> Vec<Duration> {
    let clients: Vec<Client> = (1..=CLIENTS).map(|number| world.register(number, Role::WriteOnly)).collect();
    let scene = RefCell::new(Scene::default());
    let commits = usize::from(CLIENTS) * usize::from(ROUNDS);
    let producer = async {
        let mut random = Random::new(7);
        for commit in 0..commits {
            slow.sleep(Duration::from_millis(random.below(2 * 360) as u64)).await;
            let client = &clients[commit % clients.len()];
            let how = How { ingests: false, patience: 1, ..How::default() };
            let content = [commit as u8, (commit >> 8) as u8].repeat(900);
            assert!(client.back_up(&world.job(), &tree([("a", &content[..])]), &how).await.is_err(), "nobody answers");
            let number = commit as u64 / clients.len() as u64 + 1;
            let mut scene = scene.borrow_mut();
            scene.arrived.insert((client.id, number), slow.now());
            scene.queue.push_back(client.id);
        }
        scene.borrow_mut().has_ended = true;
    };
    let worker = || async {
        loop {
            let batch: Vec<ClientId> = {
                let mut scene = scene.borrow_mut();
                let count = scene.queue.len().min(BATCH);
                if count == 0 && scene.has_ended {
                    return;
                }
                scene.queue.drain(..count).collect()
            };
            if batch.is_empty() {
                slow.sleep(Duration::from_millis(200)).await;
                continue;
            }
            let job = world.job_of(slow);
            let report = work(&job, IngestBy::Service, Scope::Clients(&batch), &|_| false).await.unwrap();
            let mut scene = scene.borrow_mut();
            for receipt in report.receipts {
                assert_eq!(receipt.outcome, Outcome::Accepted);
                let waited = slow.now() - scene.arrived[&(receipt.client, receipt.number)];
                scene.waited.push(waited);
            }
        }
    };
    futures::join!(producer, join_all([worker(), worker()]));
    let mut scene = scene.into_inner();
    scene.waited.sort_unstable();
    assert_eq!(scene.waited.len(), commits);
    scene.waited
}

#[test]
fn a_commit_makes_as_many_calls_with_ten_thousand_clients_as_with_ten() {
    let calls_with = |clients: u32| -> Vec<u64> {
        let world = crowded(clients);
        let client = world.register(1, Role::WriteOnly);
        (0..8u8)
            .map(|round| {
                world.upload(&client, &tree([("a", &[round; 3000][..])]));
                let slow = Slow::new(&world.store);
                let job = world.job_of(&slow);
                let scope = Scope::Client(client.id);
                let report = slow.run(work(&job, IngestBy::Service, scope, &|_| false)).unwrap();
                assert_eq!(report.receipts.len(), 1);
                let calls = slow.calls();
                calls.values().map(|(count, _)| count).sum()
            })
            .collect()
    };
    let (few, many) = (calls_with(10), calls_with(10_000));
    println!("{few:?} calls with 10 clients, {many:?} with 10,000");
    // Runs are folded at other times; that is all.
    assert!(many.iter().zip(&few).all(|(many, few)| *many <= few + 12), "{few:?} {many:?}");
}

/// What waits and what was answered.
#[derive(Default)]
struct Scene {
    queue: VecDeque<ClientId>,
    arrived: BTreeMap<(ClientId, u64), Duration>,
    waited: Vec<Duration>,
    has_ended: bool,
}

/// A repository in which so many clients have backed up once, each into a domain of its own.
fn crowded(clients: u32) -> World {
    let (world, crowd) = (World::new(), craft::crowd(clients));
    for (client, number) in crowd.delta.snapshots.keys() {
        world.put(&layout::manifest(*client, *number), b"old".to_vec());
    }
    block_on(commit(&world.job(), &world.view(), crowd)).unwrap().expect("nobody else writes");
    world
}

/// Registered clients; each backs up several times, as often as ten thousand an hour.
const CLIENTS: u8 = 100;
const ROUNDS: u8 = 3;
/// Clients that one event from the queue brings.
const BATCH: usize = 10;
