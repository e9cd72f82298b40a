//! Recent: the most recently added values, bounded in number and in bytes. Whoever writes packs decides what they
//! unpack to: a block of a few kilobytes may become 32 MiB.

use std::collections::{HashMap, VecDeque};

use copal_format::block::OpenBlock;
use copal_format::tree::{Child, Content, Entry, Extents, PageContent, VerifiedPage};

/// The most recently added values. The newest one is kept, whatever it weighs.
pub(super) struct Recent<K, V> {
    most: usize,
    room: usize,
    /// Bytes of all values.
    taken: usize,
    /// The values, each with its bytes.
    values: HashMap<K, (V, usize)>,
    order: VecDeque<K>,
}

impl<K: Clone + Eq + core::hash::Hash, V> Recent<K, V> {
    /// Keeps at most so many values, and at most so many bytes.
    pub(super) fn new(most: usize, room: usize) -> Self {
        Self { most, room, taken: 0, values: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(value, _)| value)
    }

    /// Adds a value, unless there is one: what a key names is always the same.
    pub(super) fn put(&mut self, key: K, value: V, bytes: usize) {
        if self.values.contains_key(&key) {
            return;
        }
        self.values.insert(key.clone(), (value, bytes));
        self.order.push_back(key);
        self.taken += bytes;
        while self.values.len() > self.most || self.taken > self.room && self.values.len() > 1 {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some((_, bytes)) = self.values.remove(&oldest) {
                self.taken -= bytes;
            }
        }
    }
}

/// The bytes of memory that an opened block takes.
pub(super) fn block_bytes(block: &OpenBlock) -> usize {
    (0..block.len()).filter_map(|at| block.chunk(at)).map(|item| item.len() + size_of::<usize>()).sum()
}

/// About how many bytes of memory a page takes.
pub(super) fn page_bytes(page: &VerifiedPage) -> usize {
    match page.content() {
        PageContent::Entries(entries) => entries.iter().map(entry_bytes).sum(),
        PageContent::Directory(children) => {
            children.iter().map(|child| size_of::<Child>() + child.last_path.as_bytes().len()).sum()
        }
        PageContent::List(pieces) => size_of_val(pieces.as_slice()),
        PageContent::Lists(children) => size_of_val(children.as_slice()),
    }
}

fn entry_bytes(entry: &Entry) -> usize {
    let content = match &entry.content {
        Content::Inline(_) => Extents::of(entry).content_before(u64::MAX) as usize,
        Content::Chunks(pieces) => size_of_val(pieces.as_slice()),
        Content::None | Content::List { .. } => 0,
    };
    let extras = &entry.extras;
    let texts = extras.xattrs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let lists = size_of_val(extras.xattrs.as_slice()) + size_of_val(extras.holes.as_slice());
    size_of::<Entry>() + entry.path.as_bytes().len() + content + texts + lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_bytes_are_kept_than_there_is_room_for_and_the_newest_value_always_is() {
        let mut recent = Recent::new(10, 100);
        for key in 0..5 {
            recent.put(key, "light", 40);
            assert!(recent.taken <= 100, "{key}");
        }
        let kept = |recent: &Recent<i32, _>| (0..9).filter(|key| recent.get(key).is_some()).collect::<Vec<_>>();
        assert_eq!(kept(&recent), [3, 4]);
        recent.put(3, "light", 40);
        assert_eq!((kept(&recent), recent.taken), (vec![3, 4], 80), "it is there already");
        recent.put(7, "heavier than all the room", 1_000);
        assert_eq!((kept(&recent), recent.taken), (vec![7], 1_000));
        recent.put(8, "light", 40);
        assert_eq!((kept(&recent), recent.taken), (vec![8], 40));
    }

    #[test]
    fn no_more_values_are_kept_than_allowed_however_light_they_are() {
        let mut recent = Recent::new(3, 100);
        (0..9).for_each(|key| recent.put(key, (), 1));
        assert_eq!((recent.values.len(), recent.order.len(), recent.taken), (3, 3, 3));
    }
}
