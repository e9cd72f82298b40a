//! `import`: makes snapshots of what other programs have written: a tar archive, or a repository of restic.

use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;
use std::time::Instant;

use copal_client::backend::{Backend, BackendError};
use copal_client::backup::{Inherited, Options, Source, backup};
use copal_client::clock::now;
use copal_client::copy::How;
use copal_client::import::Importer;
use copal_client::location::Location;
use copal_client::progress::Progress;
use copal_client::restic::{Restic, ResticError, ResticSnapshot};
use copal_client::scan::Root;
use copal_format::exclusions::Exclusions;
use copal_format::path::TreePath;
use copal_format::snapshot::{Counts, MetadataSeen};
use copal_format::troubles::Troubles;

use super::backup::{keep_reserve, named, refuse_damaged, remember, summary, tell_troubles, watched};
use super::context::{CLIENTS, Context};
use super::copy::Makings;
use super::opening::Opening;
use super::signals::watch_signals;
use super::sources::bad_as_path;
use crate::args::global::Global;
use crate::args::import as args;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::copy::{CopiedRow, CopySummary};
use crate::report::field::PathField;
use crate::report::progress::kept;
use crate::secrets::{OF_RESTIC, Terminal};

pub(super) fn tar(context: &Context<'_>, options: &args::Tar) -> Result<Exit, Failure> {
    let started = Instant::now();
    let progress = Arc::new(Progress::default());
    let counted = progress.clone();
    let interrupted = watch_signals(context.report, move || Some(kept(counted.kept())))?;
    let archive: Box<dyn Read + Send> = if options.file.as_os_str() == "-" {
        Box::new(BufReader::with_capacity(BUFFER, std::io::stdin()))
    } else {
        let file = File::open(&options.file).map_err(|error| Failure::io("read", &options.file, error))?;
        Box::new(BufReader::with_capacity(BUFFER, file))
    };
    let backend = context.backend()?;
    let opened = Opening::find(context, &backend)?.open(context, &backend)?;
    context.is_met(&backend, opened.id())?;
    let (access, client) = opened.used_by(context, options.dry_run)?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let below = match &options.as_path {
        Some(path) => Root::named(path).map_err(bad_as_path)?.path().clone(),
        None => TreePath::TOP,
    };
    let how = Options {
        inherited: Some(Inherited {
            origin: None,
            started: now(),
            metadata: SEEN.into_iter().fold(MetadataSeen::default(), MetadataSeen::union),
            troubles: Troubles::default(),
            errors: 0,
        }),
        is_dry_run: options.dry_run,
        may_be_empty: options.allow_empty,
        // An archive does not tell which files its program left out.
        exclusions: Some(Exclusions { is_cut: true, ..Exclusions::default() }),
        compression: options.compression,
        wait: Some(options.wait.0),
        ..named(context, &options.naming, vec![below.as_bytes().to_vec()], threads)
    };
    let outcome = watched(context.report, "import", &progress, || {
        let mut source = Source::Archive { bytes: archive, below };
        backup(access, &client, &mut source, &how, &progress, &interrupted)
    })?;
    if !options.dry_run {
        remember(context, &opened);
        keep_reserve(&backend, outcome.tally.bytes_stored);
    }
    tell_troubles(context, &outcome);
    context.report.answer(&summary(&outcome, options.dry_run, started))?;
    refuse_damaged(&outcome)?;
    Ok(if outcome.errors() > 0 { Exit::Partial } else { Exit::Done })
}

pub(super) fn restic(context: &Context<'_>, options: &args::Restic) -> Result<Exit, Failure> {
    let started = Instant::now();
    let target = context.open()?;
    context.is_met(target.backend(), target.id())?;
    let mut restic = open(context, options)?;
    let snapshots = restic.snapshots()?;
    for (object, why) in &restic.problems {
        context.report.warn(&format!("{object} of the restic repository cannot be read: {why}"));
    }
    let chosen = chosen(&snapshots, &options.snapshots)?;
    let there = (context, &target);
    let (making, client, _, history) = Makings::begin(context, there, options.dry_run, options.wait.0)?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let how = How { threads, wait: options.wait.0, trusts: true, compression: options.compression };
    let mut importer = Importer::new((&restic, &snapshots), (&target, &client, &history), how, &options.label);
    let mut summary = CopySummary { dry_run: options.dry_run, ..CopySummary::default() };
    for snapshot in chosen {
        if importer.copy_of(snapshot).is_some() {
            summary.already_there += 1;
            continue;
        }
        let import = |progress: &_| importer.import(snapshot, progress, &making.interrupted);
        let made = making.make("import", Counts::default(), import)?;
        summary.copied.push(CopiedRow::of_restic(snapshot, made.as_ref()));
        if let Some(paths) = snapshot.paths_cut {
            let (id, above) = (&snapshot.id[..8], PathField([b"/", &snapshot.paths[0][..]].concat()).human());
            let note = format!(
                "snapshot {id} of restic has {paths} paths, more than a copy can hold; the copy names only {above}"
            );
            context.report.note(&note);
        }
    }
    if !options.dry_run {
        context.remember(target.store().as_ref(), target.state_dir(), CLIENTS)?;
        keep_reserve(target.backend(), summary.copied.iter().map(|row| row.bytes_stored).sum());
    }
    let lacks = !restic.problems.is_empty() || summary.copied.iter().any(|row| row.errors > 0);
    summary.seconds = started.elapsed().as_secs_f64();
    context.report.answer(&summary)?;
    if lacks {
        context.report.note("\"restic check --read-data\" finds all that is damaged there");
    }
    Ok(if lacks { Exit::Damage } else { context.exit_of(&history) })
}

fn open(context: &Context<'_>, options: &args::Restic) -> Result<Restic, Failure> {
    let location = Location::parse(Some(&options.from))?;
    let backend = match Backend::open(&location, &context.backend_options()) {
        Err(BackendError::Absent(_)) => return Err(ResticError::Absent.into()),
        backend => backend?,
    };
    if backend.is_behind_gateway() {
        let why = format!("{location} is no place of a restic repository: name a directory, sftp://… or s3://…");
        return Err(Failure::Usage(why));
    }
    let global = Global { password_file: options.from_password_file.clone(), ..context.global.without_secret() };
    let password = context.other(&global, &OF_RESTIC).secrets().existing(&mut Terminal)?;
    Ok(Restic::open(backend.store(), password.expose().as_bytes())?)
}

fn chosen<'s>(snapshots: &'s [ResticSnapshot], named: &[String]) -> Result<Vec<&'s ResticSnapshot>, Failure> {
    for wanted in named {
        if !snapshots.iter().any(|snapshot| snapshot.id.starts_with(wanted)) {
            return Err(ResticError::NoSnapshot(wanted.clone()).into());
        }
    }
    let is_chosen = |snapshot: &&ResticSnapshot| named.iter().any(|wanted| snapshot.id.starts_with(wanted));
    Ok(snapshots.iter().filter(|snapshot| named.is_empty() || is_chosen(snapshot)).collect())
}

/// The kinds of metadata that an archive has.
const SEEN: [MetadataSeen; 5] =
    [MetadataSeen::OWNERS, MetadataSeen::MODES, MetadataSeen::XATTRS, MetadataSeen::HOLES, MetadataSeen::HARDLINKS];
const BUFFER: usize = 1 << 20;
