//! Stdio: the gateway on standard input and output, for one client that connected with ssh.

use std::io;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;

use super::ServeError;
use crate::protocol::{CONNECTION_WINDOW, STREAM_WINDOW};

/// Serves until standard input ends.
pub(super) fn serve(router: Router) -> Result<(), ServeError> {
    let failed = |source| ServeError::Io { act: "serve on standard input and output".to_owned(), source };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let served = runtime.block_on(async {
        let io = TokioIo::new(tokio::io::join(tokio::io::stdin(), tokio::io::stdout()));
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http2()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(STREAMS);
        builder.serve_connection(io, TowerToHyperService::new(router)).await
    });
    // One thread still waits for standard input.
    runtime.shutdown_timeout(Duration::from_secs(5));
    match served {
        Ok(()) => Ok(()),
        // The client closed the connection: it has its answers, or will connect again.
        Err(error) if error.downcast_ref::<hyper::Error>().is_some_and(is_gone) => Ok(()),
        Err(error) => Err(failed(io::Error::other(error))),
    }
}

fn is_gone(error: &hyper::Error) -> bool {
    use std::error::Error;
    let io = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    error.is_closed() || error.is_incomplete_message() || io.is_some()
}

/// Most streams at once.
const STREAMS: u32 = 64;
