//! Connections to a real server, of clients that want nothing good.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::timeout;

use super::*;
use crate::serve::listen::bound;

const SOON: Duration = Duration::from_millis(20);
/// What tests wait for at most.
const LONG: Duration = Duration::from_secs(60);

fn patience() -> Patience {
    let half = Duration::from_millis(500);
    Patience { silence: SOON, idle: half, stall: half, old: LONG * 2, oldest: LONG * 3 }
}

struct Far(DuplexStream, Option<IpAddr>);

impl Peer for Far {
    fn peer(&self) -> Option<IpAddr> {
        self.1
    }
}

#[derive(Clone)]
struct Plain;

impl<S> Accept<Far, S> for Plain {
    type Stream = DuplexStream;
    type Service = S;
    type Future = std::future::Ready<io::Result<(DuplexStream, S)>>;

    fn accept(&self, stream: Far, service: S) -> Self::Future {
        std::future::ready(Ok((stream.0, service)))
    }
}

async fn accepted_from(room: &Room, peer: Option<IpAddr>) -> io::Result<(Connection<DuplexStream>, DuplexStream)> {
    let (near, far) = duplex(64);
    let (connection, _) = Connections::new(Plain, room, patience()).accept(Far(near, peer), ()).await?;
    Ok((connection, far))
}

async fn accepted(room: &Room) -> io::Result<(Connection<DuplexStream>, DuplexStream)> {
    accepted_from(room, None).await
}

#[tokio::test]
async fn who_says_nothing_or_hardly_anything_is_not_waited_for() {
    let room = Room::of(4, 4);
    for said in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r"] {
        let (mut connection, mut far) = accepted(&room).await.expect("there is room");
        far.write_all(said).await.expect("it is taken");
        let mut found = Vec::new();
        let failed = connection.read_to_end(&mut found).await.expect_err("it does not end of itself");
        assert_eq!((failed.kind(), &found[..]), (io::ErrorKind::TimedOut, said));
    }
}

#[tokio::test]
async fn who_has_begun_is_left_to_the_timers_of_the_protocol() {
    let room = Room::of(4, 4);
    for said in [&b"G"[..], b"POST", PREFACE] {
        let (mut connection, mut far) = accepted(&room).await.expect("there is room");
        far.write_all(said).await.expect("it is taken");
        let mut found = vec![0; said.len()];
        connection.read_exact(&mut found).await.expect("it came");
        tokio::spawn(async move {
            sleep(SOON * 3).await;
            far.write_all(b"x").await
        });
        assert_eq!(connection.read_u8().await.expect("it came late"), b'x');
    }
}

#[tokio::test]
async fn there_are_no_more_connections_than_there_is_room_for() {
    let room = Room::of(1, 4);
    let first = accepted(&room).await.expect("there is room");
    assert!(accepted(&room).await.is_err());
    drop(first);
    accepted(&room).await.expect("there is room again");
}

#[tokio::test]
async fn an_address_has_so_many_connections_and_this_machine_all() {
    let room = Room::of(100, 2);
    let from = async |address: &str| accepted_from(&room, Some(address.parse().unwrap())).await;
    let first = [from("192.0.2.1").await.unwrap(), from("::ffff:192.0.2.1").await.unwrap()];
    assert!(from("192.0.2.1").await.is_err());
    from("192.0.2.2").await.expect("another address");
    let _six = [from("2001:db8::1").await.unwrap(), from("2001:db8::2:1").await.unwrap()];
    assert!(from("2001:db8::3").await.is_err(), "one network");
    drop(first);
    from("192.0.2.1").await.expect("there is room again");
    let mut own = Vec::new();
    for _ in 0..5 {
        own.push(from("127.0.0.1").await.expect("a proxy on this machine stands for many"));
    }
}

/// Counts itself.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A server with these paths: `/` answers at once, `/slow` after three times the patience, `/endless` for ever, and
/// `/pausing` begins, and goes on after three times the patience. Gives how many endless answers are being made.
async fn server(patience: Patience) -> (SocketAddr, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let endless = move || {
        let alive = Alive::new(&counted);
        let pieces = futures::stream::repeat_with(move || {
            let _ = &alive;
            Ok::<_, Infallible>(Bytes::from(vec![7; 1 << 16]))
        });
        std::future::ready(Body::from_stream(pieces))
    };
    let wait = patience.idle * 3;
    let pausing = move || async move {
        Body::from_stream(futures::stream::unfold(0, move |at| async move {
            if at == 1 {
                sleep(wait).await;
            }
            (at < 2).then(|| (Ok::<_, Infallible>(Bytes::from_static(b"half")), at + 1))
        }))
    };
    let slow = move || async move {
        sleep(wait).await;
        "late"
    };
    let router = Router::new().route("/", get("soon")).route("/slow", get(slow)).route("/pausing", get(pausing));
    let router = router.route("/endless", get(endless));
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let server = bound(axum_server::from_tcp(listener).unwrap(), &Room::of(100, 100), patience);
    tokio::spawn(server.serve(router.into_make_service()));
    (address, count)
}

