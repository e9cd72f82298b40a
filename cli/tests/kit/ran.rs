//! What comes of a command that runs to its end.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::text;

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

/// Runs a command to its end.
pub(crate) trait Run {
    fn ran(&mut self) -> Ran;

    /// The same with this on its standard input. A command that does not want all of it may end before it has it.
    fn fed(&mut self, input: impl AsRef<[u8]>) -> Ran;
}

impl Run for Command {
    fn ran(&mut self) -> Ran {
        Ran::of(self.output().unwrap())
    }

    fn fed(&mut self, input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Ran::of(child.wait_with_output().unwrap())
    }
}

/// A command of a machine, run by another program: its arguments follow these words, and its directory and variables
/// stay.
pub(crate) fn run_by(program: impl AsRef<OsStr>, words: &[&str], command: &Command) -> Command {
    let mut other = Command::new(program);
    other.args(words).args(command.get_args()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().expect("a machine's commands run in its directory"));
    other
}

impl Ran {
    /// A program that panicked is a failure, whatever was expected.
    pub(crate) fn of(output: Output) -> Self {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!err.contains("panicked"), "{err}");
        Self { code: output.status.code().unwrap_or(-1), out: output.stdout, err }
    }

    /// Succeeded, and had nothing to say against it.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self}");
        self
    }

    /// Ended with this exit code.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// The output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    /// The output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The output as one JSON object a line.
    pub(crate) fn rows(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The failure that a command told in JSON: its kind.
    pub(crate) fn kind(&self) -> String {
        let last = self.err.lines().last().unwrap_or_default();
        let failure: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self}"));
        assert_eq!(failure["exit_code"], self.code, "{self}");
        text(&failure["kind"])
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n{}\n{}", self.code, String::from_utf8_lossy(&self.out), self.err)
    }
}
