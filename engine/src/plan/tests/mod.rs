//! What must stay true of plans.

mod choice;
mod kit;
mod packs;

use super::*;
use kit::{Domain, Made, day, days, id, rules};

#[test]
fn a_copy_leaves_the_index_only_after_it_was_flagged_for_the_grace_period() {
    let garbage = || Domain::of(&[Made::data(1, &[(100, &[1])])]);
    assert_eq!((garbage().removed(&[]), garbage().newly_flagged(&[])), (vec![], vec![(1, 1)]));
    assert_eq!(garbage().flagged(91, &[(1, 1)]).removed(&[]), []);
    assert_eq!(garbage().flagged(90, &[(1, 1)]).removed(&[]), [(1, 1)]);
    assert_eq!(garbage().flagged(91, &[(1, 1)]).newly_flagged(&[]), [], "the flag stays as old as it was");
}

#[test]
fn a_flag_from_the_future_has_not_waited_even_without_a_grace_period() {
    let at_once = Rules { grace: days(0), ..rules() };
    let flagged = |on| Domain::of(&[Made::data(1, &[(100, &[1])])]).flagged(on, &[(1, 1)]);
    assert_eq!(flagged(100).removed_by(&[], &at_once), [(1, 1)]);
    assert_eq!(flagged(101).removed_by(&[], &at_once), []);
}

#[test]
fn a_copy_flagged_up_to_the_spared_time_is_not_removed() {
    let spared = Rules { spared: Some(day(50)), ..rules() };
    let flagged = |on| Domain::of(&[Made::data(1, &[(100, &[1])])]).flagged(on, &[(1, 1)]);
    assert_eq!(flagged(50).removed_by(&[], &spared), []);
    assert_eq!(flagged(51).removed_by(&[], &spared), [(1, 1)]);
}

#[test]
fn a_copy_that_a_kept_snapshot_refers_to_loses_its_flag() {
    let packs = [Made::data(1, &[(100, &[1, 2])]), Made::tree(2, &[(100, 1, &[1])])];
    let domain = Domain::of(&packs).flagged(1, &[(1, 1), (2, 1), (100, 2)]);
    assert_eq!(domain.removed(&[100]), [(2, 1)]);
    let marks = domain.plan(&[100]).marks;
    assert_eq!(domain.copies(|copy| marks.get(copy).flagged.is_some()), []);
}

#[test]
fn nothing_is_removed_that_a_staying_page_refers_to() {
    let packs = [Made::data(1, &[(100, &[1])]), Made::tree(2, &[(100, 1, &[1])]), Made::tree(3, &[(100, 1, &[1])])];
    let domain = |on| Domain::of(&packs).flagged(1, &[(1, 1), (100, 3)]).flagged(on, &[(100, 2)]);
    assert_eq!(domain(1).removed(&[]), [(1, 1), (100, 2), (100, 3)]);
    assert_eq!(domain(99).removed(&[]), [(100, 3)], "another copy of the page stays");
}

#[test]
fn the_references_of_a_page_that_no_snapshot_needs_are_absent_but_not_lost() {
    let domain = Domain::of(&[Made::tree(1, &[(100, 1, &[1, 2]), (101, 1, &[2, 3])])]);
    let plan = domain.plan(&[100, 102]);
    assert_eq!(plan.lost, [id(1), id(2), id(102)]);
    assert_eq!(plan.absent, [id(1), id(2), id(3), id(102)]);
}

#[test]
fn nothing_is_removed_below_an_unread_page() {
    let packs = [Made::data(1, &[(100, &[1, 2])]), Made::tree(2, &[(100, 1, &[1])])];
    let domain =
        || Domain::with_tables(&packs, |pack| (pack.item.id.0[0] != 2).then_some(&pack.table)).flagged(1, &[(1, 1)]);
    let kept = domain().plan(&[100]);
    assert_eq!((kept.unread, domain().removed(&[100])), (vec![id(100)], vec![]));
    let flagged = |of: &Domain| of.copies(|copy| kept.marks.get(copy).flagged == Some(day(1)));
    assert_eq!(flagged(&domain()), [(1, 1)], "marks stay as they are");
    assert_eq!(domain().plan(&[]).unread, [id(100)], "the page stays until it has waited");
    assert_eq!(domain().removed(&[]), []);
    assert_eq!(domain().flagged(1, &[(100, 2)]).removed(&[]), [(1, 1), (100, 2)]);
}

