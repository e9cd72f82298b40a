//! The reader: restores from a repository in a directory, with only format, engine and plain files.
//!
//! Built for WASI, it is one file that needs only a WebAssembly runtime, and every repository carries it
//! (`docs/reader.md`). It never writes to the repository, and trusts only the secret in a key slot and what follows
//! from it. It works around damage: index and state are hints, and without them it reads the packs' own tables.
#![forbid(unsafe_code)]

pub mod archive;
mod arguments;
mod blocks;
mod content;
mod directory;
pub mod export;
mod failure;
mod folder;
mod history;
mod links;
mod lookup;
mod pages;
mod report;
mod restore;
mod scan;
mod secret;
mod show;
mod sink;
mod system;
mod stamp;
mod state;
mod unlock;

use std::ffi::OsString;
use std::io::{Read, Write};

use archive::Archive;
use arguments::{Action, Arguments, Output, USAGE};
use directory::Directory;
use failure::Failure;
use folder::Folder;
use history::{History, Snapshot};
use report::Report;
use restore::Restore;

pub use history::Signer;
pub use links::{Identities, describe};
pub use stamp::civil;

/// The text next to the reader in a repository: how to use the reader, and how to restore without it. Contains all of
/// `docs/format.md`.
pub const TEXT: &str = concat!(include_str!("../repository.txt"), include_str!("../format.md"));

/// The program's streams.
pub struct Streams<'a> {
    /// For the passphrase, unless a file has it.
    pub input: &'a mut dyn Read,
    /// For lists, or an archive.
    pub output: &'a mut dyn Write,
    /// For messages.
    pub messages: &'a mut dyn Write,
}

/// Runs a command line (without the program's name); returns the exit code.
pub fn run(arguments: &[OsString], mut streams: Streams<'_>) -> u8 {
    let mut report = Report::new(streams.messages);
    let done = Arguments::read(arguments).and_then(|arguments| match arguments {
        Some(arguments) => act(&arguments, streams.input, &mut streams.output, &mut report),
        None => Ok(streams.output.write_all(USAGE.as_bytes())?),
    });
    match done.and_then(|()| Ok(streams.output.flush()?)) {
        Ok(()) => report.exit_code(),
        Err(failure) => report.fail(&failure),
    }
}

fn act(
    arguments: &Arguments,
    input: &mut dyn Read,
    output: &mut dyn Write,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let directory = Directory::open(&arguments.repository)?;
    let slots = unlock::find(&directory)?;
    let secret = secret::read(arguments, input, report)?;
    let repository = unlock::repository(&directory);
    let owner = unlock::unlock(slots, &secret, repository, arguments.unlock_memory, report)?;
    let state = state::read(&directory, report)?;
    let history = History::read(&directory, &owner, &state, report)?;
    if matches!(arguments.action, Action::List) {
        return show::list(&history, output);
    }
    let snapshot = history.find(arguments.snapshot.as_deref())?;
    tell(snapshot, report);
    let mut pages = pages::Pages::open(&directory, &owner, &state, snapshot.domain, report);
    match &arguments.action {
        Action::List => Ok(()),
        Action::Ls => show::entries(&mut pages, snapshot, &arguments.path, output, report),
        Action::Restore(Output::Folder(target)) => {
            let mut folder = Folder::open(target)?;
            Restore::new(&mut pages, &mut folder, report).run(snapshot.root, &arguments.path)?;
            folder.finish(report);
            Ok(())
        }
        Action::Restore(Output::Archive(None)) => archive(&mut pages, snapshot, arguments, output, report),
        Action::Restore(Output::Archive(Some(path))) => {
            let file = std::fs::File::create_new(path).map_err(|error| Failure::target(path, error))?;
            let mut file = std::io::BufWriter::with_capacity(1 << 20, file);
            archive(&mut pages, snapshot, arguments, &mut file, report)?;
            Ok(file.into_inner().map_err(|error| error.into_error())?.sync_all()?)
        }
    }
}

fn archive(
    pages: &mut pages::Pages<'_>,
    snapshot: &Snapshot,
    arguments: &Arguments,
    output: &mut dyn Write,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let mut archive = Archive::new(output);
    Restore::new(pages, &mut archive, report).run(snapshot.root, &arguments.path)?;
    Ok(archive.finish()?)
}

fn tell(snapshot: &Snapshot, report: &mut Report<'_>) {
    report.note(&format!("snapshot {}", snapshot.sentence()));
}
