//! Line: a connection on which the other end can send only so much.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection that fails once it has received [`MOST`] bytes. lettre keeps a line of any length in memory.
#[derive(Debug)]
pub(super) struct Line<S> {
    stream: S,
    peer: SocketAddr,
    left: usize,
}

impl<S> Line<S> {
    pub(super) fn new(stream: S, peer: SocketAddr) -> Self {
        Self { stream, peer, left: MOST }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Line<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let line = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut line.stream).poll_read(context, buffer);
        match line.left.checked_sub(buffer.filled().len() - before) {
            Some(left) => line.left = left,
            None => {
                let why = format!("the server has sent more than {} KiB", MOST >> 10);
                return Poll::Ready(Err(io::Error::other(why)));
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Line<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug> AsyncTokioStream for Line<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

/// Far more than certificates and answers take. lettre parses a growing answer again after each of its lines.
const MOST: usize = 32 << 10;
