//! Ledger: uploads that were allowed and that no root knows yet, so that quotas count them too. Its size is bounded for
//! each client, and it is swept only if that may change an answer.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use copal_format::id::{ClientId, DomainId, PackId};

use super::age::{DAY, is_of_today, is_young};
use super::problem::{Problem, busy};

/// The allowed uploads, by domain.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<HashMap<DomainId, Account>>);

/// The client that asks to upload, and when.
#[derive(Copy, Clone, Debug)]
pub(super) struct Asker<'a> {
    pub client: ClientId,
    pub domain: DomainId,
    /// Seconds since 1970.
    pub now: u64,
    /// The name of the newest root; empty without one.
    pub root: &'a str,
}

/// Bytes of allowed uploads that no root knows, without the packs now asked for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uploaded {
    /// Of all clients of the domain: up to 7 days old, because prune removes unknown packs then.
    pub unknown: u64,
    /// Of this client within a day.
    pub today: u64,
}

/// The uploads of a domain. Until the next sweep its sums may include packs that a newer root knows, or old ones.
#[derive(Debug, Default)]
struct Account {
    uploads: HashMap<PackId, Allowed>,
    bytes: u64,
    clients: HashMap<ClientId, Share>,
    /// The root and the time of the last sweep.
    swept: (String, u64),
    /// How many uploads the last sweep left.
    left: usize,
}

/// An upload that was allowed.
#[derive(Copy, Clone, Debug)]
struct Allowed {
    client: ClientId,
    time: u64,
    length: u64,
}

/// One client's part of an account.
#[derive(Copy, Clone, Debug, Default)]
struct Share {
    uploads: usize,
    today: u64,
}

impl Ledger {
    /// Notes packs and their lengths. Fails if `judge` rejects the other uploads, or if too many packs of this client
    /// are unknown to the root. Asking again for the same pack counts once.
    pub(super) fn note(
        &self,
        asker: Asker<'_>,
        packs: &BTreeMap<PackId, u64>,
        is_known: impl Fn(&PackId) -> bool,
        judge: impl Fn(Uploaded) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let account = domains.entry(asker.domain).or_default();
        let mut verdict = account.verdict(asker, packs, &judge);
        if verdict.is_err() && account.may_be_late(asker) {
            account.sweep(asker, &is_known);
            verdict = account.verdict(asker, packs, &judge);
        }
        verdict?;
        packs.iter().filter(|(id, _)| !is_known(id)).for_each(|(id, length)| account.add(asker, *id, *length));
        if account.uploads.len() > 2 * account.left + SWEPT_FROM {
            account.sweep(asker, &is_known);
        }
        Ok(())
    }
}

impl Account {
    fn verdict(
        &self,
        asker: Asker<'_>,
        packs: &BTreeMap<PackId, u64>,
        judge: impl Fn(Uploaded) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let share = self.clients.get(&asker.client).copied().unwrap_or_default();
        let mut besides = Uploaded { unknown: self.bytes, today: share.today };
        let mut new = 0;
        for (id, length) in packs {
            let before = self.uploads.get(id);
            let is_own = before.is_some_and(|before| before.client == asker.client);
            new += usize::from(!is_own);
            let Some(before) = before else { continue };
            // Naming a shorter length for the same pack gains nothing.
            let again = before.length.min(*length);
            besides.unknown = besides.unknown.saturating_sub(again);
            if is_own && before.is_of_today(asker.now) {
                besides.today = besides.today.saturating_sub(again);
            }
        }
        if share.uploads + new > UPLOADS_MOST {
            return Err(busy("too many packs of this client wait for being accepted"));
        }
        judge(besides)
    }

    /// Whether a sweep may change the sums.
    fn may_be_late(&self, asker: Asker<'_>) -> bool {
        self.swept.0 != asker.root || !is_young(self.swept.1, asker.now, SWEPT_FOR)
    }

    fn add(&mut self, asker: Asker<'_>, id: PackId, length: u64) {
        let before = self.uploads.remove(&id);
        if let Some(before) = before {
            self.bytes = self.bytes.saturating_sub(before.length);
            let share = self.clients.entry(before.client).or_default();
            share.uploads = share.uploads.saturating_sub(1);
            if before.is_of_today(asker.now) {
                share.today = share.today.saturating_sub(before.length);
            }
        }
        let length = before.map_or(length, |before| length.max(before.length));
        let allowed = Allowed { client: asker.client, time: asker.now, length };
        self.uploads.insert(id, allowed);
        self.count(allowed, asker.now);
    }

    /// Drops uploads that a root knows or that prune has removed, and sums up again.
    fn sweep(&mut self, asker: Asker<'_>, is_known: impl Fn(&PackId) -> bool) {
        self.uploads.retain(|id, allowed| allowed.time.saturating_add(ORPHANS) > asker.now && !is_known(id));
        self.uploads.shrink_to(2 * self.uploads.len());
        self.clients.clear();
        self.bytes = 0;
        let left: Vec<Allowed> = self.uploads.values().copied().collect();
        left.iter().for_each(|allowed| self.count(*allowed, asker.now));
        self.left = left.len();
        self.swept = (asker.root.to_owned(), asker.now);
    }

    fn count(&mut self, allowed: Allowed, now: u64) {
        self.bytes = self.bytes.saturating_add(allowed.length);
        let share = self.clients.entry(allowed.client).or_default();
        share.uploads += 1;
        if allowed.is_of_today(now) {
            share.today = share.today.saturating_add(allowed.length);
        }
    }
}

impl Allowed {
    fn is_of_today(&self, now: u64) -> bool {
        is_of_today(self.time, now)
    }
}

/// Packs of one client that no root knows; together they may be some terabytes.
const UPLOADS_MOST: usize = 1 << 16;
/// Seconds after which an account is swept again even without a newer root.
const SWEPT_FOR: u64 = 60;
/// An account is swept when it has twice as many uploads as the last sweep left, plus this.
const SWEPT_FROM: usize = 256;
/// How long prune leaves packs that no root knows.
const ORPHANS: u64 = 7 * DAY;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use axum::http::StatusCode;

    use super::*;

    const OWN: ClientId = ClientId([1; 16]);
    const NEIGHBOUR: ClientId = ClientId([2; 16]);

    fn asker(client: ClientId, now: u64, root: &str) -> Asker<'_> {
        Asker { client, domain: DomainId([9; 16]), now, root }
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
            assert!(ledger.0.lock().unwrap().values().all(|account| account.uploads.len() <= 2 * SWEPT_FROM));
        }
    }
}
