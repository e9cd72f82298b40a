//! Chains: checks that every record the state has decided about still exists (clients, manifests, receipts, changes,
//! expiries), and that no object is evidence of a newer root.

use core::time::Duration;
use std::collections::BTreeSet;

use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::manifest::Manifest;
use copal_format::state::ClientHead;
use copal_format::time::Time;
use futures::{StreamExt, TryStreamExt, stream};

use super::{Kind, Report, numbers};
use crate::baseline;
use crate::clients::{self, Known};
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects;
use crate::view::{self, View};
use crate::witness::denial;

/// Checks the chains of all clients, changes and expiries, and then does what [`check_newest`] does.
pub(super) async fn check(job: &JobContext<'_>, view: &View, report: &mut Report) -> Result<bool, JobError> {
    let mut owed = Vec::new();
    let calls = view.state.heads.iter().map(|(client, head)| check_client(job, *client, head));
    let mut clients = stream::iter(calls).buffered(windows().at_once);
    while let Some((found, owes)) = clients.try_next().await? {
        report.findings.extend(found.findings);
        owed.extend(owes);
    }
    if let Some((root, _)) = &view.root {
        let changes = numbers(job, "changes/").await?;
        let change = root.change_head.map_or(0, |(number, _)| number);
        report_each_gap(&changes, (1, change), layout::change, report);
        let expiries = numbers(job, "expiries/").await?;
        let expiry = root.expiry_head.map_or(0, |(number, _)| number);
        report_gaps(&expiries, (1, expiry), layout::expiry, report);
    }
    let now = job.now_to_note().await?;
    for owed in owed.into_iter().filter(|owed| now.since(owed.decided) >= OWED_FOR) {
        check_owed(job, owed, report).await?;
    }
    check_claims(job, view, report).await?;
    check_baseline(job, view, report).await?;
    check_newest(job, view, report).await
}

/// Checks that every record of a client that the state has decided about still exists.
async fn check_client(
    job: &JobContext<'_>,
    client: ClientId,
    head: &ClientHead,
) -> Result<(Report, Option<Owed>), JobError> {
    let mut report = Report::default();
    check_copies(job, client, &mut report).await?;
    check_manifests(job, client, head, &mut report).await?;
    let owed = check_receipts(job, client, head, &mut report).await?;
    Ok((report, owed))
}

/// Reports a state that contradicts what clients have signed: such a state stops every prune.
async fn check_baseline(job: &JobContext<'_>, view: &View, report: &mut Report) -> Result<(), JobError> {
    match baseline::verify(job, None, view).await {
        Ok(_) => {}
        Err(error @ JobError::Contradicted { .. }) => report.add(Kind::Damaged, layout::root(view.number()), error),
        Err(JobError::StateLost { evidence }) => report.add_once(Kind::Missing, "roots/".into(), evidence),
        // A pack that the store denies is reported later, when all packs are examined, with the snapshots it harms.
        Err(JobError::Store(error)) if denial(&error).is_some() => {}
        Err(error) => {
            let (object, why) = error.blame()?;
            if layout::pack_of(&object).is_none() {
                report.add_once(Kind::Damaged, object, why);
            }
        }
    }
    Ok(())
}

/// Returns whether no object is evidence of a newer state. Reports a lost root.
pub(super) async fn check_newest(job: &JobContext<'_>, view: &View, report: &mut Report) -> Result<bool, JobError> {
    match view::lost_newer(job, view).await {
        Ok(None) => Ok(true),
        Ok(Some((number, evidence))) => {
            report.add(Kind::Missing, layout::root(number), evidence);
            Ok(false)
        }
        // The unreadable object may tell of a newer root.
        Err(error) => report.blame_once(error).map(|()| false),
    }
}

