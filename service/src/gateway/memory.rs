//! Memory: what a gateway that lives on remembers between requests, so that a request counts once and quotas hold also
//! for what no root knows yet. A function in the cloud has none: every request is idempotent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use copal_engine::request::{Signatory, Terms, WINDOW};

use super::ledger::Ledger;

/// What is remembered.
#[derive(Debug, Default)]
pub struct Memory {
    nonces: Mutex<Nonces>,
    unsigned: Mutex<(u64, u32)>,
    /// Uploads that no root knows yet.
    pub(super) uploads: Ledger,
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
}

/// Nonces remembered at once: they are forgotten after two minutes.
const NONCES: usize = 1 << 20;
/// Unsigned requests answered each second, and at once.
const UNSIGNED_RATE: u32 = 10;
const UNSIGNED_MOST: u32 = 60;

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
}
