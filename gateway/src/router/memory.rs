//! Memory: what a long-lived gateway remembers between requests, so that each signed request counts once and quotas
//! include uploads that no root knows yet. A Lambda function has none: every request is idempotent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use copal_format::request::{Signatory, Terms, WINDOW};

use super::age::is_young;
use super::bucket::{Bucket, Rate};
use super::ledger::Ledger;
use super::room::Sender;
use super::shared::Allowed;
use super::tickets::Tickets;
use super::written::{Record, Written};

/// What a gateway remembers.
#[derive(Debug, Default)]
pub struct Memory {
    /// When the memory began, in seconds since 1970 and by the clock that nobody sets. Requests signed earlier may have
    /// come before. `None` if nobody can replay any.
    began: Option<(u64, Instant)>,
    nonces: Mutex<Nonces>,
    unsigned: Mutex<Bucket>,
    /// Records that each sender has created a short time ago.
    records: Mutex<HashMap<(Record, Sender), Bucket>>,
    /// Uploads that no root knows yet.
    pub(super) uploads: Ledger,
    /// Uploads to shares.
    pub(super) shares: Allowed,
    /// Manifests and changes.
    pub(super) written: Written,
    /// Tickets of shares that have opened something.
    pub(super) tickets: Tickets,
}

/// The nonces seen from each signatory, with the time after which the request is invalid anyway.
#[derive(Debug, Default)]
struct Nonces {
    until: HashMap<Signatory, HashMap<[u8; 16], u64>>,
    /// The number of all nonces.
    count: usize,
    swept: u64,
}

/// Why a request is refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It came before.
    Replayed,
    /// It was signed before this process began, and may have come to the earlier one.
    Early,
    /// There are too many requests.
    Busy,
}

impl Memory {
    /// A memory that began at this moment, which two clocks tell: in seconds since 1970, and by the clock that nobody
    /// sets. It refuses requests signed before.
    pub fn since(seconds: u64, moment: Instant) -> Self {
        Self { began: Some((seconds, moment)), ..Self::default() }
    }

    /// Notes the nonce of a verified request. Fails if it was seen before.
    pub fn first(&self, terms: &Terms, now: u64) -> Result<(), Refused> {
        if self.start(now).is_some_and(|start| terms.created <= start) {
            return Err(Refused::Early);
        }
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_young(nonces.swept, now, WINDOW) || nonces.count >= NONCES {
            nonces.sweep(now);
        }
        let clients = nonces.until.len().max(1);
        let is_full = nonces.count >= NONCES;
        let own = nonces.until.entry(terms.signatory).or_default();
        // No client takes all the room: each gets at most half of it, and an equal share once it is full.
        if own.len() >= if is_full { NONCES / clients } else { NONCES / 2 } {
            return Err(Refused::Busy);
        }
        if own.insert(terms.nonce, terms.expires.saturating_add(WINDOW)).is_some() {
            return Err(Refused::Replayed);
        }
        nonces.count += 1;
        Ok(())
    }

    /// When the memory began by the clock of now, which may have been set right since.
    fn start(&self, now: u64) -> Option<u64> {
        let (seconds, moment) = self.began?;
        let start = now.saturating_sub(moment.elapsed().as_secs());
        // Both times are whole seconds, so their difference may be one too many.
        Some(if start == seconds.saturating_add(1) { seconds } else { start })
    }

    /// Counts an unsigned request. Limits them to a rate per second, after a short burst.
    pub fn unsigned(&self, now: u64) -> Result<(), Refused> {
        let mut unsigned = self.unsigned.lock().unwrap_or_else(PoisonError::into_inner);
        unsigned.take(UNSIGNED, now).map_err(|_| Refused::Busy)
    }

    /// Uncounts a request whose signature was verified after all.
    pub fn signed(&self) {
        self.unsigned.lock().unwrap_or_else(PoisonError::into_inner).give_back(UNSIGNED);
    }

