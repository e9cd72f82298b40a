//! Tokens: how far listings have come.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The server's continuation tokens for listings under way, by prefix and last name.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<VecDeque<Noted>>);

#[derive(Debug)]
struct Noted {
    listing: Listing,
    token: String,
    /// When it was noted: some servers resume an old listing with the objects of the time when it began.
    at: Instant,
}

/// A listing of what begins with a prefix and comes after a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) prefix: String,
    pub(super) after: String,
}

impl Tokens {
    pub(super) fn note(&self, listing: Listing, token: String) {
        let mut tokens = self.0.lock().expect(TOKENS_HELD);
        tokens.push_back(Noted { listing, token, at: Instant::now() });
        if tokens.len() > TOKENS_MAX {
            tokens.pop_front();
        }
    }

    pub(super) fn take(&self, listing: &Listing) -> Option<String> {
        let mut tokens = self.0.lock().expect(TOKENS_HELD);
        let at = tokens.iter().rposition(|noted| noted.listing == *listing)?;
        tokens.remove(at).filter(|noted| noted.at.elapsed() < LEFT).map(|noted| noted.token)
    }
}

const TOKENS_HELD: &str = "nothing panics while it holds the tokens";
/// How long a token is used.
const LEFT: Duration = Duration::from_secs(60);
/// Listings whose tokens are kept.
const TOKENS_MAX: usize = 64;
