//! `export`: writes a snapshot into one file: encrypted, as a repository of its own, or as a plain archive.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use copal_client::backup::BackupError;
use copal_client::compression::Compression;
use copal_client::copy::{Copier, How};
use copal_client::dump::DumpError;
use copal_client::export::{Export, ExportError};
use copal_client::history::History;
use copal_client::progress::Progress;
use copal_client::repository::{ReaderProgram, Repository};
use copal_client::wait::wait;
use copal_format::layout;
use copal_jobs::view;
use copal_store::{Op, StoreError};

use super::backup::tell_troubles;
use super::context::{Context, input};
use super::dump::archive;
use super::nameless::Nameless;
use super::signals::watch_signals;
use crate::args::copy::Export as Options;
use crate::args::global::Global;
use crate::exit::Exit;
use crate::pick::Intent;
use crate::report::Failure;
use crate::report::copy::ExportSummary;
use crate::secrets::{OF_EXPORT, Terminal};
use crate::system::output;

pub(super) fn run(context: &Context<'_>, options: &Options) -> Result<Exit, Failure> {
    let started = Instant::now();
    let output = Output::begin(options)?;
    let (repository, view, history) = context.read()?;
    let (mut summary, exit) = match options.format {
        Some(form) => {
            let place = context.place(&repository, (&view, &history), &options.snapshot, &options.narrow)?;
            let mut out = BufWriter::with_capacity(BUFFER, output.file()?);
            let exit = archive(context, &place, form, &mut out).map_err(|error| match error {
                DumpError::Output(error) => output.failed(error),
                error => error.into(),
            })?;
            out.flush().map_err(|error| output.failed(error))?;
            (ExportSummary::of(place.snapshot), exit)
        }
        None => encrypted(context, options, (&repository, &view, &history), &output)?,
    };
    summary.file = options.file.display().to_string();
    let is_file = matches!(output, Output::Named(..));
    summary.bytes = output.finish(options.replace)?;
    summary.seconds = started.elapsed().as_secs_f64();
    if is_file {
        context.report.answer(&summary)?;
    } else if let Some(code) = &summary.recovery_code {
        context.report.warn("the recovery code of the export, shown this once:");
        context.report.warn(code);
    }
    Ok(if exit == Exit::Done { context.exit_of(&history) } else { exit })
}

/// Makes a repository with keys of its own in the file, and copies the snapshot into it.
fn encrypted(
    context: &Context<'_>,
    options: &Options,
    (source, view, history): (&Repository, &view::View, &History),
    output: &Output,
) -> Result<(ExportSummary, Exit), Failure> {
    let here = context.here(source);
    let snapshot = context.snapshot(&here, history, &options.snapshot.which, &options.narrow, Intent::Read)?;
    let password_file = options.to_password_file.clone();
    let global = Global { repository: None, password_file, ..context.global.without_secret() };
    let credential = context.other(&global, &OF_EXPORT).secrets().first(&mut Terminal)?;
    let reader = ReaderProgram::inside().map_or_else(|| ReaderProgram::of(source), |reader| Ok(Some(reader)))?;
    if reader.is_none() {
        context.report.warn(
            "neither this program nor the repository has the reader, so the export has none: it takes Copal to read it",
        );
    }
    let interrupted = watch_signals(context.report, || None)?;
    let secret = input(&credential)?;
    let export = Export::begin(output.file()?, &options.file, secret, reader.as_ref(), &context.this_host());
    let export = export.map_err(|error| match error {
        ExportError::Io(error) => output.failed(error),
        error => output.blamed(error.into()),
    })?;
    let now = wait(view::read(export.repository.store().as_ref()))?;
    let copies = History::read(&export.repository, &now)?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let how = How { threads, wait: std::time::Duration::ZERO, trusts: false, compression: Compression::Auto };
    let progress = Arc::new(Progress::default());
    progress.expect(snapshot.info.counts.files, snapshot.info.counts.bytes);
    let watch = context.report.watch("export", progress.clone());
    let made = Copier::new((source, view, history), (&export.repository, &export.client, &copies), how).copy(
        snapshot,
        &progress,
        &interrupted,
    );
    drop(watch);
    if matches!(made, Err(BackupError::Interrupted)) {
        context.report.warn("nothing is left of the export: it has to be made anew");
    }
    let made = made.map_err(|error| output.blamed(error.into()))?;
    tell_troubles(context, &made);
    let summary = ExportSummary {
        recovery_code: Some(export.recovery_code.as_str().to_owned()),
        repository_id: Some(export.repository.id()),
        reader: reader.map(|reader| layout::reader(reader.hash())),
        errors: made.errors(),
        ..ExportSummary::of(snapshot)
    };
    export.finish().map_err(|error| output.failed(error))?;
    Ok((summary, if made.errors() > 0 { Exit::Damage } else { Exit::Done }))
}

