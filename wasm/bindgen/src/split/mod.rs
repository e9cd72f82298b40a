//! Split: one module as two files, of which the first does without the other.

mod source;
mod reach;
mod write;

use wasm_encoder::reencode;
use wasmparser::{BinaryReaderError, Validator};

use reach::Reach;
use source::Source;

/// The two files of a module.
pub(crate) struct Files {
    /// Everything that its exports reach; memory, tables, globals and data.
    pub(crate) first: Vec<u8>,
    /// The other exports and what only they reach. It imports from `FIRST` what it uses of the first file.
    pub(crate) rest: Vec<u8>,
}

/// What the rest imports from the first file is under this name.
pub(crate) const FIRST: &str = "first";

/// Parts a module. To the rest goes what these classes and functions of wasm-bindgen's export, unless the first file needs
/// it itself.
pub(crate) fn split(module: &[u8], rest: &[&str]) -> Result<Files, SplitError> {
    Validator::new().validate_all(module)?;
    let source = Source::parse(module)?;
    let names = || source.exports.iter().map(|export| export.name);
    if let Some(unknown) = rest.iter().find(|wanted| !names().any(|name| is_of(name, wanted))) {
        return Err(SplitError::Unknown((*unknown).to_owned()));
    }
    let reach = Reach::of(&source, |name| rest.iter().any(|wanted| is_of(name, wanted)))?;
    let files = Files { first: write::first(&source, &reach)?, rest: write::rest(&source, &reach)? };
    for file in [&files.first, &files.rest] {
        Validator::new().validate_all(file).map_err(SplitError::Invalid)?;
    }
    Ok(files)
}

/// Whether wasm-bindgen exports something under this name for a class, or it is the function itself.
fn is_of(name: &str, wanted: &str) -> bool {
    let name = name.strip_prefix("__wbg_").unwrap_or(name);
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Why a module cannot be parted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SplitError {
    #[error("the module cannot be read")]
    Unreadable(#[from] BinaryReaderError),
    #[error("the module exports nothing of {0}")]
    Unknown(String),
    #[error("the module has a section that is not known: {0}")]
    Section(String),
    #[error("the import {0} is not a function")]
    Import(String),
    #[error("the module has elements that are in no table from the beginning")]
    Element,
    #[error("the module has an instruction that names {0}")]
    Instruction(&'static str),
    #[error("a file refers to {0}, which it does not have")]
    Unreached(String),
    #[error("the module cannot be written anew: {0}")]
    Unwritable(String),
    #[error("a file that was written is not valid")]
    Invalid(#[source] BinaryReaderError),
}

impl From<reencode::Error<SplitError>> for SplitError {
    fn from(error: reencode::Error<SplitError>) -> Self {
        match error {
            reencode::Error::UserError(error) => error,
            reencode::Error::ParseError(error) => Self::Unreadable(error),
            other => Self::Unwritable(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
