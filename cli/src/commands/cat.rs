//! `cat`: shows an object of the repository, decoded.

use super::context::Context;
use crate::args::look::Cat;
use crate::exit::Exit;
use crate::look::cat::{Shown, show};
use crate::report::Failure;
use crate::report::upkeep::CatReport;

pub(super) fn run(context: &Context<'_>, options: &Cat) -> Result<Exit, Failure> {
    let repository = context.open_bare()?;
    let load = || {
        let view = context.view(&repository)?;
        let history = context.history(&repository, &view)?;
        Ok((view, history))
    };
    match show(&repository, &load, &options.object)? {
        Shown::Fields(fields) => context.report.answer(&CatReport(fields))?,
        Shown::Bytes(bytes) => context.report.bytes(&bytes)?,
    }
    Ok(Exit::Done)
}
