//! Connections: limits their number, in total and per address, and closes those that are silent, idle, stalled or old.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

use super::activity::{Activity, Counted, Patience};
use super::system::open_files_most;
use crate::router::network::network;

/// How many connections all listeners together accept.
#[derive(Clone)]
pub(super) struct Room {
    all: Arc<Semaphore>,
    /// Connections per network, and the most of them.
    networks: Arc<Mutex<HashMap<IpAddr, usize>>>,
    each: usize,
}

impl Room {
    /// Raises the limit of open files to its maximum and accepts half as many connections: requests and jobs need the
    /// other half. At most `each` connections per address.
    pub(super) fn of_process(each: usize) -> Self {
        Self::of(open_files_most().map_or(MOST, |most| (most / 2).min(MOST)) as usize, each)
    }

    pub(super) fn of(most: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), networks: Arc::default(), each }
    }

    /// Takes a permit for a connection from that address; fails if there are too many.
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

/// The permit of one connection.
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

/// A stream that knows the address of its peer.
pub(super) trait Peer {
    fn peer(&self) -> Option<IpAddr>;
}

impl Peer for TcpStream {
    fn peer(&self) -> Option<IpAddr> {
        self.peer_addr().ok().map(|address| address.ip())
    }
}

/// Wraps an acceptor and limits the number of connections.
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
        // Without a permit the connection is closed at once. The client tries again, and jobs never run out of files.
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

/// A connection that closes if it is silent, or if its [`Activity`] says so.
///
/// `silence` ends when a request begins or the HTTP/2 preface has come: then hyper's own timers apply. Before that
/// hyper has no timers, because it does not know the protocol yet.
pub(super) struct Connection<T> {
    stream: T,
    silence: Option<Silence>,
    activity: Activity,
    /// When to check the activity again.
    looks: Pin<Box<Sleep>>,
    _permit: Permit,
}

impl<T> Connection<T> {
    /// Whether to close the connection; if not, the task wakes up for the next check.
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

/// The wait for the first bytes.
struct Silence {
    ends: Pin<Box<Sleep>>,
    /// Bytes received so far, all of them equal to the HTTP/2 preface.
    matched: usize,
}

impl Silence {
    /// Whether these bytes tell which protocol the client speaks.
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

/// The first bytes of an HTTP/2 connection (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// More connections than one process serves at once.
const MOST: u64 = 16_384;

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
