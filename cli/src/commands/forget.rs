//! `forget`: forgets snapshots by name or by retention rules.

use std::collections::BTreeSet;
use std::time::Duration;

use copal_client::clock;
use copal_client::history::{History, Snapshot};
use copal_client::location::Location;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_format::change::Operation;
use copal_format::id::SnapshotId;
use copal_format::receipt::IngestBy;
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_jobs::prune::prune as run_prune;
use copal_jobs::view::View;
use jiff::tz::TimeZone;

use super::context::Context;
use super::guard::guarded_of;
use super::prune;
use crate::args::forget::{Forget, Prune};
use crate::exit::Exit;
use crate::pick::{self, Intent};
use crate::report::clients::SignerField;
use crate::report::field::{PathsField, Stamp};
use crate::report::guard::Guarded;
use crate::report::upkeep::{ForgetReport, ForgetRow};
use crate::report::{Failure, human};
use crate::retain;

pub(super) fn run(context: &Context<'_>, options: &Forget) -> Result<Exit, Failure> {
    if options.snapshots.is_empty() && options.keep.is_empty() {
        return Err(Failure::Usage("the rules keep nothing: everything would be forgotten".into()));
    }
    let mut repository = context.open()?;
    repository.give_reserve();
    context.ingest_first(&repository, options.dry_run)?;
    let view = context.view(&repository)?;
    let history = context.history(&repository, &view)?;
    let mut rows = match options.snapshots.is_empty() {
        true => by_rules(context, &repository, &history, options)?,
        false => by_name(context, &repository, &history, options)?,
    };
    let forgotten: Vec<SnapshotId> = rows.iter().filter(|row| !row.keep).map(|row| row.id).collect();
    let mut now_view = view;
    if !options.dry_run && !forgotten.is_empty() {
        let written = context.change(&repository, vec![Operation::Forget(forgotten)])?;
        if let Some(written) = written {
            admit_kept(&mut rows, &written.view);
            now_view = written.view;
        }
    }
    let mut report = report(&repository, rows, options.dry_run);
    let foreseen = foresee(&repository, &now_view, &mut report, options);
    // The snapshots are forgotten by now: a failure to look ahead must not hide which.
    if let Err(failure) = &foreseen {
        context.report.warn(&format!("what becomes free is not known: {}", failure.text()));
    }
    context.report.answer(&report)?;
    let exit = match foreseen {
        Err(failure) if failure.exit() == Exit::Damage => Exit::Damage,
        _ => context.exit_of(&history),
    };
    if !options.prune {
        return Ok(exit);
    }
    let pruned = prune::act(context, &repository, &Prune { dry_run: options.dry_run, ..Prune::default() })?;
    Ok(if pruned == Exit::Done { exit } else { pruned })
}

/// All snapshots that match the options, with the verdict of the rules. Groups in which no rule keeps anything stay.
fn by_rules(
    context: &Context<'_>,
    repository: &Repository,
    history: &History,
    options: &Forget,
) -> Result<Vec<ForgetRow>, Failure> {
    let mut snapshots = pick::narrowed(history, &options.narrow);
    if let Some(source) = &options.source {
        snapshots.retain(|snapshot| {
            let info = &snapshot.info;
            snapshot.machine() == source.host && info.paths == source.paths && info.label == source.label
        });
    }
    if snapshots.is_empty() && options.source.is_none() {
        context.report.note("no snapshot matches: nothing is forgotten; \"copal snapshots\" lists what there is");
    }
    let now = now(repository, options)?;
    let keys = |domain| repository.domain_keys(domain);
    let verdicts = retain::retain(&snapshots, &options.keep, options.group_by, &TimeZone::system(), now, keys);
    let unmatched = retain::unmatched(&snapshots, &verdicts, options.group_by);
    if let Some(first) = snapshots.iter().find(|snapshot| unmatched.contains_key(&snapshot.id)) {
        let groups = human::things(unmatched.values().collect::<BTreeSet<_>>().len() as u64, "group", "groups");
        context.report.warn(&format!(
            "no rule keeps anything in {groups} of snapshots, like that of {} ({}): all of them stay. Is a tag mistyped? To \
             forget them, name them by id",
            first.id.short(),
            first.machine()
        ));
    }
    let row = |snapshot: &&Snapshot| {
        let reasons = verdicts[&snapshot.id].reasons.iter().map(ToString::to_string);
        let spared = unmatched.contains_key(&snapshot.id).then(|| NO_MATCH.to_owned());
        row(snapshot, reasons.chain(spared).collect())
    };
    Ok(snapshots.iter().map(row).collect())
}

