//! Listing.

use aws_sdk_s3::types::Object;

use super::bucket::Bucket;
use super::trouble::Trouble;
use crate::{Key, ListPage, Listed, Op, Stat, StoreError, key};

impl Bucket {
    pub(super) async fn list(&self, prefix: &str, after: Option<Key>, limit: usize) -> Result<ListPage, StoreError> {
        if !may_begin_a_key(prefix) {
            return Ok(ListPage { objects: Vec::new(), more: false });
        }
        let odd = |what| Trouble::Answer(what).lasting(Op::List, prefix);
        let limit = i32::try_from(limit.clamp(1, LISTED_AT_ONCE)).expect("a thousand is small");
        let mut after = after.map(|after| self.name(&after));
        // Some servers take no name that ends in dots: what does not fit is left out here.
        let asked = match prefix.rsplit_once('/') {
            Some((whole, "." | "..")) => self.full(whole) + "/",
            None if matches!(prefix, "." | "..") => self.full(""),
            _ => self.full(prefix),
        };
        loop {
            let request = self.connection.client.list_objects_v2().bucket(&self.config.bucket);
            let request = request.prefix(&asked).max_keys(limit).set_start_after(after.clone());
            let answer = self.answer(Op::List, prefix, self.config.patience, request.send()).await?;
            let answer = answer.map_err(|failed| self.explain(failed, Op::List, prefix))?;
            let more = answer.is_truncated().unwrap_or(false);
            let mut objects = Vec::with_capacity(answer.contents().len());
            for object in answer.contents() {
                let name = object.key().ok_or_else(|| odd("an object without a name"))?;
                // Whoever goes on after the last name of a page must not miss one.
                if after.as_deref().is_some_and(|after| name <= after) {
                    return Err(odd("a listing that is not in order"));
                }
                after = Some(name.to_owned());
                if let Some(key) = self.key(name).filter(|key| key.as_str().starts_with(prefix)) {
                    objects.push(Listed {
                        stat: self.listed(object).ok_or_else(|| odd("an object without a time"))?,
                        key,
                    });
                }
            }
            if more && answer.contents().is_empty() {
                return Err(odd("a page of nothing that is not the last"));
            }
            // A page of nothing but other people's objects.
            if !objects.is_empty() || !more {
                return Ok(ListPage { objects, more });
            }
        }
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
