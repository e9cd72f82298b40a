//! Activity: what a connection is doing, and whether to close it: it has no request, its client does not read the
//! answer, or it is old. HTTP/2 pings do not keep a connection open.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, Response};
use hyper::body::{Frame, SizeHint};
use tower::Service;

/// The time limits of a connection.
#[derive(Copy, Clone, Debug)]
pub(super) struct Patience {
    /// Until the first bytes arrive.
    pub(super) silence: Duration,
    /// Without any request.
    pub(super) idle: Duration,
    /// Until the client takes the next piece of an answer.
    pub(super) stall: Duration,
    /// After this age a connection closes as soon as it has no request.
    pub(super) old: Duration,
    /// After this age a connection closes in any case.
    pub(super) oldest: Duration,
}

impl Patience {
    /// How often to check a connection.
    pub(super) fn look(&self) -> Duration {
        self.idle.min(self.stall).min(self.old) / 4
    }
}

/// What a connection is doing.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    state: Arc<Mutex<State>>,
    patience: Patience,
    born: Instant,
}

#[derive(Debug)]
struct State {
    /// Requests under way, by number; and since when each waits for its client to take more of the answer.
    requests: BTreeMap<u64, Option<Instant>>,
    next: u64,
    /// When the last request ended.
    last: Instant,
}

impl Activity {
    pub(super) fn new(patience: Patience, now: Instant) -> Self {
        let state = State { requests: BTreeMap::new(), next: 0, last: now };
        Self { state: Arc::new(Mutex::new(state)), patience, born: now }
    }

    /// Whether to close the connection.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.born);
        let state = self.state();
        if state.requests.is_empty() {
            let idle = now.saturating_duration_since(state.last);
            return idle >= self.patience.idle || age >= self.patience.old;
        }
        let stalls = |since: &Instant| now.saturating_duration_since(*since) >= self.patience.stall;
        age >= self.patience.oldest || state.requests.values().flatten().any(stalls)
    }

    /// When to check again.
    pub(super) fn look(&self) -> Duration {
        self.patience.look()
    }

    fn begin(&self) -> UnderWay {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.requests.insert(number, None);
        UnderWay { state: self.state.clone(), number }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way, until the client has taken its answer.
struct UnderWay {
    state: Arc<Mutex<State>>,
    number: u64,
}

impl UnderWay {
    /// Sets since when the request waits for its client; `None` if it does not.
    fn waits_for_client(&self, since: Option<Instant>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests.insert(self.number, since);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests.remove(&self.number);
        state.last = Instant::now();
    }
}

/// A service that records its requests in an [`Activity`].
#[derive(Clone)]
pub(super) struct Counted<S> {
    inner: S,
    activity: Activity,
}

impl<S> Counted<S> {
    pub(super) fn new(inner: S, activity: Activity) -> Self {
        Self { inner, activity }
    }
}

impl<S, B> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<Body>, Future: Send + 'static>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let under_way = self.activity.begin();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let (head, body) = answer.await?.into_parts();
            under_way.waits_for_client(Some(Instant::now()));
            Ok(Response::from_parts(head, Body::new(Answer { body, under_way })))
        })
    }
}

/// The body of an answer. Between two polls the request waits for its client.
struct Answer {
    body: Body,
    under_way: UnderWay,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        // While the body is pending, the request waits for the store, not for the client.
        self.under_way.waits_for_client(frame.is_ready().then(Instant::now));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