/// Checks that the record of a client with decided manifests is stored twice. Its soundness was checked before.
async fn check_copies(job: &JobContext<'_>, client: ClientId, report: &mut Report) -> Result<(), JobError> {
    match clients::know(job, client).await {
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

/// Checks for manifests missing at the end of the chain. Earlier gaps are found where signatures are checked.
async fn check_manifests(
    job: &JobContext<'_>,
    client: ClientId,
    head: &ClientHead,
    report: &mut Report,
) -> Result<(), JobError> {
    let found = numbers(job, &format!("manifests/{client}/")).await?;
    // A client may write anything behind its head.
    let last = found.range(..=head.number).next_back().copied().unwrap_or(0);
    report_each_gap(&found, (last + 1, head.number), |number| layout::manifest(client, number), report);
    Ok(())
}

/// Checks receipts. An ingest writes them in order after its root, and the next ingest writes missing ones. So receipts
/// missing at the end may be about to come: returns them, to be checked again later.
async fn check_receipts(
    job: &JobContext<'_>,
    client: ClientId,
    head: &ClientHead,
    report: &mut Report,
) -> Result<Option<Owed>, JobError> {
    let found = numbers(job, &format!("receipts/{client}/")).await?;
    let last = found.range(..=head.number).next_back().copied().unwrap_or(0);
    let first_pending = head.decisions.first().map_or(head.number + 1, |decision| decision.number);
    let settled = last.max(first_pending - 1).min(head.number);
    report_gaps(&found, (1, settled), |number| layout::receipt(client, number), report);
    let (from, to, decided) = (settled + 1, head.number, head.time);
    Ok((settled < head.number).then_some(Owed { client, from, to, decided }))
}

/// Receipts that a root owes to a client.
struct Owed {
    client: ClientId,
    from: u64,
    to: u64,
    decided: Time,
}

/// Looks again for receipts that were missing long after their decision, and reports those still missing.
async fn check_owed(job: &JobContext<'_>, owed: Owed, report: &mut Report) -> Result<(), JobError> {
    let found = numbers(job, &format!("receipts/{}/", owed.client)).await?;
    for number in (owed.from..=owed.to).take(OWED_MOST).filter(|number| !found.contains(number)) {
        report.add(Kind::Missing, layout::receipt(owed.client, number), OWED);
    }
    Ok(())
}

/// How long a missing receipt is tolerated: its writer may have died, and the next ingest writes it.
const OWED_FOR: Duration = Duration::from_secs(3600);
/// About as many decisions as a head holds.
const OWED_MOST: usize = 8192;
/// No saved data depends on a receipt.
const OWED: &str = "the receipt is missing although a root has decided the manifest; the next ingest writes it";

/// Reports every missing object by its name: the owner may accept the loss of each.
fn report_each_gap(found: &BTreeSet<u64>, (from, to): (u64, u64), name: impl Fn(u64) -> String, report: &mut Report) {
    let mut next = from;
    for there in found.iter().copied().filter(|number| (from..=to).contains(number)) {
        report.add_gap((next, there.saturating_sub(1)), &name);
        next = there.saturating_add(1);
    }
    report.add_gap((next, to), name);
}

/// Reports the first missing object and how many more are missing. The numbers may be far apart.
fn report_gaps(found: &BTreeSet<u64>, (from, to): (u64, u64), name: impl Fn(u64) -> String, report: &mut Report) {
    if from > to {
        return;
    }
    let there = found.range(from..=to);
    let gone = (to - from + 1) - there.clone().count() as u64;
    // The first missing number stands where the present numbers stop following one another.
    let first = there.zip(from..).take_while(|(found, due)| **found == *due).count() as u64 + from;
    let why = match gone {
        0 => return,
        1 => "it is not there".to_owned(),
        more => format!("it is not there, nor are {} after it", more - 1),
    };
    report.add(Kind::Missing, name(first), why);
}

/// Reports passed-over roots, and waiting manifests that have seen a missing root: lies, or traces of a lost state.
async fn check_claims(job: &JobContext<'_>, view: &View, report: &mut Report) -> Result<(), JobError> {
    for why in &view.passed {
        report.add(Kind::Damaged, "roots/", why);
    }
    for client in clients::below_behind(job.store, "manifests/", &view.state.heads).await? {
        let number = view.state.heads.get(&client).map_or(1, |head| head.number + 1);
        let name = layout::manifest(client, number);
        let known = match clients::know(job, client).await {
            Err(error) => {
                error.blame()?;
                continue;
            }
            Ok(known) => known,
        };
        let Some(keys) = known.record.and_then(|record| record.keys) else { continue };
        let bytes = match objects::read(job.store, &name).await.map_err(JobError::from) {
            Err(error) => error.blame().map(|_| None)?,
            Ok(bytes) => bytes,
        };
        let Some(bytes) = bytes else { continue };
        let Ok(verified) = Manifest::verify(job.repository, &keys.manifest, client, number, &bytes) else { continue };
        if let Some((seen, _)) = verified.manifest.root_seen
            && seen > view::newest_number(job.store).await?
        {
            report.add(Kind::Dangling, name, format!("it waits: it has seen root {seen}, which is not there"));
        }
    }
    Ok(())
}
