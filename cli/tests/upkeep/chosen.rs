//! A check of some snapshots.

use crate::kit::{Harm, Machine, noise, number, text};

/// A machine that has saved `a` and `b`, with packs of their own; the packs with b's data.
fn two() -> (Machine, [String; 2], Vec<String>) {
    let machine = Machine::new();
    let save = |name: &str, seed| {
        std::fs::create_dir(machine.path(name)).unwrap();
        std::fs::write(machine.path(name).join("file"), noise(seed, 200_000)).unwrap();
        text(&machine.json(&["backup", name, "--host", name, "--tag", name])["snapshot_id"])
    };
    let a = save("a", 1);
    let before = machine.packs(0);
    let b = save("b", 2);
    let packs = machine.packs(0).into_iter().filter(|pack| !before.contains(pack)).collect();
    (machine, [a, b], packs)
}

#[test]
fn only_packs_that_the_chosen_snapshots_need_are_read() {
    let (machine, ids, packs) = two();
    machine.damage(&packs[0], Harm::Flip);
    let all = machine.names("packs/").len() as u64;
    for choice in [&["--host", "a"][..], &["--tag", "a"], &[&ids[0]], &["--path", "a"]] {
        for depth in ["--read-data", "--full"] {
            let ran = machine.run(&[&["check", "--json", depth], choice].concat()).ok();
            assert!(number(&ran, "snapshots_checked") == 1 && number(&ran, "packs_read") < all, "{choice:?} {ran}");
        }
    }
    let told = machine.run(&["check", "--host", "a"]).ok().text();
    assert!(told.contains("1 snapshot walked; data and trees that only others need were not looked at"), "{told}");
    let (code, report) = machine.check(&["--read-data", &ids[1]]);
    let error = &report["errors"][0];
    assert_eq!((code, text(&error["object"]), text(&error["snapshots"][0])), (4, packs[0].clone(), ids[1].clone()));
    assert!(text(&error["paths"][0]).ends_with("b/file"), "{report}");
}

#[test]
fn a_page_that_only_others_need_is_not_looked_at_and_ones_own_is() {
    let (machine, ids, _) = two();
    let trees = machine.packs(1);
    let own = |id: &String| machine.run(&["check", "--json", id]);
    let codes = |at: usize| {
        let kept = std::fs::read(machine.object(&trees[at])).unwrap();
        // Within the first block of pages.
        machine.flip(&trees[at], 100);
        let codes = [own(&ids[0]).code, own(&ids[1]).code];
        machine.replace(&trees[at], &kept);
        codes
    };
    let mut found: Vec<[i32; 2]> = (0..trees.len()).map(codes).collect();
    found.sort_unstable();
    assert_eq!(found, [[0, 4], [4, 0]]);
}

#[test]
fn what_is_gone_is_damage_whoever_needs_it_and_a_choice_of_nothing_is_none() {
    let (machine, ids, packs) = two();
    for wrong in [&["check", "--host", "c"][..], &["check", "ffff"], &["check", "--before", "2001-01-01"]] {
        assert_eq!(machine.run(&[wrong, &["--json"]].concat()).exits(1).kind(), "no_snapshot", "{wrong:?}");
    }
    for wrong in [&["--host", "a"][..], &[&ids[0]]] {
        machine.run(&[&["check", "--read-data-share", "1/2"], wrong].concat()).exits(2);
    }
    machine.damage(&packs[0], Harm::Delete);
    let (code, report) = machine.check(&["--host", "a"]);
    assert_eq!((code, text(&report["errors"][0]["snapshots"][0])), (4, ids[1].clone()), "{report}");
}
