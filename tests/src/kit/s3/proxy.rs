//! A proxy in front of a server: slow, or broken as a script says.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::header::DATE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::runtime;

/// What becomes of a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    /// It is not passed on; the answer is 503 SlowDown.
    SlowDown,
    /// It is not passed on; the answer is an error of this number.
    Error(u16),
    /// The connection ends before it is passed on.
    Drop,
    /// It is passed on, and the connection ends before the answer.
    LoseAnswer,
    /// The answer's body ends after so many bytes.
    Cut(usize),
    Hang,
    /// The answer tells of objects made ten years from now.
    Postdate,
    /// The answer is dated far ahead.
    Misdate,
    /// It is not passed on; the answer is an error that is dated far ahead.
    MisdatedError,
}

/// A request as the script sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// How many requests came before.
    pub count: u64,
    pub method: Method,
    /// Bucket, key and query.
    pub uri: Uri,
    pub headers: HeaderMap,
    /// The body of a POST, which says what is asked; of others nothing.
    pub body: Bytes,
}

/// A proxy that runs until it is dropped. Every request waits for the latency before it is passed on.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    task: JoinHandle<()>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    together: AtomicU64,
    most: AtomicU64,
}

type Script = Arc<Mutex<dyn FnMut(&Seen) -> Fate + Send>>;
type Passed = Client<HttpConnector, Asked>;
/// The body of a request, or what it was.
type Asked = Either<Incoming, Full<Bytes>>;
/// The body of an answer on its way.
type Passing = UnsyncBoxBody<Bytes, io::Error>;

impl Proxy {
    /// In front of a server: each request is so much later.
    pub fn slow(server: SocketAddr, latency: Duration) -> Proxy {
        Proxy::start(server, latency, |_| Fate::Pass)
    }

