//! Notes: whatever lies among the notes of where checks and prunes go on, everything is looked at again and again.

use std::os::unix::fs::symlink;
use std::time::Duration;

use bytes::Bytes;
use copal_jobs::check::{Depth, Tables, check_until};
use copal_jobs::prune::Options;
use copal_jobs::upkeep;
use copal_store::Store;
use copal_store::fs::FsStore;
use copal_tests::kit::repository::key;
use copal_tests::kit::{DAY, World, path};
use futures::executor::block_on;

use crate::service_budget::asked;

/// A note that says that everything was done, and more so for each client.
const ALL_DONE: &str = r#"{"after":"ffffffffffffffffffffffffffffffff","owes_rest":false,
    "chains":{"client":"ffffffffffffffffffffffffffffffff","number":0,"goes_first":true}}"#;

/// A repository with damage to a manifest, and the manifest's name.
fn damaged() -> (World, String) {
    let (world, client) = World::with_client();
    for time in 0..3 {
        world.back_up(&client, &[(path("a"), vec![time; 100])].into());
    }
    let name = world.names("manifests/").remove(0);
    world.flip(&name);
    (world, name)
}

/// Whether a check that goes on where the last one ended reports the object.
fn finds(world: &World, store: &dyn Store, name: &str) -> bool {
    let report = block_on(check_until(&world.job_of(store), (Depth::Structure, Tables::Share), &asked(1_000))).unwrap();
    report.findings.iter().any(|finding| finding.object == name)
}

/// The name of a note that is written so long after now.
fn note(world: &World, later: Duration) -> String {
    let now = block_on(world.job().now()).unwrap().0 as u64;
    format!("work/check/{:020}", u64::MAX - now - later.as_nanos() as u64)
}

#[test]
fn a_note_from_the_future_or_of_another_name_hides_nothing_from_checks_and_prunes_delete_it() {
    let (world, name) = damaged();
    let planted = [
        ".DS_Store",
        "00000000000000000000",
        "0",
        "00000000000000000000.x",
        "00000000000000000000/00000000000000000000",
    ];
    for planted in planted.map(|name| format!("work/check/{name}")).into_iter().chain([note(&world, 76 * 365 * DAY)]) {
        world.put(&planted, ALL_DONE.into());
        assert!(finds(&world, &world.store, &name), "{planted}");
        world.wait(DAY);
        let keeps = block_on(upkeep::prune(&world.job(), &Options::new([4096, 3072])));
        keeps.unwrap();
        assert!(!world.has(&planted), "{planted}");
    }
}

#[test]
fn a_note_that_was_planted_today_hides_something_from_one_round_at_most() {
    let chains = [
        r#"{"is_done":true}"#,
        r#"{"client":"ffffffffffffffffffffffffffffffff","number":0,"goes_first":true}"#,
        r#"{"client":"00000000000000000000000000000000","number":18446744073709551615,"goes_first":false}"#,
    ];
    for chains in chains {
        let (world, name) = damaged();
        let noted = format!(r#"{{"after":"00000000000000000000000000000001","owes_rest":true,"chains":{chains}}}"#);
        world.put(&note(&world, Duration::ZERO), noted.into());
        let found: Vec<bool> = (0..3)
            .map(|_| {
                world.wait(DAY);
                finds(&world, &world.store, &name)
            })
            .collect();
        assert!(found[1] || found[2], "{chains}: {found:?}");
    }
}

#[test]
fn a_note_that_cannot_be_read_is_no_note() {
    let (world, name) = damaged();
    let directory = tempfile::tempdir().unwrap();
    let store = FsStore::create(directory.path()).unwrap();
    for name in world.names("") {
        block_on(store.create(&key(&name), Bytes::from(world.read(&name)))).unwrap();
    }
    let notes = directory.path().join("work/check");
    std::fs::create_dir_all(&notes).unwrap();
    let planted = notes.join(format!("{:020}", 17_000_000_000_000_000_000u64));
    let plants: [&dyn Fn(); 3] = [
        &|| symlink("/dev/zero", &planted).unwrap(),
        &|| std::fs::write(&planted, "[[".repeat(2_000)).unwrap(),
        // Read whole, it does not fit into memory.
        &|| std::fs::File::create(&planted).unwrap().set_len(1 << 42).unwrap(),
    ];
    for plant in plants {
        plant();
        assert!(finds(&world, &store, &name));
        // A check may have deleted it.
        let _ = std::fs::remove_file(&planted);
    }
}
