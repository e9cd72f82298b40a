//! `sync`: brings a replica up to date.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use copal_client::backend::Backend;
use copal_client::met::{remember_replica, replicas};
use copal_client::progress::Progress;
use copal_client::wait::wait;
use copal_format::id::RepositoryId;
use copal_jobs::context::JobContext;
use copal_jobs::replica::{self, Behind, Fault, SyncError, identity, is_replica};
use copal_jobs::view::{self, Parts, View};
use copal_store::Store;

use super::context::{CLIENTS, Context};
use super::replica::{at, end, field, job, owner_of, refuse_gateway};
use super::signals::watch_signals;
use crate::args::copy::Sync;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::sync::SyncSummary;
use crate::secrets::OF_TARGET;

pub(super) fn run(context: &Context<'_>, options: &Sync) -> Result<Exit, Failure> {
    let Some(to) = options.to.as_deref().filter(|_| !options.end) else { return end(context) };
    let global = at(context, to);
    let there = context.other(&global, &OF_TARGET);
    refuse_gateway(context)?;
    refuse_gateway(&there)?;
    let (source, target) = (context.backend()?, there.reach_to_sync()?);
    let interrupted = watch_signals(context.report, || None)?;
    let ends = Ends::find((context, source), (&there, target))?;
    if options.dry_run {
        return ends.tell();
    }
    let Some(every) = options.every else { return ends.round(&interrupted) };
    ends.go_on(every.0, &interrupted)
}

/// Syncs into the replica that `copy --to` names; none if it names no replica.
pub(super) fn copy_whole(
    context: &Context<'_>,
    there: &Context<'_>,
    is_dry_run: bool,
    is_narrowed: bool,
) -> Result<Option<Exit>, Failure> {
    let target = there.reach_to_sync()?;
    if target.is_behind_gateway() || !wait(is_replica(target.store().as_ref()))? {
        return Ok(None);
    }
    if is_narrowed {
        let why = "a replica takes all snapshots: leave out what chooses some, or copy to a repository with other keys";
        return Err(Failure::Usage(why.into()));
    }
    refuse_gateway(context)?;
    let source = context.backend()?;
    let interrupted = watch_signals(context.report, || None)?;
    let ends = Ends::find((context, source), (there, target))?;
    if is_dry_run { ends.tell().map(Some) } else { ends.round(&interrupted).map(Some) }
}

struct Ends<'a> {
    context: &'a Context<'a>,
    source: Arc<dyn Store>,
    /// The repository that is at the source.
    found: RepositoryId,
    target: Backend,
    repository: RepositoryId,
    owner_key: [u8; 32],
}

impl<'a> Ends<'a> {
    /// Compares both places with what this machine has met there.
    fn find(
        (context, source): (&'a Context<'a>, Backend),
        (there, target): (&Context<'_>, Backend),
    ) -> Result<Self, Failure> {
        if !wait(is_replica(target.store().as_ref()))? {
            return Err(SyncError::NotReplica.into());
        }
        let (repository, owner_key) = match wait(identity(target.store().as_ref()))? {
            Some(of) => of,
            // The sync brings a lost descriptor again. Only this machine's note says whose replica it is.
            None => {
                let of = owner_of(&source)?;
                let noted = replicas(&context.places()?.state_of(of.0));
                let is_noted = noted.iter().any(|replica| replica.absolute() == target.location().absolute());
                is_noted.then_some(of).ok_or_else(Failure::no_descriptor)?
            }
        };
        there.is_met(&target, repository)?;
        let found = owner_of(&source).map_or(repository, |(found, _)| found);
        context.is_met(&source, found)?;
        Ok(Self { context, source: source.store(), found, target, repository, owner_key })
    }

    fn job(&self) -> JobContext<'_> {
        job(self.source.as_ref(), self.repository, self.owner_key)
    }