async fn ask(stream: &mut TcpStream, path: &str) -> io::Result<()> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await
}

async fn until_begun(endless: &AtomicUsize) {
    while endless.load(Ordering::SeqCst) == 0 {
        sleep(SOON).await;
    }
}

async fn until_cut(endless: &AtomicUsize) {
    let is_cut = async {
        while endless.load(Ordering::SeqCst) > 0 {
            sleep(SOON).await;
        }
    };
    timeout(LONG, is_cut).await.expect("it is cut");
}

#[tokio::test]
async fn who_does_not_read_an_answer_is_cut_off() {
    let (address, endless) = server(patience()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    ask(&mut stream, "/endless").await.unwrap();
    until_begun(&endless).await;
    until_cut(&endless).await;
}

#[tokio::test]
async fn who_does_not_read_one_of_several_answers_is_cut_off() {
    let (address, endless) = server(patience()).await;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request =
        |path| axum::http::Request::get(format!("http://localhost{path}")).body(Empty::<Bytes>::new()).unwrap();
    let _unread = sender.send_request(request("/endless")).await.unwrap();
    until_begun(&endless).await;
    // Others keep the connection busy meanwhile.
    let busy = async {
        while endless.load(Ordering::SeqCst) > 0 {
            if let Ok(answer) = sender.send_request(request("/")).await {
                let _ = answer.into_body().collect().await;
            }
            sleep(SOON).await;
        }
    };
    timeout(LONG, busy).await.expect("it is cut");
}

#[tokio::test]
async fn signs_of_life_alone_keep_no_connection() {
    let (address, _) = server(patience()).await;
    let (mut reads, mut writes) = TcpStream::connect(address).await.unwrap().into_split();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    writes.write_all(&[&PREFACE[..], &settings].concat()).await.unwrap();
    let pings = tokio::spawn(async move {
        let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        while writes.write_all(&ping).await.is_ok() {
            sleep(SOON).await;
        }
    });
    let mut answers = Vec::new();
    let _ = timeout(LONG, reads.read_to_end(&mut answers)).await.expect("it ends");
    assert!(answers.len() > 50, "pings were answered first");
    timeout(LONG, pings).await.expect("it is closed").unwrap();
}

#[tokio::test]
async fn a_request_now_and_then_keeps_a_connection_until_it_is_old() {
    let (address, _) = server(Patience { old: Duration::from_secs(2), ..patience() }).await;
    let started = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut answered = 0;
    let asks = async {
        let mut answer = [0; 1_000];
        while ask(&mut stream, "/").await.is_ok() && stream.read(&mut answer).await.is_ok_and(|length| length > 0) {
            answered += 1;
            sleep(SOON * 5).await;
        }
    };
    timeout(LONG, asks).await.expect("it ends");
    assert!(started.elapsed() >= Duration::from_secs(2) && answered > 3, "{answered} in {:?}", started.elapsed());
}

#[tokio::test]
async fn who_waits_for_the_server_or_its_store_is_not_cut_off() {
    for (path, expected) in [("/slow", "late"), ("/pausing", "half")] {
        let (address, _) = server(patience()).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        timeout(LONG, stream.read_to_string(&mut answer)).await.expect("it ends").expect("and is whole");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(expected), "{answer}");
        assert!(path == "/slow" || answer.matches(expected).count() == 2, "{answer}");
    }
}

#[tokio::test]
async fn however_busy_it_is_a_connection_ends_when_it_is_oldest() {
    let (address, endless) =
        server(Patience { oldest: Duration::from_secs(1), old: Duration::from_secs(1), ..patience() }).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    ask(&mut stream, "/endless").await.unwrap();
    until_begun(&endless).await;
    let mut piece = vec![0; 1 << 16];
    let reads = async { while stream.read(&mut piece).await.is_ok_and(|length| length > 0) {} };
    timeout(LONG, reads).await.expect("it ends");
}
