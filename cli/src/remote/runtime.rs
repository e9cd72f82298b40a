//! Runtime: the threads on which the network is waited for. The rest of the command waits without any.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

/// The threads of the network.
pub(super) fn handle() -> &'static Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let built = Builder::new_multi_thread().worker_threads(2).thread_name("network").enable_all().build();
        built.expect("the operating system gives threads")
    });
    runtime.handle()
}

/// Runs a future on the threads of the network; the caller may wait on any.
pub(super) async fn run<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    match handle().spawn(future).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
