//! Which copy counts, which it displaces, and which clients should upload again.

use super::kit::{Copy, Domain, Made, rules};
use super::*;

/// A kept page 100 that refers to chunk 1, which has these copies.
fn copies(packs: &[Made]) -> Domain {
    let mut all = packs.to_vec();
    all.push(Made::tree(9, &[(100, 1, &[1])]));
    Domain::of(&all)
}

fn whole(pack: u8) -> Made {
    Made::data(pack, &[(100, &[1])])
}

/// The pack whose copy of chunk 1 counts.
fn counts(packs: &[Made]) -> u8 {
    copies(packs).best(&[100])[0].1
}

#[test]
fn a_healthy_copy_counts_before_a_damaged_one_then_a_more_trusted_one() {
    assert_eq!(counts(&[whole(1).damaged(), whole(2).trusted(Trust::Excluded)]), 2);
    assert_eq!(counts(&[whole(1), whole(2).trusted(Trust::Claimed).accepted(1)]), 1);
    assert_eq!(counts(&[whole(1).trusted(Trust::Doubted), whole(2).trusted(Trust::Excluded).accepted(1)]), 1);
}

#[test]
fn among_unproven_copies_the_first_accepted_counts_and_among_proven_ones_the_last() {
    let unproven = |pack| whole(pack).trusted(Trust::Claimed);
    assert_eq!(counts(&[unproven(1).accepted(3), unproven(2).accepted(4)]), 1);
    assert_eq!(counts(&[unproven(1).accepted(4), unproven(2).accepted(3)]), 2);
    assert_eq!(counts(&[whole(1).accepted(3), whole(2).accepted(4)]), 2);
    assert_eq!(counts(&[whole(1).accepted(4), whole(2).accepted(3)]), 1);
}

#[test]
fn among_proven_copies_an_unflagged_one_counts_then_the_one_with_the_largest_live_share() {
    let flagged = copies(&[whole(1), whole(2).accepted(5)]).flagged(99, &[(1, 2)]);
    assert_eq!(flagged.best(&[100]), [(1, 1), (100, 9)]);
    let sparse = Made::data(2, &[(100, &[1, 2])]).accepted(5);
    assert_eq!(counts(&[whole(1), sparse]), 1);
}

/// The copies that leave because of pack 2, and the number of unproven ones that do not count.
fn displaced(first: Made, second: Made) -> (Vec<Copy>, u64) {
    let domain = copies(&[first, second]);
    (domain.newly_flagged(&[100]), domain.plan(&[100]).unproven_copies)
}

#[test]
fn a_proven_copy_displaces_every_other() {
    for (trust, unproven) in [(Trust::Proven, 0), (Trust::Claimed, 1), (Trust::Doubted, 1), (Trust::Excluded, 1)] {
        assert_eq!(displaced(whole(1).trusted(trust), whole(2).accepted(5)), (vec![(1, 1)], unproven), "{trust:?}");
        assert_eq!(displaced(whole(1).trusted(trust).damaged(), whole(2)), (vec![(1, 1)], unproven), "{trust:?}");
    }
}

#[test]
fn an_unproven_copy_displaces_only_excluded_ones_that_are_no_older() {
    let excluded = |on| whole(1).trusted(Trust::Excluded).accepted(on);
    for trust in [Trust::Doubted, Trust::Claimed] {
        let by = || whole(2).trusted(trust).accepted(5);
        assert_eq!(displaced(excluded(4), by()), (vec![], 1), "{trust:?}");
        assert_eq!(displaced(excluded(5), by()), (vec![(1, 1)], 1), "{trust:?}");
        assert_eq!(displaced(excluded(6), by()), (vec![(1, 1)], 1), "{trust:?}");
        assert_eq!(displaced(whole(1).trusted(trust).accepted(6), by()), (vec![], 1), "{trust:?}");
    }
    assert_eq!(displaced(excluded(6), whole(2).trusted(Trust::Excluded).accepted(5)), (vec![], 1));
}

#[test]
fn a_damaged_copy_displaces_nothing() {
    assert_eq!(displaced(whole(1).trusted(Trust::Claimed).damaged(), whole(2).damaged()), (vec![], 1));
}

#[test]
fn a_copy_that_counts_is_wanted_if_it_is_damaged_excluded_or_doubted() {
    let wanted = |pack: Made| copies(&[pack]).wanted(&[100]);
    assert_eq!(wanted(whole(1)), []);
    assert_eq!(wanted(whole(1).damaged()), [(1, 1)]);
    assert_eq!(wanted(whole(1).trusted(Trust::Claimed)), []);
    assert_eq!(wanted(whole(1).trusted(Trust::Doubted)), [(1, 1)]);
    assert_eq!(wanted(whole(1).trusted(Trust::Excluded)), [(1, 1)]);
    let garbage = Domain::of(&[whole(1).trusted(Trust::Doubted).damaged()]);
    assert_eq!(garbage.wanted(&[]), []);
}

