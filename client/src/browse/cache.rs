//! Cache: opened blocks and decoded pages, up to a number of bytes. The least recently used leave first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values by key. Threads share it: each value is made once, however many threads wait for it.
pub(super) struct Cache<K, V> {
    slots: Mutex<Slots<K, V>>,
    most: u64,
}

struct Slots<K, V> {
    by_key: HashMap<K, Slot<V>>,
    /// The keys by when they were used last.
    by_use: BTreeMap<u64, K>,
    uses: u64,
    bytes: u64,
}

struct Slot<V> {
    cell: Arc<Mutex<Option<V>>>,
    used: u64,
    bytes: u64,
}

impl<K: Copy + Eq + Hash, V: Clone> Cache<K, V> {
    pub(super) fn new(most: u64) -> Self {
        let slots = Slots { by_key: HashMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0 };
        Self { slots: Mutex::new(slots), most }
    }

    /// The value of a key. If there is none, makes it; `make` also returns how many bytes it takes.
    pub(super) fn get_or<E>(&self, key: K, make: impl FnOnce() -> Result<(V, u64), E>) -> Result<V, E> {
        let cell = self.cell(key);
        let mut known = locked(&cell);
        if let Some(value) = &*known {
            return Ok(value.clone());
        }
        let made = make();
        *known = made.as_ref().ok().map(|(value, _)| value.clone());
        drop(known);
        let mut slots = locked(&self.slots);
        match made {
            Ok((value, bytes)) => {
                slots.weigh(key, &cell, bytes);
                slots.shrink(self.most);
                Ok(value)
            }
            Err(error) => {
                slots.drop_empty(key, &cell);
                Err(error)
            }
        }
    }

    /// Whether it has the value, or a thread is making it.
    pub(super) fn has(&self, key: &K) -> bool {
        locked(&self.slots).by_key.contains_key(key)
    }

    fn cell(&self, key: K) -> Arc<Mutex<Option<V>>> {
        let mut slots = locked(&self.slots);
        slots.uses += 1;
        let now = slots.uses;
        let slot = slots.by_key.entry(key).or_insert_with(|| Slot { cell: Arc::default(), used: now, bytes: 0 });
        let (cell, before) = (slot.cell.clone(), std::mem::replace(&mut slot.used, now));
        slots.by_use.remove(&before);
        slots.by_use.insert(now, key);
        cell
    }
}

impl<K: Copy + Eq + Hash, V> Slots<K, V> {
    fn weigh(&mut self, key: K, cell: &Arc<Mutex<Option<V>>>, bytes: u64) {
        if let Some(slot) = self.by_key.get_mut(&key).filter(|slot| Arc::ptr_eq(&slot.cell, cell)) {
            self.bytes += bytes - std::mem::replace(&mut slot.bytes, bytes).min(bytes);
        }
    }

    fn shrink(&mut self, most: u64) {
        while self.bytes > most
            && let Some((_, key)) = self.by_use.pop_first()
        {
            self.bytes -= self.by_key.remove(&key).map_or(0, |slot| slot.bytes);
        }
    }

    fn drop_empty(&mut self, key: K, cell: &Arc<Mutex<Option<V>>>) {
        if let Some(slot) = self.by_key.get(&key)
            && Arc::ptr_eq(&slot.cell, cell)
            && slot.bytes == 0
        {
            let used = slot.used;
            self.by_key.remove(&key);
            self.by_use.remove(&used);
        }
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(cache: &Cache<u8, u8>, key: u8, bytes: u64) -> bool {
        let mut is_made = false;
        let made = cache.get_or(key, || {
            is_made = true;
            Ok::<_, ()>((key, bytes))
        });
        assert_eq!(made, Ok(key));
        is_made
    }

    #[test]
    fn what_was_not_used_for_longest_leaves_first() {
        let cache = Cache::new(30);
        assert!([1, 2, 3].into_iter().all(|key| get(&cache, key, 10)));
        assert!(!get(&cache, 1, 10));
        assert!(get(&cache, 4, 10), "it takes the room of 2");
        assert!(!get(&cache, 1, 10) && !get(&cache, 3, 10) && !get(&cache, 4, 10));
        assert!(get(&cache, 2, 10));
    }

    #[test]
    fn a_value_larger_than_the_cache_is_given_out_and_not_held() {
        let cache = Cache::new(30);
        assert!(get(&cache, 1, 31) && get(&cache, 1, 31));
        assert_eq!(locked(&cache.slots).bytes, 0);
    }

    #[test]
    fn a_failure_is_not_remembered() {
        let cache = Cache::<u8, u8>::new(30);
        assert_eq!(cache.get_or(1, || Err("damaged")), Err("damaged"));
        assert!(!cache.has(&1));
        assert!(get(&cache, 1, 10));
    }

    #[test]
    fn a_value_is_made_once_for_all_threads_that_want_it() {
        let (cache, made) = (Cache::new(30), Mutex::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    cache.get_or(1, || {
                        *locked(&made) += 1;
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        Ok::<_, ()>((1, 10))
                    })
                });
            }
        });
        assert_eq!(*locked(&made), 1);
    }
}
