//! Tasks: futures that are polled one step at a time, each step up to the next call of the store.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// One actor's current life.
pub(super) type Life<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Polls a life once; says whether it has ended.
pub(super) fn step(life: &mut Life<'_>) -> bool {
    life.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Lets others go first, once.
pub(super) fn pause() -> impl Future<Output = ()> + Send {
    let mut is_first = true;
    std::future::poll_fn(move |context| {
        if !std::mem::take(&mut is_first) {
            return Poll::Ready(());
        }
        // Calls that are made together are only asked again if they say that something has happened.
        context.waker().wake_by_ref();
        Poll::Pending
    })
}
