//! Paced: an upload body that is sent piece by piece, so that the rate limit holds within it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::limit::Pace;

/// Bytes that are sent at a limited rate.
#[derive(Debug)]
pub(super) struct Paced {
    left: Bytes,
    rate: u64,
    /// Starts when the first piece is requested: then the connection exists.
    pace: Option<Pace>,
    wait: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(super) fn new(bytes: Bytes, rate: u64) -> Self {
        Self { left: bytes, rate, pace: None, wait: None }
    }
}

impl Body for Paced {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let rate = self.rate;
        let pace = self.pace.get_or_insert_with(|| Pace::begin(rate));
        let piece = pace.piece();
        let piece = piece.min(self.left.len());
        let piece = self.left.split_to(piece);
        // The next piece waits for the time that this one takes.
        let wait = self.pace.as_mut().map(|pace| pace.pass(piece.len())).filter(|wait| !wait.is_zero());
        self.wait = wait.map(|wait| Box::pin(sleep(wait)));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}
