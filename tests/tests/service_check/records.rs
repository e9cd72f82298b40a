//! Damage to everything but packs: index, state, roots and records.

use super::*;

#[test]
fn damage_to_segments_runs_and_the_newest_root_is_found() {
    for prefix in ["index/", "state/", "roots/"] {
        for kind in [Kind::Missing, Kind::Damaged] {
            let (world, client, _) = begin();
            world.back_up(&client, &files(2, 1));
            // What the newest root names: an older run that is gone is no loss.
            let runs = world.view().root.unwrap().0.runs;
            let name = match prefix {
                "state/" => layout::state(runs[0].hash),
                _ => world.names(prefix)[0].clone(),
            };
            world.harm(&name, kind == Kind::Missing);
            let report = world.check();
            let bad = |finding: &&Finding| matches!(finding.kind, Kind::Missing | Kind::Damaged);
            assert!(report.findings.iter().any(|finding| bad(&finding)), "{prefix} {kind:?}: {:?}", report.findings);
            let stale = about(&report.findings, &name).into_iter().filter(|finding| finding.kind == Kind::Stale);
            assert_eq!(stale.count(), 0, "{name} is needed: {:?}", report.findings);
        }
    }
}

#[test]
fn where_a_run_is_gone_or_damaged_only_what_the_newest_root_surely_needs_is_named() {
    let (world, _, _) = begin();
    // One run names segments; a newer one, too small to be folded with it, says that one of them is needed no more.
    let record = SegmentRecord { entries: 1, length: 1, first: ChunkId([1; 24]), last: ChunkId([1; 24]) };
    let segments: Vec<_> = (1..=20).map(|byte| (DomainId([byte; 16]), ObjectHash([byte; 32]))).collect();
    for named in [&segments[..], &segments[..1]] {
        let records = named.iter().map(|key| (*key, (named.len() > 1).then(|| record.clone())));
        let mut proposal = Proposal::default();
        proposal.delta.segments.extend(records);
        let view = block_on(view::read_parts(&world.store, &Parts::RECORDS)).unwrap();
        assert!(block_on(commit(&world.job(), &view, proposal)).unwrap().is_some());
    }
    let view = block_on(view::read_parts(&world.store, &Parts::RECORDS)).unwrap();
    let runs = view.root.unwrap().0.runs;
    let of = |kind: RunKind| {
        let mut hashes = runs.iter().filter(|run| run.kind == kind).map(|run| layout::state(run.hash));
        hashes.next().unwrap()
    };
    let named = |world: &World| -> BTreeSet<String> {
        let findings = world.check().findings.into_iter().filter(|finding| finding.kind != Kind::Stale);
        findings.map(|finding| finding.object).collect()
    };
    let gone: BTreeSet<String> = segments[1..].iter().map(|(_, hash)| layout::segment(*hash)).collect();
    let (newer, packs) = (of(RunKind::Segments), of(RunKind::Packs));
    world.destroy(&packs);
    assert_eq!(named(&world), gone.iter().cloned().chain([packs.clone()]).collect());
    world.flip(&newer);
    assert_eq!(named(&world), [newer.clone(), packs.clone()].into());
    world.destroy(&newer);
    assert_eq!(named(&world), [newer, packs].into());
}

#[test]
fn damage_to_what_nothing_needs_any_more_is_stale() {
    let (world, client, _) = begin();
    world.back_up(&client, &files(2, 3));
    let oldest = world.names("roots/").last().unwrap().clone();
    world.flip(&oldest);
    let stray = layout::segment(copal_format::id::ObjectHash([3; 32]));
    world.put(&stray, vec![1, 2, 3]);
    let report = world.check();
    assert_eq!(about(&report.findings, &oldest)[0].kind, Kind::Stale);
    assert_eq!(about(&report.findings, &stray)[0].kind, Kind::Stale);
}

#[test]
fn damage_to_records_is_found() {
    let (world, client, _) = begin();
    let snapshot = world.back_up(&client, &files(2, 3));
    world.change(&client, vec![Operation::Forget(vec![snapshot])]);
    world.prune(std::time::Duration::ZERO);
    world.back_up(&client, &files(3, 3));
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
    for prefix in ["copal/", "keys/", "clients/", "manifests/", "receipts/", "changes/", "deletions/"] {
        let name = world.names(prefix)[0].clone();
        let bytes = world.read(&name);
        world.flip(&name);
        assert!(!world.check().is_ok(), "{name} was flipped");
        world.destroy(&name);
        world.put(&name, bytes);
        assert!(world.check().is_ok(), "{name}: {:?}", world.check().findings);
    }
}

#[test]
fn records_that_are_gone_are_missed() {
    for prefix in ["copal/", "keys/", "clients/", "manifests/", "receipts/", "changes/"] {
        let (world, client, _) = begin();
        for seed in 2..4 {
            let snapshot = world.back_up(&client, &files(seed, 1));
            world.change(&client, vec![Operation::Pin(vec![snapshot])]);
        }
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
        let names = world.names(prefix);
        world.destroy(&names[0]);
        assert!(!world.check().is_ok(), "{} is gone", names[0]);
    }
}

#[test]
fn the_last_manifest_and_the_last_change_are_missed_too() {
    for prefix in ["manifests/", "changes/", "receipts/"] {
        let (world, client, _) = begin();
        let snapshot = world.back_up(&client, &files(2, 1));
        world.change(&client, vec![Operation::Pin(vec![snapshot])]);
        world.destroy(world.names(prefix).last().unwrap());
        world.wait(Duration::from_secs(3600));
        assert!(!world.check().is_ok(), "the last of {prefix} is gone");
    }
}

#[test]
fn a_manifest_that_was_rejected_or_waits_for_an_answer_is_no_damage() {
    let (world, client, _) = begin();
    for number in [2, 3] {
        world.put(&layout::manifest(client.id, number), b"no manifest".to_vec());
        assert_eq!(world.check().findings, []);
        world.ingest().unwrap();
        assert_eq!(world.receipt(&client, number).outcome, Outcome::Rejected);
        assert_eq!(world.check().findings, []);
    }
}

#[test]
fn entries_of_a_pack_that_no_record_knows_are_told() {
    let (world, _, _) = begin();
    let name = world.packs(PackKind::Data).remove(0);
    let view = world.view();
    let pack = *view.state.packs.keys().find(|id| name.ends_with(&id.to_string())).unwrap();
    let mut proposal = Proposal::default();
    proposal.delta.packs.insert(pack, None);
    assert!(block_on(commit(&world.job(), &view, proposal)).unwrap().is_some());
    let report = world.check();
    assert!(report.findings.iter().any(|finding| finding.pack == Some(pack)), "{:?}", report.findings);
}
