//! `policy`: sets and shows the policy that the service follows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use copal_client::clock;
use copal_client::history::tags_added;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_engine::retention::{Held, Series, expirable, held, tag_domains};
use copal_format::change::{Operation, OwnerSignature};
use copal_format::id::{ClientId, DomainId, SnapshotId, TagId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::TextPurpose;
use copal_format::limits::POLICY_BYTES;
use copal_format::policy::Lingering;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_jobs::{clients, policy as in_force};
use copal_store::Store;

use super::context::Context;
use crate::args::policy::{Policy, Release, Set};
use crate::args::spec::Which;
use crate::exit::Exit;
use crate::policy::{PolicyFile, to_toml};
use crate::report::policy::{PolicyShown, PolicySummary};
use crate::report::upkeep::ChangeSummary;
use crate::report::{Failure, human};

pub(super) fn run(context: &Context<'_>, options: &Policy) -> Result<Exit, Failure> {
    match options {
        Policy::Set(options) => set(context, options),
        Policy::Show => show(context),
        Policy::Release(options) => release(context, options),
    }
}

fn set(context: &Context<'_>, options: &Set) -> Result<Exit, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let file = PolicyFile::parse(&text(options)?).map_err(|error| usage(&error))?;
    let repository = context.open()?;
    context.ingest(&repository)?;
    let view = context.view(&repository)?;
    let domains = domains(&repository, &view)?;
    let signed = file.policy(&domains).map_err(|error| usage(&error))?;
    let now = Time(wait(repository.store().now())?.0);
    let expirable = expirable(&signed, &view.state.snapshots, now);
    let emptied = emptied(&view.state.snapshots, &expirable);
    if emptied > 0 {
        let sources = human::things(emptied, "source", "sources");
        context.report.warn(&format!(
            "no rule keeps any snapshot of {sources}: all of them expire. Is a tag mistyped? \"copal pin\" keeps a snapshot \
             whatever the rules say"
        ));
    }
    let would_expire = expirable.len() as u64;
    let would_hold = held(&signed, &view.state.snapshots, Time(i64::MAX)).len() as u64;
    let before = match wait(in_force::current(&repository.job(), &view)) {
        // The new policy ends just that.
        Err(JobError::Damaged { object, .. }) => {
            let why = "it may have held the policy in force: its floor and hold end now";
            context.report.warn(&format!("{object} is lost or damaged, and {why}"));
            None
        }
        before => before?,
    };
    let lingers = match before {
        Some((_, before)) => Lingering::after(lingering(&view), &before, &signed, now),
        None => lingering(&view),
    };
    let lingers = lingers.map(Into::into);
    let mut summary = PolicySummary { change: None, would_expire, would_hold, lingers, dry_run: options.dry_run };
    if !options.dry_run {
        let mut operations = names_of_tags(&repository, &file, &domains);
        let policy = signed.encode();
        operations.push(Operation::OwnerPolicy { policy, signature: OwnerSignature::NONE });
        let written = context.change(&repository, operations)?;
        summary.change = written.map(|written| written.number);
    }
    context.report.answer(&summary)?;
    Ok(Exit::Done)
}

/// How many series have kept snapshots, of which none would stay. Checkpoints restore nothing and do not count.
fn emptied(snapshots: &BTreeMap<(ClientId, u64), SnapshotRecord>, expirable: &BTreeSet<SnapshotId>) -> u64 {
    let mut stays: BTreeMap<Series, bool> = BTreeMap::new();
    for (key, record) in snapshots {
        if record.state == SnapshotState::Kept && !record.partial {
            *stays.entry(Series::of((key, record))).or_default() |= !expirable.contains(&record.id);
        }
    }
    stays.values().filter(|stays| !**stays).count() as u64
}

/// Ends holds by releasing the suspicious snapshots that caused them.
fn release(context: &Context<'_>, options: &Release) -> Result<Exit, Failure> {
    let repository = context.open()?;
    context.ingest(&repository)?;
    let view = context.view(&repository)?;
    let now = Time(wait(repository.store().now())?.0);
    let policy = wait(in_force::guarding(&repository.job(), &view, now))?;
    let held = policy.map(|(_, policy)| held(&policy, &view.state.snapshots, Time(i64::MAX)));
    let held = held.unwrap_or_default();
    let mut snapshots: Vec<SnapshotId> = Vec::new();
    for which in &options.snapshots {
        let id = suspicious(&held, which)?;
        if !snapshots.contains(&id) {
            snapshots.push(id);
        }
    }
    let operation = Operation::Release { snapshots: snapshots.clone(), signature: OwnerSignature::NONE };
    let written = context.change(&repository, vec![operation])?;
    context.report.confirm(&ChangeSummary {
        change: written.map(|written| written.number),
        snapshots: snapshots.into_iter().collect(),
    })?;
    Ok(Exit::Done)
}

fn suspicious(held: &[Held], which: &Which) -> Result<SnapshotId, Failure> {
    let Which::Prefix(digits) = which else {
        return Err(Failure::Usage(
            "a snapshot is released by the first digits of its id, as \"status\" lists it".into(),
        ));
    };
    let mut found = held.iter().map(|held| held.snapshot).filter(|id| which.fits(*id));
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => Err(Failure::Usage(format!("{digits:?} begins the id of several suspicious snapshots"))),
        (None, _) => Err(Failure::Usage(format!("no suspicious snapshot's id begins with {digits:?}"))),
    }
}

