//! The runtime of requests, independent of the caller's executor.

use std::io;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::error::Causes;
use crate::retry::{Pause, ThreadPause};
use crate::{Op, StoreError};

/// Runs requests on its own threads, or on a given runtime.
#[derive(Debug)]
pub(crate) struct Worker {
    handle: Handle,
    own: Option<Runtime>,
}

impl Worker {
    /// With two threads of its own; they only wait for the network.
    pub(crate) fn new() -> io::Result<Worker> {
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("copal-store").enable_all().build()?;
        Ok(Worker { handle: runtime.handle().clone(), own: Some(runtime) })
    }

    /// On a given runtime with I/O and time, which must outlive every call.
    #[cfg(feature = "s3")]
    pub(crate) fn on(handle: Handle) -> Worker {
        Worker { handle, own: None }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs a store's call on what the store shares with its calls.
    pub(crate) async fn call<S: ?Sized, T, F>(
        &self,
        shared: &Arc<S>,
        (op, key): (Op, &str),
        call: impl FnOnce(Arc<S>) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let ended = self.run(call(shared.clone())).await;
        ended.unwrap_or_else(|| Err(Stopped.lasting(op, key)))
    }

    /// Runs a call to its end; aborts it if the caller drops the future. `None` if the runtime was shut down.
    pub(crate) async fn run<T: Send + 'static>(&self, call: impl Future<Output = T> + Send + 'static) -> Option<T> {
        Task(self.handle.spawn(call)).await
    }
}

/// The runtime was shut down while a call ran.
#[derive(Debug, thiserror::Error)]
#[error("the store's runtime was shut down")]
pub(crate) struct Stopped;

impl Drop for Worker {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which is forbidden on a thread of another runtime.
        if let Some(runtime) = self.own.take() {
            runtime.shutdown_background();
        }
    }
}

struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.0).poll(context).map(|ended| match ended {
            Ok(answer) => Some(answer),
            Err(error) => match error.try_into_panic() {
                Ok(reason) => panic::resume_unwind(reason),
                // The runtime was shut down.
                Err(_) => None,
            },
        })
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits with a runtime's timer, so that no thread sleeps.
#[derive(Clone, Debug)]
pub struct RuntimePause(pub(crate) Handle);

#[async_trait]
impl Pause for RuntimePause {
    fn jitter(&self, most: Duration) -> Duration {
        ThreadPause.jitter(most)
    }

    async fn sleep(&self, wait: Duration) {
        // If the runtime is gone, the next call reports that.
        let _ = self.0.spawn(async move { tokio::time::sleep(wait).await }).await;
    }
}
