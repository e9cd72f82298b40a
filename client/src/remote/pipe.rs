//! Pipe: `copal serve --stdio` on another machine, started by ssh. It speaks HTTP/2 on its standard input and output.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use copal_gateway::protocol::{CONNECTION_WINDOW, STREAM_WINDOW};
use copal_store::ssh::{SshAddress, program};
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::reply::{Question, Reply, WireError};
use super::runtime;
use crate::system::ends_of;
use crate::wait::Patience;

/// A connection through ssh, opened when first needed and again after it is lost.
pub(super) struct Pipe {
    address: SshAddress,
    /// Whether to start the other end with `--jobs`, which older programs do not know.
    takes_orders: bool,
    open: tokio::sync::Mutex<Option<SendRequest<Full<Bytes>>>>,
    /// The newest ssh process. It ends when its input is closed.
    child: Mutex<Option<Child>>,
    /// Whether an answer has ever come.
    has_answered: AtomicBool,
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // The process ends by itself once the pipe is closed. Do not wait: the other machine may not answer.
        self.child().as_mut().map(Child::try_wait);
    }
}

impl Pipe {
    pub(super) fn new(address: SshAddress) -> Self {
        let (open, child, has_answered) = Default::default();
        Self { address, takes_orders: false, open, child, has_answered }
    }

    pub(super) fn taking_orders(&self) -> Self {
        let mut pipe = Self::new(self.address.clone());
        pipe.takes_orders = true;
        pipe
    }

    /// The exit code of ssh. Waits up to [`ENDS_WITHIN`] for the process to end, unless an answer has come.
    pub(super) fn exit_code(&self) -> Option<i32> {
        let mut patience = Patience::of(ENDS_WITHIN);
        loop {
            let status = self.child().as_mut()?.try_wait().ok()?;
            if status.is_some() || self.has_answered.load(Ordering::Relaxed) || !patience.pause(|| false) {
                return status?.code();
            }
        }
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn send(&self, question: Question) -> Result<Reply, WireError> {
        // If no answer has ever come, a retry does not help: ssh has printed the reason.
        let may_pass = self.has_answered.load(Ordering::Relaxed);
        let passing = move |error: hyper::Error| WireError { may_pass, source: error.into() };
        let mut sender = self.connected().await?;
        let Question { to, method, url, headers, body, most } = question;
        let mut request = Request::builder().method(method).uri(url);
        if let Some(all) = request.headers_mut() {
            *all = headers;
        }
        let request = request.body(Full::new(body));
        let request = request.map_err(|error| WireError { may_pass: false, source: error.into() })?;
        let reply = runtime::run(async move {
            let response = sender.send_request(request).await.map_err(passing)?;
            Reply::read(response, to, most, SSH_DECIDES).await
        });
        let reply = reply.await?;
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(reply)
    }

    async fn connected(&self) -> Result<SendRequest<Full<Bytes>>, WireError> {
        let mut open = self.open.lock().await;
        if let Some(sender) = open.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let mut child = self.command().spawn().map_err(|error| WireError {
            may_pass: false,
            source: format!("cannot run {}: {error}", program().to_string_lossy()).into(),
        })?;
        let broken = |error: io::Error| WireError { may_pass: false, source: error.into() };
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(broken(io::ErrorKind::BrokenPipe.into()));
        };
        // The process before this one has ended with its pipe.
        if let Some(mut before) = self.child().replace(child) {
            let _ = before.try_wait();
        }
        let connected = runtime::run(async move {
            let (reader, writer) = ends_of(output, input).map_err(broken)?;
            let io = TokioIo::new(tokio::io::join(reader, writer));
            let handshake = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .handshake(io);
            let (sender, connection) =
                handshake.await.map_err(|error| WireError { may_pass: false, source: error.into() })?;
            // The next request notices when the connection ends.
            tokio::spawn(connection);
            Ok(sender)
        });
        let sender: SendRequest<Full<Bytes>> = connected.await?;
        *open = Some(sender.clone());
        Ok(sender)
    }

    fn command(&self) -> Command {
        let mut command = self.address.command();
        // ssh gives this line to a shell on the other machine.
        let path = self.address.path.replace('\'', "'\\''");
        let jobs = if self.takes_orders { " --jobs" } else { "" };
        command.arg(&self.address.host).arg(format!("copal serve --stdio{jobs} --repository '{path}'"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

/// No timeout of ours: ssh has its own for a silent machine (`ServerAliveInterval`).
const SSH_DECIDES: Duration = Duration::MAX;
/// How soon a program ends that does not understand its command line.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_for_the_shell_there() {
        let pipe = Pipe::new(SshAddress::parse("host/a b/it's").unwrap());
        let words: Vec<_> = pipe.command().get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words, ["host", r"copal serve --stdio --repository '/a b/it'\''s'"]);
    }
}
