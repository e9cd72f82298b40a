//! A connection to an SFTP server: many requests at once, through the pipe of an ssh process.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::packet::{Answer, Attributes, Field, Request, encode};
use super::trouble::{OK, SILENCE, Trouble};

/// How to connect, and the connection, opened when first needed and again after it is lost.
pub(super) struct Line {
    command: Box<dyn Fn() -> std::process::Command + Send + Sync>,
    open: tokio::sync::Mutex<Option<Arc<Session>>>,
    has_answered: Arc<AtomicBool>,
}

impl Line {
    pub(super) fn new(command: impl Fn() -> std::process::Command + Send + Sync + 'static) -> Line {
        Line { command: Box::new(command), open: tokio::sync::Mutex::default(), has_answered: Arc::default() }
    }

    pub(super) async fn session(&self) -> Result<Arc<Session>, Trouble> {
        let mut open = self.open.lock().await;
        if let Some(session) = open.as_ref().filter(|session| session.pending().over.is_none()) {
            return Ok(session.clone());
        }
        let session = Arc::new(Session::open((self.command)(), self.has_answered.clone()).await?);
        *open = Some(session.clone());
        Ok(session)
    }
}

/// A running SFTP server at the other end of a pipe.
pub(super) struct Session {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    pending: Arc<Mutex<Pending>>,
    next: AtomicU32,
    has_answered: Arc<AtomicBool>,
}

/// The requests that wait for an answer.
#[derive(Default)]
pub(super) struct Pending {
    waiting: HashMap<u32, oneshot::Sender<Answer>>,
    /// Why the connection has ended.
    over: Option<Trouble>,
}

impl Pending {
    fn end(&mut self, why: Trouble) {
        self.over = Some(why);
        self.waiting.clear();
    }
}

