//! Room: bounds the memory that bodies and answers take, in all and for each sender.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use copal_format::id::ClientId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory for many senders. A slow sender holds memory for long, so each has a share of it: two clients still leave a
/// share to others. Strangers have memory of their own, so that they take none from clients.
#[derive(Debug)]
pub(super) struct Space {
    clients: Part,
    strangers: Part,
}

/// Who sends a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sender {
    /// Nobody has signed it. All addresses of a [`network`](super::network::network) are one stranger. Strangers
    /// without a network are on this machine, or behind a proxy, or the host does not know their address.
    Stranger(Option<IpAddr>),
    Owner,
    Client(ClientId),
}

impl Sender {
    pub(super) fn is_stranger(self) -> bool {
        matches!(self, Self::Stranger(_))
    }
}

/// Kibibytes of memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct Bounds {
    /// For all senders together.
    pub(super) all: u32,
    /// For each of them.
    pub(super) each: u32,
}

impl Space {
    pub(super) fn new(clients: Bounds, strangers: Bounds) -> Self {
        Self { clients: Part::new(clients), strangers: Part::new(strangers) }
    }

    /// Takes room for so many bytes; `None` if there is not enough now. More than the sender's share counts as its
    /// share.
    pub(super) fn take(&self, sender: Sender, bytes: u64) -> Option<Room> {
        let part = self.of(sender);
        let (share, kibibytes) = part.share(sender, bytes);
        let own = share.try_acquire_many_owned(kibibytes).ok()?;
        Some(Room::of(own, part.all.clone().try_acquire_many_owned(kibibytes).ok()?))
    }

    /// Like [`Self::take`], but waits. Waits for room in the sender's share first, so that a sender's requests wait for
    /// each other and not for others.
    pub(super) async fn wait(&self, sender: Sender, bytes: u64) -> Option<Room> {
        let part = self.of(sender);
        let (share, kibibytes) = part.share(sender, bytes);
        let own = share.acquire_many_owned(kibibytes).await.ok()?;
        Some(Room::of(own, part.all.clone().acquire_many_owned(kibibytes).await.ok()?))
    }

    fn of(&self, sender: Sender) -> &Part {
        if sender.is_stranger() { &self.strangers } else { &self.clients }
    }
}

/// Memory for clients, or for strangers.
#[derive(Debug)]
struct Part {
    bounds: Bounds,
    all: Arc<Semaphore>,
    /// The free part of each sender's share, while the sender uses some of it.
    shares: Mutex<HashMap<Sender, Arc<Semaphore>>>,
}

impl Part {
    fn new(bounds: Bounds) -> Self {
        Self { bounds, all: Arc::new(Semaphore::new(bounds.all as usize)), shares: Mutex::default() }
    }

    /// The free part of a sender's share, and how many kibibytes these bytes take of it.
    fn share(&self, sender: Sender, bytes: u64) -> (Arc<Semaphore>, u32) {
        // Many strangers may come through a proxy.
        let most = if sender == Sender::Stranger(None) { self.bounds.all } else { self.bounds.each };
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops unused shares: nobody waits for them, and nothing of them is taken.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        let share = shares.entry(sender).or_insert_with(|| Arc::new(Semaphore::new(most as usize))).clone();
        (share, u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).clamp(1, most))
    }
}

/// The room of one body or answer, given back when all its copies are dropped.
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// The permits that this room holds: of the sender's share, and of what all senders have together.
    _permits: Arc<[OwnedSemaphorePermit; 2]>,
}

impl Room {
    fn of(own: OwnedSemaphorePermit, all: OwnedSemaphorePermit) -> Self {
        Self { _permits: Arc::new([own, all]) }
    }

    /// The same bytes. They keep the room until they are dropped, wherever they wait to be sent.
    pub(super) fn hold(&self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _room: self.clone() })
    }
}

struct Held {
    bytes: Bytes,
    _room: Room,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const ONE: Sender = Sender::Client(ClientId([1; 16]));
    const OTHER: Sender = Sender::Client(ClientId([2; 16]));

    fn space() -> Space {
        let bounds = Bounds { all: 10, each: 4 };
        Space::new(bounds, bounds)
    }

    fn stranger(last: u8) -> Sender {
        Sender::Stranger(Some(Ipv4Addr::new(192, 0, 2, last).into()))
    }

    #[test]
    fn a_sender_takes_its_own_share_only_and_gets_it_back() {
        let space = space();
        let taken = space.take(ONE, 4 << 10);
        assert!(taken.is_some() && space.take(ONE, 1).is_none());
        assert!(space.take(OTHER, 4 << 10).is_some());
        drop(taken);
        assert!(space.take(ONE, 1 << 40).is_some(), "more than a share is all of it");
        assert_eq!(space.clients.shares.lock().unwrap().len(), 1, "who has nothing is forgotten");
    }

    #[test]
    fn all_together_take_no_more_than_there_is_and_strangers_nothing_of_clients() {
        let space = space();
        let taken = [1, 2, 3].map(|last| space.take(stranger(last), 3 << 10));
        assert!(taken.iter().all(Option::is_some));
        assert!(space.take(stranger(4), 2 << 10).is_none() && space.take(stranger(4), 1 << 10).is_some());
        assert!(space.take(ONE, 4 << 10).is_some());
    }

    #[test]
    fn strangers_behind_a_proxy_on_this_machine_have_no_share_of_their_own() {
        let space = space();
        let taken = [1, 2].map(|_| space.take(Sender::Stranger(None), 5 << 10));
        assert!(taken.iter().all(Option::is_some) && space.take(Sender::Stranger(None), 1).is_none());
    }

    #[test]
    fn bytes_keep_their_room_until_the_last_of_them_is_dropped() {
        let space = space();
        let room = space.take(ONE, 4 << 10).unwrap();
        let held = room.hold(Bytes::from_static(b"bytes"));
        drop(room);
        let part = held.slice(1..3);
        drop(held);
        assert!(part == "yt" && space.take(ONE, 1).is_none());
        drop(part);
        assert!(space.take(ONE, 1).is_some());
    }
}
