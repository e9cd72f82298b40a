//! Listings under way: how far each has come, for the caller who wants its next page.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Keeps what a store needs to give the next page of a listing. A listing is found again by its prefix and by the last
/// name of the page before.
#[derive(Debug)]
pub(crate) struct UnderWay<T> {
    noted: Mutex<VecDeque<Noted<T>>>,
    /// The oldest of more are forgotten.
    most: usize,
}

#[derive(Debug)]
struct Noted<T> {
    prefix: String,
    after: String,
    next: T,
    at: Instant,
}

impl<T> UnderWay<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { noted: Mutex::default(), most }
    }

    pub(crate) fn note(&self, prefix: &str, after: &str, next: T) {
        let mut noted = self.noted();
        noted.push_back(Noted { prefix: prefix.to_owned(), after: after.to_owned(), next, at: Instant::now() });
        if noted.len() > self.most {
            noted.pop_front();
        }
    }

    /// What was noted last for the listing that goes on after a name.
    pub(crate) fn take(&self, prefix: &str, after: &str) -> Option<T> {
        let mut noted = self.noted();
        let at = noted.iter().rposition(|noted| noted.prefix == prefix && noted.after == after)?;
        noted.remove(at).filter(|noted| noted.at.elapsed() < LEFT).map(|noted| noted.next)
    }

    fn noted(&self) -> MutexGuard<'_, VecDeque<Noted<T>>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long what was noted is used: some servers resume an old listing with the objects of the time when it began.
const LEFT: Duration = Duration::from_secs(60);
