//! `compact`: merges segments of the index.

use copal_client::wait::wait;
use copal_jobs::compact::compact;

use super::context::Context;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::upkeep::CompactReport;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let repository = context.open()?;
    if repository.backend().is_behind_gateway() {
        return Err(Failure::NoJobThere("compact the index"));
    }
    context.may_write(&repository)?;
    let done = wait(compact(&repository.job()))?;
    context.report.confirm(&CompactReport {
        segments_before: done.segments_before,
        segments_after: done.segments_after,
        root: done.root,
    })?;
    Ok(Exit::Done)
}
