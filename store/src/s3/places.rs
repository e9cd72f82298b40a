//! Places: how far listings have come.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The server's continuation tokens for listings under way, by prefix and last name.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<VecDeque<Noted>>);

#[derive(Debug)]
struct Noted {
    place: Place,
    token: String,
    /// When it was noted: some servers resume an old listing with the objects of the time when it began.
    at: Instant,
}

/// A listing of what begins with a prefix and comes after a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) prefix: String,
    pub(super) after: String,
}

impl Places {
    pub(super) fn note(&self, place: Place, token: String) {
        let mut places = self.0.lock().expect(PLACES_HELD);
        places.push_back(Noted { place, token, at: Instant::now() });
        if places.len() > PLACES_MAX {
            places.pop_front();
        }
    }

    pub(super) fn take(&self, place: &Place) -> Option<String> {
        let mut places = self.0.lock().expect(PLACES_HELD);
        let at = places.iter().rposition(|noted| noted.place == *place)?;
        places.remove(at).filter(|noted| noted.at.elapsed() < LEFT).map(|noted| noted.token)
    }
}

const PLACES_HELD: &str = "nothing panics while it holds the places";
/// How long a token is used.
const LEFT: Duration = Duration::from_secs(60);
/// Listings whose tokens are kept.
const PLACES_MAX: usize = 64;
