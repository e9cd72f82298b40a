//! Runtime: the threads that wait for the network. The rest of the program has no async runtime.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

/// The runtime of the network threads, started at first use.
pub(super) fn handle() -> &'static Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let built = Builder::new_multi_thread().worker_threads(2).thread_name("network").enable_all().build();
        built.expect("the operating system gives threads")
    });
    runtime.handle()
}

/// Runs a future on the network threads; any executor may await the result.
pub(super) async fn run<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    match handle().spawn(future).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
