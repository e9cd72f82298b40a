//! Outbox: the items on their way to the session, sent in batches, so that the receiver is not woken for each.

use std::mem;

use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, EntryKind, Passed};
use crossbeam_channel::{Receiver, Sender, TrySendError};

use super::Trouble;
use super::budget::Budget;
use super::content::{Part, Read};
use crate::stat::{EntryStat, FileId};

/// One entry on its way to the session, in tree order.
pub(super) enum Outgoing {
    /// Unchanged since the parent snapshot; with the file's identity.
    Same(Box<Entry>, FileId),
    /// To be made from the parts that a job sends. `old` is the entry of the parent snapshot, `is_reused` says whether its
    /// content stays, and `cost` is what the job took of the read budget.
    Job { path: TreePath, parts: Receiver<Part>, old: Option<Box<Entry>>, cost: u64, is_reused: bool },
    /// Another hard link to a file that came before, and the entry of the parent snapshot.
    Link { path: TreePath, stat: EntryStat, old: Option<Box<Entry>> },
    /// A page of the parent snapshot of which nothing was looked at.
    Page(Passed),
    /// An entry of the parent snapshot that was not looked at.
    Unseen(Box<Entry>),
    /// Kind and size of an entry of the parent snapshot. Its path was looked at: the entry that is there now comes next,
    /// if there is one.
    Before(EntryKind, u64),
    /// An entry of another snapshot.
    Copied(Copied),
    /// A problem to report.
    Trouble(Trouble),
}

/// An entry of another snapshot: all of it stays but the references to its content. `identity` is what all names of one
/// file share, and `cost` is what reading it took of the read budget.
pub(super) struct Copied {
    pub(super) entry: Box<Entry>,
    pub(super) identity: Option<(u64, u64)>,
    pub(super) fate: Fate,
    pub(super) cost: u64,
}

/// Where the content of a copied entry comes from.
pub(super) enum Fate {
    /// An earlier copy has it.
    Same(Content),
    /// The entry itself holds it, or there is none.
    Held { is_new: bool },
    /// A job reads it.
    Read { parts: Receiver<Part<Read>>, is_new: bool },
    /// The file's first name has it.
    OtherName,
}

impl Outgoing {
    /// Bytes that the item holds of the read budget.
    pub(super) fn cost(&self) -> u64 {
        match self {
            Outgoing::Job { cost, .. } | Outgoing::Copied(Copied { cost, .. }) => *cost,
            _ => 0,
        }
    }
}

/// Items not sent yet. The sender must flush before it waits: what it waits for may depend on these items.
pub(super) struct Outbox<'a> {
    sink: &'a Sender<Vec<Outgoing>>,
    items: Vec<Outgoing>,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(sink: &'a Sender<Vec<Outgoing>>) -> Self {
        Self { sink, items: Vec::new() }
    }

    /// Adds an item, and sends the batch if it is full. False if the receiver has gone.
    pub(super) fn put(&mut self, item: Outgoing) -> bool {
        self.items.push(item);
        self.items.len() < TOGETHER || self.flush()
    }

    /// Sends a job. False if nobody takes jobs, or the receiver of items has gone.
    pub(super) fn send_job<J>(&mut self, jobs: &Sender<J>, job: J) -> bool {
        match jobs.try_send(job) {
            Ok(()) => true,
            Err(TrySendError::Full(job)) => self.flush() && jobs.send(job).is_ok(),
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    /// Takes bytes of the read budget; none if the receiver has gone.
    pub(super) fn take(&mut self, budget: &Budget, bytes: u64) -> Option<u64> {
        match budget.try_take(bytes) {
            Some(cost) => Some(cost),
            None => self.flush().then(|| budget.take(bytes)),
        }
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
    use crossbeam_channel::unbounded;

    use super::*;
    use crate::backup::{SkipKind, TroubleKind};

    fn item() -> Outgoing {
        Outgoing::Trouble(Trouble {
            path: "socket".into(),
            kind: TroubleKind::Skipped(SkipKind::Noted),
            why: String::new(),
        })
    }

    fn lengths(taken: &Receiver<Vec<Outgoing>>) -> Vec<usize> {
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
