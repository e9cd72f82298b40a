//! `restore`: restores a snapshot to a directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use copal_client::filter::{Case, Selection};
use copal_client::history::Snapshot;
use copal_client::materialize::{Example, Lack, Overwrite, Powers, Shortfalls, TargetOptions};
use copal_client::progress::Progress;
use copal_client::reader::PageReader;
use copal_client::repository::Repository;
use copal_client::restore::{Deletion, Event, Note, Outcome, Request, Scope, Tally, restore};
use copal_client::stat::{EntryStat, FileId};
use copal_client::words::bytes_of;
use copal_format::exclusions::Exclusions;
use copal_format::path::TreePath;

use super::context::Context;
use super::failure::of_restore;
use super::place::Place;
use super::signals::{asks, is_yes, watch_signals};
use super::sources::listed;
use crate::args::restore::{Overwrite as When, Restore};
use crate::exit::Exit;
use crate::look::troubles;
use crate::report::clients::SignerField;
use crate::report::field::{self, PathField};
use crate::report::summary::RestoreSummary;
use crate::report::{Amount, Failure, human};

const SHOWN: usize = 20;

pub(super) fn run(context: &Context<'_>, options: &Restore) -> Result<Exit, Failure> {
    let started = Instant::now();
    let interrupted = watch_signals(context.report, || None)?;
    let selection = selection(options)?;
    let repository = context.open()?;
    let target = outside_of(&repository, &options.target)?;
    if options.delete
        && options.include.is_empty()
        && target.canonicalize().is_ok_and(|target| target.parent().is_none())
    {
        return Err(Failure::Usage("--delete in / needs --include, which says what may be deleted there".into()));
    }
    let view = context.view(&repository)?;
    let history = context.listing(&repository, &view)?;
    let place = context.place(&repository, (&view, &history), &options.snapshot, &options.narrow)?;
    let Place { snapshot, pages, scope } = place;
    let threads = repository.backend().readers(std::thread::available_parallelism().map_or(2, usize::from));
    let approves = |paths: &[TreePath]| options.dry_run || confirm(context, options, paths, &interrupted);
    let unknown = Exclusions { is_cut: true, ..Exclusions::default() };
    let exclusions = if lacks_untold(snapshot) { Some(&unknown) } else { snapshot.info.exclusions.as_ref() };
    let deletion = match options.delete {
        true => Some(Deletion {
            spared: spared(context, &repository),
            with_excluded: options.delete_excluded,
            exclusions: exclusions.filter(|_| !options.delete_excluded),
            spares_empty: snapshot.info.summary.errors > 0 && !options.delete_excluded,
            approves: &approves,
        }),
        false => None,
    };
    let request = Request { deletion, ..request(options, threads, snapshot, &pages, scope, selection, target) };
    let progress = Arc::new(Progress::default());
    if options.snapshot.path.is_none() && request.selection.is_everything() {
        progress.expect(snapshot.info.counts.files, snapshot.info.counts.bytes);
    }
    let watch = context.report.watch("restore", progress.clone());
    let outcome = restore(&request, &progress, &|event| tell(context, event, options), &interrupted);
    drop(watch);
    let outcome = outcome.map_err(|error| of_restore(error, &request.target))?;
    troubles(&snapshot.info).iter().for_each(|trouble| context.report.note(trouble));
    tell_shortfalls(context, &outcome.shortfalls);
    if outcome.shortfalls.left_out() > 0 {
        let why = if options.no_owner { "owners are not set" } else { "a write-only client has saved them" };
        context.report.note(&format!("left out since {why}; who trusts that machine restores them with --trust"));
    }
    if !request.selection.is_everything() && outcome.tally == Tally::default() {
        context.report.warn("nothing in the snapshot matches the patterns");
    }
    context.report.answer(&summary(&outcome, snapshot, options, started))?;
    if outcome.is_damaged {
        context
            .report
            .note("\"copal check --full\" finds all that is damaged, \"copal repair\" says what brings it back");
    }
    if outcome.differs {
        context.report.note(
            "files differ from the snapshot although size and time agree: \"--overwrite always\" writes them again",
        );
    }
    Ok(match &outcome {
        outcome if outcome.is_damaged || outcome.differs || !history.problems.is_empty() => Exit::Damage,
        outcome if outcome.tally.errors > 0 => Exit::Partial,
        _ => Exit::Done,
    })
}

