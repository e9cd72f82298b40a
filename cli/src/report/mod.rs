//! Report: the only place with sentences for people. Results go to standard output; all else to standard error.

use std::ffi::OsStr;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::Arc;

use indicatif::{MultiProgress, ProgressDrawTarget};
use serde::Serialize;

use crate::args::global::Global;
use crate::exit::Exit;

mod advice;
pub mod clients;
mod failure;
pub mod field;
pub mod guard;
pub mod human;
pub mod keys;
pub mod policy;
pub mod progress;
pub mod rows;
pub mod status;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod upkeep;

pub use failure::Failure;

/// A result: one JSON object, or what a person reads.
pub trait Answer: Serialize {
    /// Writes what a person reads.
    fn human(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// A result that comes in numbers: one JSON array, or one table.
pub trait List: Serialize + Sized {
    /// Writes what a person reads.
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()>;
}

/// What a command says, in the form and the amount asked for.
#[derive(Clone)]
pub struct Report {
    form: Form,
    amount: Amount,
    screen: MultiProgress,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Form {
    Human,
    Json,
}

/// How much is said.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount {
    /// Results, warnings and errors.
    Quiet,
    /// Also notes and progress.
    Normal,
    /// Also what happens to each entry.
    Verbose,
    /// Also what happens inside.
    Debug,
}

/// An entry that could not be read or written; the work went on without it.
#[derive(Serialize, Clone, Debug)]
pub struct EntryTrouble {
    /// The entry.
    #[serde(flatten)]
    pub path: field::PathField,
    /// What happened.
    pub warning: String,
}

/// An entry that was saved, and that a person may want to know something about.
#[derive(Serialize)]
struct EntryNote<'a> {
    #[serde(flatten)]
    path: field::PathField,
    note: &'a str,
}

impl Report {
    /// A report as the global options ask for. Progress is drawn only on a terminal.
    pub fn new(global: &Global) -> Self {
        let form = if global.json { Form::Json } else { Form::Human };
        let amount = match (global.quiet, global.verbose) {
            (true, _) => Amount::Quiet,
            (false, 0) => Amount::Normal,
            (false, 1) => Amount::Verbose,
            (false, _) => Amount::Debug,
        };
        let draws = form == Form::Human && amount > Amount::Quiet && io::stderr().is_terminal();
        let target = if draws { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        Self { form, amount, screen: MultiProgress::with_draw_target(target) }
    }

    /// Whether as much as `amount` is said.
    pub fn says(&self, amount: Amount) -> bool {
        self.amount >= amount
    }

    /// Says something that a person may want to know: not with `--quiet`, nor in JSON.
    pub fn note(&self, text: &str) {
        self.say(Amount::Normal, text);
    }

    /// Shows a picture, drawn in characters, to a person: not with `--quiet`, nor in JSON.
    pub fn picture(&self, text: &str) {
        if self.form == Form::Human && self.says(Amount::Normal) {
            self.on_stderr(text);
        }
    }

    /// Shows a question to a person, on its line, whatever was asked for.
    pub fn ask(&self, text: &str) {
        self.screen.suspend(|| {
            // Who cannot read the question does not say yes.
            let _ = write!(io::stderr().lock(), "{text}");
        });
    }

    /// Says something at `-v` (`Verbose`) or `-vv` (`Debug`); not in JSON.
    pub fn say(&self, amount: Amount, text: &str) {
        if self.form == Form::Human && self.says(amount) {
            self.on_stderr(&format!("copal: {}", human::text(text)));
        }
    }

    /// Warns: the work goes on, but a person should know.
    pub fn warn(&self, text: &str) {
        match self.form {
            Form::Human => self.on_stderr(&format!("copal: warning: {}", human::text(text))),
            Form::Json => self.on_stderr(&json(&Warning { warning: text })),
        }
    }

    /// Names an entry that could not be read or written.
    pub fn trouble(&self, trouble: &EntryTrouble) {
        match self.form {
            Form::Human => {
                self.on_stderr(&format!("copal: {}: {}", trouble.path.human(), human::text(&trouble.warning)))
            }
            Form::Json => self.on_stderr(&json(trouble)),
        }
    }

    /// Says something about an entry that is no trouble: to a person not with `--quiet`.
    pub fn entry_note(&self, path: field::PathField, note: &str) {
        match self.form {
            Form::Human => self.note(&format!("{}: {note}", path.human())),
            Form::Json => self.on_stderr(&json(&EntryNote { path, note })),
        }
    }

    /// Says why a command failed and what can be done; the exit code follows from it.
    pub fn fail(&self, failure: &Failure) -> Exit {
        match (failure, self.form) {
            (Failure::OutputClosed, _) => {}
            (_, Form::Json) => self.on_stderr(&failure.json()),
            (_, Form::Human) => self.on_stderr(&self.told(failure)),
        }
        failure.exit()
    }

    fn told(&self, failure: &Failure) -> String {
        let mut text = format!("copal: {}", human::text(&failure.text()));
        if let Some(candidates) = failure.candidates() {
            let mut table = Vec::new();
            List::human(candidates, &mut table).expect("memory takes every byte");
            text.push_str(&format!("\n{}", String::from_utf8_lossy(&table).trim_end()));
        }
        failure.advice().map_or(text.clone(), |advice| format!("{text}\ncopal: {advice}"))
    }

    /// Writes a command's result.
    pub fn answer(&self, answer: &impl Answer) -> Result<(), Failure> {
        let mut lines = self.lines();
        lines.row(answer)?;
        lines.finish()
    }

    /// Writes a command's results, all at once.
    pub fn list<T: List>(&self, rows: &[T]) -> Result<(), Failure> {
        let mut lines = self.lines();
        match self.form {
            Form::Human => T::human(rows, &mut lines.out).map_err(Failure::output)?,
            Form::Json => writeln!(lines.out, "{}", json(&rows)).map_err(Failure::output)?,
        }
        lines.finish()
    }

    /// Begins results that are written one by one, each on its line.
    pub fn lines(&self) -> Lines {
        Lines { out: BufWriter::with_capacity(64 << 10, io::stdout().lock()), form: self.form }
    }

    /// Begins to show progress, until what is returned is dropped.
    pub fn watch(&self, act: &'static str, progress: Arc<progress::Progress>) -> progress::Watch {
        progress::Watch::begin(&self.screen, act, progress)
    }

    /// Writes whole lines, without tearing what progress has drawn.
    fn on_stderr(&self, text: &str) {
        self.screen.suspend(|| {
            // Nothing can be said about an error that cannot be said.
            let _ = writeln!(io::stderr().lock(), "{text}");
        });
    }
}

/// Results that are written one by one.
pub struct Lines {
    out: BufWriter<StdoutLock<'static>>,
    form: Form,
}

impl Lines {
    /// Writes one.
    pub fn row(&mut self, answer: &impl Answer) -> Result<(), Failure> {
        let written = match self.form {
            Form::Human => answer.human(&mut self.out),
            Form::Json => {
                serde_json::to_writer(&mut self.out, answer).map_err(io::Error::from).and_then(|()| writeln!(self.out))
            }
        };
        written.map_err(Failure::output)
    }

    /// Writes bytes as they are, for `dump` and completions.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(Failure::output)
    }

    /// Takes bytes as they are, for whoever writes them piece by piece.
    pub fn raw(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Hands everything over.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::output)
    }
}

/// Says what is wrong with a command line, or shows the help that was asked for.
pub fn usage<'a>(error: &clap::Error, mut arguments: impl Iterator<Item = &'a OsStr>) -> Exit {
    if error.use_stderr() && arguments.any(|argument| argument == "--json") {
        let text = error.to_string();
        let first = text.trim().split("\n\n").next().unwrap_or_default();
        let words: Vec<&str> = first.strip_prefix("error: ").unwrap_or(first).split_whitespace().collect();
        let failure = Failure::Usage(words.join(" "));
        eprintln!("{}", failure.json());
        return Exit::Usage;
    }
    // Nothing can be said about an error that cannot be said.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

#[derive(Serialize)]
struct Warning<'a> {
    warning: &'a str,
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("results have plain fields")
}
