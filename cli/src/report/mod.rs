//! Report: the only module with sentences for people. Results go to standard output, all else to standard error.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressDrawTarget};
use serde::Serialize;

use crate::args::global::{Global, LogForm};
use crate::exit::Exit;

mod advice;
pub mod clients;
pub mod copy;
pub mod diff;
mod failure;
pub mod field;
pub mod guard;
pub mod human;
pub mod keys;
pub mod mover;
pub mod policy;
pub mod progress;
pub mod rows;
pub mod run;
pub mod status;
pub mod summary;
pub mod sync;
#[cfg(test)]
mod tests;
pub mod upkeep;

pub use failure::Failure;

/// A result: one JSON object, or text for people.
pub trait Answer: Serialize {
    /// Writes the text for people.
    fn human(&self, out: &mut dyn Write) -> io::Result<()>;

    /// Whether it only confirms that an act succeeded, as the exit code does: people do not get it with `--quiet`.
    fn only_confirms(&self) -> bool {
        false
    }
}

/// A result with many rows: one JSON array, or one table.
pub trait List: Serialize + Sized {
    /// Writes the table for people.
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()>;
}

/// Prints in the form and amount that the global options ask for.
#[derive(Clone)]
pub struct Printer {
    /// Form of standard output.
    form: Form,
    /// Form of standard error.
    log: Form,
    amount: Amount,
    screen: MultiProgress,
    /// Takes results instead of standard output.
    taken: Option<Arc<Mutex<Vec<serde_json::Value>>>>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Form {
    Human,
    Json,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount {
    /// Results, warnings and errors.
    Quiet,
    /// Also notes and progress.
    Normal,
    /// Also what happens to each entry (`-v`).
    Verbose,
    /// Also internal steps (`-vv`).
    Debug,
}

/// An entry that could not be read or written; the work went on without it.
#[derive(Serialize)]
struct EntryTrouble<'a> {
    #[serde(flatten)]
    path: field::PathField,
    warning: &'a str,
}

/// An entry that was saved, with a remark about it.
#[derive(Serialize)]
struct EntryNote<'a> {
    #[serde(flatten)]
    path: field::PathField,
    note: &'a str,
}

/// One row of a result with many rows, shown in columns.
pub trait Columns: Serialize {
    /// One for each column; `>` aligns it to the right.
    const COLUMNS: &[&str];

    /// The text of each column.
    fn cells(&self) -> Vec<String>;
}

impl<T: Columns> List for T {
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()> {
        let mut table = human::Table::new(Self::COLUMNS);
        rows.iter().for_each(|row| table.row(row.cells()));
        table.write(out)
    }
}

