//! Ledger: what counts, for whom and for how long.

use std::cell::Cell;

use axum::http::StatusCode;

use super::*;

const OWN: ClientId = ClientId([1; 16]);
const NEIGHBOUR: ClientId = ClientId([2; 16]);

fn asker(client: ClientId, now: u64, root: &str) -> Asker<'_> {
    Asker { client, domain: DomainId([9; 16]), now, root, is_presigned: false, has_come: false }
}

fn pack(number: u32) -> PackId {
    let mut id = [0; 32];
    id[..4].copy_from_slice(&number.to_le_bytes());
    PackId(id)
}

fn packs<const N: usize>(packs: [(u32, u64); N]) -> BTreeMap<PackId, u64> {
    packs.into_iter().map(|(number, length)| (pack(number), length)).collect()
}

fn refused() -> Problem {
    Problem::new("quota", StatusCode::FORBIDDEN, "too much".to_owned())
}

/// The bytes that count besides these packs, asked for without noting any.
fn besides(ledger: &Ledger, asker: Asker<'_>, of: &BTreeMap<PackId, u64>, known: &[u32]) -> (u64, u64) {
    let seen = Cell::new(Uploaded::default());
    let is_known = |id: &PackId| known.iter().any(|number| pack(*number) == *id);
    let judge = |uploaded| {
        seen.set(uploaded);
        Err(refused())
    };
    assert!(ledger.note(asker, of, is_known, judge).is_err());
    (seen.get().unknown, seen.get().today)
}

fn note(ledger: &Ledger, asker: Asker<'_>, of: &BTreeMap<PackId, u64>) -> Result<(), Problem> {
    ledger.note(asker, of, |_| false, |_| Ok(()))
}

/// Looks for overdue uploads in a store that has these packs; gives how many were overdue.
fn search(ledger: &Ledger, asker: Asker<'_>, stored: &[u32]) -> usize {
    let is_stored = |id: &PackId| stored.iter().any(|number| pack(*number) == *id);
    let sought: Vec<_> = ledger.overdue(asker).into_iter().map(|id| (id, is_stored(&id))).collect();
    ledger.sought(asker, &sought);
    sought.len()
}

#[test]
fn an_upload_counts_once_for_its_domain_and_a_day_for_its_client() {
    let ledger = Ledger::default();
    for at in [0, 1] {
        note(&ledger, asker(OWN, 1_000 + at, ""), &packs([(1, 10), (2, 5)])).unwrap();
    }
    let other = packs([(3, 1)]);
    assert_eq!(besides(&ledger, asker(OWN, 1_100, "r"), &other, &[]), (15, 15));
    assert_eq!(besides(&ledger, asker(OWN, 1_100, "r"), &packs([(2, 5), (3, 1)]), &[]), (10, 10));
    assert_eq!(besides(&ledger, asker(NEIGHBOUR, 1_100, "r"), &other, &[]), (15, 0));
    assert_eq!(besides(&ledger, asker(NEIGHBOUR, 1_100, "r"), &packs([(2, 5)]), &[]), (10, 0));
    let stranger = Asker { domain: DomainId([8; 16]), ..asker(OWN, 1_100, "r") };
    assert_eq!(besides(&ledger, stranger, &other, &[]), (0, 0));
    assert_eq!(besides(&ledger, asker(OWN, 1_001 + DAY, "r"), &other, &[]), (15, 0));
    assert_eq!(besides(&ledger, asker(OWN, 1_001 + ORPHANS, "r"), &other, &[]), (0, 0));
}

#[test]
fn what_a_clock_that_was_ahead_has_allowed_does_not_count_for_the_day() {
    let (ledger, ahead, other) = (Ledger::default(), 100_000 + 30 * DAY, packs([(2, 1)]));
    note(&ledger, asker(OWN, ahead, "r"), &packs([(1, 10)])).unwrap();
    assert_eq!(besides(&ledger, asker(OWN, ahead, "r"), &other, &[]), (10, 10));
    assert_eq!(besides(&ledger, asker(OWN, 100_000, "r"), &other, &[]), (10, 0), "the clock was set right");
}

#[test]
fn what_a_root_knows_it_counts_itself() {
    let ledger = Ledger::default();
    note(&ledger, asker(OWN, 1_000, "r1"), &packs([(1, 10), (2, 5)])).unwrap();
    assert_eq!(besides(&ledger, asker(OWN, 1_001, "r2"), &packs([(3, 1)]), &[1]), (5, 5));
    ledger.note(asker(OWN, 1_002, "r2"), &packs([(1, 10)]), |id| *id == pack(1), |_| Ok(())).unwrap();
    assert_eq!(besides(&ledger, asker(OWN, 1_003, "r2"), &packs([(3, 1)]), &[1]), (5, 5));
}

#[test]
fn a_pack_that_is_asked_for_again_does_not_become_shorter() {
    let ledger = Ledger::default();
    note(&ledger, asker(OWN, 1_000, ""), &packs([(1, 1_000)])).unwrap();
    assert_eq!(besides(&ledger, asker(OWN, 1_001, ""), &packs([(1, 40)]), &[]), (960, 960));
    note(&ledger, asker(OWN, 1_002, ""), &packs([(1, 40)])).unwrap();
    assert_eq!(besides(&ledger, asker(OWN, 1_003, ""), &packs([(2, 1)]), &[]), (1_000, 1_000));
}

