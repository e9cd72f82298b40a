//! Environment: one process of a function and the Runtime API that it talks to. Between invocations it is frozen, as
//! Lambda does.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use super::endpoint::{Answer, Endpoint, Phase};

/// An execution environment.
pub struct Environment {
    endpoint: Endpoint,
    child: Child,
    pid: Pid,
    /// How long it took from the start of the process to its first question for an invocation.
    pub cold_start: Duration,
}

/// What became of an invocation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Response(Value),
    Error {
        kind: String,
        message: String,
    },
    /// It did not answer in time; its process was killed.
    TimedOut,
    /// Its process ended without an answer.
    Crashed(String),
}

/// What the processes of a function write, line by line.
#[derive(Debug)]
pub struct Log {
    lines: Mutex<Vec<String>>,
    shown: Option<String>,
}

impl Log {
    /// An empty log; with a name it is also shown as it comes.
    pub fn new(shown: Option<String>) -> Self {
        Self { lines: Mutex::default(), shown }
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("nobody panics with it").clone()
    }

    fn push(&self, line: String) {
        match &self.shown {
            // Whoever looks on does not want all of it kept for ever.
            Some(name) => {
                if let Some(line) = readable(&line) {
                    println!("{name:8} {line}");
                }
            }
            None => self.lines.lock().expect("nobody panics with it").push(line),
        }
    }
}

/// What a person wants to see of a line: what was done, to what; no metrics, and nothing about the invocation.
fn readable(line: &str) -> Option<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(line) else { return Some(line.to_owned()) };
    if fields.contains_key("_aws") {
        return None;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let message = fields.get("message").map(text).unwrap_or_default();
    let told =
        fields.iter().filter(|(name, _)| !["level", "message", "span", "target", "timestamp"].contains(&&***name));
    let told = told.map(|(name, value)| format!("  {name} {}", text(value)));
    Some(std::iter::once(message).chain(told).collect())
}

impl Environment {
    /// Starts a process with these variables and no others, and waits until it asks for an invocation.
    pub async fn start(
        program: &Path,
        name: &str,
        variables: &[(String, String)],
        patience: Duration,
        log: &Arc<Log>,
    ) -> Result<Self, String> {
        let endpoint = Endpoint::start(name).map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.env_clear().envs(variables.iter().cloned());
        command.env("AWS_LAMBDA_RUNTIME_API", endpoint.address().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let started = Instant::now();
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        let pid = child.id().and_then(|id| Pid::from_raw(id as i32)).ok_or("the process ended at once")?;
        keep(child.stdout.take(), log);
        keep(child.stderr.take(), log);
        let asked = endpoint.reached(|phase| *phase != Phase::Starting);
        tokio::select! {
            // What it has told comes before its end: one that cannot start tells why, and ends at once.
            biased;
            phase = asked => if let Phase::Failed(why) = phase { return Err(format!("Runtime.InitError: {why}")) },
            status = child.wait() => return Err(format!("it ended before its first invocation: {status:?}")),
            () = tokio::time::sleep(patience) => return Err("it asked for no invocation in time".to_owned()),
        }
        let cold_start = started.elapsed();
        let environment = Self { endpoint, child, pid, cold_start };
        environment.signal(Signal::STOP);
        Ok(environment)
    }

    /// Invokes the function once. Unless the process is as good as before, it must not be invoked again.
    pub async fn invoke(&mut self, id: &str, payload: &Value, timeout: Duration) -> Outcome {
        let answered = self.endpoint.invoke(id.to_owned(), payload, timeout);
        self.signal(Signal::CONT);
        let outcome = tokio::select! {
            biased;
            answer = answered => match answer {
                Ok(Answer::Response(value)) => Outcome::Response(value),
                Ok(Answer::Error { kind, message }) => Outcome::Error { kind, message },
                Err(_) => Outcome::Crashed("the endpoint is gone".to_owned()),
            },
            status = self.child.wait() => Outcome::Crashed(format!("{status:?}")),
            () = tokio::time::sleep(timeout) => Outcome::TimedOut,
        };
        match outcome {
            Outcome::Response(_) | Outcome::Error { .. } => {
                // It is frozen when it asks again; whoever ends instead shows that at the next invocation.
                let asks = self.endpoint.reached(|phase| *phase == Phase::Idle);
                if tokio::time::timeout(timeout, asks).await.is_ok() {
                    self.signal(Signal::STOP);
                }
            }
            _ => self.kill(),
        }
        outcome
    }

    pub fn kill(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.child.start_kill();
    }

    /// The process, for who wants to kill it while it works.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    fn signal(&self, signal: Signal) {
        if self.child.id().is_some() {
            // One that has ended is not signalled: its number is still its own until it is waited for.
            let _ = kill_process(self.pid, signal);
        }
    }
}

/// Keeps what a process writes.
fn keep(stream: Option<impl AsyncRead + Unpin + Send + 'static>, log: &Arc<Log>) {
    let Some(stream) = stream else { return };
    let log = log.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            log.push(line);
        }
    });
}
