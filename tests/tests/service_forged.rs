//! Packs that have the hash of their name and do not hold what they say: who has no key cannot see it, and acquits none.

use copal_format::id::PackId;
use copal_format::index::Status;
use copal_format::layout::{self, Place};
use copal_format::receipt::Outcome;
use copal_jobs::check::{self, Depth, Harm, Kind};
use copal_tests::kit::craft::{data_pack, id};
use copal_tests::kit::{How, World, noise};
use futures::executor::block_on;

/// A world with a file, and its first pack.
fn begin() -> (World, PackId) {
    let (world, client) = World::with_client();
    world.back_up(&client, &noise(1, 1, 5_000));
    let pack = *world.view().state.packs.keys().next().unwrap();
    (world, pack)
}

#[test]
fn a_pack_that_was_found_forged_with_the_key_is_acquitted_only_with_the_key() {
    let (world, pack) = begin();
    let note = |harm: &Harm| block_on(check::note(&world.job(), harm)).unwrap();
    let record = || world.view().state.packs[&pack].clone();
    let found = Harm { damaged: [pack].into(), forged: [pack].into(), ..Harm::default() };
    note(&found);
    assert!(record().is_forged());
    for depth in [Depth::Structure, Depth::Data { part: 1, parts: 1 }, Depth::Data { part: 1, parts: 30 }] {
        let report = world.check_to(depth);
        let told: Vec<_> = report.findings.iter().map(|finding| (finding.kind, finding.pack)).collect();
        assert_eq!(told, [(Kind::Damaged, Some(pack))], "{depth:?}");
        block_on(check::look(&world.job(), &[pack].into())).unwrap();
        assert!(record().is_forged(), "{depth:?}");
    }
    let now = block_on(world.job().now()).unwrap();
    let opened = Harm { whole: [(pack, now)].into(), opened: [pack].into(), accused: [pack].into(), ..Harm::default() };
    note(&opened);
    assert!(!record().is_damaged && record().read == now);
    assert_eq!(world.check().findings, []);
}

#[test]
fn a_rebuild_acquits_none_that_a_run_of_the_state_tells_of() {
    let (world, pack) = begin();
    let found = Harm { damaged: [pack].into(), forged: [pack].into(), ..Harm::default() };
    block_on(check::note(&world.job(), &found)).unwrap();
    let report = world.rebuild_without(&["roots/", "index/"]);
    assert_eq!(report.packs_forged.len(), 1);
    let record = world.view().state.packs[&pack].clone();
    assert!(record.is_forged() && record.is_damaged);
}

#[test]
fn a_forged_pack_that_a_manifest_names_again_stays_forged() {
    let (world, client) = World::with_client();
    let (forged, sound) = (data_pack(client.domain, 1, &[id(1)]), data_pack(client.domain, 2, &[id(2)]));
    let packs = [&forged, &sound].map(|pack| (pack.id, pack.bytes.len() as u64));
    let claim = || {
        let view = world.view();
        block_on(client.write_manifest(&world.job(), &view, &packs, None, &How::default())).unwrap();
        let receipts = world.ingest().unwrap();
        assert_eq!(receipts.iter().map(|receipt| receipt.outcome).collect::<Vec<_>>(), [Outcome::Accepted]);
    };
    [&forged, &sound].iter().for_each(|pack| world.put(&layout::pack(Place::Packs, pack.id), pack.bytes.clone()));
    claim();
    let found = Harm { damaged: [forged.id, sound.id].into(), forged: [forged.id].into(), ..Harm::default() };
    block_on(check::note(&world.job(), &found)).unwrap();
    claim();
    let view = world.view();
    let index = view.index(client.domain).unwrap();
    assert!(view.state.packs[&forged.id].is_forged() && !view.state.packs[&sound.id].is_damaged);
    assert_eq!([id(1), id(2)].map(|id| index.status(&id)), [Status::Lost, Status::Present]);
}