#[test]
fn a_client_holds_so_many_uploads_and_others_are_not_held_up() {
    let ledger = Ledger::default();
    let all: BTreeMap<_, _> = (0..UPLOADS_MOST as u32).map(|number| (pack(number), 40)).collect();
    note(&ledger, asker(OWN, 1_000, "r1"), &all).unwrap();
    let more = packs([(u32::MAX, 40)]);
    assert_eq!(note(&ledger, asker(OWN, 1_001, "r1"), &more).unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
    note(&ledger, asker(OWN, 1_001, "r1"), &packs([(7, 40)])).unwrap();
    note(&ledger, asker(NEIGHBOUR, 1_001, "r1"), &more).unwrap();
    let is_known = |id: &PackId| *id == pack(3);
    ledger.note(asker(OWN, 1_002, "r2"), &packs([(u32::MAX - 1, 40)]), is_known, |_| Ok(())).unwrap();
}

#[test]
fn it_is_gone_through_for_a_newer_root_only_or_after_a_while() {
    let ledger = Ledger::default();
    let all: BTreeMap<_, _> = (0..1_000).map(|number| (pack(number), 40)).collect();
    note(&ledger, asker(OWN, 1_000, "r1"), &all).unwrap();
    let looked_at = |asker: Asker<'_>| {
        let looks = Cell::new(0);
        let is_known = |_: &PackId| {
            looks.set(looks.get() + 1);
            false
        };
        assert!(ledger.note(asker, &packs([(2_000, 40)]), is_known, |_| Err(refused())).is_err());
        looks.get()
    };
    assert_eq!(looked_at(asker(OWN, 1_001, "r1")), 0, "it was gone through when it had grown");
    assert_eq!(looked_at(asker(OWN, 1_002, "r2")), 1_000);
    assert_eq!(looked_at(asker(OWN, 1_003, "r2")), 0);
    assert_eq!(looked_at(asker(OWN, 1_002 + SWEPT_FOR, "r2")), 1_000);
}

#[test]
fn what_roots_know_by_and_by_takes_no_room() {
    let ledger = Ledger::default();
    for number in 0..10_000 {
        let is_known = |id: &PackId| u32::from_le_bytes(id.0[..4].try_into().unwrap()) < number;
        ledger.note(asker(OWN, 1_000, "r"), &packs([(number, 40)]), is_known, |_| Ok(())).unwrap();
        assert!(ledger.domains.lock().unwrap().values().all(|account| account.uploads.len() <= 2 * SWEPT_FROM));
    }
}

#[test]
fn an_upload_that_does_not_come_in_time_counts_for_its_own_client_only() {
    let ledger = Ledger::default();
    note(&ledger, asker(OWN, 1_000, "r"), &packs([(1, 10), (2, 5)])).unwrap();
    let other = packs([(3, 1)]);
    let early = asker(NEIGHBOUR, 999 + COMING, "r");
    assert_eq!((search(&ledger, early, &[]), besides(&ledger, early, &other, &[])), (0, (15, 0)));
    let late = asker(NEIGHBOUR, 1_000 + COMING, "r");
    assert_eq!((search(&ledger, late, &[2]), besides(&ledger, late, &other, &[])), (2, (5, 0)));
    assert_eq!(search(&ledger, late, &[]), 0, "each is looked for once");
    let own = asker(OWN, 1_000 + COMING, "r");
    assert_eq!(besides(&ledger, own, &other, &[]), (15, 15));
    assert_eq!(besides(&ledger, own, &packs([(1, 10)]), &[]), (5, 5));
    assert_eq!(besides(&ledger, late, &packs([(1, 10)]), &[]), (5, 0));
}

#[test]
fn asking_again_for_what_does_not_come_gains_time_only_where_addresses_of_the_store_are_given() {
    for is_presigned in [false, true] {
        let ledger = Ledger::default();
        let own = |now| Asker { is_presigned, ..asker(OWN, now, "r") };
        for now in [1_000, 999 + COMING] {
            note(&ledger, own(now), &packs([(1, 10)])).unwrap();
        }
        assert_eq!(search(&ledger, own(1_000 + COMING), &[]), usize::from(!is_presigned));
    }
}

#[test]
fn what_goes_to_the_store_itself_is_expected_for_as_long_as_a_slow_body_takes() {
    let ledger = Ledger::default();
    let own = |now| Asker { is_presigned: true, ..asker(OWN, now, "r") };
    note(&ledger, own(1_000), &packs([(1, 100 * SLOWEST)])).unwrap();
    assert_eq!(search(&ledger, own(1_099 + COMING), &[]), 0);
    assert_eq!(search(&ledger, own(1_100 + COMING), &[]), 1);
}

#[test]
fn an_upload_whose_bytes_have_come_is_expected_anew_unless_it_was_sought_in_vain() {
    let (ledger, own, other) = (Ledger::default(), packs([(1, 10)]), packs([(2, 1)]));
    note(&ledger, asker(OWN, 1_000, "r"), &own).unwrap();
    let late = asker(NEIGHBOUR, 1_000 + COMING, "r");
    assert_eq!(ledger.overdue(late), [pack(1)]);
    assert!(ledger.has_come(late.domain, &pack(1), late.now));
    // The store did not have it yet when somebody looked for it.
    ledger.sought(late, &[(pack(1), false)]);
    assert_eq!(besides(&ledger, late, &other, &[]), (10, 0));
    let later = asker(NEIGHBOUR, late.now + COMING, "r");
    assert_eq!(search(&ledger, later, &[]), 1);
    assert!(!ledger.has_come(later.domain, &pack(1), later.now));
    for client in [OWN, NEIGHBOUR, OWN] {
        note(&ledger, asker(client, later.now, "r"), &own).unwrap();
    }
    assert_eq!(besides(&ledger, later, &other, &[]), (0, 0), "asking again brings nothing");
    note(&ledger, Asker { has_come: true, ..asker(OWN, later.now, "r") }, &own).unwrap();
    assert_eq!(besides(&ledger, later, &other, &[]), (10, 0));
    assert!(ledger.has_come(later.domain, &pack(1), later.now));
}
