//! `backup`: from the command line to a snapshot.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use copal_client::backend::Backend;
use copal_client::backup::{BackupError, Options, Outcome, SkipKind, Source, TroubleKind, backup};
use copal_client::causes::with_causes;
use copal_client::entropy::SystemEntropy;
use copal_client::progress::{KeptSoFar, Progress};
use copal_client::repository::{Access, ReaderProgram};
use copal_client::wait::wait;
use copal_client::words::bytes_of;
use copal_engine::backup::change::ChangeDetection;
use copal_format::exclusions::Exclusions;
use copal_jobs::context::Entropy;
use copal_store::reserve;

use super::context::Context;
use super::opening::{Opened, Opening};
use super::signals::watch_signals;
use super::sources::{Sources, named_root};
use super::{changed, fates, init};
use crate::args::backup::{Backup, Naming};
use crate::args::forget::OneSource;
use crate::args::repository::IngestBy;
use crate::exit::Exit;
use crate::report::field::PathField;
use crate::report::progress::kept;
use crate::report::summary::BackupSummary;
use crate::report::{Amount, Failure, Printer, human};
use crate::secrets::{Terminal, without_secrets};
use crate::system::USER;

pub(super) fn run(context: &Context<'_>, options: &Backup) -> Result<Exit, Failure> {
    saved(context, options).map(|(exit, _)| exit)
}

/// Saves. Also returns the first named path of which nothing could be saved.
pub(super) fn saved(context: &Context<'_>, options: &Backup) -> Result<(Exit, Option<PathBuf>), Failure> {
    let started = Instant::now();
    let progress = Arc::new(fates::progress(context.report));
    let excluded = (options.dry_run && context.report.says(Amount::Verbose)).then(fates::Excluded::default);
    // A finished backup has nothing to report, even if its process goes on.
    let counted = Arc::downgrade(&progress);
    let interrupted = watch_signals(context.report, move || counted.upgrade().map(|progress| kept(progress.kept())))?;
    let sources = Sources::of(options)?;
    sources.tell_links(context);
    let (backend, opening) = backend(context, options)?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (scan, exclusions) = sources.scan(backend.directory(), options, excluded.as_ref())?.unzip();
    let scan = scan.map(Arc::new);
    // Start the scan before unlocking: unlocking takes as long as looking at tens of thousands of entries.
    let mut list = changed::find_list(context, options, &sources)?;
    let walks = list.as_ref().is_none_or(|list| list.doubt.is_some());
    let mut ahead = scan.as_ref().filter(|_| walks).map(|scan| scan.begin(threads));
    let opened = opening.open(context, &backend)?;
    context.is_met(&backend, opened.id())?;
    let (access, client) = opened.used_by(context, options.dry_run)?;
    let narrowing = changed::Narrowed { access, client: &client, exclusions: exclusions.as_ref() };
    let naming = named(context, &options.naming, sources.paths(), threads);
    let mut changed = list.as_mut().map(|list| narrowing.of(context, options, &naming, list)).transpose()?;
    let how = Options {
        exclusions: exclusions.and_then(Exclusions::recorded),
        force: options.changes.force,
        detection: ChangeDetection {
            inode: !options.changes.ignore_inode,
            ctime: !options.changes.ignore_ctime,
            parent_begun: None,
        },
        is_dry_run: options.dry_run,
        skip_if_unchanged: options.skip_if_unchanged,
        may_be_empty: options.names.allow_empty,
        rewrite_budget: options.rewrite_budget,
        compression: options.compression,
        wait: (!options.no_wait).then_some(options.wait.0),
        ..naming
    };
    let may_be_empty = options.names.allow_empty;
    let mut source = match (&sources, &scan) {
        (Sources::Roots(..), scan) => {
            let scan = scan.as_ref().expect("roots are scanned");
            Source::Tree { scan, ahead: ahead.take(), changed: changed.take() }
        }
        (Sources::Stream { name, command }, _) => {
            let bytes: Box<dyn Read + Send> = match command {
                None => Box::new(std::io::stdin()),
                Some(words) => Box::new(spawn(words)?),
            };
            Source::Stream { name: name.clone(), bytes, may_be_empty }
        }
    };
    let outcome = watched(context.report, "backup", &progress, || {
        backup(access, &client, &mut source, &how, &progress, &interrupted)
    })?;
    if let (Access::Owner(repository), true) = (access, outcome.has_other_domains && !options.dry_run) {
        // A failure does not matter to the snapshot, which is saved.
        if let Err(error) = context.prove(repository, PROVED_MOST) {
            context.report.warn(&format!("no packs of write-only clients were proven: {error}"));
        }
    }
    if !options.dry_run {
        remember(context, &opened);
        if let Some(list) = list {
            list.saved(&outcome);
        }
    }
    tell_troubles(context, &outcome);
    keep_reserve(&backend, if options.dry_run { 0 } else { outcome.tally.bytes_stored });
    if let Some(gap) = &outcome.gap {
        context.report.note(&format!("everything was looked at, in spite of the list: {}", with_causes(gap)));
    }
    if let Some(error) = &outcome.not_kept {
        context
            .report
            .warn(&format!("could not save the local file cache; the next backup will read every file: {error}"));
    }
    if let Some(ahead) = outcome.clock_ahead {
        let by = human::duration(ahead.unsigned_abs() as f64 / 1e9);
        let side = if ahead > 0 { "ahead of" } else { "behind" };
        let dated = if options.naming.time.is_some() { "" } else { "; the snapshot is dated by the repository's" };
        context.report.warn(&format!("this machine's clock is {by} {side} the repository's: set it{dated}"));
    }
    let excluded = excluded.map(|excluded| excluded.counted()).unwrap_or_default();
    context.report.answer(&BackupSummary { excluded, ..summary(&outcome, options.dry_run, started) })?;
    refuse_damaged(&outcome)?;
    let exit = if outcome.errors() > 0 { Exit::Partial } else { Exit::Done };
    Ok((exit, outcome.unsaved.into_iter().next()))
}

