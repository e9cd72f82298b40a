//! Memory: what a gateway that lives on remembers between requests, so that a request counts once and quotas hold also
//! for what no root knows yet. A function in the cloud has none: every request is idempotent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use copal_engine::id::{ClientId, DomainId};
use copal_engine::request::{Signatory, Terms, WINDOW};

/// What is remembered.
#[derive(Debug, Default)]
pub struct Memory {
    nonces: Mutex<Nonces>,
    uploads: Mutex<HashMap<DomainId, Uploads>>,
    unsigned: Mutex<(u64, u32)>,
}

/// What the clients of a domain were allowed to upload, by name.
type Uploads = HashMap<String, Allowed>;

/// An upload that was allowed.
#[derive(Copy, Clone, Debug)]
struct Allowed {
    client: ClientId,
    time: u64,
    length: u64,
}

/// Bytes that were allowed to be uploaded.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// What no root knows yet, of a domain: for 7 days, after which prune removes it.
    pub unknown: u64,
    /// Of one client within a day.
    pub today: u64,
}

/// The nonces that were seen, each with the time after which its request counts no more.
#[derive(Debug, Default)]
struct Nonces {
    until: HashMap<(Signatory, [u8; 16]), u64>,
    swept: u64,
}

/// Why a request is not taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It came before.
    Replayed,
    /// There are too many.
    Busy,
}

impl Memory {
    /// Notes the nonce of a verified request.
    pub fn first(&self, terms: &Terms, now: u64) -> Result<(), Refused> {
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        if now >= nonces.swept.saturating_add(WINDOW) || nonces.until.len() >= NONCES {
            nonces.until.retain(|_, until| *until >= now);
            nonces.swept = now;
        }
        if nonces.until.len() >= NONCES {
            return Err(Refused::Busy);
        }
        match nonces.until.insert((terms.signatory, terms.nonce), terms.expires.saturating_add(WINDOW)) {
            Some(_) => Err(Refused::Replayed),
            None => Ok(()),
        }
    }

    /// Counts a request that nobody has signed; so many are answered each second, after a few at once.
    pub fn unsigned(&self, now: u64) -> Result<(), Refused> {
        let mut spent = self.unsigned.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = u32::try_from(now.saturating_sub(spent.0)).unwrap_or(u32::MAX);
        *spent = (now.max(spent.0), spent.1.saturating_sub(passed.saturating_mul(UNSIGNED_RATE)));
        if spent.1 >= UNSIGNED_MOST {
            return Err(Refused::Busy);
        }
        spent.1 += 1;
        Ok(())
    }

    /// Takes a request back that was counted and proved to be signed.
    pub fn signed(&self) {
        let mut spent = self.unsigned.lock().unwrap_or_else(PoisonError::into_inner);
        spent.1 = spent.1.saturating_sub(1);
    }

    /// What a client and its domain were allowed to upload, without these objects. What the newest root knows it counts
    /// itself.
    pub fn uploaded(
        &self,
        (client, domain): (ClientId, DomainId),
        now: u64,
        is_known: impl Fn(&str) -> bool,
        without: &[&str],
    ) -> Uploaded {
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_domain) = uploads.get_mut(&domain) else { return Uploaded::default() };
        let mut uploaded = Uploaded::default();
        of_domain.retain(|key, allowed| {
            let is_of_today = allowed.time + DAY > now;
            let is_unknown = allowed.time + ORPHANS > now && !is_known(key);
            if !without.contains(&key.as_str()) {
                uploaded.unknown += if is_unknown { allowed.length } else { 0 };
                uploaded.today += if is_of_today && allowed.client == client { allowed.length } else { 0 };
            }
            is_of_today || is_unknown
        });
        uploaded
    }

    /// Notes an upload that was allowed. The same object counts once.
    pub fn note_upload(&self, (client, domain): (ClientId, DomainId), now: u64, key: &str, length: u64) {
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.entry(domain).or_default().insert(key.to_owned(), Allowed { client, time: now, length });
    }
}

/// Nonces remembered at once: they are forgotten after two minutes.
const NONCES: usize = 1 << 20;
/// Unsigned requests answered each second, and at once.
const UNSIGNED_RATE: u32 = 10;
const UNSIGNED_MOST: u32 = 60;
const DAY: u64 = 24 * 60 * 60;
/// So long prune leaves what no root knows.
const ORPHANS: u64 = 7 * DAY;

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(nonce: u8) -> Terms {
        Terms { created: 100, expires: 160, nonce: [nonce; 16], signatory: Signatory::Owner }
    }

    #[test]
    fn a_nonce_counts_once() {
        let memory = Memory::default();
        assert_eq!(memory.first(&terms(1), 100), Ok(()));
        assert_eq!(memory.first(&terms(1), 150), Err(Refused::Replayed));
        assert_eq!(memory.first(&terms(2), 150), Ok(()));
    }

    #[test]
    fn unsigned_requests_are_few() {
        let memory = Memory::default();
        let answered = (0..100).filter(|_| memory.unsigned(50).is_ok()).count();
        assert_eq!(answered, 60);
        let later = (0..100).filter(|_| memory.unsigned(52).is_ok()).count();
        assert_eq!(later, 20);
    }

    #[test]
    fn uploads_count_for_a_day_and_the_same_object_once() {
        let memory = Memory::default();
        let own = (ClientId([1; 16]), DomainId([9; 16]));
        let neighbour = (ClientId([2; 16]), DomainId([9; 16]));
        for key in ["a", "a", "b"] {
            memory.note_upload(own, 1_000, key, 10);
        }
        let today = |of, now, without: &[&str]| memory.uploaded(of, now, |_| true, without).today;
        assert_eq!(today(own, 1_000 + DAY - 1, &[]), 20);
        assert_eq!(today(own, 1_000, &["b"]), 10);
        assert_eq!(today(neighbour, 1_000, &[]), 0);
        assert_eq!(today(own, 1_000 + DAY, &[]), 0);
    }

    #[test]
    fn what_no_root_knows_counts_for_the_whole_domain_until_one_does_or_prune_takes_it() {
        let memory = Memory::default();
        let own = (ClientId([1; 16]), DomainId([9; 16]));
        let neighbour = (ClientId([2; 16]), DomainId([9; 16]));
        let stranger = (ClientId([3; 16]), DomainId([8; 16]));
        memory.note_upload(own, 1_000, "a", 10);
        memory.note_upload(neighbour, 1_000, "b", 5);
        let unknown = |of, now, known: &str| memory.uploaded(of, now, |key| key == known, &[]).unknown;
        assert_eq!((unknown(own, 1_000, ""), unknown(neighbour, 1_000, ""), unknown(stranger, 1_000, "")), (15, 15, 0));
        assert_eq!(unknown(own, 1_000 + 2 * DAY, "b"), 10);
        assert_eq!(unknown(own, 1_000 + 2 * DAY, ""), 10, "what was known once needs no remembering");
        assert_eq!(unknown(own, 1_000 + ORPHANS, ""), 0);
    }
}
