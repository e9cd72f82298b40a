//! `completions`, `version`: commands without a repository.

use super::context::Context;
use super::failure::FORMAT;
use crate::args::repository::Completions;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::upkeep::VersionSummary;

pub(super) fn completions(context: &Context<'_>, options: &Completions) -> Result<Exit, Failure> {
    let mut lines = context.report.lines();
    lines.bytes(&options.script())?;
    lines.finish()?;
    Ok(Exit::Done)
}

pub(super) fn version(context: &Context<'_>) -> Result<Exit, Failure> {
    context.report.answer(&VersionSummary { version: env!("CARGO_PKG_VERSION"), format: FORMAT })?;
    Ok(Exit::Done)
}
