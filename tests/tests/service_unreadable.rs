//! Check of a store that has objects and does not give them: one that cannot be read is damage, a store that is away none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use copal_format::id::{ObjectHash, PackId};
use copal_format::layout;
use copal_format::receipt::Outcome;
use copal_format::repository::IngestBy;
use copal_jobs::check::{self, Depth, Finding, Kind, Report};
use copal_jobs::clients;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::rebuild;
use copal_store::fault::{Call, Fate, Fault};
use copal_store::{Op, Store, StoreError};
use futures::executor::block_on;

use copal_tests::kit::{Client, DAY, Tree, World, files, keep_last};

fn begin() -> (World, Client) {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 30));
    (world, client)
}

fn unreadable(call: &Call<'_>) -> Fate {
    let source = "Input/output error".into();
    Fate::FailBefore(StoreError::Io { op: call.op, key: call.key.to_owned(), source })
}

/// A check of a store of which calls that carry bytes fail as is said of them.
fn check(world: &World, fails: impl Fn(&Call<'_>) -> bool + Send + 'static) -> Result<Report, JobError> {
    let store = failing(world, fails);
    block_on(check::check(&world.job_of(&store), Depth::Data { part: 1, parts: 1 }))
}

fn failing(world: &World, fails: impl Fn(&Call<'_>) -> bool + Send + 'static) -> impl Store {
    let reads = [Op::Read, Op::ReadRange, Op::Map];
    Fault::at(&world.store, move |call| reads.contains(&call.op) && fails(call), unreadable)
}

fn about<'a>(report: &'a Report, object: &str) -> Vec<&'a Finding> {
    report.findings.iter().filter(|finding| finding.object == object).collect()
}

fn damaged(world: &World) -> BTreeSet<PackId> {
    let view = world.view();
    view.state.packs.iter().filter(|(_, pack)| pack.is_damaged).map(|(id, _)| *id).collect()
}

#[test]
fn a_pack_that_cannot_be_read_is_damaged_and_all_others_are_read() {
    // Already its table, which is read in two calls before its bytes are; or only those.
    for readable in [0, 2] {
        let (world, client) = begin();
        let name = world.names("packs/")[1].clone();
        let pack = layout::pack_of(&name).unwrap().1;
        let (also, calls) = (name.clone(), AtomicUsize::new(0));
        let fails = move |call: &Call<'_>| call.key == also && calls.fetch_add(1, Ordering::Relaxed) >= readable;
        let report = check(&world, fails).unwrap();
        let found = about(&report, &name);
        assert_eq!(found.len(), 1, "{:?}", report.findings);
        assert_eq!((found[0].kind, found[0].why.as_str()), (Kind::Damaged, "it cannot be read: Input/output error"));
        assert!(!found[0].snapshots.is_empty());
        assert_eq!((damaged(&world), report.findings.len()), ([pack].into(), 1), "{:?}", report.findings);
        let view = world.view();
        assert!(view.state.packs.iter().all(|(id, of)| *id == pack || of.read.0 > 0), "all others were read");
        // What it holds comes back from its source, and the medium may think better of it.
        world.back_up(&client, &files(1, 30));
        assert!(world.check().is_ok());
        assert_eq!(damaged(&world), BTreeSet::new());
    }
}

#[test]
fn a_pack_that_may_not_be_read_is_told_and_nothing_is_noted_of_it() {
    for packs in [1, 0] {
        let (world, _) = begin();
        let all = world.names("packs/");
        assert!(all.len() > 2);
        let forbidden = if packs == 0 { all } else { vec![all[1].clone()] };
        let (also, before) = (forbidden.clone(), world.view());
        let denied = |call: &Call<'_>| {
            let (op, key) = (call.op, call.key.to_owned());
            Fate::FailBefore(StoreError::Denied { op, key, source: "access denied".into() })
        };
        let is_read = move |call: &Call<'_>| call.op != Op::Stat && also.iter().any(|key| key == call.key);
        let store = Fault::at(&world.store, is_read, denied);
        let job = world.job_of(&store);
        let pack = layout::pack_of(&forbidden[0]).unwrap().1;
        let checked = block_on(check::check(&job, Depth::Data { part: 1, parts: 1 }));
        if packs == 0 {
            assert!(matches!(checked, Err(JobError::Store(StoreError::Denied { .. }))), "{checked:?}");
            assert!(block_on(check::look(&job, &[pack].into())).is_err());
        } else {
            let report = checked.unwrap();
            let found = about(&report, &forbidden[0]);
            assert_eq!((found.len(), report.findings.len()), (1, 1), "{:?}", report.findings);
            assert_eq!((found[0].kind, found[0].why.as_str()), (Kind::Damaged, "it may not be read: access denied"));
            assert!(!found[0].snapshots.is_empty());
            assert_eq!(block_on(check::look(&job, &[pack].into())).unwrap(), 0);
            let rest = world.view();
            assert!(rest.state.packs.iter().all(|(id, of)| (of.read.0 > 0) == (*id != pack)), "all others were read");
        }
        let after = world.view();
        assert_eq!(damaged(&world), BTreeSet::new());
        assert_eq!(after.state.packs[&pack], before.state.packs[&pack]);
        assert!(world.check().is_ok(), "with the rights all is well");
    }
}

