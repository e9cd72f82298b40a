//! `import restic`: copies the snapshots of a repository of restic.

use std::time::{Duration, Instant};

use copal_client::backend::{Backend, BackendError};
use copal_client::compression::Compression;
use copal_client::copy::How;
use copal_client::import::Importer;
use copal_client::location::Location;
use copal_client::restic::{Restic, ResticError, ResticSnapshot};
use copal_format::snapshot::Counts;

use super::backup::keep_reserve;
use super::context::{CLIENTS, Context};
use super::copy::Makings;
use crate::args::global::Global;
use crate::args::import::Restic as Options;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::copy::{CopiedRow, CopySummary};
use crate::secrets::{OF_RESTIC, Terminal};

pub(super) fn run(context: &Context<'_>, options: &Options) -> Result<Exit, Failure> {
    let started = Instant::now();
    let target = context.open()?;
    context.is_met(target.backend(), target.id(), false)?;
    let mut restic = open(context, options)?;
    let snapshots = restic.snapshots()?;
    for (object, why) in &restic.problems {
        context.report.warn(&format!("{object} of the restic repository cannot be read: {why}"));
    }
    let chosen = chosen(&snapshots, &options.snapshots)?;
    let client = context.client(&target)?;
    let making = Makings::watch(context)?;
    let now = match options.dry_run {
        true => context.view(&target)?,
        false => context.settled(&target, &client, options.wait.0, &making.interrupted)?,
    };
    let history = context.history(&target, &now)?;
    let how = how(options.wait.0, options.compression);
    let mut importer = Importer::new((&restic, &snapshots), (&target, &client, &history), how, &options.label);
    let mut summary = CopySummary { dry_run: options.dry_run, ..CopySummary::default() };
    for snapshot in chosen {
        if importer.copy_of(snapshot).is_some() {
            summary.already_there += 1;
        } else if options.dry_run {
            summary.copied.push(CopiedRow::of_restic(snapshot, None));
        } else {
            let made = making.make("import", Counts::default(), |progress| {
                importer.import(snapshot, progress, &making.interrupted)
            })?;
            summary.copied.push(CopiedRow::of_restic(snapshot, Some(&made)));
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

fn open(context: &Context<'_>, options: &Options) -> Result<Restic, Failure> {
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

/// The snapshots that are named, or all; the oldest first.
fn chosen<'s>(snapshots: &'s [ResticSnapshot], named: &[String]) -> Result<Vec<&'s ResticSnapshot>, Failure> {
    for wanted in named {
        if !snapshots.iter().any(|snapshot| snapshot.id.starts_with(wanted)) {
            return Err(Failure::NoSnapshot { wanted: wanted.clone() });
        }
    }
    let is_chosen = |snapshot: &&ResticSnapshot| named.iter().any(|wanted| snapshot.id.starts_with(wanted));
    Ok(snapshots.iter().filter(|snapshot| named.is_empty() || is_chosen(snapshot)).collect())
}

fn how(wait: Duration, compression: Compression) -> How {
    How { threads: std::thread::available_parallelism().map_or(2, usize::from), wait, trusts: true, compression }
}