#[test]
fn a_doubtful_copy_that_nothing_displaces_is_wanted_although_another_counts() {
    let older = whole(1).trusted(Trust::Excluded);
    assert_eq!(copies(&[older, whole(2).trusted(Trust::Claimed).accepted(5)]).wanted(&[100]), [(1, 1)]);
}

/// A block of 400 bytes with these live chunks, and enough dead ones to make four.
fn block(live: &[u8]) -> Made {
    let dead = [50, 51, 52, 53];
    Made::data(1, &[(400, &[live, &dead[live.len()..]].concat())])
}

/// The copies that the plan asks clients to upload again. Page 100 refers to chunks 1 to 4; `trapped_most` says how
/// many dead bytes may stay trapped in live blocks, in percent of the live bytes.
fn trapped(packs: &[Made], trapped_most: u32) -> Vec<Copy> {
    let mut all = packs.to_vec();
    all.push(Made::tree(9, &[(100, 1, &[1, 2, 3, 4])]));
    Domain::of(&all).wanted_by(&[100], &Rules { trapped_most, ..rules() })
}

#[test]
fn live_chunks_of_a_mostly_dead_block_are_wanted_and_of_others_while_too_much_is_trapped() {
    assert_eq!(trapped(&[block(&[1])], 1000), [(1, 1)]);
    // 200 of 400 bytes are live, and a page of one byte.
    assert_eq!(trapped(&[block(&[1, 2])], 100), []);
    assert_eq!(trapped(&[block(&[1, 2])], 99), [(1, 1), (2, 1)]);
    assert_eq!(trapped(&[block(&[1, 2, 3, 4])], 0), []);
    assert_eq!(trapped(&[block(&[1]).damaged()], 0), [(1, 1)], "since it is damaged");
}

#[test]
fn a_sparse_block_is_not_wanted_again_while_an_upload_of_it_may_yet_be_proven() {
    let upload = || Made::data(2, &[(100, &[1])]).accepted(5);
    let heir = copies(&[block(&[1]), upload().trusted(Trust::Claimed)]);
    assert_eq!((heir.wanted(&[100]), heir.newly_flagged(&[100])), (vec![], vec![(51, 1), (52, 1), (53, 1)]));
    let damaged = copies(&[block(&[1]), upload().trusted(Trust::Claimed).damaged()]);
    assert_eq!(damaged.wanted(&[100]), [(1, 1)]);
    let doubted = copies(&[block(&[1]), upload().trusted(Trust::Doubted)]);
    assert_eq!(doubted.wanted(&[100]), [(1, 1)]);
}

#[test]
fn blocks_with_the_smallest_live_share_are_rewritten_first_and_those_of_one_share_together() {
    let blocks: [(usize, &[u8]); 4] =
        [(400, &[1, 2, 3, 50]), (400, &[4, 5, 51, 52]), (400, &[6, 7, 53, 54]), (299, &[8])];
    let domain = Domain::of(&[Made::data(1, &blocks), Made::tree(9, &[(100, 1, &[1, 2, 3, 4, 5, 6, 7, 8])])]);
    let plan = domain.plan(&[100]);
    // 1000 bytes are live, 500 dead ones are trapped. Rewriting one half-dead block leaves 300, rewriting both leaves 100.
    let blocks = |trapped_most, most| -> Vec<u32> {
        sparse_blocks(&domain.inventory, &plan, trapped_most, most).into_keys().collect()
    };
    assert_eq!(blocks(50, u64::MAX), []);
    assert_eq!(blocks(49, u64::MAX), [1, 2]);
    assert_eq!(blocks(10, u64::MAX), [1, 2]);
    assert_eq!(blocks(9, u64::MAX), [0, 1, 2]);
    assert_eq!(blocks(0, 400), [1, 2]);
    assert_eq!(blocks(0, 399), [1]);
    assert_eq!(sparse_blocks(&domain.inventory, &plan, 49, 200)[&1].len(), 2, "the live copies");
}

#[test]
fn a_damaged_block_is_not_rewritten() {
    let domain = copies(&[block(&[1]).damaged()]);
    assert!(sparse_blocks(&domain.inventory, &domain.plan(&[100]), 0, u64::MAX).is_empty());
}