#[test]
fn a_prune_waits_for_a_check_to_find_a_pack_unreadable_and_then_does_without_it() {
    let (world, client) = begin();
    let name = world.names("packs/")[1].clone();
    let pack = layout::pack_of(&name).unwrap().1;
    let prune = || {
        let also = name.clone();
        let store = failing(&world, move |call| call.key == also);
        world.prune_on(&store, Duration::ZERO)
    };
    assert!(matches!(prune(), Err(JobError::Store(StoreError::Io { .. }))), "it may be the store");
    let also = name.clone();
    check(&world, move |call| call.key == also).unwrap();
    assert_eq!(damaged(&world), [pack].into());
    prune().unwrap();
    assert!(world.names("packs/").contains(&name), "a snapshot needs it");
    // Once what it holds came back from its source it goes, as a pack with other bytes does.
    world.back_up(&client, &files(1, 30));
    prune().unwrap();
    assert!(!world.names("packs/").contains(&name));
    assert!(world.check().is_ok());
}

#[test]
fn a_record_or_a_part_of_the_index_that_cannot_be_read_is_told_and_the_check_goes_on() {
    for prefix in ["copal/", "keys/", "clients/", "manifests/", "receipts/", "index/", "state/", "roots/"] {
        let (world, client) = begin();
        world.back_up(&client, &files(2, 3));
        let name = match prefix {
            "state/" => layout::state(world.view().root.unwrap().0.runs[0].hash),
            _ => world.names(prefix)[0].clone(),
        };
        let (also, flipped) = (name.clone(), world.names("packs/")[0].clone());
        world.flip(&flipped);
        let report = check(&world, move |call| call.key == also).unwrap();
        let found = report.findings.iter().filter(|of| name.starts_with(&of.object) && of.kind == Kind::Damaged);
        assert_eq!(found.count(), 1, "{name}: {:?}", report.findings);
        let is_state = ["state/", "roots/"].contains(&prefix);
        assert_eq!(about(&report, &flipped).len(), usize::from(!is_state), "{name}: {:?}", report.findings);
    }
}

#[test]
fn a_rebuild_does_without_a_run_of_the_state_that_cannot_be_read_and_not_without_the_store() {
    let (world, _) = begin();
    let run = layout::state(world.view().root.unwrap().0.runs[0].hash);
    world.destroy_all("roots/");
    let before = world.names("");
    let failed = block_on(rebuild::rebuild(&world.job_of(&failing(&world, |call| call.key.starts_with("packs/")))));
    assert!(matches!(failed, Err(JobError::Store(StoreError::Io { .. }))), "{failed:?}");
    assert_eq!(world.names(""), before, "what is decided is decided for good");
    let store = failing(&world, move |call| call.key == run);
    let report = block_on(rebuild::rebuild(&world.job_of(&store))).unwrap();
    assert_eq!((report.lost, report.packs_lost.len()), (0, 0));
    assert!(world.check().is_ok());
}

