//! Misread: a pack's table that reads as damaged is compared with the index only once its pack has its hash.

use std::collections::BTreeSet;

use copal_format::pack::PackKind;
use copal_jobs::error::JobError;
use copal_jobs::prune::{self, Options};
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_tests::kit::DAY;
use futures::executor::block_on;

use super::contradicted::{Begun, at_once, begin, leave_out_entries, write};

/// Prunes on a store that gives other bytes where a part of a pack is read for the first time.
fn prune_misread(begun: &Begun) -> Result<prune::Report, JobError> {
    let mut misread = BTreeSet::new();
    let store = Fault::new(&begun.world.store, move |call| {
        let is_part = call.op == Op::ReadRange && call.key.starts_with("packs/");
        match is_part && misread.insert(call.key.to_owned()) {
            true => Fate::corrupt(|bytes| bytes.iter_mut().for_each(|byte| *byte ^= 1)),
            false => Fate::Proceed,
        }
    });
    let options = Options { grace: 9 * DAY, ..Options::new([4096, 3072]) };
    block_on(prune::prune(&begun.world.job_of(&store), &options))
}

#[test]
fn tables_that_are_misread_once_neither_refuse_a_sound_index_nor_let_a_forged_one_pass() {
    let begun = begin(false);
    prune_misread(&begun).unwrap();
    assert_eq!(begun.world.restore(begun.kept).as_ref(), Ok(&begun.tree));
    let begun = begin(false);
    write(&begun, &|_, view, proposal| leave_out_entries(view, proposal, |_| true));
    let pruned = prune_misread(&begun);
    assert!(matches!(pruned, Err(JobError::Contradicted { .. })), "{pruned:?}");
}

#[test]
fn a_new_pack_that_is_damaged_stops_no_prune() {
    let begun = begin(true);
    let known = begun.world.view().state.packs;
    begun.world.back_up(&begun.client, &copal_tests::kit::noise(5, 4, 3000));
    let state = begun.world.view().state;
    let is_new = |name: &String| known.keys().all(|id| !name.ends_with(&id.to_string()));
    let new: Vec<String> = begun.world.packs(PackKind::Data).into_iter().filter(is_new).collect();
    assert!(!new.is_empty() && state.packs.len() > known.len());
    let damage: [fn(&mut Vec<u8>); 2] = [|bytes| *bytes.last_mut().unwrap() ^= 1, |bytes| bytes.truncate(40)];
    for damage in damage {
        begun.world.store.corrupt(&copal_tests::kit::repository::key(&new[0]), damage).unwrap();
        begun.world.try_prune(&Options { grace: 9 * DAY, ..at_once() }).unwrap();
    }
    assert_eq!(begun.world.restore(begun.kept).as_ref(), Ok(&begun.tree));
    assert!(begun.world.view().state.packs.values().any(|record| record.is_damaged));
}
