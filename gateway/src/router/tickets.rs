//! Tickets: those that have opened something a short time ago. Requests with them are not limited, but they are still
//! verified.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use copal_format::id::ObjectHash;

/// Hashes of tickets, and until when they are remembered, in seconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<HashMap<ObjectHash, u64>>);

impl Tickets {
    /// Whether this ticket has opened this share.
    pub(super) fn know(&self, share: &str, ticket: &str, now: u64) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&hash(share, ticket)).is_some_and(|until| now < *until)
    }

    /// Remembers a ticket that was verified.
    pub(super) fn remember(&self, share: &str, ticket: &str, now: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, until| now < *until);
        }
        if known.len() < MOST {
            known.insert(hash(share, ticket), now.saturating_add(KEPT));
        }
    }
}

/// Whether a request asks for a part of a share: its ticket decides whether it counts as unsigned.
pub(super) fn is_for_part(path: &str) -> bool {
    path.strip_prefix("/v1/shares/").is_some_and(|rest| rest.ends_with("/parts"))
}

fn hash(share: &str, ticket: &str) -> ObjectHash {
    ObjectHash::of(format!("{share} {ticket}").as_bytes())
}

/// Seconds for which a ticket is remembered.
const KEPT: u64 = 10 * 60;
const MOST: usize = 10_000;
