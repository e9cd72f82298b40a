//! Which packs die and which are repacked.

use super::kit::{Domain, Made, days, rules};
use super::*;

/// These packs, and a kept page that refers to the chunks with numbers under 50.
fn domain(packs: &[Made]) -> Domain {
    let mut all = packs.to_vec();
    all.push(Made::tree(99, &[(100, 1, &(0..50).collect::<Vec<u8>>())]));
    Domain::of(&all)
}

/// A pack with blocks of this many live and dead bytes; its live chunk has the pack's number.
fn pack(number: u8, live: usize, dead: usize) -> Made {
    Made::data(number, &[(live, &[number]), (dead, &[50 + number])])
}

/// The plan for these packs, whose dead chunks have waited out the grace period. Page 100 is kept.
fn planned(packs: &[Made], rules: &Rules) -> Plan {
    let dead: Vec<(u8, u8)> = packs.iter().map(|pack| (50 + pack.item.id.0[0], pack.item.id.0[0])).collect();
    domain(packs).flagged(1, &dead).plan_by(&[100], rules)
}

fn rewritten(packs: &[Made], rules: &Rules) -> Vec<u32> {
    planned(packs, rules).rewritten.into_iter().map(|(pack, _)| pack).collect()
}

#[test]
fn a_pack_dies_with_its_last_copy_and_frees_its_whole_length() {
    let dead = Made::data(1, &[(300, &[51]), (100, &[52])]);
    let domain = |flagged: &[(u8, u8)]| domain(std::slice::from_ref(&dead)).flagged(1, flagged).plan(&[100]);
    let plan = domain(&[(51, 1), (52, 1)]);
    assert_eq!((plan.dead_packs, plan.freed_bytes, plan.dead_bytes), (vec![0], dead.item.length, 400));
    let plan = domain(&[(51, 1)]);
    assert_eq!((plan.dead_packs, plan.dead_bytes, plan.trapped_bytes), (vec![], 300, 100));
}

#[test]
fn a_pack_with_more_dead_than_live_bytes_is_repacked() {
    let plan = planned(&[pack(1, 100, 101)], &rules());
    assert_eq!(plan.rewritten, [(0, vec![0])]);
    assert_eq!((plan.copied_bytes, plan.freed_bytes, plan.postponed_bytes), (100, 101, 0));
    assert_eq!(rewritten(&[pack(1, 100, 100)], &rules()), []);
    let with_target = |target| rewritten(&[pack(1, 100, 101)], &Rules { pack_target: [target, 0], ..rules() });
    assert_eq!(with_target(1 << 20), [0], "although it is the only small one");
}

#[test]
fn packs_that_are_damaged_unproven_or_younger_than_the_floor_are_not_repacked() {
    let mostly_dead = || pack(1, 100, 300);
    assert_eq!(rewritten(&[mostly_dead().accepted(80)], &rules()), [0]);
    assert_eq!(rewritten(&[mostly_dead().accepted(81)], &rules()), []);
    assert_eq!(rewritten(&[mostly_dead().damaged()], &rules()), []);
    assert_eq!(rewritten(&[mostly_dead().trusted(Trust::Claimed)], &rules()), []);
}

#[test]
fn other_packs_are_repacked_from_the_smallest_live_share_on_until_few_dead_bytes_remain() {
    // 1001 bytes are live and 500 dead.
    let packs = [pack(1, 400, 300), pack(2, 300, 50), pack(3, 300, 150)];
    let at_most = |dead_most| rewritten(&packs, &Rules { dead_most, ..rules() });
    assert_eq!(at_most(50), []);
    assert_eq!(at_most(49), [0]);
    assert_eq!(at_most(20), [0]);
    assert_eq!(at_most(19), [0, 2]);
    assert_eq!(at_most(4), [0, 1, 2]);
    let with_a_mostly_dead_one = [&packs[..], &[pack(4, 1, 2)]].concat();
    assert_eq!(rewritten(&with_a_mostly_dead_one, &Rules { dead_most: 50, ..rules() }), [3]);
    assert_eq!(rewritten(&[pack(1, 100, 100)], &Rules { dead_most: 99, ..rules() }), [0]);
}

#[test]
fn small_packs_of_one_kind_are_merged_once_there_are_eight() {
    let small = |count: u8| -> Vec<Made> { (1..=count).map(|pack| Made::data(pack, &[(100, &[pack])])).collect() };
    let length = small(1)[0].item.length;
    let targets = |data, tree| Rules { pack_target: [data, tree], ..rules() };
    assert_eq!(rewritten(&small(8), &targets(4 * (length + 1), 0)).len(), 8);
    assert_eq!(rewritten(&small(7), &targets(4 * (length + 1), 0)).len(), 0);
    assert_eq!(rewritten(&small(8), &targets(4 * length, 0)).len(), 0);
    assert_eq!(rewritten(&small(8), &targets(0, 4 * (length + 1))).len(), 0, "these are packs of chunks");
}

#[test]
fn a_pack_beyond_the_limit_of_bytes_is_postponed_and_smaller_ones_still_fit() {
    let packs = [pack(1, 100, 500), pack(2, 200, 700), pack(3, 50, 60)];
    let plan = planned(&packs, &Rules { rewrite_most: 150, ..rules() });
    assert_eq!(plan.rewritten, [(0, vec![0]), (2, vec![4])]);
    assert_eq!((plan.copied_bytes, plan.postponed_bytes, plan.freed_bytes), (150, 200, 560));
}

#[test]
fn after_the_limit_of_entries_no_further_pack_is_copied() {
    let packs = [pack(1, 100, 500), pack(2, 200, 700), pack(3, 50, 60)];
    let at_most = |rewrite_entries| rewritten(&packs, &Rules { rewrite_entries, ..rules() });
    assert_eq!(at_most(3), [0, 1, 2]);
    assert_eq!(at_most(2), [0, 1]);
    assert_eq!(at_most(0), []);
}

#[test]
fn blocks_with_a_copy_that_no_root_names_yet_are_not_counted_as_copied() {
    let packs = [Made::data(1, &[(100, &[1]), (30, &[2]), (500, &[51])])];
    let domain = domain(&packs).flagged(1, &[(51, 1)]);
    let plan = domain.plan_copied(&[100], |block| block == 0, &Rules { rewrite_most: 30, ..rules() });
    assert_eq!((plan.rewritten, plan.copied_bytes), (vec![(0, vec![0, 1])], 30));
}

#[test]
fn without_a_floor_a_pack_is_repacked_as_soon_as_it_is_accepted() {
    let at_once = Rules { floor: days(0), ..rules() };
    assert_eq!(rewritten(&[pack(1, 100, 300).accepted(100)], &at_once), [0]);
}
