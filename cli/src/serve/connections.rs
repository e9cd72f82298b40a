//! Connections: so many at once, of one address too; none that says nothing, asks for nothing or does not read; and none
//! for ever.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum_server::accept::Accept;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

use super::activity::{Activity, Counted, Patience};

/// How many connections there may be, for all listeners together.
#[derive(Clone)]
pub(super) struct Room {
    all: Arc<Semaphore>,
    /// Of each network, and the most.
    networks: Arc<Mutex<HashMap<IpAddr, usize>>>,
    each: usize,
}

impl Room {
    /// Half of the files that the process may open, of which it is permitted as many as the system lets it have: the other
    /// half is for what requests and jobs read and write. So many of them for each address.
    pub(super) fn of_process(each: usize) -> Self {
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, ..limit };
        let most = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => raised.current,
            Err(_) => limit.current,
        };
        Self::of(most.map_or(MOST, |most| (most / 2).min(MOST)) as usize, each)
    }

    pub(super) fn of(most: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), networks: Arc::default(), each }
    }

    /// Room for one more, of a peer of that address.
    fn enter(&self, peer: Option<IpAddr>) -> io::Result<Permit> {
        let all = self.all.clone().try_acquire_owned().map_err(io::Error::other)?;
        let network = peer.and_then(network);
        if let Some(network) = network {
            let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
            let count = networks.entry(network).or_default();
            if *count >= self.each {
                return Err(io::Error::other("too many connections from one address"));
            }
            *count += 1;
        }
        Ok(Permit { _all: all, network, networks: self.networks.clone() })
    }
}

/// What counts as one address: of IPv6 the network that one subscriber has. None for this machine itself, where a proxy is.
fn network(peer: IpAddr) -> Option<IpAddr> {
    match peer.to_canonical() {
        own if own.is_loopback() => None,
        IpAddr::V6(six) => Some(Ipv6Addr::from_bits(six.to_bits() & !(u128::MAX >> 64)).into()),
        four => Some(four),
    }
}

/// One connection's room.
struct Permit {
    _all: OwnedSemaphorePermit,
    network: Option<IpAddr>,
    networks: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(network) = self.network else { return };
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = networks.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                networks.remove(&network);
            }
        }
    }
}

/// A stream that knows who is at its other end.
pub(super) trait Peer {
    fn peer(&self) -> Option<IpAddr>;
}

impl Peer for TcpStream {
    fn peer(&self) -> Option<IpAddr> {
        self.peer_addr().ok().map(|address| address.ip())
    }
}

/// Accepts as another acceptor does, while there is room.
#[derive(Clone)]
pub(super) struct Connections<A> {
    inner: A,
    room: Room,
    patience: Patience,
}

impl<A> Connections<A> {
    pub(super) fn new(inner: A, room: &Room, patience: Patience) -> Self {
        Self { inner, room: room.clone(), patience }
    }
}

impl<A, I: Peer, S> Accept<I, S> for Connections<A>
where
    A: Accept<I, S, Future: Send + 'static>,
{
    type Stream = Connection<A::Stream>;
    type Service = Counted<A::Service>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        // Without one it is closed at once: its client tries again, and no job lacks a file meanwhile.
        let permit = self.room.enter(stream.peer());
        let accepted = self.inner.accept(stream, service);
        let patience = self.patience;
        Box::pin(async move {
            let permit = permit?;
            let (stream, service) = accepted.await?;
            let silence = Some(Silence { ends: Box::pin(sleep(patience.silence)), matched: 0 });
            let activity = Activity::new(patience, Instant::now());
            let looks = Box::pin(sleep(patience.look()));
            let service = Counted::new(service, activity.clone());
            Ok((Connection { stream, silence, activity, looks, _permit: permit }, service))
        })
    }
}

/// A connection that ends if it says nothing, or if its [`Activity`] says so.
///
/// Once a request begins, or what all connections of HTTP/2 begin with has come, hyper's own timers hold. Until then it has
/// none, since it does not know which protocol's is to be used.
pub(super) struct Connection<T> {
    stream: T,
    silence: Option<Silence>,
    activity: Activity,
    /// When the activity is looked at next.
    looks: Pin<Box<Sleep>>,
    _permit: Permit,
}

impl<T> Connection<T> {
    /// Whether enough was waited; otherwise the task is woken to look again.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        while self.looks.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if self.activity.is_over(now) {
                return true;
            }
            self.looks.as_mut().reset((now + self.activity.look()).into());
        }
        false
    }

    fn unless_over<V>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<V>>) -> Poll<io::Result<V>> {
        if done.is_pending() && self.is_over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        done
    }
}

/// What is waited for.
struct Silence {
    ends: Pin<Box<Sleep>>,
    /// Bytes that came, all of which HTTP/2 begins with.
    matched: usize,
}

impl Silence {
    /// Whether it is known which protocol is spoken.
    fn is_broken_by(&mut self, bytes: &[u8]) -> bool {
        let is_same = PREFACE[self.matched..].iter().zip(bytes).all(|(expected, byte)| expected == byte);
        self.matched += bytes.len();
        !is_same || self.matched >= PREFACE.len()
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Connection<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        let Some(silence) = &mut self.silence else { return self.unless_over(context, read) };
        if read.is_pending() {
            ready!(silence.ends.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if silence.is_broken_by(&into.filled()[before..]) {
            self.silence = None;
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Connection<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_over(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.unless_over(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.unless_over(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.unless_over(context, shut)
    }
}

/// What a connection of HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// More than one process serves at once.
const MOST: u64 = 16_384;

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