#[test]
fn one_copy_of_a_clients_record_that_cannot_be_read_stops_no_ingest_prune_or_rebuild() {
    for copy in 0..2 {
        let (world, client) = begin();
        world.upload(&client, &files(2, 3));
        let name = world.names("clients/")[copy].clone();
        let ingest =
            |store: &dyn Store| block_on(ingest(&world.job_of(store), IngestBy::Service, Scope::All, &|_| false));
        let without_any = ingest(&failing(&world, |call| call.key.starts_with("clients/")));
        assert!(matches!(without_any, Err(JobError::Store(StoreError::Io { .. }))), "{without_any:?}");
        let store = failing(&world, move |call| call.key == name);
        let answers = ingest(&store).unwrap();
        assert!(matches!(&answers[..], [answer] if answer.outcome == Outcome::Accepted), "{answers:?}");
        world.prune_on(&store, Duration::ZERO).unwrap();
        let report = block_on(rebuild::rebuild(&world.job_of(&store))).unwrap();
        assert_eq!((report.snapshots, report.lost), (2, 0), "{report:?}");
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn a_version_of_a_record_of_which_no_copy_can_be_read_is_not_passed_over() {
    let (world, client) = begin();
    let last = (1, ObjectHash::of(&world.read(&layout::manifest(client.id, 1))));
    block_on(world.repository.revoke(&world.store, &client, last, None)).unwrap();
    let [first, copy] = [layout::client(client.id, 2), layout::client_copy(client.id, 2)];
    let read = |unreadable: Vec<String>| {
        let store = failing(&world, move |call| unreadable.iter().any(|name| name == call.key));
        block_on(clients::read(&world.job_of(&store), client.id))
    };
    for one in [&first, &copy] {
        assert!(read(vec![one.clone()]).unwrap().unwrap().revoked.is_some(), "{one}");
    }
    let unread = read(vec![first, copy]);
    assert!(matches!(unread, Err(JobError::Store(StoreError::Io { .. }))), "{unread:?}");
}

#[test]
fn a_rebuild_names_a_receipt_or_a_record_of_deletions_that_cannot_be_read_and_goes_on() {
    for prefix in ["receipts/", "deletions/"] {
        let (world, _) = begin();
        world.prune(Duration::ZERO);
        let name = world.names(prefix)[0].clone();
        let also = name.clone();
        let store = failing(&world, move |call| call.key == also);
        let report = block_on(rebuild::rebuild(&world.job_of(&store))).unwrap();
        assert_eq!(report.unreadable, [(name, "it cannot be read: Input/output error".to_owned())]);
        assert_eq!((report.snapshots, report.lost), (1, 0), "{report:?}");
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn a_rebuild_ends_at_a_manifest_change_or_expiry_that_cannot_be_read_and_the_next_one_has_everything() {
    let (world, client) = World::with_client();
    world.back_up_daily(&client, [5_000, 6_000]);
    world.change(&client, vec![keep_last(1)]);
    world.wait(DAY);
    assert_eq!(world.expire().expired.len(), 1);
    let before = world.names("");
    for prefix in ["manifests/", "changes/", "expiries/"] {
        let name = world.names(prefix)[0].clone();
        let also = name.clone();
        let store = failing(&world, move |call| call.key == also);
        let failed = block_on(rebuild::rebuild(&world.job_of(&store)));
        assert!(matches!(&failed, Err(JobError::Store(StoreError::Io { key, .. })) if *key == name), "{failed:?}");
        assert_eq!(world.names(""), before, "nothing is decided without {name}");
    }
    let report = block_on(rebuild::rebuild(&world.job())).unwrap();
    assert_eq!((&report.unreadable[..], world.view().state.snapshots.len()), (&[][..], 2));
}

#[test]
fn a_store_that_gives_no_pack_is_away_and_nothing_is_noted() {
    let (world, _) = begin();
    assert!(world.names("packs/").len() > 8);
    assert_away(&world);
}

/// Where no pack can be read, a check says so and notes nothing.
fn assert_away(world: &World) {
    let before = world.names("");
    let failed = check(world, |call| call.key.starts_with("packs/")).unwrap_err();
    assert!(matches!(failed, JobError::Store(StoreError::Io { .. })), "{failed}");
    assert_eq!(world.names(""), before);
}

#[test]
fn the_only_pack_is_no_evidence_against_itself() {
    let (world, client) = World::with_client();
    world.back_up(&client, &Tree::new());
    assert_eq!(world.names("packs/").len(), 1);
    assert_away(&world);
}

#[test]
fn a_store_that_goes_away_while_packs_are_read_harms_none_and_is_not_asked_for_each() {
    let (world, _) = begin();
    let before = world.names("");
    let until = |world: &World, calls: usize| {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let fails =
            move |call: &Call<'_>| call.key.starts_with("packs/") && count.fetch_add(1, Ordering::Relaxed) >= calls;
        let checked = check(world, fails);
        (checked, asked.load(Ordering::Relaxed))
    };
    let (checked, all) = until(&begin().0, usize::MAX);
    assert!(checked.unwrap().is_ok());
    for calls in [all / 3, all - 3] {
        let (checked, asked) = until(&world, calls);
        assert!(checked.is_err(), "after {calls}");
        assert_eq!(world.names(""), before, "after {calls}");
        assert!(asked < calls + 60, "after {calls} it was asked {asked} times");
    }
}

#[test]
fn what_can_be_read_again_was_never_harmed() {
    let (world, _) = begin();
    let before = world.names("");
    let (name, times) = (world.names("packs/")[0].clone(), AtomicUsize::new(0));
    // Once: the table.
    let failed = check(&world, move |call| call.key == name && times.fetch_add(1, Ordering::Relaxed) < 1).unwrap_err();
    assert!(matches!(failed, JobError::Store(StoreError::Transient { .. })), "{failed}");
    assert_eq!(world.names(""), before);
}

#[test]
fn a_look_at_a_pack_that_cannot_be_read_finds_it_harmed_unless_the_store_is_away() {
    let (world, _) = begin();
    let name = world.names("packs/")[0].clone();
    let pack = layout::pack_of(&name).unwrap().1;
    for is_away in [true, false] {
        let name = name.clone();
        let fails = move |call: &Call<'_>| call.key == name || (is_away && call.key.starts_with("packs/"));
        let store = Fault::at(&world.store, move |call| call.op == Op::ReadRange && fails(call), unreadable);
        let looked = block_on(check::look(&world.job_of(&store), &[pack].into()));
        assert_eq!(looked.is_err(), is_away, "{looked:?}");
        assert_eq!(damaged(&world).contains(&pack), !is_away);
    }
}
