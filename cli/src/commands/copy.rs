//! `copy`: copies snapshots into another repository.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use copal_client::backup::{BackupError, Outcome, answered};
use copal_client::copy::{Copier, How};
use copal_client::history::{History, Snapshot};
use copal_client::met::Copied;
use copal_client::progress::Progress;
use copal_client::repository::{LocalClient, Repository};
use copal_format::snapshot::Counts;
use copal_jobs::view::View;
use copal_store::StoreError;

use super::backup::{keep_reserve, refuse_damaged, tell_troubles, watched};
use super::context::{CLIENTS, Context};
use super::marks::distinct;
use super::signals::watch_signals;
use super::sync::copy_whole;
use crate::args::copy::{Copy, Making};
use crate::args::look::Narrow;
use crate::args::spec::Which;
use crate::exit::Exit;
use crate::pick::{self, Intent};
use crate::report::Failure;
use crate::report::copy::{CopiedRow, CopySummary};
use crate::report::progress::kept;
use crate::secrets::{OF_TARGET, SecretError};

pub(super) fn run(context: &Context<'_>, options: &Copy) -> Result<Exit, Failure> {
    let started = Instant::now();
    let global = options.to.global(context.global);
    let there = context.other(&global, &OF_TARGET);
    let is_narrowed = !options.snapshots.is_empty() || options.narrow.narrows();
    if let Some(done) = copy_whole(context, &there, options.making.dry_run, is_narrowed)? {
        return Ok(done);
    }
    let (source, view, history) = context.read()?;
    let chosen = chosen(context, &source, &history, &options.snapshots, &options.narrow, Intent::Read)?;
    let target = there.open().inspect_err(|failure| {
        let is_named = matches!(failure, Failure::Secret(SecretError::MissingThere));
        if matches!(failure, Failure::Secret(_) | Failure::WrongSecret(_) | Failure::NoKey(_)) && !is_named {
            context.report.note(
                "this is about the repository to copy to: --to-password-file, --to-key-file and COPAL_TO_PASSWORD are for it",
            );
        }
    })?;
    if target.id() == source.id() {
        return Err(Failure::Usage("--to names the repository that the snapshots are in".into()));
    }
    let (is_dry_run, wait) = (options.making.dry_run, options.making.wait.0);
    let (making, client, _, copies) = Makings::begin(context, (&there, &target), is_dry_run, wait)?;
    let mut copier = Copier::new((&source, &view, &history), (&target, &client, &copies), how(&options.making));
    let mut summary = CopySummary { dry_run: is_dry_run, ..CopySummary::default() };
    let copy_all = || {
        for snapshot in chosen {
            if copier.copy_of(snapshot).is_some() {
                summary.already_there += 1;
                continue;
            }
            let copy = |progress: &_| copier.copy(snapshot, progress, &making.interrupted);
            let made = making.make("copy", snapshot.info.counts, copy).map_err(|failure| match failure {
                // Nothing is written to the source.
                Failure::Store(StoreError::Full { .. }) => there.with_repository(failure),
                failure => failure,
            })?;
            summary.copied.push(CopiedRow::of(snapshot, made.as_ref()));
        }
        Ok::<_, Failure>(())
    };
    let ended = copy_all();
    if !is_dry_run {
        // Also what an interrupted run has copied, for `status`.
        let is_there = |snapshot: &&Snapshot| snapshot.is_kept() && copier.copy_of(snapshot).is_some();
        let there = history.snapshots.iter().filter(is_there).map(|snapshot| snapshot.id).collect();
        let (to, time) = (target.backend().location().clone(), copal_client::clock::now());
        Copied { to, time, is_whole: !is_narrowed, there }.remember(source.state_dir());
    }
    ended?;
    if !is_dry_run {
        there.remember(target.store().as_ref(), target.state_dir(), CLIENTS)?;
        keep_reserve(target.backend(), summary.copied.iter().map(|row| row.bytes_stored).sum());
    }
    let lacks = summary.copied.iter().any(|row| row.errors > 0);
    summary.seconds = started.elapsed().as_secs_f64();
    context.report.answer(&summary)?;
    if lacks {
        context.report.note("what is damaged is missing from the copies; \"copal check --full\" finds all of it");
    }
    let exit = if lacks { Exit::Damage } else { context.exit_of(&history) };
    Ok(if exit == Exit::Done { there.exit_of(&copies) } else { exit })
}

/// The snapshots that are named, or all that match the options; the oldest first.
pub(super) fn chosen<'h>(
    context: &Context<'_>,
    repository: &Repository,
    history: &'h History,
    named: &[Which],
    narrow: &Narrow,
    intent: Intent,
) -> Result<Vec<&'h Snapshot>, Failure> {
    if named.is_empty() {
        let all = pick::narrowed(history, narrow);
        if all.is_empty() {
            context.note_claimants(history, narrow);
        }
        return Ok(all);
    }
    let here = context.here(repository);
    let find = |which| context.snapshot(&here, history, which, narrow, intent);
    let mut found = distinct(named.iter().map(find))?;
    found.sort_by_key(|snapshot| snapshot.age());
    Ok(found)
}

pub(super) fn how(making: &Making) -> How {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    How { threads, wait: making.wait.0, trusts: making.trust, compression: making.compression }
}

/// Snapshots that are made one after another, watched for signals; none is made in a dry run.
pub(super) struct Makings<'a> {
    context: &'a Context<'a>,
    is_dry_run: bool,
    pub(super) interrupted: Arc<std::sync::atomic::AtomicBool>,
    current: Arc<Mutex<Arc<Progress>>>,
}

impl<'a> Makings<'a> {
    /// Begins to make snapshots in a repository: by this client, and on its state there, which is the newest once all
    /// uploads of this machine are decided. A dry run takes what is accepted by now.
    pub(super) fn begin(
        context: &'a Context<'a>,
        (there, target): (&Context<'_>, &Repository),
        is_dry_run: bool,
        wait: Duration,
    ) -> Result<(Self, LocalClient, View, History), Failure> {
        let client = there.client_or_passing(target, is_dry_run)?;
        let current: Arc<Mutex<Arc<Progress>>> = Arc::default();
        let watched = current.clone();
        let counted = move || kept(watched.lock().unwrap_or_else(PoisonError::into_inner).kept());
        let interrupted = watch_signals(context.report, move || Some(counted()))?;
        if !is_dry_run {
            there.ingest(target)?;
        }
        let view = match is_dry_run || target.ingests() {
            true => there.view(target)?,
            false => answered(target.into(), &client, wait, &interrupted)?,
        };
        let history = there.history(target, &view)?;
        Ok((Self { context, is_dry_run, interrupted, current }, client, view, history))
    }

    /// Makes one snapshot of about the expected size, shows its progress, and reports what it lacks.
    pub(super) fn make(
        &self,
        act: &'static str,
        expected: Counts,
        make: impl FnOnce(&Arc<Progress>) -> Result<Outcome, BackupError>,
    ) -> Result<Option<Outcome>, Failure> {
        if self.is_dry_run {
            return Ok(None);
        }
        let progress = Arc::new(Progress::default());
        progress.expect(expected.files, expected.bytes);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = progress.clone();
        let outcome = watched(self.context.report, act, &progress, || make(&progress))?;
        tell_troubles(self.context, &outcome);
        refuse_damaged(&outcome)?;
        Ok(Some(outcome))
    }
}