fn request<'a>(
    options: &Restore,
    threads: usize,
    snapshot: &Snapshot,
    pages: &'a PageReader,
    scope: Scope,
    selection: Selection,
    target: PathBuf,
) -> Request<'a> {
    let whole = Request::whole(pages, snapshot, target, threads);
    Request {
        scope,
        selection,
        options: TargetOptions {
            overwrite: match options.overwrite {
                When::Never => Overwrite::Never,
                When::IfChanged => Overwrite::Changed,
                When::IfNewer => Overwrite::Newer,
                When::Always => Overwrite::Always,
            },
            // The backup may have left out the content of such a directory.
            replace_full_directories: options.delete && (options.delete_excluded || has_all(snapshot, options)),
            no_owner: options.no_owner || whole.options.no_owner,
            no_xattrs: options.no_xattrs || whole.options.no_xattrs,
            powers: if options.trust { Powers::Restored } else { whole.options.powers },
        },
        numeric_owner: options.numeric_owner,
        verifies: options.verify,
        is_dry_run: options.dry_run,
        ..whole
    }
}

/// Whether the snapshot lacks entries and does not tell where: a copy has none that could not be read.
fn lacks_untold(snapshot: &Snapshot) -> bool {
    snapshot.info.origin.is_some() && snapshot.info.summary.errors > 0
}

/// Whether nothing was left out when the snapshot was made, and nothing is to be left alone now.
fn has_all(snapshot: &Snapshot, options: &Restore) -> bool {
    let was_whole = snapshot.info.exclusions.is_none() && !lacks_untold(snapshot);
    was_whole && options.exclude.is_empty() && options.iexclude.is_empty()
}

fn selection(options: &Restore) -> Result<Selection, Failure> {
    let includes = listed(&[(&options.include, Case::Exact)])?.finish()?;
    let excludes = listed(&[(&options.exclude, Case::Exact), (&options.iexclude, Case::Any)])?.finish()?;
    Ok(Selection { includes, excludes })
}

/// The absolute path. Fails if it lies in the repository: a restored file would be taken for an object, and a key file
/// would lie beside what it opens.
pub(super) fn outside_of(repository: &Repository, target: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(target).map_err(|error| Failure::io("restore into", target, error))?;
    let there = absolute.ancestors().find_map(|above| above.canonicalize().ok());
    let inside = repository.backend().directory().and_then(|directory| directory.canonicalize().ok()).zip(there);
    match inside {
        Some((repository, there)) if there.starts_with(&repository) => {
            Err(Failure::InsideRepository { path: target.to_owned() })
        }
        _ => Ok(absolute),
    }
}

/// Files that no restore deletes: the repository, this machine's keys and cache, and the secret's file.
fn spared(context: &Context<'_>, repository: &Repository) -> Vec<FileId> {
    let (places, secrets) = (context.places().ok(), context.secrets());
    let mut paths: Vec<PathBuf> = repository.backend().directory().map(Path::to_owned).into_iter().collect();
    paths.extend(places.iter().flat_map(|places| [places.cache().to_owned(), places.state().to_owned()]));
    let files = [secrets.key_file, secrets.key_file_variable, secrets.password_file, secrets.password_file_variable];
    let real = paths.into_iter().chain(files.into_iter().flatten()).filter_map(|path| path.canonicalize().ok());
    real.filter_map(|path| EntryStat::of_path(&path).ok()).map(|stat| stat.id()).collect()
}

/// Lists the entries to delete, and asks the user if there is a terminal.
fn confirm(context: &Context<'_>, options: &Restore, paths: &[TreePath], interrupted: &AtomicBool) -> bool {
    if options.yes || !asks() {
        return true;
    }
    let mut shown: Vec<_> = paths.iter().rev().map(|path| there(options, path)).collect();
    let more = shown.len().saturating_sub(SHOWN);
    shown.truncate(SHOWN);
    let mut list = shown.join("\n");
    if more > 0 {
        list.push_str(&format!("\nand {more} more, which \"--dry-run\" names"));
    }
    context.report.ask(&format!("{list}\n"));
    let what = human::things(paths.len() as u64, "entry", "entries");
    context.report.ask(&format!("copal: delete {what}, which the snapshot does not have? [y/N] "));
    is_yes(interrupted)
}