/// Shows the progress of making a snapshot, and says what is kept if it ends early.
pub(super) fn watched(
    report: &Printer,
    act: &'static str,
    progress: &Arc<Progress>,
    make: impl FnOnce() -> Result<Outcome, BackupError>,
) -> Result<Outcome, Failure> {
    let watch = report.watch(act, progress.clone());
    let made = make();
    drop(watch);
    match (&made, progress.kept()) {
        // Part of what was claimed may have been rejected.
        (Err(BackupError::Rejected(_) | BackupError::Barred(_)), _) => {}
        (Err(BackupError::Interrupted), so_far) | (Err(_), so_far @ KeptSoFar::Part { .. }) => {
            report.warn(&kept(so_far));
        }
        _ => {}
    }
    Ok(made?)
}

/// Options of a new snapshot with this naming and these paths. All other options have their defaults.
pub(super) fn named(context: &Context<'_>, naming: &Naming, paths: Vec<Vec<u8>>, threads: usize) -> Options {
    Options {
        label: naming.label.clone(),
        tags: naming.tags.clone(),
        time: naming.time,
        user: std::env::var(USER).unwrap_or_default(),
        ..Options::new(naming.host.clone().unwrap_or_else(|| context.this_host()), paths, threads)
    }
}

/// Remembers the state after a backup.
pub(super) fn remember(context: &Context<'_>, opened: &Opened) {
    let met = opened.met(context);
    // The snapshot is saved. A failure only costs the next run its comparison with this state.
    if let Err(error) = met.and_then(|(store, state_dir, clients)| context.remember(store, &state_dir, &clients)) {
        context.report.warn(&format!("this machine could not note the state it has met: {error}"));
    }
}

/// Creates the reserve of a directory to which `stored` bytes were added.
pub(super) fn keep_reserve(backend: &Backend, stored: u64) {
    if backend.directory().is_some() && stored >= RESERVE_FROM {
        // A missing reserve does not matter to the snapshot, which is saved.
        let _ = wait(reserve::keep(&backend.store(), |bytes| SystemEntropy.fill(bytes)));
    }
}

/// Fails if the index in which the backup looked up chunks is damaged.
pub(super) fn refuse_damaged(outcome: &Outcome) -> Result<(), Failure> {
    let Some(segment) = outcome.damaged.first() else { return Ok(()) };
    let cause =
        "its bytes do not have the hash it is named by; what was saved can be restored once the index is made again";
    Err(Failure::Damaged { object: segment.clone(), cause: cause.into() })
}