/// The destination of an export.
enum Output {
    /// Gets its name once it is whole.
    Named(PathBuf, Nameless),
    /// Standard output, for an encrypted export: it is read while it is written.
    Spooled(File),
    Streamed,
}

impl Output {
    /// Refuses options that must be a mistake, before the user types a passphrase.
    fn begin(options: &Options) -> Result<Self, Failure> {
        let file = &options.file;
        if options.format.is_none() {
            if options.snapshot.path.is_some() {
                let why = "an encrypted export holds a whole snapshot: leave the path out, or give a --format";
                return Err(Failure::Usage(why.into()));
            }
            let name = file.to_string_lossy().to_ascii_lowercase();
            if PLAIN.iter().any(|ending| name.ends_with(ending)) {
                let name = file.display();
                let why = format!("{name} would be an encrypted export: name it like NAME.copal, or give a --format");
                return Err(Failure::Usage(why));
            }
        }
        if file.as_os_str() == "-" {
            let spooled = || tempfile::tempfile().map_err(|error| Failure::io("write", std::env::temp_dir(), error));
            return if options.format.is_none() { Ok(Self::Spooled(spooled()?)) } else { Ok(Self::Streamed) };
        }
        if file.is_dir() {
            return Err(Failure::Usage(format!("{} is a directory: name a file", file.display())));
        }
        if file.symlink_metadata().is_ok() && !options.replace {
            return Err(Failure::Usage(format!("{} is there already: --replace replaces it", file.display())));
        }
        let part = Nameless::beside(file).map_err(|error| Failure::io("write", file, error))?;
        Ok(Self::Named(file.clone(), part))
    }

    fn file(&self) -> Result<File, Failure> {
        let file = match self {
            Self::Named(_, part) => part.as_file().try_clone(),
            Self::Spooled(file) => file.try_clone(),
            Self::Streamed => output(),
        };
        file.map_err(|error| self.failed(error))
    }

    /// Gives a whole file its name, durably; returns its length.
    fn finish(self, replace: bool) -> Result<u64, Failure> {
        match self {
            Self::Named(path, part) => {
                let failed = |error| Failure::io("write", &path, error);
                let length = part.as_file().metadata().map_err(failed)?.len();
                part.persist(&path, replace).map_err(failed)?;
                Ok(length)
            }
            Self::Spooled(mut file) => {
                file.seek(SeekFrom::Start(0)).map_err(Failure::output)?;
                // Not through `io::stdout()`: it keeps the last bytes, and nobody would learn that they were not written.
                io::copy(&mut file, &mut output().map_err(Failure::output)?).map_err(Failure::output)
            }
            Self::Streamed => Ok(0),
        }
    }

    /// Names the file in a failure to create an object: an export creates objects in the file only.
    fn blamed(&self, failure: Failure) -> Failure {
        use StoreError::{Full, Io};
        match failure {
            Failure::Store(Full { op: Op::Create, source, .. } | Io { op: Op::Create, source, .. }) => {
                self.failed(source.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error))
            }
            failure => failure,
        }
    }

    fn failed(&self, error: io::Error) -> Failure {
        match self {
            Self::Named(path, _) => Failure::io("write", path, error),
            Self::Spooled(_) => Failure::io("write", std::env::temp_dir(), error),
            Self::Streamed => Failure::output(error),
        }
    }
}

/// How the names of plain archives end. An encrypted export must not look like one.
const PLAIN: [&str; 6] = [".tar", ".zst", ".zip", ".tgz", ".gz", ".xz"];
const BUFFER: usize = 1 << 20;