impl Session {
    async fn open(command: std::process::Command, has_answered: Arc<AtomicBool>) -> Result<Session, Trouble> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut command = Command::from(command);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn();
        let mut child = spawned.map_err(|error| Trouble::Start { program, reason: error.to_string() })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Trouble::Ended { may_pass: false });
        };
        let (outgoing, packets) = mpsc::unbounded_channel();
        let closing = outgoing.downgrade();
        let pending = Arc::<Mutex<Pending>>::default();
        let session = Session { outgoing, pending: pending.clone(), next: AtomicU32::new(1), has_answered };
        let (greeted, greeting) = oneshot::channel();
        session.pending().waiting.insert(0, greeted);
        tokio::spawn(send(input, packets));
        tokio::spawn(async move {
            // An answer that cannot be read ends the connection: where the next one begins is unknown.
            let why = receive(output, &pending, &closing).await;
            lock(&pending).end(why);
            // ssh ends by itself once the session is dropped, but not after an answer that cannot be read.
            let _ = child.kill().await;
        });
        // The hello has a version in the place of an id.
        session.send(encode(Request::Init, 3, &[]))?;
        let Answer::Version(extensions) = session.wait(greeting).await? else {
            return Err(Trouble::Answer("no greeting"));
        };
        session.has_answered.store(true, Ordering::Relaxed);
        let has = |name: &[u8]| extensions.iter().any(|extension| extension == name);
        if !has(HARD_LINK) || !has(FSYNC) {
            return Err(Trouble::Lacks(LACK));
        }
        Ok(session)
    }

    /// Sends a request and waits for the answer. A status other than success is an error.
    pub(super) async fn ask(&self, request: Request, fields: &[Field<'_>]) -> Result<Answer, Trouble> {
        #[cfg(feature = "faults")]
        if request.changes() {
            crate::faults::point();
        }
        // Zero is the greeting's.
        let id = self.next.fetch_add(1, Ordering::Relaxed).max(1);
        let (sender, answer) = oneshot::channel();
        {
            let mut pending = self.pending();
            // Nobody would answer any more: dropping the sender ends the wait.
            match pending.over {
                Some(_) => drop(sender),
                None => drop(pending.waiting.insert(id, sender)),
            }
        }
        self.send(encode(request, id, fields))?;
        match self.wait(answer).await? {
            Answer::Status { code, message } if code != OK => Err(Trouble::Status { code, message }),
            answer => Ok(answer),
        }
    }

    /// Opens a file by these flags of SFTP. Only its owner may open a new one.
    pub(super) async fn open_file(self: &Arc<Self>, path: &str, flags: u32) -> Result<OpenFile, Trouble> {
        let fields = [Field::Text(path.as_bytes()), Field::U32(flags), Field::Mode(0o600)];
        self.opened(self.ask(Request::Open, &fields).await?)
    }

    /// Opens a directory for listing.
    pub(super) async fn open_directory(self: &Arc<Self>, path: &str) -> Result<OpenFile, Trouble> {
        self.opened(self.ask(Request::OpenDirectory, &[Field::Text(path.as_bytes())]).await?)
    }

    fn opened(self: &Arc<Self>, answer: Answer) -> Result<OpenFile, Trouble> {
        let Answer::Handle(handle) = answer else { return Err(UNEXPECTED) };
        Ok(OpenFile { session: self.clone(), handle })
    }

    /// The attributes of a path; with `Stat`, those of what a symbolic link there leads to.
    pub(super) async fn look(&self, request: Request, path: &str) -> Result<Attributes, Trouble> {
        match self.ask(request, &[Field::Text(path.as_bytes())]).await? {
            Answer::Attributes(attributes) => Ok(attributes),
            _ => Err(UNEXPECTED),
        }
    }

    /// Gives a file another name, unless that exists.
    pub(super) async fn link(&self, from: &str, to: &str) -> Result<(), Trouble> {
        let names = [HARD_LINK, from.as_bytes(), to.as_bytes()].map(Field::Text);
        self.ask(Request::Extended, &names).await.map(drop)
    }

    fn send(&self, packet: Vec<u8>) -> Result<(), Trouble> {
        self.outgoing.send(packet).map_err(|_| self.ended())
    }

    async fn wait(&self, answer: oneshot::Receiver<Answer>) -> Result<Answer, Trouble> {
        answer.await.map_err(|_| self.ended())
    }

    fn ended(&self) -> Trouble {
        match &self.pending().over {
            Some(why @ (Trouble::Answer(_) | Trouble::Silent)) => why.clone(),
            _ => Trouble::Ended { may_pass: self.has_answered.load(Ordering::Relaxed) },
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }
}

/// A file or directory that the server holds open; closed when it is dropped.
pub(super) struct OpenFile {
    session: Arc<Session>,
    handle: Bytes,
}

impl OpenFile {
    /// Sends a request about it.
    pub(super) async fn ask(&self, request: Request, fields: &[Field<'_>]) -> Result<Answer, Trouble> {
        let mut all = vec![Field::Text(&self.handle)];
        all.extend(fields.iter().copied());
        self.session.ask(request, &all).await
    }

    pub(super) async fn attributes(&self) -> Result<Attributes, Trouble> {
        match self.ask(Request::Fstat, &[]).await? {
            Answer::Attributes(attributes) => Ok(attributes),
            _ => Err(UNEXPECTED),
        }
    }

    /// Makes it durable.
    pub(super) async fn sync(&self) -> Result<(), Trouble> {
        let fields = [Field::Text(FSYNC), Field::Text(&self.handle)];
        self.session.ask(Request::Extended, &fields).await.map(drop)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // Nobody waits for the answer: what was written is durable already, or reported as failed.
        let id = self.session.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.session.send(encode(Request::Close, id, &[Field::Text(&self.handle)]));
    }
}

async fn send(mut input: ChildStdin, mut packets: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(packet) = packets.recv().await {
        // Nothing is reported here: `receive` sees the end of the output, and fails all waiting requests.
        if input.write_all(&packet).await.is_err() {
            return;
        }
    }
}

/// Hands answers to the requests that wait, until the connection ends; returns why it ended. `closing` takes requests
/// to close handles that nobody wants any more.
async fn receive(
    mut output: ChildStdout,
    pending: &Mutex<Pending>,
    closing: &mpsc::WeakUnboundedSender<Vec<u8>>,
) -> Trouble {
    loop {
        let (id, answer) = match heard(pin!(next(&mut output)), pending, SILENCE).await {
            Ok(answered) => answered,
            Err(why) => return why,
        };
        let waiting = lock(pending).waiting.remove(&id);
        // Nobody waits for the answer to a close, or if the caller gave up.
        let untaken = waiting.map_or(Ok(()), |waiting| waiting.send(answer));
        if let (Err(Answer::Handle(handle)), Some(closing)) = (untaken, closing.upgrade()) {
            // Servers keep a limited number of files open.
            let _ = closing.send(encode(Request::Close, id, &[Field::Text(&handle)]));
        }
    }
}

/// The next answer. An error if none comes for that long while a request waits: ssh itself notices neither a machine
/// that has gone silent (its `ServerAliveInterval` is off by default) nor a disk that hangs.
pub(super) async fn heard(
    mut next: Pin<&mut impl Future<Output = Result<(u32, Answer), Trouble>>>,
    pending: &Mutex<Pending>,
    silence: Duration,
) -> Result<(u32, Answer), Trouble> {
    let mut somebody_waited = false;
    loop {
        match timeout(silence, &mut next).await {
            Ok(answered) => return answered,
            Err(_) if somebody_waited => return Err(Trouble::Silent),
            Err(_) => somebody_waited = !lock(pending).waiting.is_empty(),
        }
    }
}

async fn next(output: &mut ChildStdout) -> Result<(u32, Answer), Trouble> {
    let gone = |_| Trouble::Ended { may_pass: true };
    let length = usize::try_from(output.read_u32().await.map_err(gone)?).unwrap_or(usize::MAX);
    if length > PACKET_MOST {
        return Err(Trouble::Answer("it is no SFTP; does the login there print something?"));
    }
    let mut packet = vec![0; length];
    output.read_exact(&mut packet).await.map_err(gone)?;
    Answer::decode(packet.into())
}

/// Has somebody wait for an answer that never comes.
#[cfg(test)]
pub(super) fn wait_for(pending: &Mutex<Pending>, asked: oneshot::Sender<Answer>) {
    lock(pending).waiting.insert(1, asked);
}

fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) const UNEXPECTED: Trouble = Trouble::Answer("an answer of the wrong kind");
pub(super) const LACK: &str = "its SFTP server has no hardlink@openssh.com or no fsync@openssh.com, so a name could be made twice \
    or be lost with the power";
const HARD_LINK: &[u8] = b"hardlink@openssh.com";
const FSYNC: &[u8] = b"fsync@openssh.com";
/// The longest packet that is read: a server may send a listing of several hundred names.
const PACKET_MOST: usize = 1 << 20;