#[test]
fn a_displaced_copy_waits_for_the_floor_as_well() {
    let packs = [
        Made::data(1, &[(100, &[1])]).trusted(Trust::Claimed),
        Made::data(2, &[(100, &[1])]),
        Made::tree(3, &[(100, 1, &[1])]),
    ];
    let flagged = |on| Domain::of(&packs).flagged(on, &[(1, 1)]);
    assert_eq!(flagged(81).removed(&[100]), []);
    assert_eq!(flagged(80).removed(&[100]), [(1, 1)]);
    let patient = Rules { grace: days(30), ..rules() };
    assert_eq!(flagged(71).removed_by(&[100], &patient), []);
    assert_eq!(flagged(70).removed_by(&[100], &patient), [(1, 1)]);
}

/// The packs from which a plan removes chunk 1. Its copies in `due` (packs 1 and 2) have waited; that in `staying` (pack 3)
/// and page 100, which refers to the chunk, have not.
fn removed_beside(staying: Made, due: [Made; 2]) -> Vec<u8> {
    let [first, second] = due;
    let domain = Domain::of(&[first, second, staying, Made::tree(4, &[(100, 1, &[1])])]);
    let removed = domain.flagged(1, &[(1, 1), (1, 2)]).flagged(99, &[(100, 4), (1, 3)]).removed(&[]);
    removed.into_iter().map(|(_, pack)| pack).collect()
}

fn copy_in(pack: u8) -> Made {
    Made::data(pack, &[(100, &[1])])
}

#[test]
fn all_due_copies_leave_if_one_stays_that_is_proven_or_no_younger_than_they() {
    let due = || [copy_in(1).accepted(5), copy_in(2).accepted(7)];
    assert_eq!(removed_beside(copy_in(3).accepted(9), due()), [1, 2]);
    for trust in [Trust::Claimed, Trust::Doubted] {
        assert_eq!(removed_beside(copy_in(3).trusted(trust).accepted(5), due()), [1, 2]);
        assert_eq!(removed_beside(copy_in(3).trusted(trust).accepted(6), due()), [2], "the older one is spared");
    }
    assert_eq!(removed_beside(copy_in(3).trusted(Trust::Excluded), due()), [2]);
    assert_eq!(removed_beside(copy_in(3).damaged(), due()), [2]);
}

#[test]
fn a_damaged_copy_makes_no_other_seem_younger_and_is_not_spared() {
    let due = || [copy_in(1).accepted(1).damaged(), copy_in(2).accepted(5)];
    assert_eq!(removed_beside(copy_in(3).trusted(Trust::Claimed).accepted(4), due()), [1, 2]);
    assert_eq!(removed_beside(copy_in(3).trusted(Trust::Claimed).accepted(6), due()), [1]);
    assert_eq!(removed_beside(copy_in(3).damaged(), [copy_in(1).damaged(), copy_in(2).damaged()]), []);
}

#[test]
fn the_most_trusted_copy_is_spared_then_the_last_flagged_then_the_oldest() {
    let spares_of = |due: [Made; 2]| match removed_beside(copy_in(3).damaged(), due)[..] {
        [1] => 2,
        [2] => 1,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(spares_of([copy_in(1).trusted(Trust::Claimed), copy_in(2).accepted(9)]), 2);
    assert_eq!(spares_of([copy_in(1), copy_in(2).trusted(Trust::Claimed)]), 1);
    assert_eq!(spares_of([copy_in(1).accepted(3), copy_in(2).accepted(4)]), 1);
    assert_eq!(spares_of([copy_in(1).accepted(4), copy_in(2).accepted(3)]), 2);
}

#[test]
fn copies_of_a_chunk_that_no_page_refers_to_leave_each_in_its_own_time() {
    let packs = [copy_in(1), copy_in(2).trusted(Trust::Excluded)];
    assert_eq!(Domain::of(&packs).flagged(1, &[(1, 1), (1, 2)]).removed(&[]), [(1, 1), (1, 2)]);
    assert_eq!(Domain::of(&packs).flagged(1, &[(1, 1)]).flagged(99, &[(1, 2)]).removed(&[]), [(1, 1)]);
}
