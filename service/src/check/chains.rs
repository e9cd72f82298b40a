//! Chains: that everything the state has decided about is still there: clients, manifests, receipts, changes; and that
//! nothing in the store knows of a newer root.

use std::collections::BTreeSet;

use copal_engine::id::ClientId;
use copal_engine::layout;
use copal_engine::state::ClientHead;

use super::{Kind, Report};
use crate::clients::{self, Known};
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view::{self, View};

/// Checks the chains of all clients, and as [`check_newest`].
pub(super) async fn check(host: &Host<'_>, view: &View, report: &mut Report) -> Result<bool, JobError> {
    for (client, head) in &view.state.heads {
        check_copies(host, *client, report).await?;
        check_manifests(host, *client, head, report).await?;
        check_receipts(host, *client, head, report).await?;
    }
    if let Some((root, _)) = &view.root {
        let changes = numbers(host, "changes/").await?;
        let change = root.change_head.map_or(0, |(number, _)| number);
        report_gaps((1..=change).filter(|number| !changes.contains(number)), layout::change, report);
        let expiries = numbers(host, "expiries/").await?;
        let expiry = root.expiry_head.map_or(0, |(number, _)| number);
        report_gaps((1..=expiry).filter(|number| !expiries.contains(number)), layout::expiry, report);
    }
    check_newest(host, view, report).await
}

/// Says whether the state is the newest that anything knows of.
pub(super) async fn check_newest(host: &Host<'_>, view: &View, report: &mut Report) -> Result<bool, JobError> {
    match view::lost_newer(host, view).await {
        Ok(None) => Ok(true),
        Ok(Some((number, evidence))) => {
            report.add(Kind::Missing, layout::root(number), evidence);
            Ok(false)
        }
        // It may tell of a newer one.
        Err(error) => {
            let (object, why) = error.blame()?;
            report.add_once(Kind::Damaged, object, why);
            Ok(false)
        }
    }
}

/// The record of a client that something was decided about is there twice. Whether it is sound was looked at before.
async fn check_copies(host: &Host<'_>, client: ClientId, report: &mut Report) -> Result<(), JobError> {
    match clients::know(host, client).await {
        Ok(Known { record: None, .. }) => {
            let why = "the record of a client that has made backups is gone";
            report.add(Kind::Missing, format!("clients/{client}"), why);
        }
        Ok(Known { missing, .. }) => {
            let why = "only the other copy is there; the client's next backup writes this one, or \"copal repair\"";
            missing.into_iter().for_each(|copy| report.add(Kind::Missing, copy.name, why));
        }
        Err(error) => drop(error.blame()?),
    }
    Ok(())
}

/// Gaps before the last manifest are found with the signatures; here those at the end.
async fn check_manifests(
    host: &Host<'_>,
    client: ClientId,
    head: &ClientHead,
    report: &mut Report,
) -> Result<(), JobError> {
    let found = numbers(host, &format!("manifests/{client}/")).await?;
    let last = found.last().copied().unwrap_or(0);
    report_gaps(last + 1..=head.number, |number| layout::manifest(client, number), report);
    Ok(())
}

/// An ingest answers after its root is written, and the next one answers what it could not: what the head still holds
/// decisions of may lack answers.
async fn check_receipts(
    host: &Host<'_>,
    client: ClientId,
    head: &ClientHead,
    report: &mut Report,
) -> Result<(), JobError> {
    let found = numbers(host, &format!("receipts/{client}/")).await?;
    let pending: BTreeSet<u64> = head.decisions.iter().map(|decision| decision.number).collect();
    let gaps = (1..=head.number).filter(|number| !found.contains(number) && !pending.contains(number));
    report_gaps(gaps, |number| layout::receipt(client, number), report);
    Ok(())
}

async fn numbers(host: &Host<'_>, prefix: &str) -> Result<BTreeSet<u64>, JobError> {
    let listed = objects::list(host.store, prefix).await?;
    Ok(listed.iter().filter_map(|object| layout::trailing_number(object.key.as_str())).collect())
}

/// Names the first of the objects that are gone, and how many follow.
fn report_gaps(gaps: impl Iterator<Item = u64>, name: impl Fn(u64) -> String, report: &mut Report) {
    let mut gaps = gaps;
    let Some(first) = gaps.next() else { return };
    let why = match gaps.count() {
        0 => "it is not there".to_owned(),
        more => format!("it is not there, nor are {more} after it"),
    };
    report.add(Kind::Missing, name(first), why);
}
