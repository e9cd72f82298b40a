//! Listen: serves the gateway, the page and the metrics on sockets until the process is asked to end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum_server::{Handle, Server};
use copal_jobs::metrics::REFUSED;
use hyper_util::rt::TokioTimer;

use super::activity::Patience;
use super::connections::{Connections, Room};
use super::hosts::{self, Hosts};
use super::metrics::Metrics;
use super::page::Page;
use super::system::Ends;
use super::tls::Tls;
use super::{JobNote, ServeError, Socket};
use crate::protocol::{CONNECTION_WINDOW, STREAM_WINDOW};
use crate::router::headers;

/// The addresses that are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The gateway's address, such as `http://127.0.0.1:8321`.
    pub gateway: String,
    /// The address of the metrics.
    pub metrics: Option<String>,
}

/// Serves until SIGTERM or SIGINT; then requests under way may end. A second signal ends the process at once.
pub(super) fn serve(
    (router, is_tls): (Router, bool),
    page: Option<Page>,
    options: &Socket,
    metrics: Arc<Metrics>,
    listening: &dyn Fn(&Listening),
    note: Arc<dyn Fn(&JobNote) + Send + Sync>,
) -> Result<(), ServeError> {
    let failed = |act: &str| {
        let act = act.to_owned();
        move |source| ServeError::Io { act: act.clone(), source }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed("start threads"))?;
    let router = match page {
        Some(page) => page.beside(router),
        None => router,
    };
    let handle = Handle::new();
    end_at_signals(handle.clone()).map_err(failed("watch signals"))?;
    let hosts = Arc::new(Hosts::new(&options.host_names, options.public_url.as_deref()));
    let router = router.layer(middleware::from_fn_with_state(hosts.clone(), hosts::check));
    let router = headers::on(router, is_tls);
    let router = router.layer(middleware::from_fn_with_state(metrics.clone(), count));
    let served = runtime.block_on(async {
        let tls = match &options.tls {
            Some((cert, key)) => {
                let tls = Tls::read(cert.clone(), key.clone()).await;
                let tls = tls.map_err(failed(&format!("use the certificate in {}", cert.display())))?;
                let config = tls.config.clone();
                hosts.certified(tls.names());
                tokio::spawn(tls.watch(hosts, note));
                Some(config)
            }
            None => None,
        };
        let (socket, address) = bind(options.address).map_err(failed(&format!("listen on {}", options.address)))?;
        let room = Room::of_process(options.connections_per_address);
        let mut told = Listening { gateway: url(tls.is_some(), address), metrics: None };
        if let Some(metrics_address) = options.metrics {
            let failed = failed(&format!("listen on {metrics_address}"));
            let (socket, address) = bind(metrics_address).map_err(&failed)?;
            told.metrics = Some(format!("{}/metrics", url(false, address)));
            let router = Router::new().route("/metrics", get(expose)).with_state(metrics);
            let server = bound(axum_server::from_tcp(socket).map_err(&failed)?, &room, PATIENCE).handle(handle.clone());
            tokio::spawn(server.serve(router.into_make_service()));
        }
        listening(&told);
        // With the addresses of clients, because the gateway limits what strangers of one network send.
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let failed = failed("serve");
        match tls {
            Some(config) => {
                let server = bound(axum_server::from_tcp_rustls(socket, config).map_err(&failed)?, &room, PATIENCE);
                server.handle(handle).serve(service).await.map_err(failed)
            }
            None => {
                let server = bound(axum_server::from_tcp(socket).map_err(&failed)?, &room, PATIENCE);
                server.handle(handle).serve(service).await.map_err(failed)
            }
        }
    });
    // Tasks that still run belong to requests, which their senders repeat.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Ends the server at the first signal, and the process at the second one. Has a thread and a runtime of its own: jobs
/// may still have to end when the server and its runtime are gone.
fn end_at_signals(server: Handle<SocketAddr>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let within = runtime.enter();
    let mut ends = Ends::watch()?;
    drop(within);
    std::thread::spawn(move || {
        runtime.block_on(async {
            ends.asked().await;
            server.graceful_shutdown(Some(GRACE));
            ends.asked().await;
        });
        // As after a crash, the next run goes on from what is stored.
        std::process::exit(INTERRUPTED);
    });
    Ok(())
}

/// Serves this machine, within the limits that hold for everybody.
pub async fn serve_here(socket: TcpListener, router: Router) -> io::Result<()> {
    let room = Room::of_process(usize::MAX);
    bound(axum_server::from_tcp(socket)?, &room, PATIENCE).serve(router.into_make_service()).await
}

/// Sets the limits of a server: time limits, so that no client keeps a silent connection, and the number of streams.
pub(super) fn bound<A>(
    mut server: Server<SocketAddr, A>,
    room: &Room,
    patience: Patience,
) -> Server<SocketAddr, Connections<A>> {
    let builder = server.http_builder();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(Some(HEADERS)).max_concurrent_streams(STREAMS);
    http2.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
    server.map(|acceptor| Connections::new(acceptor, room, patience))
}

/// Binds the socket here, so that the port is known before it is announced.
pub fn bind(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

fn url(is_tls: bool, address: SocketAddr) -> String {
    format!("{}://{address}", if is_tls { "https" } else { "http" })
}

async fn expose(State(metrics): State<Arc<Metrics>>) -> ([(&'static str, &'static str); 1], String) {
    ([("content-type", "application/openmetrics-text; version=1.0.0; charset=utf-8")], metrics.text())
}

async fn count(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let started = Instant::now();
    let response = next.run(request).await;
    let status = response.status();
    let mut run = copal_jobs::metrics::Metrics::default();
    run.ended(status.is_server_error(), started.elapsed());
    run.count(REFUSED, status.is_client_error().into());
    metrics.take("gateway", &run);
    metrics.answered(&method, path, status.as_u16());
    response
}

/// Most time for the head of a request, and for the answer to an HTTP/2 ping.
const HEADERS: Duration = Duration::from_secs(30);
/// The time limits of connections. A client that loses one makes another.
const PATIENCE: Patience = Patience {
    silence: HEADERS,
    idle: Duration::from_secs(60),
    stall: Duration::from_secs(60),
    old: Duration::from_secs(60 * 60),
    // At the slowest speed that is accepted, a pack may take more than four hours.
    oldest: Duration::from_secs(6 * 60 * 60),
};
/// Most streams per HTTP/2 connection.
const STREAMS: u32 = 64;
/// How long requests may go on after the process was asked to end.
const GRACE: Duration = Duration::from_secs(10);
/// The exit code of every command that is ended by a second signal.
const INTERRUPTED: i32 = 130;