    /// The source's state; fails if this machine has met a newer one there.
    fn view(&self) -> Result<View, Failure> {
        let state_dir = self.context.places()?.state_of(self.found);
        self.context.refuse_older(self.source.as_ref(), &state_dir, CLIENTS)?;
        Ok(wait(view::read_parts(self.source.as_ref(), &Parts::RECORDS))?)
    }

    fn behind(&self, view: &View) -> Result<Behind, Failure> {
        Ok(wait(replica::behind(&self.job(), view, self.target.store().as_ref()))?)
    }

    fn summary(&self, lacked: &Behind) -> SyncSummary {
        let replica = self.target.location().to_string();
        SyncSummary { replica, root: lacked.root, lacked: field(lacked), ..SyncSummary::default() }
    }

    fn tell(&self) -> Result<Exit, Failure> {
        let view = self.view()?;
        wait(replica::compare(&self.job(), &view, self.target.store().as_ref()))?;
        let lacked = self.behind(&view)?;
        self.context.report.answer(&SyncSummary { dry_run: true, ..self.summary(&lacked) })?;
        Ok(Exit::Done)
    }

    fn round(&self, interrupted: &AtomicBool) -> Result<Exit, Failure> {
        let started = Instant::now();
        let report = self.context.report;
        remember_replica(&self.context.places()?.state_of(self.repository), self.target.location());
        let lacked = self.behind(&self.view()?)?;
        let progress = Arc::new(Progress::default());
        progress.expect(0, lacked.bytes);
        let goes_on = |bytes| {
            progress.add_done(bytes);
            !interrupted.load(Ordering::Relaxed)
        };
        let watch = report.watch("sync", progress.clone());
        let synced = wait(replica::sync(&self.job(), self.target.store().as_ref(), &goes_on));
        drop(watch);
        let synced = synced?;
        for Fault { object, why } in &synced.faults {
            report.warn(&format!("{object} was not copied: {why}"));
        }
        if !synced.faults.is_empty() {
            report.note("all else was copied; \"copal check\" says what is damaged, in the source or in the replica");
        }
        for slot in &synced.slots_left {
            let at = self.target.location();
            report.warn(&format!(
                "key {slot} is not in the source any more, and still opens the replica: \"copal -r {at} key remove {slot}\" removes it there"
            ));
        }
        let is_whole = synced.faults.is_empty();
        report.answer(&SyncSummary {
            root: if synced.is_current { synced.root } else { lacked.root },
            is_current: synced.is_current,
            objects: synced.stored.objects,
            bytes: synced.stored.bytes,
            not_copied: synced.faults,
            keys_left: synced.slots_left,
            seconds: started.elapsed().as_secs_f64(),
            ..self.summary(&lacked)
        })?;
        Ok(if is_whole { Exit::Done } else { Exit::Damage })
    }

    /// Copies what is new at each interval, until interrupted. Goes on if a store cannot be reached for a while.
    fn go_on(&self, every: Duration, interrupted: &AtomicBool) -> Result<Exit, Failure> {
        let mut exit = Exit::Done;
        let mut known = None;
        let mut rounds = 0;
        while !interrupted.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let done = wait(replica::news(self.source.as_ref())).map_err(Failure::from).and_then(|news| {
                if known.as_ref() == Some(&news) {
                    return Ok(exit);
                }
                let done = self.round(interrupted)?;
                // After a failure the next round tries again, even if the source stays as it is.
                known = Some(news).filter(|_| done == Exit::Done);
                Ok(done)
            });
            match done {
                Ok(done) => exit = done,
                Err(failure) if rounds > 0 && is_passing(&failure) => {
                    self.context.report.warn(&format!("{}; it is tried again", failure.text()));
                    exit = Exit::Failed;
                }
                Err(failure) => return Err(failure),
            }
            rounds += 1;
            while begun.elapsed() < every && !interrupted.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100).min(every));
            }
        }
        Ok(exit)
    }
}

fn is_passing(failure: &Failure) -> bool {
    matches!(failure, Failure::Store(_) | Failure::Io { .. } | Failure::Sync(SyncError::Restless))
}
