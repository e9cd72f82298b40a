//! `status`: shows waiting and rejected manifests, and the age of the newest snapshots.

use std::collections::{BTreeMap, BTreeSet};

use copal_client::accepted::LOOK_BACK;
use copal_client::clock;
use copal_client::history::History;
use copal_client::met::Copied;
use copal_client::repository::Access;
use copal_client::wait::wait;
use copal_engine::retention::{Series, Signed, age};
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::receipt::{Outcome, Reason, Receipt};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::view::{self, Parts, View};
use copal_jobs::{clients, objects};
use copal_store::Store;
use serde_json::Value;

use super::context::Context;
use super::guard::guarded;
use super::opening::{Opened, Opening};
use super::replica;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::field::{PathsField, Stamp};
use crate::report::guard::Guarded;
use crate::report::status::{JobField, RejectedField, SeriesField, StatusReport, WaitingField};
use crate::report::sync::CopyField;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let backend = context.backend()?;
    let opened = Opening::find(context, &backend)?.open(context, &backend)?;
    let (access, only) = match &opened {
        Opened::Owner(repository) => (Access::Owner(repository), None),
        Opened::WriteOnly(enrolled) => (Access::WriteOnly(enrolled), Some(enrolled.credentials.client)),
    };
    let store = access.store().as_ref();
    // Without the indexes of any domain.
    let parts = Parts { domains: Some(BTreeSet::new()), ..Parts::ALL };
    let view = wait(view::read_parts(store, &parts))?;
    let lost = match &opened {
        Opened::Owner(repository) => context.lost(repository, &view)?,
        Opened::WriteOnly(_) => {
            let (store, state_dir, own) = opened.met(context)?;
            context.older(store, &state_dir, &view, &own)?
        }
    };
    for (object, why) in &lost {
        context.report.warn(&format!("{object} is lost: {why}"));
    }
    let now = wait(access.job().now_or(clock::now()))?;
    let clients = match only {
        Some(client) => vec![client],
        None => wait(clients::below(store, "manifests/"))?,
    };
    let (mut waiting, mut rejected) = (Vec::new(), Vec::new());
    for client in clients {
        let (name, last) = known_of(access, client);
        let mut undecided = waiting_of(store, &view, client, &name, now)?;
        // Manifests that a client wrote after its revocation may stay there for ever.
        undecided.retain(|waiting| waiting.manifest <= last);
        waiting.extend(undecided);
        rejected.extend(rejected_of(store, &view, client, &name)?);
    }
    let mut report = StatusReport {
        ingest: access.descriptor().map(|descriptor| descriptor.ingest),
        owner: access.descriptor().and_then(|descriptor| Some(descriptor.owner()?.1)),
        root: view.number(),
        waiting,
        rejected,
        series: series(access, only, &view)?,
        guarded: Guarded::default(),
        changes_waiting: None,
        last_check: None,
        last_prune: None,
        chunks_repeated: 0,
        replicas: Vec::new(),
        copies: Vec::new(),
    };
    // The rest is for full clients only: a gateway does not let a write-only client read it.
    if let Access::Owner(repository) = access {
        report.changes_waiting = Some(changes_waiting(store, &view)?);
        report.replicas = replica::behind(context, &repository.job(), &view)?;
        report.copies = Copied::all(repository.state_dir()).iter().map(|copied| lacks(copied, &view)).collect();
        report.guarded = guarded(repository, &view, now)?;
        report.last_check = last_job(store, "check")?;
        report.last_prune = last_job(store, "prune")?;
        report.chunks_repeated = report.last_prune.as_ref().map_or(Ok(0), |last| repeated(store, &last.report))?;
    }
    context.report.answer(&report)?;
    let exit = if report.rejected.is_empty() { Exit::Done } else { Exit::Rejected };
    Ok(if lost.is_empty() { exit } else { Exit::Damage })
}

/// A client's manifests that no root has decided.
fn waiting_of(
    store: &dyn Store,
    view: &View,
    client: ClientId,
    name: &Option<String>,
    now: Time,
) -> Result<Vec<WaitingField>, Failure> {
    let decided = view.state.heads.get(&client).map_or(0, |head| head.number);
    let last = objects::key(layout::manifest(client, decided));
    let listed = wait(objects::list_after(store, &format!("manifests/{client}/"), Some(&last)))?;
    let waiting = listed.iter().filter_map(|object| {
        let number = layout::trailing_number(object.key.as_str()).filter(|number| *number > decided)?;
        let created = object.stat.created.0;
        Some(WaitingField {
            client,
            name: name.clone(),
            manifest: number,
            since: Stamp(Time(created)),
            seconds: now.0.saturating_sub(created).max(0) as u64 / 1_000_000_000,
        })
    });
    Ok(waiting.collect())
}

