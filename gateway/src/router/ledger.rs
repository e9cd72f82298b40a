//! Ledger: uploads that were allowed and that no root knows yet, so that quotas count them too. Its size is bounded for
//! each client, and it is swept only if that may change an answer. An upload that does not come in time counts for its
//! own client only, so that a client that sends nothing takes no room from others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use copal_format::id::{ClientId, DomainId, PackId};

use super::age::{DAY, is_of_today, is_young};
use super::bodies::SLOWEST;
use super::problem::{Problem, busy};
use super::shared::COMING;

/// The allowed uploads, by domain.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    domains: Mutex<HashMap<DomainId, Account>>,
    /// Held by whoever looks for overdue uploads, so that nobody else looks for the same ones.
    search: tokio::sync::Mutex<()>,
}

/// The client that asks to upload, and when.
#[derive(Copy, Clone, Debug)]
pub(super) struct Asker<'a> {
    pub client: ClientId,
    pub domain: DomainId,
    /// Seconds since 1970.
    pub now: u64,
    /// The name of the newest root; empty without one.
    pub root: &'a str,
    /// Whether uploads may go to the store itself, which does not tell the gateway about them.
    pub is_presigned: bool,
    /// Whether the bytes have come and are about to be stored.
    pub has_come: bool,
}

/// Bytes of allowed uploads that no root knows, without the packs now asked for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uploaded {
    /// Of all clients of the domain: up to 7 days old, because prune removes unknown packs then. Of other clients,
    /// those are left out that have not come in time.
    pub unknown: u64,
    /// Of this client within a day.
    pub today: u64,
}

/// The uploads of a domain. Until the next sweep its sums may include packs that a newer root knows, or old ones.
#[derive(Debug, Default)]
struct Account {
    uploads: HashMap<PackId, Allowed>,
    /// Bytes of the uploads that count for every client.
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
    /// Since when it has been expected.
    since: u64,
    sought: Sought,
}

/// Whether somebody has looked for an overdue upload in the store.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Sought {
    Never,
    Found,
    InVain,
}

/// One client's part of an account.
#[derive(Copy, Clone, Debug, Default)]
struct Share {
    uploads: u64,
    today: u64,
    /// Bytes of uploads that have not come in time. They count for this client only.
    missing: u64,
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
        let mut domains = self.domains();
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

    /// Notes that the bytes of an upload have come and are about to be stored, so it is expected from now on. False if
    /// it does not count for its domain, because it was so late that somebody has looked for it.
    pub(super) fn has_come(&self, domain: DomainId, id: &PackId, now: u64) -> bool {
        let mut domains = self.domains();
        let upload = domains.get_mut(&domain).and_then(|account| account.uploads.get_mut(id));
        let Some(upload) = upload.filter(|upload| upload.sought != Sought::InVain) else { return false };
        upload.since = now;
        true
    }

    /// Overdue uploads of the domain that nobody has looked for, the longest first, as many as are looked for at once.
    pub(super) fn overdue(&self, asker: Asker<'_>) -> Vec<PackId> {
        let domains = self.domains();
        let Some(account) = domains.get(&asker.domain) else { return Vec::new() };
        let overdue = account.uploads.iter().filter(|(_, upload)| upload.is_overdue(asker));
        let mut overdue: Vec<(u64, PackId)> = overdue.map(|(id, upload)| (upload.length, *id)).collect();
        overdue.sort_unstable_by_key(|upload| Reverse(*upload));
        overdue.truncate(SOUGHT_AT_ONCE);
        overdue.into_iter().map(|(_, id)| id).collect()
    }

    /// Waits until nobody looks for overdue uploads. Then only the holder of the guard may.
    pub(super) async fn search(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.search.lock().await
    }

    /// Notes for overdue uploads whether they are in the store.
    pub(super) fn sought(&self, asker: Asker<'_>, packs: &[(PackId, bool)]) {
        let mut domains = self.domains();
        let Some(account) = domains.get_mut(&asker.domain) else { return };
        packs.iter().for_each(|(id, is_there)| account.note_sought(asker, *id, *is_there));
    }