impl Printer {
    /// A report with the global options. Draws progress only on a terminal.
    pub fn new(global: &Global) -> Self {
        let form = if global.json { Form::Json } else { Form::Human };
        let log = match global.log_format {
            None => form,
            Some(LogForm::Text) => Form::Human,
            Some(LogForm::Json) => Form::Json,
        };
        let amount = match (global.quiet, global.verbose) {
            (true, _) => Amount::Quiet,
            (false, 0) => Amount::Normal,
            (false, 1) => Amount::Verbose,
            (false, _) => Amount::Debug,
        };
        let draws = log == Form::Human && amount > Amount::Quiet && io::stderr().is_terminal();
        let target = if draws { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        Self { form, log, amount, screen: MultiProgress::with_draw_target(target), taken: None }
    }

    /// The same report for an act of a run: its results are kept as JSON, and people see them as well.
    pub fn taking(&self) -> Self {
        Self { taken: Some(Arc::default()), ..self.clone() }
    }

    pub fn taken(&self) -> Vec<serde_json::Value> {
        let taken =
            self.taken.as_ref().map(|taken| std::mem::take(&mut *taken.lock().unwrap_or_else(PoisonError::into_inner)));
        taken.unwrap_or_default()
    }

    /// Whether to print messages of this amount.
    pub fn says(&self, amount: Amount) -> bool {
        self.amount >= amount
    }

    /// Prints a note for people; not with `--quiet` or in JSON.
    pub fn note(&self, text: &str) {
        self.say(Amount::Normal, text);
    }

    /// Prints a picture made of characters for people; not with `--quiet` or in JSON.
    pub fn picture(&self, text: &str) {
        if self.log == Form::Human && self.says(Amount::Normal) {
            self.on_stderr(text);
        }
    }

    /// Prints a question for a person, without a line end, in every mode.
    pub fn ask(&self, text: &str) {
        self.screen.suspend(|| {
            // If the question cannot be printed, nobody can agree to it.
            let _ = write!(io::stderr().lock(), "{text}");
        });
    }

    /// Prints a message at `-v` (`Verbose`) or `-vv` (`Debug`); not beside a result in JSON, which says the same.
    pub fn say(&self, amount: Amount, text: &str) {
        match (self.form, self.log) {
            _ if !self.says(amount) => {}
            (_, Form::Human) => self.on_stderr(&format!("copal: {}", human::text(text))),
            (Form::Human, Form::Json) => self.on_stderr(&json(&Note { note: text })),
            (Form::Json, Form::Json) => {}
        }
    }

    /// Prints a line of a service's log. A log that cannot be written, since its disk is full or its reader is gone, must not
    /// end the jobs.
    pub fn log(&self, line: &str) {
        match self.log {
            Form::Human => self.on_stderr(line),
            Form::Json => self.on_stderr(&json(&Warning { warning: line })),
        }
    }

    /// Prints what happened to an entry, one line each.
    pub fn event(&self, event: &(impl Serialize + fmt::Display)) {
        match self.log {
            Form::Human => self.on_stderr(&event.to_string()),
            Form::Json => self.on_stderr(&json(event)),
        }
    }

    /// Prints a warning: the work goes on.
    pub fn warn(&self, text: &str) {
        match self.log {
            Form::Human => self.on_stderr(&format!("copal: warning: {}", human::text(text))),
            Form::Json => self.on_stderr(&json(&Warning { warning: text })),
        }
    }

    /// Prints the name of an entry that could not be read or written.
    pub fn trouble(&self, path: field::PathField, warning: &str) {
        match self.log {
            Form::Human => self.on_stderr(&format!("copal: {}: {}", path.human(), human::text(warning))),
            Form::Json => self.on_stderr(&json(&EntryTrouble { path, warning })),
        }
    }

    /// Prints a remark about an entry; for people not with `--quiet`.
    pub fn entry_note(&self, path: field::PathField, note: &str) {
        match self.log {
            Form::Human => self.note(&format!("{}: {note}", path.human())),
            Form::Json => self.on_stderr(&json(&EntryNote { path, note })),
        }
    }

    /// Prints why a command failed and what to do; returns the exit code.
    pub fn fail(&self, failure: &Failure) -> Exit {
        match (failure, self.log) {
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

    pub fn answer(&self, answer: &impl Answer) -> Result<(), Failure> {
        self.write(answer, answer.only_confirms())
    }

    /// Writes a result that always only confirms that an act succeeded.
    pub fn confirm(&self, answer: &impl Answer) -> Result<(), Failure> {
        self.write(answer, true)
    }

    fn write(&self, answer: &impl Answer, only_confirms: bool) -> Result<(), Failure> {
        if let Some(taken) = &self.taken {
            let value = serde_json::to_value(answer).expect("results have plain fields");
            taken.lock().unwrap_or_else(PoisonError::into_inner).push(value);
            if self.form == Form::Json {
                return Ok(());
            }
        }
        if self.form == Form::Human && self.amount == Amount::Quiet && only_confirms {
            return Ok(());
        }
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

    /// Writes text or bytes as they are, in every form.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut lines = self.lines();
        lines.out.write_all(bytes).map_err(Failure::output)?;
        lines.finish()
    }

    pub fn lines(&self) -> Lines {
        Lines { out: BufWriter::with_capacity(64 << 10, io::stdout().lock()), form: self.form, table: None }
    }

    /// Shows progress, in JSON as one object a second, until the returned value is dropped.
    pub fn watch(&self, act: &'static str, progress: Arc<copal_client::progress::Progress>) -> progress::Watch {
        match self.log {
            Form::Json if self.says(Amount::Normal) => progress::Watch::telling(act, progress),
            _ => progress::Watch::begin(&self.screen, act, progress),
        }
    }

    /// Writes whole lines above the progress display.
    fn on_stderr(&self, text: &str) {
        self.screen.suspend(|| {
            // An error of standard error cannot be reported.
            let _ = writeln!(io::stderr().lock(), "{text}");
        });
    }
}

pub struct Lines {
    out: BufWriter<StdoutLock<'static>>,
    form: Form,
    /// Rows whose columns are not written yet.
    table: Option<human::Table>,
}

impl Lines {
    pub fn row(&mut self, answer: &impl Answer) -> Result<(), Failure> {
        let written = match self.form {
            Form::Human => answer.human(&mut self.out),
            Form::Json => {
                serde_json::to_writer(&mut self.out, answer).map_err(io::Error::from).and_then(|()| writeln!(self.out))
            }
        };
        written.map_err(Failure::output)
    }

    /// Writes one of many results. People get them in batches, each with columns as wide as its rows need.
    pub fn columns<T: Columns>(&mut self, result: &T) -> Result<(), Failure> {
        if self.form == Form::Json {
            return writeln!(self.out, "{}", json(result)).map_err(Failure::output);
        }
        let table = self.table.get_or_insert_with(|| human::Table::new(T::COLUMNS));
        table.row(result.cells());
        if table.len() < ALIGNED { Ok(()) } else { self.flush_columns() }
    }

    fn flush_columns(&mut self) -> Result<(), Failure> {
        self.table.take().map_or(Ok(()), |table| table.write(&mut self.out)).map_err(Failure::output)
    }

    /// The raw output, for callers that write piece by piece.
    pub fn raw(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush_columns()?;
        self.out.flush().map_err(Failure::output)
    }
}

/// Prints what is wrong with a command line, or the help text.
pub fn usage<'a>(error: &clap::Error, arguments: impl Iterator<Item = &'a OsStr>) -> Exit {
    if error.use_stderr() && asks_for_json(arguments) {
        let text = error.to_string();
        let first = text.trim().split("\n\n").next().unwrap_or_default();
        let words: Vec<&str> = first.strip_prefix("error: ").unwrap_or(first).split_whitespace().collect();
        let failure = Failure::Usage(words.join(" "));
        eprintln!("{}", failure.json());
        return Exit::Usage;
    }
    // An error of standard error cannot be reported.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// Whether an invalid command line asks for errors in JSON.
fn asks_for_json<'a>(arguments: impl Iterator<Item = &'a OsStr>) -> bool {
    let words: Vec<&str> = arguments.filter_map(OsStr::to_str).collect();
    let next = |at: usize| words.get(at + 1).copied();
    let mut given = words.iter().enumerate().filter_map(|(at, word)| match *word {
        "--log-format" => next(at),
        word => word.strip_prefix("--log-format="),
    });
    let variable = || std::env::var("COPAL_LOG_FORMAT").ok();
    match given.next().map(str::to_owned).or_else(variable) {
        Some(form) => form == "json",
        None => words.contains(&"--json"),
    }
}

/// Rows whose columns are made equally wide.
const ALIGNED: usize = 1_000;

#[derive(Serialize)]
struct Warning<'a> {
    warning: &'a str,
}

#[derive(Serialize)]
struct Note<'a> {
    note: &'a str,
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("results have plain fields")
}
