//! Wait: runs a future of the store or the service to its end. A directory store does its work inside the call.

use std::future::Future;

/// Runs a future to its end on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    futures::executor::block_on(future)
}