    fn domains(&self) -> MutexGuard<'_, HashMap<DomainId, Account>> {
        self.domains.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut besides = Uploaded { unknown: self.bytes.saturating_add(share.missing), today: share.today };
        let mut new = 0;
        for (id, length) in packs {
            let before = self.uploads.get(id);
            let is_own = before.is_some_and(|before| before.client == asker.client);
            new += u64::from(!is_own);
            let Some(before) = before else { continue };
            // Naming a shorter length for the same pack gains nothing.
            let again = before.length.min(*length);
            if is_own || before.sought != Sought::InVain {
                besides.unknown = besides.unknown.saturating_sub(again);
            }
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
            self.count(before, asker.now, u64::saturating_sub);
        }
        let new = Allowed { client: asker.client, time: asker.now, length, since: asker.now, sought: Sought::Never };
        // Asking again gains nothing where the gateway itself notes what comes: who asks for ever and sends nothing would
        // take the room of others. An address of the store is valid anew.
        let is_anew = asker.is_presigned || asker.has_come;
        let allowed = before.map_or(new, |before| Allowed {
            length: length.max(before.length),
            since: if is_anew { asker.now } else { before.since },
            sought: if is_anew && before.sought == Sought::InVain { Sought::Never } else { before.sought },
            ..new
        });
        self.uploads.insert(id, allowed);
        self.count(allowed, asker.now, u64::saturating_add);
    }

    fn note_sought(&mut self, asker: Asker<'_>, id: PackId, is_there: bool) {
        // Its bytes may have come since somebody has looked for it.
        let Some(before) = self.uploads.get(&id).copied().filter(|upload| upload.is_overdue(asker)) else { return };
        let upload = Allowed { sought: if is_there { Sought::Found } else { Sought::InVain }, ..before };
        self.uploads.insert(id, upload);
        self.count(before, asker.now, u64::saturating_sub);
        self.count(upload, asker.now, u64::saturating_add);
    }

    /// Drops uploads that a root knows or that prune has removed, and sums up again.
    fn sweep(&mut self, asker: Asker<'_>, is_known: impl Fn(&PackId) -> bool) {
        self.uploads.retain(|id, allowed| allowed.time.saturating_add(ORPHANS) > asker.now && !is_known(id));
        self.uploads.shrink_to(2 * self.uploads.len());
        self.clients.clear();
        self.bytes = 0;
        let left: Vec<Allowed> = self.uploads.values().copied().collect();
        left.iter().for_each(|allowed| self.count(*allowed, asker.now, u64::saturating_add));
        self.left = left.len();
        self.swept = (asker.root.to_owned(), asker.now);
    }

    /// Counts an upload, or with a subtraction no longer.
    fn count(&mut self, allowed: Allowed, now: u64, by: fn(u64, u64) -> u64) {
        let share = self.clients.entry(allowed.client).or_default();
        let bytes = if allowed.sought == Sought::InVain { &mut share.missing } else { &mut self.bytes };
        *bytes = by(*bytes, allowed.length);
        share.uploads = by(share.uploads, 1);
        if allowed.is_of_today(now) {
            share.today = by(share.today, allowed.length);
        }
    }
}

impl Allowed {
    fn is_of_today(&self, now: u64) -> bool {
        is_of_today(self.time, now)
    }

    /// Whether it should have come by now, and nobody has looked for it.
    fn is_overdue(&self, asker: Asker<'_>) -> bool {
        // The store does not tell when a body begins to come: it may be as slow as one that the gateway takes itself.
        let patience = if asker.is_presigned { COMING.saturating_add(self.length / SLOWEST) } else { COMING };
        self.sought == Sought::Never && !is_young(self.since, asker.now, patience)
    }
}

/// Packs of one client that no root knows; together they may be some terabytes.
const UPLOADS_MOST: u64 = 1 << 16;
/// Seconds after which an account is swept again even without a newer root.
const SWEPT_FOR: u64 = 60;
/// An account is swept when it has twice as many uploads as the last sweep left, plus this.
const SWEPT_FROM: usize = 256;
/// Overdue uploads that are looked for at once.
const SOUGHT_AT_ONCE: usize = 256;
/// How long prune leaves packs that no root knows.
const ORPHANS: u64 = 7 * DAY;

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
