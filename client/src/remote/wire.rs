//! Wire: sends requests and reads answers, over HTTP or through a pipe.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::pipe::Pipe;
use super::reply::{Question, Reply, WireError, words};
use super::runtime;
use copal_store::ssh::SshAddress;

/// The connection to a gateway.
pub(super) enum Wire {
    Web(Web),
    Pipe(Arc<Pipe>),
}

/// HTTP with TLS.
pub(super) struct Web {
    client: OnceLock<reqwest::Client>,
    ca_file: Mutex<Option<PathBuf>>,
    /// Whether an answer has ever come.
    has_answered: AtomicBool,
    /// The longest silence before a request fails.
    patience: Duration,
}

impl Wire {
    pub(super) fn web() -> Self {
        Self::Web(Web::new(IDLE))
    }

    pub(super) fn pipe(address: SshAddress) -> Self {
        Self::Pipe(Pipe::new(address).into())
    }

    /// The same connection to a process that takes orders; `None` over HTTP.
    pub(super) fn taking_orders(&self) -> Option<Self> {
        match self {
            Self::Web(_) => None,
            Self::Pipe(pipe) => Some(Self::Pipe(pipe.taking_orders().into())),
        }
    }

    /// The exit code of the ssh process, if it has ended; `None` over HTTP.
    pub(super) fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Web(_) => None,
            Self::Pipe(pipe) => pipe.exit_code(),
        }
    }

    /// Names a file of certificates to trust besides the system's.
    pub(super) fn trust(&self, file: PathBuf) {
        if let Self::Web(web) = self {
            *web.ca_file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        }
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn send(&self, question: Question) -> Result<Reply, WireError> {
        match self {
            Self::Web(web) => web.send(question).await,
            // Waits for the connection on the network threads, because elsewhere nobody may poll it.
            Self::Pipe(pipe) => {
                let pipe = pipe.clone();
                runtime::run(async move { pipe.send(question).await }).await
            }
        }
    }
}

impl Web {
    fn new(patience: Duration) -> Self {
        Self { client: OnceLock::new(), ca_file: Mutex::default(), has_answered: AtomicBool::new(false), patience }
    }

    async fn send(&self, question: Question) -> Result<Reply, WireError> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let ca_file = self.ca_file.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let built = build(ca_file)?;
                self.client.get_or_init(|| built)
            }
        };
        let Question { to, method, url, headers, body, most } = question;
        let patience = self.patience;
        // The answer begins after the body was sent, and a slow line needs time for that.
        let begins = patience + Duration::from_secs(body.len() as u64 / SLOWEST);
        let request = client.request(method, url).headers(headers).body(body);
        let reply = runtime::run(async move {
            let response = match tokio::time::timeout(begins, request.send()).await {
                Ok(response) => response.map_err(|error| unanswered(&error))?,
                Err(_) => return Err(WireError::silence(begins)),
            };
            Reply::read(response.into(), to, most, patience).await
        });
        let reply = reply.await?;
        if reply.is_web_page() {
            // If the gateway has answered before, this may be a login page on the way to it, which may go away again.
            let source =
                "a web page came instead of an answer: something else answers at this address, or on the way to it";
            return Err(WireError { may_pass: self.has_answered.load(Ordering::Relaxed), source: source.into() });
        }
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(reply)
    }
}

/// A refused connection counts as transient, even the first one of a command: the server may be restarting.
fn unanswered(error: &reqwest::Error) -> WireError {
    let may_pass = !error.is_builder() && !is_about_certificates(error);
    WireError { may_pass, source: words(error).into() }
}

fn build(ca_file: Option<PathBuf>) -> Result<reqwest::Client, WireError> {
    let refused = |error: &dyn Error| WireError { may_pass: false, source: words(error).into() };
    // Fails if another part of the program has already installed the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // No timeout in the client: it would count an upload as silence. `send` has its own.
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("copal/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(CONNECTIONS);
    if let Some(file) = ca_file {
        let unreadable = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        let pem = std::fs::read(&file).map_err(|error| refused(&unreadable(error)))?;
        let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| refused(&error))?;
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| refused(&error))
}

/// Whether a certificate or another part of TLS is the cause: a retry does not help.
fn is_about_certificates(error: &reqwest::Error) -> bool {
    let error: &(dyn Error + 'static) = error;
    std::iter::successors(Some(error), |error| (*error).source()).any(is_of_tls)
}

/// An `io::Error` may wrap another; its `source()` skips the wrapped error, so look at it too.
fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| is_of_tls(wrapped))
}

