//! Written: the manifests and changes of clients as a long-lived gateway remembers them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use copal_format::id::ClientId;
use copal_store::Listed;

use super::age::{DAY, is_young};
use super::shared::Allowed;

/// What clients write under numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Record {
    Manifest,
    Change,
}

impl Record {
    /// The kind of an object; none if it is no record.
    pub(super) fn of(key: &str) -> Option<Self> {
        match key.split_once('/')?.0 {
            "manifests" => Some(Self::Manifest),
            "changes" => Some(Self::Change),
            _ => None,
        }
    }
}

/// What clients have written, listed a short time ago, and what they were allowed since.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<HashMap<ClientId, Account>>);

#[derive(Debug)]
struct Account {
    /// Seconds since 1970.
    since: u64,
    listed: Arc<Vec<Listed>>,
    allowed: Arc<Allowed>,
}

impl Written {
    /// A client's records, if they were listed a short time ago, and what it was allowed.
    pub(super) fn of(&self, client: ClientId, now: u64) -> Option<(Arc<Vec<Listed>>, Arc<Allowed>)> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let account = written.get(&client).filter(|account| is_young(account.since, now, LISTED_FOR))?;
        Some((account.listed.clone(), account.allowed.clone()))
    }

    /// Keeps a listing; gives what the client was allowed.
    pub(super) fn keep(&self, client: ClientId, now: u64, listed: &Arc<Vec<Listed>>) -> Arc<Allowed> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // An account that is a day old has no uploads that were allowed within the last day.
        written.retain(|_, account| now < account.since.saturating_add(DAY));
        let allowed = written.get(&client).map(|account| account.allowed.clone()).unwrap_or_default();
        written.insert(client, Account { since: now, listed: listed.clone(), allowed: allowed.clone() });
        allowed
    }
}

/// Seconds for which a listing is used.
const LISTED_FOR: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_used_for_a_minute_and_not_after_the_clock_was_set_back() {
        let (written, client) = (Written::default(), ClientId([1; 16]));
        written.keep(client, 1_000, &Arc::default());
        assert!(written.of(client, 1_059).is_some());
        assert!(written.of(client, 1_060).is_none() && written.of(client, 500).is_none());
    }
}
