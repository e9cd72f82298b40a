//! Outbox: sends items in batches, so that the receiver is not woken for each.

use std::mem;

use crossbeam_channel::Sender;

use super::compare::Item;

/// Items not sent yet. The sender must flush before it waits: what it waits for may depend on these items.
pub(super) struct Outbox<'a> {
    sink: &'a Sender<Vec<Item>>,
    items: Vec<Item>,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(sink: &'a Sender<Vec<Item>>) -> Self {
        Self { sink, items: Vec::new() }
    }

    /// Adds an item, and sends the batch if it is full. False if the receiver has gone.
    pub(super) fn put(&mut self, item: Item) -> bool {
        self.items.push(item);
        self.items.len() < TOGETHER || self.flush()
    }

    /// Sends the items so far. False if the receiver has gone.
    pub(super) fn flush(&mut self) -> bool {
        self.items.is_empty() || self.sink.send(mem::take(&mut self.items)).is_ok()
    }
}

/// Items in a batch.
pub(super) const TOGETHER: usize = 64;

#[cfg(test)]
mod tests {
    use crossbeam_channel::{Receiver, unbounded};

    use super::*;
    use crate::backup::{SkipKind, Trouble, TroubleKind};

    fn item() -> Item {
        Item::Trouble(Trouble {
            path: "socket".into(),
            kind: TroubleKind::Skipped(SkipKind::Noted),
            why: String::new(),
        })
    }

    fn lengths(taken: &Receiver<Vec<Item>>) -> Vec<usize> {
        taken.try_iter().map(|items| items.len()).collect()
    }

    #[test]
    fn items_are_sent_many_at_a_time() {
        let (sink, taken) = unbounded();
        let mut outbox = Outbox::new(&sink);
        assert!((1..2 * TOGETHER).all(|_| outbox.put(item())));
        assert_eq!(lengths(&taken), [TOGETHER]);
    }

    #[test]
    fn who_waits_can_send_what_there_is() {
        let (sink, taken) = unbounded();
        let mut outbox = Outbox::new(&sink);
        assert!(outbox.put(item()));
        assert!(outbox.flush() && outbox.flush());
        assert_eq!(lengths(&taken), [1]);
    }

    #[test]
    fn nobody_listening_is_told() {
        let (sink, taken) = unbounded();
        let mut outbox = Outbox::new(&sink);
        assert!(outbox.put(item()));
        drop(taken);
        assert!(!outbox.flush());
    }
}
