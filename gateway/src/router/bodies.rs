//! Bodies: bounds the memory for request bodies, in all and per client, and how slowly they may arrive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use copal_format::id::ClientId;
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

/// Room for bodies. A slow sender holds room for long, so each client's share is limited: two clients still leave a
/// share to others. Bodies that nobody has signed are small; they have a room of their own and take none from clients.
#[derive(Debug)]
pub(super) struct Bodies {
    pace: Pace,
    all: Arc<Semaphore>,
    unsigned: Arc<Semaphore>,
    /// The free part of each sender's share, while the sender uses some of it.
    shares: Mutex<HashMap<Sender, Arc<Semaphore>>>,
}

/// Who sends a body.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sender {
    /// Nobody has signed it.
    Stranger,
    Owner,
    Client(ClientId),
}

/// How long the gateway waits.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pace {
    /// In each window of this length, a body must bring as many bytes as the lowest rate does.
    pub(super) window: Duration,
    /// The lowest permitted rate, in bytes per second.
    pub(super) slowest: u64,
    /// How long a body may wait for room.
    pub(super) wait: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { window: Duration::from_secs(60), slowest: 16 << 10, wait: Duration::from_secs(20) }
    }
}

/// Why a body was not read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// Other bodies take the room.
    Busy,
    /// It arrives too slowly, or not at all.
    Slow,
    /// It ends in the middle.
    Cut,
    /// It is larger than it may be.
    Large,
}

impl Bodies {
    pub(super) fn new(pace: Pace) -> Self {
        let [all, unsigned] = [ALL, UNSIGNED].map(|most| Arc::new(Semaphore::new(most as usize)));
        Self { pace, all, unsigned, shares: Mutex::default() }
    }

    /// Reads a body of at most `most` bytes. `length` is the length that the sender has declared, if any.
    pub(super) async fn read(
        &self,
        sender: Sender,
        body: Body,
        length: Option<u64>,
        most: u64,
    ) -> Result<(Bytes, Room), Unread> {
        if length.is_some_and(|length| length > most) {
            return Err(Unread::Large);
        }
        let expected = length.unwrap_or(most);
        let room = timeout(self.pace.wait, self.room(sender, expected)).await;
        let room = room.map_err(|_| Unread::Busy)?.ok_or(Unread::Busy)?;
        // Fast bytes at first do not allow slow ones later: each window counts alone.
        let step = self.pace.slowest.saturating_mul(self.pace.window.as_millis() as u64) / 1000;
        let (mut by, mut goal) = (Instant::now() + self.pace.window, step);
        let mut read = BytesMut::with_capacity(usize::try_from(length.unwrap_or(0)).unwrap_or(0));
        let mut stream = body.into_data_stream();
        loop {
            let Some(piece) = timeout_at(by, stream.next()).await.map_err(|_| Unread::Slow)? else { break };
            let piece = piece.map_err(|_| Unread::Cut)?;
            if read.len() as u64 + piece.len() as u64 > most {
                return Err(Unread::Large);
            }
            read.extend_from_slice(&piece);
            if read.len() as u64 >= goal {
                (by, goal) = (Instant::now() + self.pace.window, read.len() as u64 + step);
            }
        }
        Ok((read.freeze(), room))
    }

    /// Waits for room in the sender's share first, so that a sender's uploads wait for each other and not for others.
    async fn room(&self, sender: Sender, bytes: u64) -> Option<Room> {
        let kibibytes = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).clamp(1, SHARE);
        if sender == Sender::Stranger {
            let all = self.unsigned.clone().acquire_many_owned(kibibytes.min(UNSIGNED)).await.ok()?;
            return Some(Room { _own: None, _all: all });
        }
        let share = {
            let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
            // Drops unused shares: nobody waits for them, and nothing of them is taken.
            shares.retain(|_, share| Arc::strong_count(share) > 1);
            shares.entry(sender).or_insert_with(|| Arc::new(Semaphore::new(SHARE as usize))).clone()
        };
        let own = share.acquire_many_owned(kibibytes).await.ok()?;
        Some(Room { _own: Some(own), _all: self.all.clone().acquire_many_owned(kibibytes).await.ok()? })
    }
}

/// The room of one body, given back when dropped.
#[derive(Debug)]
pub(super) struct Room {
    _own: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
}