const CONNECT: Duration = Duration::from_secs(10);
/// The longest silence before a request fails.
const IDLE: Duration = Duration::from_secs(60);
/// Bytes per second below which an upload counts as stuck.
const SLOWEST: u64 = 16 << 10;
const CONNECTIONS: usize = 16;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use http::Method;

    use super::*;
    use crate::wait::wait;

    /// A server that does the same with every connection, and counts them.
    fn server(act: impl Fn(TcpStream) -> io::Result<()> + Send + 'static) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::Relaxed);
                // The client may hang up early: its errors do not matter.
                let _ = act(stream.unwrap());
            }
        });
        (address, connections)
    }

    /// Reads a request's head.
    fn head(stream: &mut TcpStream) -> io::Result<()> {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        Ok(())
    }

    const PATIENCE: Duration = Duration::from_secs(5);
    const PIECE: Duration = Duration::from_millis(350);
    const UPLOAD: usize = 1 << 20;

    fn get(url: String) -> Result<Reply, WireError> {
        wait(Web::new(PATIENCE).send(Question::new(Method::GET, url).taking(1_000)))
    }

    #[test]
    fn an_upload_over_a_slow_line_may_take_longer_than_an_answer() {
        let (url, connections) = server(|mut stream| {
            head(&mut stream)?;
            let mut piece = vec![0; UPLOAD / 16];
            for _ in 0..16 {
                std::thread::sleep(PIECE);
                stream.read_exact(&mut piece)?;
            }
            stream.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
        });
        let question = Question::new(Method::PUT, url).sending(vec![7; UPLOAD].into());
        let reply = wait(Web::new(PATIENCE).send(question)).unwrap();
        assert_eq!((reply.status.as_u16(), connections.load(Ordering::Relaxed)), (201, 1));
    }

    #[test]
    fn an_answer_may_come_slowly_but_not_stop() {
        let dribbling = |pieces: usize| {
            server(move |mut stream| {
                head(&mut stream)?;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n")?;
                for _ in 0..pieces {
                    std::thread::sleep(PIECE);
                    stream.write_all(b"x")?;
                }
                // Keep the connection open: its end would show that the answer is incomplete.
                stream.read(&mut [0]).map(drop)
            })
        };
        assert_eq!(get(dribbling(16).0).unwrap().bytes, "x".repeat(16));
        let stopped = get(dribbling(8).0).unwrap_err();
        assert!(stopped.may_pass && stopped.source.to_string().starts_with("no answer for"), "{stopped:?}");
    }

    #[test]
    fn a_web_page_is_no_gateways_yes() {
        let count = AtomicUsize::new(0);
        let (url, _) = server(move |mut stream| {
            head(&mut stream)?;
            // Only the first answer is the gateway's.
            let kind = if count.fetch_add(1, Ordering::Relaxed) == 0 {
                "application/json"
            } else {
                "text/html; charset=utf-8"
            };
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
            )
        });
        let web = Web::new(PATIENCE);
        let ask = |web: &Web| wait(web.send(Question::new(Method::PUT, url.clone()).taking(1_000)));
        assert_eq!(ask(&web).unwrap().bytes, "{}");
        let error = ask(&web).unwrap_err();
        assert!(error.may_pass && error.source.to_string().starts_with("a web page came"), "{error:?}");
        assert!(!ask(&Web::new(PATIENCE)).unwrap_err().may_pass, "nobody has ever answered otherwise there");
    }

    #[test]
    fn who_says_nothing_is_not_waited_for_for_ever() {
        let (url, _) = server(|mut stream| {
            head(&mut stream)?;
            stream.read(&mut [0]).map(drop)
        });
        assert!(get(url).unwrap_err().may_pass);
    }

    #[test]
    fn an_answer_that_does_not_end_is_an_error() {
        let endless = |status: &'static str| {
            server(move |mut stream| {
                head(&mut stream)?;
                write!(stream, "HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n\r\n")?;
                loop {
                    stream.write_all(b"8\r\nfor ever\r\n")?;
                }
            })
        };
        let error = get(endless("200 OK").0).unwrap_err();
        assert!(!error.may_pass && error.source.to_string().contains("more than the 1000 bytes"), "{error:?}");
        assert_eq!(get(endless("500 Oh").0).unwrap().status.as_u16(), 500, "of a refusal the beginning is enough");
    }
}