/// A client's manifests that were rejected since the last accepted one.
fn rejected_of(
    store: &dyn Store,
    view: &View,
    client: ClientId,
    name: &Option<String>,
) -> Result<Vec<RejectedField>, Failure> {
    let Some(head) = view.state.heads.get(&client) else { return Ok(Vec::new()) };
    let mut rejected = Vec::new();
    for number in (1..=head.number).rev().take(LOOK_BACK) {
        let field = |reasons: &[(Reason, String)], time| RejectedField {
            client,
            name: name.clone(),
            manifest: number,
            time: Stamp(time),
            reasons: reasons.iter().map(|(reason, text)| format!("{} ({text})", reason.text())).collect(),
        };
        let decision = head.decisions.iter().find(|decision| decision.number == number);
        let (outcome, field) = match decision {
            Some(decision) => (decision.outcome, field(&decision.reasons, head.time)),
            None => {
                let bytes = wait(objects::read(store, &layout::receipt(client, number)))?;
                let receipt = bytes.and_then(|bytes| Receipt::decode(client, number, &bytes).ok());
                let Some(receipt) = receipt else { break };
                (receipt.outcome, field(&receipt.reasons, receipt.time))
            }
        };
        if outcome == Outcome::Accepted {
            break;
        }
        rejected.push(field);
    }
    rejected.reverse();
    Ok(rejected)
}

/// The newest kept snapshot of every series; for a write-only client its own, without names that it cannot open.
fn series(access: Access<'_>, only: Option<ClientId>, view: &View) -> Result<Vec<SeriesField>, Failure> {
    let mut newest: BTreeMap<Series, Newest<'_>> = BTreeMap::new();
    for (key, record) in &view.state.snapshots {
        let is_shown = record.state == SnapshotState::Kept && !record.partial && only.is_none_or(|only| only == key.0);
        let series = Series::of((key, record));
        let before = newest.get(&series).map(|(_, before)| age(before));
        if is_shown && before.is_none_or(|before| before < age(record)) {
            newest.insert(series, (*key, record));
        }
    }
    let mut all = Vec::new();
    for (series, (key, record)) in newest {
        let read = match access {
            // Snapshots that cannot be read are reported by `check`.
            Access::Owner(repository) => History::read_one(repository, key, record)?.ok(),
            Access::WriteOnly(_) => None,
        };
        all.push(SeriesField {
            host: read.as_ref().map(|read| read.machine().to_owned()),
            label: read.as_ref().map(|read| read.info.label.clone()),
            paths: read.as_ref().map(|read| PathsField::of(&read.sources())).unwrap_or_default(),
            source: series.source,
            client: series.client,
            client_name: read.as_ref().map(|read| read.signer.name.clone()),
            role: read.as_ref().map(|read| read.signer.role),
            snapshot: record.id,
            // A client without read access may claim any time.
            time: Stamp(age(record).0),
            accepted: Stamp(record.accepted),
        });
    }
    all.sort_by_key(|series| series.accepted.0);
    Ok(all)
}

type Newest<'a> = ((ClientId, u64), &'a SnapshotRecord);

/// Counts the kept snapshots that a repository with other keys lacks, by this machine's note of its last copy.
fn lacks(copied: &Copied, view: &View) -> CopyField {
    let kept = view.state.snapshots.iter().filter(|(_, record)| record.state == SnapshotState::Kept && !record.partial);
    let (there, missing): (Vec<Signed<'_>>, Vec<Signed<'_>>) =
        kept.partition(|(_, record)| copied.there.contains(&record.id));
    let copied_series: BTreeSet<Series> = there.into_iter().map(Series::of).collect();
    let is_missed = |signed: &Signed<'_>| copied.is_whole || copied_series.contains(&Series::of(*signed));
    let accepted: Vec<Time> = missing.into_iter().filter(is_missed).map(|(_, record)| record.accepted).collect();
    CopyField {
        repository: copied.to.to_string(),
        copied: Stamp(copied.time),
        snapshots_missing: accepted.len() as u64,
        oldest_missing: accepted.into_iter().min().map(Stamp),
    }
}

fn changes_waiting(store: &dyn Store, view: &View) -> Result<u64, Failure> {
    let head = view.root.as_ref().and_then(|(root, _)| root.change_head).map_or(0, |(number, _)| number);
    let folded = objects::key(layout::change(head));
    Ok(wait(objects::list_after(store, "changes/", Some(&folded)))?.len() as u64)
}

fn last_job(store: &dyn Store, job: &str) -> Result<Option<JobField>, Failure> {
    let listed = wait(objects::list(store, &format!("reports/{job}/")))?;
    let newest = listed.into_iter().max_by_key(|object| object.stat.created);
    Ok(newest
        .map(|object| JobField { time: Stamp(Time(object.stat.created.0)), report: object.key.as_str().to_owned() }))
}

/// Number of chunks that unproven packs repeat, from a prune's report; 0 if the report cannot be read.
fn repeated(store: &dyn Store, report: &str) -> Result<u64, Failure> {
    let bytes = wait(objects::read(store, report))?;
    let report: Option<Value> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(report.and_then(|report| report["unproven_copies"].as_u64()).unwrap_or(0))
}

/// The client's name, and the last of its manifests that may be accepted. Write-only machines know neither.
fn known_of(access: Access<'_>, client: ClientId) -> (Option<String>, u64) {
    let Access::Owner(repository) = access else { return (None, u64::MAX) };
    let record = wait(clients::read(&repository.job(), client)).ok().flatten();
    let last = record.as_ref().and_then(|record| record.revoked).map_or(u64::MAX, |(last, _)| last);
    (record.and_then(|record| record.name(&repository.owner)), last)
}