/// Stores the sealed names of the policy's tags: the policy has only ids, and perhaps no snapshot has the tag yet.
fn names_of_tags(
    repository: &Repository,
    file: &PolicyFile,
    domains: &BTreeMap<DomainId, DomainKeys>,
) -> Vec<Operation> {
    let sealed = |keys: &DomainKeys, name: &str| {
        let id = keys.tag_id(name);
        (id, repository.owner.seal_text(TextPurpose::TagName, &id.0, name))
    };
    let add: Vec<_> =
        domains.values().flat_map(|keys| file.tags().into_iter().map(|name| sealed(keys, name))).collect();
    match add.is_empty() {
        true => Vec::new(),
        false => vec![Operation::Tag { snapshots: Vec::new(), add, remove: Vec::new() }],
    }
}

fn text(options: &Set) -> Result<String, Failure> {
    let most = 2 * POLICY_BYTES as u64;
    let mut text = String::new();
    let read = match options.file.as_os_str() == "-" {
        true => std::io::stdin().lock().take(most + 1).read_to_string(&mut text),
        false => std::fs::File::open(&options.file).and_then(|file| file.take(most + 1).read_to_string(&mut text)),
    };
    let length = read.map_err(|error| Failure::io("read", &options.file, error))?;
    match length as u64 <= most {
        true => Ok(text),
        // What its first bytes say may be another policy.
        false => Err(Failure::Usage(format!("{} is longer than {most} bytes", options.file.display()))),
    }
}

fn show(context: &Context<'_>) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let view = context.view(&repository)?;
    let found = wait(in_force::current(&repository.job(), &view))?;
    let mut names = BTreeMap::new();
    if found.as_ref().is_some_and(|(_, policy)| !policy.rules().tags.is_empty()) {
        names = tag_names(context, &repository)?;
    }
    let shown = found.map(|(change, policy)| (change, to_toml(&policy, &names)));
    let (change, policy) = shown.unzip();
    let now = wait(repository.job().now_or(clock::now()))?;
    let lingers = lingering(&view).filter(|lingering| lingering.lasts(now)).map(Into::into);
    context.report.answer(&PolicyShown { change, policy, lingers })?;
    Ok(Exit::Done)
}

/// The guard (floor and hold) of replaced policies that still applies, from the newest root.
fn lingering(view: &View) -> Option<Lingering> {
    view.root.as_ref().and_then(|(root, _)| root.lingering)
}

/// The keys of every domain in which a policy's tags have ids.
fn domains(repository: &Repository, view: &View) -> Result<BTreeMap<DomainId, DomainKeys>, Failure> {
    let mut clients = Vec::new();
    for id in wait(clients::below(repository.store().as_ref(), "clients/"))? {
        match wait(clients::read(&repository.job(), id)) {
            Ok(record) => clients.extend(record.map(|record| record.domain)),
            Err(JobError::Damaged { .. }) => {}
            Err(error) => return Err(Failure::from(error)),
        }
    }
    let shared = repository.descriptor.as_ref().map(|descriptor| descriptor.shared_domain);
    let domains = tag_domains(view.state.snapshots.values(), shared, clients);
    Ok(domains.into_iter().map(|domain| (domain, repository.domain_keys(domain))).collect())
}

/// The names of all known tags, by their ids in every domain.
fn tag_names(context: &Context<'_>, repository: &Repository) -> Result<BTreeMap<TagId, String>, Failure> {
    let view = context.view(repository)?;
    let history = context.history(repository, &view)?;
    let mut names = tags_added(repository)?;
    let known: Vec<String> = names.values().cloned().collect();
    let own = history.snapshots.iter().flat_map(|snapshot| snapshot.info.tags.iter().cloned());
    let all: std::collections::BTreeSet<String> = own.chain(known).collect();
    for keys in domains(repository, &view)?.values() {
        names.extend(all.iter().map(|name| (keys.tag_id(name), name.clone())));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use copal_format::id::{ChunkId, SourceId};

    use super::*;

    #[test]
    fn a_series_of_which_only_a_checkpoint_stays_is_emptied_whatever_another_client_has_of_its_source() {
        let record = |id: u8, partial: bool| {
            let (domain, root, source) = (DomainId([1; 16]), ChunkId([2; 24]), SourceId([3; 16]));
            SnapshotRecord { partial, ..SnapshotRecord::new(SnapshotId([id; 16]), domain, root, source, Time(0)) }
        };
        let [client, other] = [4, 5].map(|id| ClientId([id; 16]));
        let rows = [((client, 1), record(6, false)), ((client, 2), record(7, true)), ((other, 1), record(8, false))];
        let snapshots = BTreeMap::from(rows);
        assert_eq!(emptied(&snapshots, &BTreeSet::new()), 0);
        assert_eq!(emptied(&snapshots, &BTreeSet::from([SnapshotId([6; 16])])), 1);
    }
}
