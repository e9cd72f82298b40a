//! `ingest`: decides about what clients have uploaded.

use copal_engine::layout;
use copal_engine::receipt::Outcome;
use copal_service::ingest::{Scope, ingest};
use copal_service::view::View;
use copal_service::{clients, objects};

use super::context::Context;
use super::failure::{of_client, of_job, of_store};
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::field::Hex;
use crate::report::upkeep::IngestReport;
use crate::repository::{ClientError, Repository};
use crate::wait::wait;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let repository = context.open()?;
    if repository.site().is_behind_gateway() {
        return Err(Failure::NoJobThere("ingests"));
    }
    let descriptor = repository.descriptor.as_ref().ok_or_else(|| of_client(ClientError::NoDescriptor))?;
    let receipts = wait(ingest(&repository.host(), descriptor.ingest, Scope::All, &|_| false)).map_err(of_job)?;
    let mut report = IngestReport::default();
    for receipt in &receipts {
        match receipt.outcome {
            Outcome::Accepted => report.accepted += 1,
            Outcome::Rejected => {
                report.rejected += 1;
                let words = receipt.reasons.iter().map(|(reason, text)| format!("{} ({text})", reason.text()));
                let words: Vec<String> = words.collect();
                let (client, number) = (Hex(receipt.client).short(), receipt.number);
                context.report.warn(&format!("manifest {number} of client {client} is rejected: {}", words.join("; ")));
            }
        }
    }
    let view = context.view(&repository)?;
    report.waiting = waiting(&repository, &view)?;
    report.root = view.number();
    context.report.answer(&report)?;
    Ok(if report.rejected > 0 { Exit::Rejected } else { Exit::Done })
}

/// Manifests behind a gap in their chain.
fn waiting(repository: &Repository, view: &View) -> Result<u64, Failure> {
    let store = repository.store().as_ref();
    let mut waiting = 0;
    for client in wait(clients::below(store, "manifests/")).map_err(of_job)? {
        let decided = view.state.heads.get(&client).map_or(0, |head| head.number);
        let listed = wait(objects::list(store, &format!("manifests/{client}/"))).map_err(of_store)?;
        let numbers = listed.iter().filter_map(|object| layout::trailing_number(object.key.as_str()));
        waiting += numbers.filter(|number| *number > decided).count() as u64;
    }
    Ok(waiting)
}
