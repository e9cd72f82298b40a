//! `import`: from an archive of another program to a snapshot.

use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;
use std::time::Instant;

use copal_client::backup::{Inherited, Options, Source, backup};
use copal_client::clock::now;
use copal_client::progress::Progress;
use copal_format::snapshot::MetadataSeen;
use copal_format::troubles::Troubles;

use super::backup::{keep_reserve, named, refuse_damaged, remember, summary, tell_troubles, watched};
use super::context::Context;
use super::opening::Opening;
use super::signals::watch_signals;
use crate::args::import::Tar;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::progress::kept;

pub(super) fn run(context: &Context<'_>, options: &Tar) -> Result<Exit, Failure> {
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
    context.is_met(&backend, opened.id(), false)?;
    let (access, client) = opened.used_by(context)?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let how = Options {
        inherited: Some(Inherited {
            origin: None,
            started: now(),
            metadata: SEEN.into_iter().fold(MetadataSeen::default(), MetadataSeen::union),
            troubles: Troubles::default(),
            errors: 0,
        }),
        is_dry_run: options.dry_run,
        compression: options.compression,
        wait: Some(options.wait.0),
        ..named(context, &options.naming, vec![Vec::new()], threads)
    };
    let outcome = watched(context.report, "import", &progress, || {
        backup(access, &client, &mut Source::Archive(archive), &how, &progress, &interrupted)
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

/// What an archive tells of its members.
const SEEN: [MetadataSeen; 5] =
    [MetadataSeen::OWNERS, MetadataSeen::MODES, MetadataSeen::XATTRS, MetadataSeen::HOLES, MetadataSeen::HARDLINKS];
/// Bytes of the archive that are read at once.
const BUFFER: usize = 1 << 20;