/// The host, the paths and the label of the snapshots that these options make.
pub(super) fn one_source(context: &Context<'_>, options: &Backup) -> Result<OneSource, Failure> {
    let host = options.naming.host.clone().unwrap_or_else(|| context.this_host());
    let paths = match &options.names.as_path {
        // The file system snapshot that was read may be gone by now.
        Some(path) => vec![named_root(path)?.path().as_bytes().to_vec()],
        None => Sources::of(options)?.paths(),
    };
    Ok(OneSource { host, paths, label: options.naming.label.clone() })
}

/// Finds the repository and the secret that opens it; with `--init`, makes the repository first if there is none.
fn backend(context: &Context<'_>, options: &Backup) -> Result<(Backend, Opening), Failure> {
    let found = context.backend();
    let is_wanted = match &found {
        Err(Failure::NoRepository { .. }) => true,
        Err(Failure::RepositoryGone { .. }) => context.global.another,
        _ => false,
    };
    if options.init && is_wanted {
        let credential = context.secrets().first(&mut Terminal)?;
        let summary = init::create(context, &credential, IngestBy::Client, ReaderProgram::inside())?;
        init::tell_code(context, &summary.repository, &summary.recovery_code);
        return Ok((context.backend()?, Opening::Secret(credential)));
    }
    let backend = found?;
    let opening = Opening::find(context, &backend)?;
    Ok((backend, opening))
}

/// A command's output. Reading fails at its end if the command failed: half a dump must not become a snapshot. The
/// command does not outlive the backup that reads it.
struct Checked {
    output: ChildStdout,
    child: Child,
}

fn spawn(words: &[OsString]) -> Result<Checked, Failure> {
    let (program, arguments) = words.split_first().expect("clap requires a command");
    let mut command = Command::new(program);
    let spawned = without_secrets(command.args(arguments).stdout(Stdio::piped())).spawn();
    let mut child = spawned.map_err(|error| Failure::io("run", program, error))?;
    let output = child.stdout.take().expect("piped");
    Ok(Checked { output, child })
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let got = self.output.read(buffer)?;
        if got == 0 && !buffer.is_empty() {
            let status = self.child.wait()?;
            if !status.success() {
                return Err(std::io::Error::other(format!("the command failed ({status})")));
            }
        }
        Ok(got)
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        // A command that has ended already cannot be killed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn tell_troubles(context: &Context<'_>, outcome: &Outcome) {
    for trouble in &outcome.troubles {
        let path = PathField(bytes_of(trouble.path.as_os_str()).into_owned());
        match trouble.kind {
            TroubleKind::Unreadable => context.report.trouble(path, &trouble.why),
            TroubleKind::Changing | TroubleKind::Unlisted => context.report.entry_note(path, &trouble.why),
            TroubleKind::Skipped(SkipKind::Noted | SkipKind::Excluded) => {
                context.report.note(&format!("{}: {}", path.human(), trouble.why))
            }
            TroubleKind::Skipped(SkipKind::Quiet) => {
                context.report.say(Amount::Verbose, &format!("{}: {}", path.human(), trouble.why));
            }
        }
    }
    if outcome.unnamed > 0 {
        let (more, named) = (outcome.unnamed, outcome.troubles.len());
        context.report.warn(&format!("{more} more entries are lost or incomplete, after the first {named}"));
    }
}

pub(super) fn summary(outcome: &Outcome, dry_run: bool, started: Instant) -> BackupSummary {
    BackupSummary {
        snapshot_id: outcome.snapshot,
        parent_id: outcome.parent,
        files_new: outcome.summary.new,
        files_changed: outcome.summary.changed,
        files_unmodified: outcome.summary.unmodified,
        dirs: outcome.counts.directories,
        others: outcome.counts.others,
        errors: outcome.errors(),
        changing: outcome.changing(),
        bytes_scanned: outcome.counts.bytes,
        bytes_new: outcome.tally.bytes_new,
        bytes_stored: outcome.tally.bytes_stored,
        seconds: started.elapsed().as_secs_f64(),
        dry_run,
        accepted_by: outcome.accepted_by,
        narrowed: outcome.is_narrowed,
        gap: outcome.gap.as_ref().map(|gap| with_causes(gap)),
        excluded: Vec::new(),
    }
}

/// Bytes of packs that a backup proves for clients that cannot prove their own.
const PROVED_MOST: u64 = 64 << 20;
/// A backup that stores fewer bytes creates no reserve, which would be most of a small repository.
const RESERVE_FROM: u64 = 16 << 20;
