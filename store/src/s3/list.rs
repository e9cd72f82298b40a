//! Listing.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use aws_sdk_s3::types::Object;

use super::bucket::Bucket;
use super::trouble::Trouble;
use crate::{Key, ListPage, Listed, Op, Stat, StoreError, key};

/// Where listings that were begun go on: the server's token, by prefix and last name.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<VecDeque<Noted>>);

#[derive(Debug)]
struct Noted {
    place: Place,
    token: String,
    /// When that was: of a listing that rests, some servers know only what there was when it began.
    at: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    prefix: String,
    after: String,
}

impl Places {
    fn note(&self, place: Place, token: String) {
        let mut places = self.0.lock().expect(PLACES_HELD);
        places.push_back(Noted { place, token, at: Instant::now() });
        if places.len() > PLACES_MAX {
            places.pop_front();
        }
    }

    fn take(&self, place: &Place) -> Option<String> {
        let mut places = self.0.lock().expect(PLACES_HELD);
        let at = places.iter().rposition(|noted| noted.place == *place)?;
        places.remove(at).filter(|noted| noted.at.elapsed() < LEFT).map(|noted| noted.token)
    }
}

impl Bucket {
    pub(super) async fn list(&self, prefix: &str, after: Option<Key>, limit: usize) -> Result<ListPage, StoreError> {
        if !may_begin_a_key(prefix) {
            return Ok(ListPage { objects: Vec::new(), more: false });
        }
        let odd = |what| Trouble::Answer(what).lasting(Op::List, prefix);
        let limit = limit.clamp(1, LISTED_AT_ONCE);
        // Some servers take no name that ends in dots: what does not fit is left out here.
        let asked = match prefix.rsplit_once('/') {
            Some((whole, "." | "..")) => self.full(whole) + "/",
            None if matches!(prefix, "." | "..") => self.full(""),
            _ => self.full(prefix),
        };
        let after = after.map(|after| self.name(&after));
        let place = |after: &str| Place { prefix: asked.clone(), after: after.to_owned() };
        let start = after.as_deref().map(|after| self.start(&asked, after).to_owned());
        // What lies between is passed over a thousand at a time, however little is wanted behind it.
        let is_direct = start == after;
        let at_once = if is_direct { limit } else { LISTED_AT_ONCE };
        let at_once = i32::try_from(at_once).expect("a thousand is small");
        let mut token = after.as_deref().and_then(|after| self.places.take(&place(after)));
        let mut last = after.clone().filter(|_| is_direct && token.is_some());
        loop {
            let begun = token.clone();
            let request = self.connection.client.list_objects_v2().bucket(&self.config.bucket);
            let request = request.prefix(&asked).max_keys(at_once);
            let request = match &token {
                Some(token) => request.continuation_token(token),
                None => request.set_start_after(start.clone()),
            };
            let answer = match self.answer(Op::List, prefix, self.config.patience, request.send()).await? {
                Ok(answer) => answer,
                // The server does not know it any more, or never did.
                Err(failed) if token.is_some() && failed.status == Some(400) => {
                    (token, last) = (None, None);
                    continue;
                }
                Err(failed) => return Err(self.explain(failed, Op::List, prefix)),
            };
            let more = answer.is_truncated().unwrap_or(false);
            let mut objects = Vec::with_capacity(answer.contents().len());
            for object in answer.contents() {
                let name = object.key().ok_or_else(|| odd("an object without a name"))?;
                // Whoever goes on after the last name of a page must not miss one.
                if last.as_deref().is_some_and(|last| name <= last) {
                    return Err(odd("a listing that is not in order"));
                }
                last = Some(name.to_owned());
                let is_wanted = after.as_deref().is_none_or(|after| name > after);
                if let Some(key) = self.key(name).filter(|key| is_wanted && key.as_str().starts_with(prefix)) {
                    let stat = self.listed(object).ok_or_else(|| odd("an object without a time"))?;
                    objects.push(Listed { key, stat });
                }
            }
            token = answer.next_continuation_token().map(str::to_owned);
            if more && token.is_none() {
                return Err(odd("a page that is not the last, and no way to the next"));
            }
            if objects.len() > limit {
                objects.truncate(limit);
                // What was left of this page is asked for with it.
                if let (Some(end), Some(token)) = (objects.last(), begun) {
                    self.places.note(place(&self.name(&end.key)), token);
                }
                return Ok(ListPage { objects, more: true });
            }
            // A page of nothing but what was seen before, or other people's objects, is passed over.
            if let Some(end) = objects.last() {
                if let Some(token) = token.filter(|_| more) {
                    self.places.note(place(&self.name(&end.key)), token);
                }
                return Ok(ListPage { objects, more });
            }
            if !more {
                return Ok(ListPage { objects, more });
            }
        }
    }

    /// From where a listing is asked for that has to go on after a name. MinIO leaves objects out of a listing that begins
    /// within a folder below the prefix: on other servers than Amazon's it begins before that folder, and what was seen
    /// already is passed over.
    fn start<'a>(&self, asked: &str, after: &'a str) -> &'a str {
        let rest = after.strip_prefix(asked).filter(|_| self.connection.endpoint.is_some());
        let folder = rest.and_then(|rest| rest.find('/'));
        folder.map_or(after, |end| &after[..asked.len() + end])
    }

    fn listed(&self, object: &Object) -> Option<Stat> {
        let length = u64::try_from(object.size()?).ok()?;
        Some(Stat { length, created: self.clock.object_time(object.last_modified()?), sha256: None })
    }
}

/// Whether any key starts so. Servers differ in what they make of names that are none.
fn may_begin_a_key(prefix: &str) -> bool {
    let (whole, last) = prefix.rsplit_once('/').map_or((None, prefix), |(whole, last)| (Some(whole), last));
    // Anything may follow the dots of the last segment.
    let is_begun = last.is_empty() || key::is_segment(&format!("{last}x"));
    is_begun && whole.is_none_or(|whole| whole.split('/').all(key::is_segment))
}

const PLACES_HELD: &str = "nothing panics while it holds the places";
/// How long a listing may rest.
const LEFT: Duration = Duration::from_secs(60);
/// Listings under way at once that go on without a detour.
const PLACES_MAX: usize = 64;
/// What the protocol allows.
const LISTED_AT_ONCE: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_begin_a_key_is_asked_for() {
        for prefix in ["", "a", "a/", "a/b", ".", "..", "a/..", "packs/ab/cd"] {
            assert!(may_begin_a_key(prefix), "{prefix:?}");
        }
        for prefix in ["/", "//", "a//", "../", "a/../", "./", "\0", "a/\u{e4}/", "ä"] {
            assert!(!may_begin_a_key(prefix), "{prefix:?}");
        }
    }
}