/// Kibibytes of clients' bodies in memory at once.
const ALL: u32 = 768 << 10;
/// Kibibytes per client: the largest body.
const SHARE: u32 = 256 << 10;
/// Kibibytes of bodies that nobody has signed.
const UNSIGNED: u32 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use std::convert::Infallible;

    const ONE: Sender = Sender::Client(ClientId([1; 16]));
    const OTHER: Sender = Sender::Client(ClientId([2; 16]));

    fn bodies() -> Bodies {
        Bodies::new(Pace { window: Duration::from_millis(200), slowest: 1 << 20, wait: Duration::from_millis(50) })
    }

    /// A byte now and then, without end.
    fn trickle() -> Body {
        let pieces = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b".")), ()))
        });
        Body::from_stream(pieces)
    }

    fn silence() -> Body {
        Body::from_stream(stream::pending::<Result<Bytes, Infallible>>())
    }

    #[tokio::test]
    async fn a_body_goes_on_at_the_least_rate_whatever_came_before_and_may_take_long() {
        let bodies = bodies();
        let started = Instant::now();
        let fast_at_first = stream::iter([Ok::<_, Infallible>(Bytes::from(vec![1; 8 << 20]))]);
        let fast_at_first =
            Body::from_stream(fast_at_first.chain(trickle().into_data_stream().map(|piece| Ok(piece.unwrap()))));
        for body in [trickle(), silence(), fast_at_first] {
            assert_eq!(bodies.read(ONE, body, Some(9 << 20), 9 << 20).await.err(), Some(Unread::Slow));
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        let steady = stream::iter(0..20).then(|_| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok::<_, Infallible>(Bytes::from(vec![1; 256 << 10]))
        });
        let read = bodies.read(ONE, Body::from_stream(steady), Some(5 << 20), 5 << 20).await;
        assert_eq!(read.unwrap().0.len(), 5 << 20, "longer than a window");
    }

    #[tokio::test]
    async fn strangers_and_two_slow_clients_hold_up_no_other() {
        let bodies = Arc::new(Bodies::new(Pace { window: Duration::from_secs(60), ..bodies().pace }));
        let large = 256 << 20;
        let begin = |sender, length| {
            let bodies = bodies.clone();
            tokio::spawn(async move { bodies.read(sender, silence(), Some(length), length).await.err() })
        };
        let mut slow: Vec<_> = (0..2_000).map(|_| begin(Sender::Stranger, 1_000)).collect();
        slow.extend([ONE, ONE, OTHER, OTHER].map(|client| begin(client, large)));
        // All of them have their room, or wait.
        tokio::task::yield_now().await;
        let third = Sender::Client(ClientId([3; 16]));
        assert_eq!(bodies.read(third, Body::from("pack"), Some(large), large).await.unwrap().0, "pack");
        assert_eq!(bodies.read(Sender::Stranger, Body::from("token"), Some(1_000), 1_000).await.unwrap().0, "token");
        slow.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn a_client_that_sends_slowly_takes_its_own_share_only() {
        let bodies = Arc::new(bodies());
        let large = 256 << 20;
        let slow = || {
            let bodies = bodies.clone();
            tokio::spawn(async move { bodies.read(ONE, silence(), Some(large), large).await.err() })
        };
        let (first, second) = (slow(), slow());
        assert_eq!(bodies.read(OTHER, Body::from("pack"), Some(large), large).await.unwrap().0, "pack");
        let ends = [first.await.unwrap(), second.await.unwrap()];
        assert!(ends.contains(&Some(Unread::Slow)) && ends.contains(&Some(Unread::Busy)), "{ends:?}");
        assert_eq!(bodies.read(ONE, Body::from("pack"), Some(4), 4).await.unwrap().0, "pack", "and has it back");
        assert_eq!(bodies.shares.lock().unwrap().len(), 1, "who sends nothing is forgotten");
    }

    #[tokio::test]
    async fn a_body_larger_than_it_may_be_is_not_read_on() {
        let bodies = bodies();
        assert_eq!(bodies.read(ONE, Body::from("12345"), None, 4).await.err(), Some(Unread::Large));
        assert_eq!(bodies.read(ONE, silence(), Some(5), 4).await.err(), Some(Unread::Large));
        assert_eq!(bodies.read(ONE, Body::from("1234"), None, 4).await.unwrap().0, "1234");
    }

    #[tokio::test]
    async fn a_body_has_its_room_until_it_is_stored() {
        let (bodies, large) = (bodies(), 256 << 20);
        let stored_slowly = bodies.read(ONE, Body::from("pack"), Some(large), large).await.unwrap();
        assert_eq!(bodies.read(ONE, Body::from("pack"), Some(large), large).await.err(), Some(Unread::Busy));
        drop(stored_slowly);
        assert!(bodies.read(ONE, Body::from("pack"), Some(large), large).await.is_ok());
    }
}