/// The snapshots that are named. Pinned ones are kept.
fn by_name(
    context: &Context<'_>,
    repository: &Repository,
    history: &History,
    options: &Forget,
) -> Result<Vec<ForgetRow>, Failure> {
    let here = context.here(repository);
    let mut named = BTreeSet::new();
    let mut rows = Vec::new();
    for which in &options.snapshots {
        let snapshot = context.snapshot(&here, history, which, &options.narrow, Intent::Change)?;
        if !named.insert(snapshot.id) {
            continue;
        }
        let pinned = snapshot.record.pinned;
        if pinned {
            let id = snapshot.id.short();
            context
                .report
                .warn(&format!("snapshot {id} is pinned and stays; \"copal unpin {id}\" allows to forget it"));
        }
        rows.push(row(snapshot, pinned.then(|| PINNED.to_owned()).into_iter().collect()));
    }
    Ok(rows)
}

/// The time by the store's clock; by this machine's in a dry run where the repository takes no writes.
fn now(repository: &Repository, options: &Forget) -> Result<Time, Failure> {
    let now = match options.dry_run {
        true => wait(repository.job().now_or(clock::now())),
        false => wait(repository.job().now()),
    };
    Ok(now?)
}

fn row(snapshot: &Snapshot, reasons: Vec<String>) -> ForgetRow {
    ForgetRow {
        id: snapshot.id,
        time: Stamp(snapshot.time),
        host: snapshot.machine().to_owned(),
        signer: SignerField::of(snapshot),
        paths: PathsField::of(&snapshot.sources()),
        tags: snapshot.tags.clone(),
        label: snapshot.info.label.clone(),
        keep: !reasons.is_empty(),
        reasons,
    }
}

/// Marks as kept the snapshots that the change did not forget, because they were pinned meanwhile.
fn admit_kept(rows: &mut [ForgetRow], view: &View) {
    let kept = view.state.snapshots.values().filter(|record| record.state == SnapshotState::Kept);
    let kept: BTreeSet<SnapshotId> = kept.map(|record| record.id).collect();
    for row in rows.iter_mut().filter(|row| !row.keep && kept.contains(&row.id)) {
        row.keep = true;
        row.reasons.push(PINNED.to_owned());
    }
}

fn report(repository: &Repository, rows: Vec<ForgetRow>, dry_run: bool) -> ForgetReport {
    let kept = rows.iter().filter(|row| row.keep).count() as u64;
    let pruned_by = match repository.backend().location() {
        Location::Https(_) => IngestBy::Service,
        _ => IngestBy::Client,
    };
    ForgetReport {
        forgotten: rows.len() as u64 - kept,
        snapshots: rows,
        kept,
        freeable_bytes: None,
        freeable_from: None,
        pruned_by,
        guarded: Guarded::default(),
        dry_run,
    }
}

/// Adds to the report what the policy's guard keeps, and how much prune may free.
fn foresee(repository: &Repository, view: &View, report: &mut ForgetReport, options: &Forget) -> Result<(), Failure> {
    let left: BTreeSet<SnapshotId> = report.snapshots.iter().filter(|row| !row.keep).map(|row| row.id).collect();
    if left.is_empty() {
        return Ok(());
    }
    let now = now(repository, options)?;
    report.guarded = guarded_of(repository, view, &left, now)?;
    if !options.dry_run && !options.prune && !options.is_pruned_next {
        let what_if = prune::service_options(repository, &Prune { dry_run: true, ..Prune::default() })?;
        let found = wait(run_prune(&repository.job(), &what_if))?;
        report.freeable_bytes = Some(found.bytes_pending + found.bytes_planned);
        // The next prune flags what becomes unreferenced now. The grace period starts then, at the earliest now.
        let grace = if found.bytes_pending > 0 { what_if.grace } else { Duration::ZERO };
        report.freeable_from = Some(Stamp(now + grace));
    }
    Ok(())
}

const PINNED: &str = "pinned";
const NO_MATCH: &str = "no rule keeps anything here";
