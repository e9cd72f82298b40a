//! Bodies: reads request bodies. Bounds their memory, and how slowly they may arrive.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::room::{Bounds, Room, Sender, Space};

/// Reads bodies. A client's body may wait for room and be slow. A stranger's may do neither, because the connection
/// buffers what nobody reads, and strangers send only a few bytes.
#[derive(Debug)]
pub(super) struct Bodies {
    pace: Pace,
    space: Space,
}

/// How long the gateway waits.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pace {
    /// In each window of this length, a body must bring as many bytes as the lowest rate does.
    pub(super) window: Duration,
    /// The lowest permitted rate, in bytes per second.
    pub(super) slowest: u64,
    /// How long a client's body may wait for room.
    pub(super) wait: Duration,
    /// How long a stranger's whole body may take.
    pub(super) stranger: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let [window, wait, stranger] = [60, 20, 5].map(Duration::from_secs);
        Self { window, slowest: SLOWEST, wait, stranger }
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
        Self { pace, space: Space::new(CLIENTS, STRANGERS) }
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
        let Pace { window, slowest, wait, stranger } = self.pace;
        let (room, window, step) = match sender.is_stranger() {
            // No number of bytes gains a stranger more time.
            true => (self.space.take(sender, expected), stranger, u64::MAX),
            false => {
                let room = timeout(wait, self.space.wait(sender, expected)).await.ok().flatten();
                // Fast bytes at first do not allow slow ones later: each window counts alone.
                (room, window, slowest.saturating_mul(window.as_millis() as u64) / 1000)
            }
        };
        let room = room.ok_or(Unread::Busy)?;
        let (mut by, mut goal) = (Instant::now() + window, step);
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
                (by, goal) = (Instant::now() + window, read.len() as u64 + step);
            }
        }
        Ok((read.freeze(), room))
    }
}

/// The lowest rate at which a client may send, in bytes per second.
pub(super) const SLOWEST: u64 = 16 << 10;
/// Memory for clients' bodies. A client's share is the largest body.
const CLIENTS: Bounds = Bounds { all: 768 << 10, each: 256 << 10 };
/// Memory for bodies that nobody has signed.
const STRANGERS: Bounds = Bounds { all: 16 << 10, each: 2 << 10 };

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    use copal_format::id::ClientId;
    use futures::stream;

    use super::*;

    const ONE: Sender = Sender::Client(ClientId([1; 16]));
    const OTHER: Sender = Sender::Client(ClientId([2; 16]));

    fn bodies() -> Bodies {
        let [window, wait, stranger] = [200, 50, 100].map(Duration::from_millis);
        Bodies::new(Pace { window, slowest: 1 << 20, wait, stranger })
    }

    /// With so much patience that a test ends before it.
    fn patient() -> Arc<Bodies> {
        let minute = Duration::from_secs(60);
        Arc::new(Bodies::new(Pace { window: minute, wait: minute, stranger: minute, ..bodies().pace }))
    }

    /// Somebody of this network.
    fn stranger(last: u8) -> Sender {
        Sender::Stranger(Some(Ipv4Addr::new(192, 0, 2, last).into()))
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
        let bodies = patient();
        let large = 256 << 20;
        let begin = |sender, length| {
            let bodies = bodies.clone();
            tokio::spawn(async move { bodies.read(sender, silence(), Some(length), length).await.err() })
        };
        let mut slow: Vec<_> = (0..2_000).map(|_| begin(stranger(1), 1_000)).collect();
        slow.extend([ONE, ONE, OTHER, OTHER].map(|client| begin(client, large)));
        // All of them have their room, or wait.
        tokio::task::yield_now().await;
        let third = Sender::Client(ClientId([3; 16]));
        assert_eq!(bodies.read(third, Body::from("pack"), Some(large), large).await.unwrap().0, "pack");
        assert_eq!(bodies.read(stranger(1), Body::from("token"), Some(1_000), 1_000).await.unwrap().0, "token");
        slow.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn silent_strangers_of_one_network_leave_room_for_those_of_another() {
        let (bodies, share) = (patient(), 2 << 20);
        let silent = |last| {
            let bodies = bodies.clone();
            tokio::spawn(async move { bodies.read(stranger(last), silence(), Some(share), share).await.err() })
        };
        let ask = async |last| {
            let read = bodies.read(stranger(last), Body::from("token"), Some(5), 5);
            let read = timeout(Duration::from_secs(10), read).await.expect("nobody waits for room");
            read.map(|(bytes, _)| bytes)
        };
        let mut silents = vec![silent(1)];
        tokio::task::yield_now().await;
        assert_eq!([ask(1).await, ask(2).await], [Err(Unread::Busy), Ok(Bytes::from("token"))]);
        silents.extend((2..=8).map(silent));
        tokio::task::yield_now().await;
        assert_eq!(ask(9).await, Err(Unread::Busy), "there is no room for any stranger");
        silents.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn a_strangers_whole_body_has_to_come_soon_however_fast_it_is() {
        let fast = trickle().into_data_stream().map(|_| Ok::<_, Infallible>(Bytes::from(vec![1; 64 << 10])));
        let read = bodies().read(stranger(1), Body::from_stream(fast), Some(9 << 20), 9 << 20).await;
        assert_eq!(read.err(), Some(Unread::Slow));
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
