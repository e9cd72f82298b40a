//! `ingest`: decides about the manifests that clients have uploaded.

use copal_gateway::orders::{Ingested, JobOrder};
use copal_gateway::serve::ingested;

use super::context::Context;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::upkeep::IngestReport;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let done: Ingested = match context.taking_orders()? {
        Some(backend) => {
            if let Some((object, why)) = context.older_there(&backend)?.into_iter().next() {
                return Err(Failure::Older { object, why });
            }
            context.order(&backend, &JobOrder::Ingest {})?
        }
        None => here(context)?,
    };
    for rejection in &done.rejected {
        let (client, number) = (rejection.client.short(), rejection.number);
        context.report.warn(&format!("manifest {number} of client {client} is rejected: {}", rejection.why));
    }
    let (rejected, waiting) = (done.rejected.len() as u64, done.waiting);
    context.report.answer(&IngestReport { accepted: done.accepted, rejected, waiting, root: done.root })?;
    Ok(if rejected > 0 { Exit::Rejected } else { Exit::Done })
}

fn here(context: &Context<'_>) -> Result<Ingested, Failure> {
    let repository = context.open()?;
    if repository.backend().is_behind_gateway() {
        return Err(Failure::NoJobThere("ingest"));
    }
    context.may_write(&repository)?;
    let descriptor = repository.descriptor.as_ref().ok_or_else(Failure::no_descriptor)?;
    ingested(&repository.job(), descriptor.ingest).map_err(Failure::from)
}
