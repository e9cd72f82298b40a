//! Connections: so many at once, and none that says nothing.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum_server::accept::Accept;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// How many connections there may be, for all listeners together.
#[derive(Clone)]
pub(super) struct Room(Arc<Semaphore>);

impl Room {
    /// Half of the files that the process may open, of which it is permitted as many as the system lets it have: the other
    /// half is for what requests and jobs read and write.
    pub(super) fn of_process() -> Self {
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, ..limit };
        let most = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => raised.current,
            Err(_) => limit.current,
        };
        Self::of(most.map_or(MOST, |most| (most / 2).min(MOST)) as usize)
    }

    fn of(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }
}

/// Accepts as another acceptor does, while there is room.
#[derive(Clone)]
pub(super) struct Connections<A> {
    inner: A,
    room: Room,
    patience: Duration,
}

impl<A> Connections<A> {
    /// Whoever says nothing within `patience`, and is through with TLS, is not waited for.
    pub(super) fn new(inner: A, room: &Room, patience: Duration) -> Self {
        Self { inner, room: room.clone(), patience }
    }
}

impl<A, I, S> Accept<I, S> for Connections<A>
where
    A: Accept<I, S, Future: Send + 'static>,
{
    type Stream = Connection<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        // Without one it is closed at once: its client tries again, and no job lacks a file meanwhile.
        let permit = self.room.0.clone().try_acquire_owned().map_err(io::Error::other);
        let accepted = self.inner.accept(stream, service);
        let patience = self.patience;
        Box::pin(async move {
            let permit = permit?;
            let (stream, service) = accepted.await?;
            let silence = Some(Silence { ends: Box::pin(sleep(patience)), matched: 0 });
            Ok((Connection { stream, silence, _permit: permit }, service))
        })
    }
}

/// A connection that ends if it says nothing.
///
/// Once a request begins, or what all connections of HTTP/2 begin with has come, hyper's own timers hold. Until then it has
/// none, since it does not know which protocol's is to be used.
pub(super) struct Connection<T> {
    stream: T,
    silence: Option<Silence>,
    _permit: OwnedSemaphorePermit,
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
        let Some(silence) = &mut self.silence else { return read };
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
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// What a connection of HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// More than one process serves at once.
const MOST: u64 = 16_384;

#[cfg(test)]
mod tests {
    use axum_server::accept::DefaultAcceptor;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    async fn accepted(room: &Room) -> io::Result<(Connection<DuplexStream>, DuplexStream)> {
        let (near, far) = duplex(64);
        let (connection, ()) = Connections::new(DefaultAcceptor, room, SOON).accept(near, ()).await?;
        Ok((connection, far))
    }

    #[tokio::test]
    async fn who_says_nothing_or_hardly_anything_is_not_waited_for() {
        let room = Room::of(4);
        for said in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r"] {
            let (mut connection, mut far) = accepted(&room).await.expect("there is room");
            far.write_all(said).await.expect("it is taken");
            let mut found = Vec::new();
            let failed = connection.read_to_end(&mut found).await.expect_err("it does not end of itself");
            assert_eq!((failed.kind(), &found[..]), (io::ErrorKind::TimedOut, said));
        }
    }

    #[tokio::test]
    async fn who_has_begun_is_left_to_the_timers_of_the_protocol() {
        let room = Room::of(4);
        for said in [&b"G"[..], b"POST", PREFACE] {
            let (mut connection, mut far) = accepted(&room).await.expect("there is room");
            far.write_all(said).await.expect("it is taken");
            let mut found = vec![0; said.len()];
            connection.read_exact(&mut found).await.expect("it came");
            tokio::spawn(async move {
                sleep(SOON * 3).await;
                far.write_all(b"x").await
            });
            assert_eq!(connection.read_u8().await.expect("it came late"), b'x');
        }
    }

    #[tokio::test]
    async fn there_are_no_more_connections_than_there_is_room_for() {
        let room = Room::of(1);
        let first = accepted(&room).await.expect("there is room");
        assert!(accepted(&room).await.is_err());
        drop(first);
        accepted(&room).await.expect("there is room again");
    }
}
