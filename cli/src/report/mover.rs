//! Mover: the status line of `mover`. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};
use std::time::Duration;

use copal_client::history::Snapshot;
use serde::Serialize;
use serde_json::Value;

use super::{Answer, human};
use crate::exit::Exit;

#[derive(Serialize, Clone, Debug)]
pub struct Status {
    act: &'static str,
    id: String,
    state: State,
    pub snapshot: Option<String>,
    pub again: bool,
    retry: bool,
    exit_code: u8,
    seconds: f64,
    pub result: Option<Value>,
    pub error: Option<Value>,
}

#[derive(Serialize, Copy, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum State {
    Done,
    Partial,
    Failed,
}

impl Status {
    pub fn new(act: &'static str, id: &str) -> Self {
        Self {
            act,
            id: id.to_owned(),
            state: State::Failed,
            snapshot: None,
            again: false,
            retry: false,
            exit_code: 0,
            seconds: 0.0,
            result: None,
            error: None,
        }
    }

    pub fn end(&mut self, exit: Exit, took: Duration) {
        self.state = match exit {
            Exit::Done => State::Done,
            Exit::Partial => State::Partial,
            _ => State::Failed,
        };
        self.retry = matches!(exit, Exit::Failed | Exit::Rejected | Exit::Interrupted);
        self.exit_code = exit.code();
        self.seconds = took.as_secs_f64();
    }
}

impl Answer for Status {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} of {}: {:?}", self.act, human::text(&self.id), self.state)
    }
}

/// A snapshot that was saved under an id.
pub struct Saved {
    pub id: String,
    /// Where the volume was mounted, as a path of the tree. A scheduler names no other than UTF-8.
    path: String,
    /// Entries that the backup could not read.
    errors: u64,
}

impl From<&Snapshot> for Saved {
    fn from(snapshot: &Snapshot) -> Self {
        let path = snapshot.info.paths.first().map(|path| String::from_utf8_lossy(path).into_owned());
        Self { id: snapshot.id.to_string(), path: path.unwrap_or_default(), errors: snapshot.info.summary.errors }
    }
}

impl Saved {
    /// The volume's content, as the command line names it.
    pub fn whole(&self) -> String {
        format!("{}:/{}", self.id, self.path)
    }

    /// How the backup ended that made it.
    pub fn exit(&self) -> Exit {
        if self.errors > 0 { Exit::Partial } else { Exit::Done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_of_every_ending_what_became_of_the_call_and_whether_another_may_help() {
        use Exit::*;
        use State as S;
        let ends = [
            (Done, S::Done, false),
            (Partial, S::Partial, false),
            (Failed, S::Failed, true),
            (Rejected, S::Failed, true),
            (Interrupted, S::Failed, true),
            (Usage, S::Failed, false),
            (Damage, S::Failed, false),
            (NoRepository, S::Failed, false),
            (Busy, S::Failed, false),
            (WrongPassphrase, S::Failed, false),
        ];
        for (exit, state, retry) in ends {
            let mut status = Status::new("backup", "1");
            status.end(exit, Duration::ZERO);
            assert_eq!((status.state, status.retry, status.exit_code), (state, retry, exit.code()), "{exit:?}");
        }
    }
}
