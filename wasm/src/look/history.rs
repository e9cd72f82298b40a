//! History: the versions of one entry, as a sweep finds them in the trees of snapshots.

use copal_engine::difference::{Difference, difference};
use copal_format::tree::Entry;

/// The versions found so far. Versions differ in content, size or time.
#[derive(Default)]
pub struct History {
    versions: Vec<Entry>,
}

impl History {
    /// The number of an entry's version. Equal versions have one number.
    pub fn number(&mut self, entry: &Entry) -> u32 {
        let is_same = |one: &Entry| one.mtime == entry.mtime && is_same_content(one, entry);
        let known = self.versions.iter().position(is_same);
        let number = known.unwrap_or_else(|| {
            self.versions.push(entry.clone());
            self.versions.len() - 1
        });
        number as u32
    }

    /// The number of the first version that has an entry's content.
    pub fn content(&self, entry: &Entry) -> Option<u32> {
        let same = self.versions.iter().position(|one| is_same_content(one, entry));
        same.map(|number| number as u32)
    }
}

/// Whether two entries differ at most in metadata.
fn is_same_content(a: &Entry, b: &Entry) -> bool {
    matches!(difference(Some(a), Some(b)), None | Some(Difference::Metadata))
}
