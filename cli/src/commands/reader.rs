//! `reader`: stores the reader in the repository.

use copal_client::repository::{ReaderProgram, carry};
use copal_format::layout;
use copal_format::limits::READER_BYTES;

use super::context::Context;
use crate::args::repository::ReaderFile;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::keys::ReaderSummary;

pub(super) fn run(context: &Context<'_>, options: &ReaderFile) -> Result<Exit, Failure> {
    let Some(reader) = reader(options)? else {
        let advice = "this program was built without the reader: give the file of one with --reader (docs/reader.md)";
        return Err(Failure::Usage(advice.to_owned()));
    };
    let repository = context.open()?;
    context.may_write(&repository)?;
    let Some(carried) = carry(&repository, &reader)? else {
        let object = repository.descriptor_fault.map_or_else(|| "copal/".to_owned(), |(object, _)| object);
        return Err(Failure::Damaged { object, cause: "there is no descriptor that could name the reader".into() });
    };
    context.report.confirm(&ReaderSummary {
        reader: layout::reader(reader.hash()),
        text: ReaderProgram::text(),
        stored: carried.is_stored,
        descriptor: carried.descriptor,
    })?;
    Ok(Exit::Done)
}

/// The reader to store in a repository: from the given file, else the one inside this program.
pub(super) fn reader(options: &ReaderFile) -> Result<Option<ReaderProgram>, Failure> {
    let Some(path) = &options.reader else { return Ok(ReaderProgram::inside()) };
    let unusable = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| unusable(&error))?.len();
    if length > READER_BYTES {
        return Err(unusable(&copal_client::repository::BadReader::Length(length)));
    }
    let bytes = std::fs::read(path).map_err(|error| unusable(&error))?;
    ReaderProgram::new(bytes).map(Some).map_err(|error| unusable(&error))
}