fn tell(context: &Context<'_>, event: Event<'_>, options: &Restore) {
    let report = context.report;
    match event {
        Event::Restored(path) if report.says(Amount::Verbose) => {
            let verb = if options.dry_run { "would restore" } else { "restored" };
            report.say(Amount::Verbose, &format!("{verb} {}", PathField::of(path).human()));
        }
        Event::Deleted(path) if options.dry_run => report.note(&format!("would delete {}", there(options, path))),
        Event::Deleted(path) if report.says(Amount::Verbose) => {
            report.say(Amount::Verbose, &format!("deleted {}", there(options, path)));
        }
        Event::Restored(_) | Event::Deleted(_) => {}
        Event::Spared(paths) => report.warn(&spared_paths(options, paths)),
        Event::Trouble { path, why } => report.trouble(PathField::of(path), &why),
        Event::Lost { range, why } => report.warn(&format!("{} are lost: {why}", field::entries(range))),
        Event::Note(note) => report.warn(words(note)),
    }
}

fn there(options: &Restore, path: &TreePath) -> String {
    let target = &*bytes_of(options.target.as_os_str());
    human::path(&[target.strip_suffix(b"/").unwrap_or(target), b"/", path.as_bytes()].concat())
}

fn spared_paths(options: &Restore, paths: &[TreePath]) -> String {
    let named: Vec<_> = paths.iter().take(SHOWN).map(|path| there(options, path)).collect();
    let more = if paths.len() > SHOWN { format!(" and {} more", paths.len() - SHOWN) } else { String::new() };
    format!(
        "{}{more}: left as it is, since it is a mount point, a repository, a key or the cache of this machine, or a directory of which the backup may have left something out",
        named.join(", ")
    )
}

/// Warns once for each kind of metadata that could not be set.
fn tell_shortfalls(context: &Context<'_>, shortfalls: &Shortfalls) {
    for (lack, count, examples) in shortfalls.iter() {
        let of = human::things(count, "entry", "entries");
        let example = |example: &Example| {
            let path = example.path.as_bytes();
            // The target itself has no name in the tree.
            (human::path(if path.is_empty() { b"." } else { path }), example.error.to_string())
        };
        let (path, error) = examples.first().map(example).unwrap_or_default();
        match lack {
            // Each device was already reported as an entry that could not be written.
            Lack::Device => {}
            Lack::LeftOut(_) => context.report.warn(&format!("{lack} was left out of {of} (like {path})")),
            _ => context.report.warn(&format!("{lack} could not be restored for {of} (like {path}: {error})")),
        }
    }
    let (failures, failed) = shortfalls.failures();
    if failed > failures.len() as u64 {
        let more = failed - failures.len() as u64;
        context.report.warn(&format!("{more} more parts of entries' metadata could not be restored"));
    }
}

fn words(note: Note) -> &'static str {
    match note {
        Note::ExclusionsUnknown => {
            "nothing is deleted, since the snapshot does not tell all that its backup left out (--delete-excluded deletes that, too)"
        }
        Note::EntriesLost => "nothing is deleted, since not all entries of the snapshot can be read",
        Note::TargetKept => "the target directory itself keeps its owner, mode and times, since it was not empty",
    }
}

fn summary(outcome: &Outcome, snapshot: &Snapshot, options: &Restore, started: Instant) -> RestoreSummary {
    RestoreSummary {
        snapshot_id: snapshot.id,
        host: snapshot.machine().to_owned(),
        signer: SignerField::of(snapshot),
        target: PathField(bytes_of(options.target.as_os_str()).into_owned()),
        tally: outcome.tally,
        left_out: outcome.shortfalls.left_out(),
        seconds: started.elapsed().as_secs_f64(),
        dry_run: options.dry_run,
    }
}
