//! A listing, which the next page continues.

use futures::TryStreamExt;
use opendal::{Lister, Operator};

use super::tree::{ELSEWHERE, UNTIMED, stat_of};
use crate::clock::Clock;
use crate::{Key, Listed};

/// The objects of a prefix after a name, in order.
pub(super) struct Listing {
    lister: Lister,
    /// The folder of each key.
    folder: String,
    prefix: String,
    /// Only names after this one are wanted.
    after: Option<Key>,
    /// The last name that was read, wanted or not.
    last: Option<Key>,
    /// An object that was read to learn whether there is more.
    ahead: Option<Listed>,
}

impl Listing {
    pub(super) async fn begin(
        operator: &Operator,
        folder: &str,
        prefix: &str,
        after: Option<&Key>,
        limit: usize,
    ) -> opendal::Result<Listing> {
        let starts_after = operator.info().capability().list_with_start_after;
        // A listing from the beginning may have to skip many names, so its pages are as large as possible.
        let page = if after.is_some() && !starts_after { LISTED_AT_ONCE } else { (limit + 1).min(LISTED_AT_ONCE) };
        let start = format!("{folder}{prefix}");
        let lister = operator.lister_with(&start).recursive(true).limit(page);
        let lister = match after.filter(|_| starts_after) {
            Some(after) => lister.start_after(&format!("{folder}{after}")).await?,
            None => lister.await?,
        };
        let (folder, prefix) = (folder.to_owned(), prefix.to_owned());
        Ok(Listing { lister, folder, prefix, after: after.cloned(), last: None, ahead: None })
    }

    /// Puts back what was read last.
    pub(super) fn put_back(&mut self, listed: Listed) {
        self.ahead = Some(listed);
    }

    /// The next object; skips names that are not keys: Copal did not make them.
    pub(super) async fn next(&mut self, clock: &Clock) -> Result<Option<Listed>, Stop> {
        if let Some(listed) = self.ahead.take() {
            return Ok(Some(listed));
        }
        loop {
            let entry = self.lister.try_next().await.map_err(Stop::Refused)?;
            let Some(entry) = entry else { return Ok(None) };
            let (path, metadata) = entry.into_parts();
            let path = path.strip_prefix(&self.folder).ok_or(Stop::Answer(ELSEWHERE))?;
            let Some(key) = Key::new(path).ok().filter(|_| metadata.is_file()) else { continue };
            // A caller continues after the last name, and would miss a name that is out of order.
            if self.last.as_ref().is_some_and(|last| key <= *last) {
                return Err(Stop::Answer("a listing that is not in order"));
            }
            self.last = Some(key.clone());
            if self.after.as_ref().is_some_and(|after| key <= *after) || !key.as_str().starts_with(&self.prefix) {
                continue;
            }
            let stat = stat_of(&metadata, clock).ok_or(Stop::Answer(UNTIMED))?;
            return Ok(Some(Listed { key, stat }));
        }
    }
}

/// Why a listing does not go on.
pub(super) enum Stop {
    Refused(opendal::Error),
    Answer(&'static str),
}

/// The most that Google gives; Azure gives more.
const LISTED_AT_ONCE: usize = 1_000;
