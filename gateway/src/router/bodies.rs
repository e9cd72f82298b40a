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

/// Room for bodies. A slow sender holds room for long, so each sender's share is limited and others always have room.
#[derive(Debug)]
pub(super) struct Bodies {
    pace: Pace,
    all: Arc<Semaphore>,
    /// The free part of each client's share, while the client uses some of it.
    shares: Mutex<HashMap<Option<ClientId>, Arc<Semaphore>>>,
}

/// How long the gateway waits.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pace {
    /// How long no byte of a body may arrive.
    pub(super) idle: Duration,
    /// The lowest permitted rate of a whole body, in bytes per second.
    pub(super) slowest: u64,
    /// How long a body may wait for room.
    pub(super) wait: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), slowest: 16 << 10, wait: Duration::from_secs(20) }
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
        Self { pace, all: Arc::new(Semaphore::new(ALL as usize)), shares: Mutex::default() }
    }

    /// Reads a body of at most `most` bytes. `length` is the length that the sender has declared, if any.
    pub(super) async fn read(
        &self,
        sender: Option<ClientId>,
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
        let end = Instant::now() + self.pace.idle + Duration::from_secs(expected / self.pace.slowest);
        let mut read = BytesMut::with_capacity(usize::try_from(length.unwrap_or(0)).unwrap_or(0));
        let mut stream = body.into_data_stream();
        loop {
            let by = end.min(Instant::now() + self.pace.idle);
            let Some(piece) = timeout_at(by, stream.next()).await.map_err(|_| Unread::Slow)? else { break };
            let piece = piece.map_err(|_| Unread::Cut)?;
            if read.len() as u64 + piece.len() as u64 > most {
                return Err(Unread::Large);
            }
            read.extend_from_slice(&piece);
        }
        Ok((read.freeze(), room))
    }

    /// Waits for room in the sender's share first, so that a sender's uploads wait for each other and not for others.
    async fn room(&self, sender: Option<ClientId>, bytes: u64) -> Option<Room> {
        let mebibytes = u32::try_from(bytes.div_ceil(1 << 20)).unwrap_or(u32::MAX).clamp(1, SHARE);
        let share = {
            let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
            // Drops unused shares: nobody waits for them, and nothing of them is taken.
            shares.retain(|_, share| Arc::strong_count(share) > 1);
            shares.entry(sender).or_insert_with(|| Arc::new(Semaphore::new(SHARE as usize))).clone()
        };
        let own = share.acquire_many_owned(mebibytes).await.ok()?;
        Some(Room { _own: own, _all: self.all.clone().acquire_many_owned(mebibytes).await.ok()? })
    }
}

/// The room of one body, given back when dropped.
#[derive(Debug)]
pub(super) struct Room {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// Mebibytes of bodies in memory at once.
const ALL: u32 = 768;
/// Mebibytes per client. Larger than the largest body.
const SHARE: u32 = 384;

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use std::convert::Infallible;

    const ONE: Option<ClientId> = Some(ClientId([1; 16]));
    const OTHER: Option<ClientId> = Some(ClientId([2; 16]));

    fn bodies() -> Bodies {
        Bodies::new(Pace { idle: Duration::from_millis(200), slowest: 1 << 20, wait: Duration::from_millis(50) })
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
    async fn a_body_may_take_as_long_as_the_least_rate_takes_and_no_longer() {
        let bodies = bodies();
        let started = Instant::now();
        assert_eq!(bodies.read(ONE, trickle(), Some(1 << 20), 1 << 20).await.err(), Some(Unread::Slow));
        let took = started.elapsed();
        assert!(took >= Duration::from_millis(1_150) && took < Duration::from_secs(20), "{took:?}");
        assert_eq!(bodies.read(ONE, silence(), Some(9 << 20), 9 << 20).await.err(), Some(Unread::Slow));
        assert!(started.elapsed() - took < Duration::from_secs(5), "nothing at all is noticed early");
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