    /// In front of a server: a script decides about each request.
    pub fn start(server: SocketAddr, latency: Duration, script: impl FnMut(&Seen) -> Fate + Send + 'static) -> Proxy {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let counts = Arc::new(Counts::default());
        let way = Way {
            server,
            latency,
            script: Arc::new(Mutex::new(script)),
            client: Client::builder(TokioExecutor::new()).build_http(),
            counts: counts.clone(),
        };
        let task = runtime().spawn(serve(listener, way));
        Proxy { address, task, counts }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> u64 {
        self.counts.requests.load(Ordering::Relaxed)
    }

    /// The most requests that were under way at once.
    pub fn most_at_once(&self) -> u64 {
        self.counts.most.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Way {
    server: SocketAddr,
    latency: Duration,
    script: Script,
    client: Passed,
    counts: Arc<Counts>,
}

async fn serve(listener: TcpListener, way: Way) {
    // Ends every connection with itself.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let way = way.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| pass(way.clone(), request));
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(way: Way, request: Request<Incoming>) -> io::Result<Response<Passing>> {
    let together = way.counts.together.fetch_add(1, Ordering::Relaxed) + 1;
    way.counts.most.fetch_max(together, Ordering::Relaxed);
    let _leaves = Leaves(way.counts.clone());
    let (mut request, body) = looked_into(request).await?;
    let seen = Seen {
        count: way.counts.requests.fetch_add(1, Ordering::Relaxed),
        method: request.method().clone(),
        uri: request.uri().clone(),
        headers: request.headers().clone(),
        body,
    };
    let fate = (way.script.lock().expect("no script panics"))(&seen);
    tokio::time::sleep(way.latency).await;
    let dropped = || io::Error::other("as the script says");
    match fate {
        Fate::Drop => return Err(dropped()),
        Fate::Hang => std::future::pending::<()>().await,
        Fate::SlowDown => return refuse(request, 503, "SlowDown").await,
        Fate::Error(status) => return refuse(request, status, "InternalError").await,
        Fate::MisdatedError => {
            let mut answer = refuse(request, 503, "SlowDown").await?;
            answer.headers_mut().insert(DATE, HeaderValue::from_static(FAR_AHEAD));
            return Ok(answer);
        }
        Fate::Pass | Fate::LoseAnswer | Fate::Cut(_) | Fate::Postdate | Fate::Misdate => (),
    }
    // The header names this proxy, as the signature does: the server takes any name.
    let path = seen.uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = format!("http://{}{path}", way.server).parse().map_err(io::Error::other)?;
    let answer = way.client.request(request).await.map_err(io::Error::other)?;
    match fate {
        Fate::LoseAnswer => {
            let _ = answer.into_body().collect().await;
            Err(dropped())
        }
        Fate::Postdate => postdated(answer).await,
        Fate::Misdate => {
            let mut answer = answer.map(passed);
            answer.headers_mut().insert(DATE, HeaderValue::from_static(FAR_AHEAD));
            Ok(answer)
        }
        Fate::Cut(most) => cut(answer, most).await,
        _ => Ok(answer.map(passed)),
    }
}

/// A request, and what it says in its body, if it is one to look into.
async fn looked_into(request: Request<Incoming>) -> io::Result<(Request<Asked>, Bytes)> {
    if request.method() != Method::POST {
        return Ok((request.map(Either::Left), Bytes::new()));
    }
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    Ok((Request::from_parts(head, Either::Right(Full::new(body.clone()))), body))
}

/// The answer with years of objects, in a listing or in the head, ten years later.
async fn postdated(answer: Response<Incoming>) -> io::Result<Response<Passing>> {
    let (mut head, body) = answer.into_parts();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let later = |year: &str| year.parse::<u32>().map(|year| (year + 10).to_string()).map_err(io::Error::other);
    if let Some(date) = head.headers.get_mut("last-modified") {
        // Fri, 20 Nov 2026 12:00:00 GMT
        let told = text(date.as_bytes());
        let (before, year, after) = (&told[..12], &told[12..16], &told[16..]);
        *date = format!("{before}{}{after}", later(year)?).parse().map_err(io::Error::other)?;
    }
    let told = text(&body.collect().await.map_err(io::Error::other)?.to_bytes());
    let mut parts = told.split("<LastModified>");
    let mut dated = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        dated += &format!("<LastModified>{}{}", later(&part[..4])?, &part[4..]);
    }
    Ok(Response::from_parts(head, own(dated)))
}

async fn refuse(request: Request<Asked>, status: u16, code: &str) -> io::Result<Response<Passing>> {
    let _ = request.into_body().collect().await;
    let text =
        format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>as the script says</Message></Error>");
    let answer = Response::builder().status(status).header("content-type", "application/xml");
    answer.body(own(text)).map_err(io::Error::other)
}

fn passed(body: Incoming) -> Passing {
    body.map_err(io::Error::other).boxed_unsync()
}

fn own(body: impl Into<Bytes>) -> Passing {
    Full::new(body.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// The answer with a body that breaks off after so many bytes, if it has as many.
async fn cut(answer: Response<Incoming>, most: usize) -> io::Result<Response<Passing>> {
    let (head, body) = answer.into_parts();
    let whole = body.collect().await.map_err(io::Error::other)?.to_bytes();
    if whole.len() < most {
        return Ok(Response::from_parts(head, own(whole)));
    }
    let begun = stream::once(async move { Ok::<_, io::Error>(Frame::data(whole.slice(..most))) });
    let broken = stream::once(async {
        // The server sends the first bytes while this waits; an error at once would take them along.
        tokio::task::yield_now().await;
        Err::<Frame<Bytes>, _>(io::Error::other("cut as the script says"))
    });
    Ok(Response::from_parts(head, StreamBody::new(begun.chain(broken)).boxed_unsync()))
}

struct Leaves(Arc<Counts>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.together.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whoever believes this ends every grace period.
const FAR_AHEAD: &str = "Wed, 01 Jan 2200 00:00:00 GMT";
