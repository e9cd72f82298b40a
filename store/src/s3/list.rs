//! Listing.

use aws_sdk_s3::types::Object;

use super::bucket::Bucket;
use super::trouble::Trouble;
use crate::error::Causes;
use crate::key::may_begin_a_key;
use crate::{Key, ListPage, Listed, Op, Stat, StoreError};

impl Bucket {
    pub(super) async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        if !may_begin_a_key(prefix) {
            return Ok(ListPage { objects: Vec::new(), more: false });
        }
        let odd = |what| Trouble::Answer(what).lasting(Op::List, prefix);
        let limit = limit.clamp(1, LISTED_AT_ONCE);
        // Some servers reject a prefix that ends in dots: list a shorter one and filter here.
        let asked = match prefix.rsplit_once('/') {
            Some((whole, "." | "..")) => self.full(whole) + "/",
            None if matches!(prefix, "." | "..") => self.full(""),
            _ => self.full(prefix),
        };
        let after = after.map(|after| self.name(after));
        let start = after.as_deref().map(|after| self.start(&asked, after).to_owned());
        // Names to be skipped are requested a thousand at a time, however few are wanted after them.
        let is_direct = start == after;
        let at_once = if is_direct { limit } else { LISTED_AT_ONCE };
        let at_once = i32::try_from(at_once).expect("a thousand is small");
        let mut token = after.as_deref().and_then(|after| self.tokens.take(&asked, after));
        // A token's page may begin before `after`, if only a part of it was returned last time.
        let mut last: Option<String> = None;
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
                // The server does not know the token (any more): begin without it.
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
                // A caller continues after the last name, and would miss a name that is out of order.
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
                // The rest of this page is read again with its token.
                if let (Some(end), Some(token)) = (objects.last(), begun) {
                    self.tokens.note(&asked, &self.name(&end.key), token);
                }
                return Ok(ListPage { objects, more: true });
            }
            // Read on if the page has only names that were seen before or are not keys.
            if let Some(end) = objects.last() {
                if let Some(token) = token.filter(|_| more) {
                    self.tokens.note(&asked, &self.name(&end.key), token);
                }
                return Ok(ListPage { objects, more });
            }
            if !more {
                return Ok(ListPage { objects, more });
            }
        }
    }

    /// Where to begin a listing that continues after a name. MinIO leaves out objects if a listing begins inside a
    /// folder below the prefix: on servers other than Amazon's it begins before that folder, and names seen before are
    /// skipped.
    fn start<'a>(&self, asked: &str, after: &'a str) -> &'a str {
        let rest = after.strip_prefix(asked).filter(|_| self.connection.endpoint.is_some());
        let folder = rest.and_then(|rest| rest.find('/'));
        folder.map_or(after, |end| &after[..asked.len() + end])
    }

    fn listed(&self, object: &Object) -> Option<Stat> {
        let length = u64::try_from(object.size()?).ok()?;
        Some(Stat { length, created: self.clock.object_time(object.last_modified()?.secs()), sha256: None })
    }
}

/// The limit of the protocol.
const LISTED_AT_ONCE: usize = 1_000;
