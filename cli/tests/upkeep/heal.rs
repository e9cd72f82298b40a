//! What heals, what repair can mend, and building the index again.

use crate::kit::{Harm, Place, noise};

fn one() -> Place {
    let place = Place::new();
    place.write("a/file", noise(1, 200_000));
    place.write("b/file", noise(2, 100_000));
    place.backup(&[]);
    place
}

fn packs_of_kind(place: &Place, kind: u8) -> Vec<String> {
    let objects = place.objects().into_iter();
    objects.filter(|(name, bytes)| name.starts_with("packs/") && bytes[9] == kind).map(|(name, _)| name).collect()
}

#[test]
fn what_a_source_still_has_heals_with_its_next_backup() {
    for kind in [0, 1] {
        for harm in [Harm::Delete, Harm::Flip, Harm::Truncate] {
            let place = one();
            place.damage(&packs_of_kind(&place, kind)[0], harm);
            assert_eq!(place.check(&["--read-data"]).0, 4, "kind {kind} {harm:?}");
            let lost = place.run(&["repair", "--json"]);
            assert!(lost.code == 4 && !lost.out.contains("\"lost\":0"), "kind {kind} {harm:?}: {lost:?}");
            place.backup(&[]);
            if kind == 1 {
                // Of the pages those are lost that told of what has changed since: other files came to lie beside.
                let older = place.snapshots().remove(0);
                place.ok(&["forget", &older]);
            }
            let (code, report) = place.check(&["--full"]);
            assert_eq!(code, 0, "kind {kind} {harm:?}: {report}");
            let healed = place.json(&["repair"]);
            let count = healed["healed"].as_u64().unwrap();
            assert!((count > 0 || kind == 1) && healed["lost"] == 0, "kind {kind} {harm:?}: {healed}");
            place.ok(&["prune", "--grace", "0s"]);
            let (code, report) = place.check(&["--full"]);
            assert_eq!(code, 0, "kind {kind} {harm:?}: {report}");
        }
    }
}

/// Of a file with many chunks the tree names a list, which may be whole while what it lists is lost.
#[test]
fn what_is_lost_of_a_huge_unchanged_file_heals_too() {
    let place = Place::new();
    place.write("huge", noise(3, 8 << 20));
    let huge = std::fs::File::options().append(true).open(place.path("source").join("huge")).unwrap();
    // Long enough ago that it is taken to be unchanged, and not just in case read again.
    huge.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
    place.backup(&["--ignore-ctime"]);
    place.damage(&packs_of_kind(&place, 0)[0], Harm::Delete);
    assert_eq!(place.check(&[]).0, 4);
    place.backup(&["--ignore-ctime"]);
    let (code, report) = place.check(&["--full"]);
    assert_eq!(code, 0, "{report}");
}

#[test]
fn repair_says_what_is_lost_and_which_backup_brings_it_back() {
    let place = one();
    place.damage(&packs_of_kind(&place, 0)[0], Harm::Delete);
    place.check(&[]);
    let run = place.run(&["repair"]);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.out.contains("still lost") && run.out.contains("/source/a/file"), "{run:?}");
    assert!(run.err.contains("on tester, \"copal backup ") && run.err.contains("source\" brings back"), "{run:?}");
}

#[test]
fn a_pack_that_comes_back_is_believed_again() {
    let place = one();
    let name = packs_of_kind(&place, 0).remove(0);
    let kept = place.path("kept");
    std::fs::rename(place.object(&name), &kept).unwrap();
    assert_eq!(place.check(&[]).0, 4);
    std::fs::rename(&kept, place.object(&name)).unwrap();
    let healed = place.json(&["repair"]);
    assert!(healed["healed"].as_u64().unwrap() > 0 && healed["lost"] == 0, "{healed}");
    assert_eq!(place.check(&["--full"]).0, 0);
}

#[test]
fn a_missing_copy_of_a_key_slot_is_written_again_and_a_damaged_one_is_told() {
    let place = one();
    let copies = place.names("keys/");
    place.damage(&copies[0], Harm::Delete);
    assert_eq!(place.check(&[]).0, 4);
    assert_eq!(place.json(&["repair"])["restored"][0], copies[0].as_str());
    assert_eq!(place.check(&[]).0, 0);
    place.damage(&copies[1], Harm::Flip);
    let run = place.run(&["repair"]);
    assert!(run.code == 4 && run.out.contains(&copies[1]), "{run:?}");
}

#[test]
fn the_index_is_built_again_from_packs_and_manifests() {
    let place = one();
    place.write("c", noise(3, 50_000));
    place.backup(&[]);
    place.ok(&["tag", "latest", "--add", "gold"]);
    let forgotten = place.snapshots().remove(0);
    place.ok(&["forget", &forgotten]);
    let before = place.json(&["snapshots"]);
    for folder in ["roots", "state", "index"] {
        std::fs::remove_dir_all(place.object(folder)).unwrap();
    }
    let report = place.json(&["rebuild-index"]);
    assert_eq!((&report["lost"], &report["snapshots"]), (&0.into(), &1.into()), "{report}");
    assert_eq!(place.json(&["snapshots"]), before);
    let (code, check) = place.check(&["--full"]);
    assert_eq!(code, 0, "{check}");
    place.ok(&["undelete", &forgotten]);
    place.backup(&[]);
    assert_eq!(place.snapshots().len(), 3);
}

#[test]
fn a_lost_root_or_run_is_made_again() {
    for prefix in ["roots/", "index/"] {
        let place = one();
        let before = place.json(&["snapshots"]);
        place.damage(&place.names(prefix)[0], Harm::Flip);
        let run = place.run(&["snapshots"]);
        assert!(prefix == "index/" || (run.code == 4 && run.err.contains("rebuild-index")), "{prefix} {run:?}");
        place.ok(&["rebuild-index"]);
        assert_eq!(place.json(&["snapshots"]), before, "{prefix}");
    }
}

#[test]
fn ingest_has_nothing_to_say_where_all_is_decided() {
    let place = one();
    let report = place.json(&["ingest"]);
    assert_eq!((&report["accepted"], &report["rejected"], &report["waiting"]), (&0.into(), &0.into(), &0.into()));
    place.damage(&place.names("manifests/")[0], Harm::Delete);
    assert_eq!(place.run(&["ingest"]).code, 0);
}