    /// Counts so many records that a sender is about to create. The error says after how many seconds it may create
    /// them.
    pub(super) fn record(&self, record: Record, many: u32, sender: Sender, now: u64) -> Result<(), u64> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.retain(|(record, _), bucket| !bucket.is_whole(rate(*record), now));
        let one = rate(record);
        records.entry((record, sender)).or_default().take(Rate { cost: one.cost.saturating_mul(many), ..one }, now)
    }

    /// Uncounts a record that was not created, because its number was taken.
    pub(super) fn record_was_late(&self, record: Record, sender: Sender) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = records.get_mut(&(record, sender)) {
            bucket.give_back(rate(record));
        }
    }
}

/// How often a sender may create a record.
fn rate(record: Record) -> Rate {
    match record {
        Record::Manifest => MANIFESTS,
        Record::Change => CHANGES,
    }
}

impl Nonces {
    /// Drops expired nonces.
    fn sweep(&mut self, now: u64) {
        self.until.values_mut().for_each(|own| own.retain(|_, until| *until >= now));
        self.until.retain(|_, own| !own.is_empty());
        self.count = self.until.values().map(HashMap::len).sum();
        self.swept = now;
    }
}

/// Nonces remembered at once. They expire after two minutes.
const NONCES: usize = 1 << 20;
/// Unsigned requests: 10 each second, and 60 at once.
const UNSIGNED: Rate = Rate { cost: 1, regained: 10, most: 60 };
/// Manifests of one sender: 30 each minute, and 600 at once. Each may become a root, and roots stay for a week. A
/// backup writes a manifest for 64 packs, so this rate lets through 1 GiB each second in packs of the usual size. A
/// copy or an import writes one for each snapshot, so it waits from the 601st on.
const MANIFESTS: Rate = Rate { cost: 2, regained: 1, most: 1_200 };
/// Changes of one sender: 30 each minute, and 30 at once. Others find the next number free in between.
const CHANGES: Rate = Rate { cost: 2, regained: 1, most: 60 };

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use copal_format::id::ClientId;

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
    fn what_was_signed_before_it_began_is_not_taken() {
        let memory = Memory::since(100, Instant::now());
        assert_eq!(memory.first(&terms(1), 101), Err(Refused::Early));
        assert_eq!(memory.first(&Terms { created: 101, expires: 161, ..terms(1) }, 101), Ok(()));
    }

    #[test]
    fn a_clock_that_was_ahead_at_the_start_keeps_out_nobody_once_it_is_set_right() {
        let ten_seconds_ago = Instant::now().checked_sub(Duration::from_secs(10));
        let memory = Memory::since(3_600, ten_seconds_ago.expect("this machine runs for longer"));
        let signed = |created: u64, nonce| Terms { created, expires: created + WINDOW, ..terms(nonce) };
        assert_eq!(memory.first(&signed(3_610, 1), 3_610), Ok(()));
        assert_eq!(memory.first(&signed(100, 2), 100), Ok(()));
        assert_eq!(memory.first(&signed(89, 3), 100), Err(Refused::Early));
    }

    #[test]
    fn a_client_that_fills_the_memory_holds_up_no_other() {
        let memory = Memory::default();
        let ask = |client: u8, number: usize| {
            let mut nonce = [0; 16];
            nonce[..8].copy_from_slice(&(number as u64).to_le_bytes());
            let signatory = Signatory::Client(ClientId([client; 16]));
            memory.first(&Terms { signatory, nonce, ..terms(0) }, 100)
        };
        for client in [1, 2] {
            assert_eq!((0..NONCES).find(|number| ask(client, *number).is_err()), Some(NONCES / 2));
        }
        // A full memory keeps its nonces: a replay is still noticed.
        assert_eq!(ask(1, 0), Err(Refused::Busy));
        for number in 0..100 {
            assert_eq!(ask(3, number), Ok(()));
        }
        assert_eq!(ask(3, 0), Err(Refused::Replayed));
    }

    #[test]
    fn unsigned_requests_are_few() {
        let memory = Memory::default();
        let answered = (0..100).filter(|_| memory.unsigned(50).is_ok()).count();
        assert_eq!(answered, 60);
        let later = (0..100).filter(|_| memory.unsigned(52).is_ok()).count();
        assert_eq!(later, 20);
    }
}
