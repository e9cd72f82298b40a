//! `dump`: writes a file or directory of a snapshot to standard output.

use std::io::Write;

use copal_client::dump::{DumpError, dump_file, dump_tar, dump_zip};
use copal_format::tree::EntryKind;

use super::context::Context;
use super::place::Place;
use crate::args::look::Dump;
use crate::args::values::Form;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::field::PathField;

pub(super) fn run(context: &Context<'_>, options: &Dump) -> Result<Exit, Failure> {
    if options.snapshot.path.is_none() {
        return Err(Failure::Usage("say what to write, like latest:docs; latest:/ is everything".into()));
    }
    let (repository, view, history) = context.read()?;
    let place = context.place(&repository, (&view, &history), &options.snapshot, &options.narrow)?;
    let mut lines = context.report.lines();
    let Place { snapshot, pages, scope } = &place;
    let mut exit = Exit::Done;
    if scope.is_directory() || options.format.is_some() {
        exit = archive(context, &place, options.format.unwrap_or(Form::Tar), lines.raw())?;
    } else {
        let entry = scope.entries(pages, snapshot.root).next()?;
        match entry {
            Some(entry) if entry.kind() == EntryKind::File => {
                dump_file(pages, &entry, lines.raw())?;
            }
            _ => {
                let path = PathField::of(scope.path()).human();
                return Err(Failure::Usage(format!("{path} is neither a file nor a directory: use --format tar")));
            }
        }
    }
    lines.finish()?;
    Ok(if exit == Exit::Done { context.exit_of(&history) } else { exit })
}

/// Writes the archive, and names what it cannot hold.
pub(super) fn archive(
    context: &Context<'_>,
    place: &Place<'_>,
    form: Form,
    out: &mut dyn Write,
) -> Result<Exit, DumpError> {
    let Place { snapshot, pages, scope } = place;
    let left_out = match form {
        Form::Tar => dump_tar(pages, snapshot.root, scope, out).map(|()| Vec::new())?,
        Form::TarZst => {
            let mut packed = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL).map_err(DumpError::Output)?;
            dump_tar(pages, snapshot.root, scope, &mut packed)?;
            packed.finish().map_err(DumpError::Output)?;
            Vec::new()
        }
        Form::Zip => dump_zip(pages, snapshot.root, scope, out)?,
    };
    for (path, why) in &left_out {
        context.report.trouble(PathField::of(path), why);
    }
    Ok(if left_out.is_empty() { Exit::Done } else { Exit::Partial })
}

const ZSTD_LEVEL: i32 = 3;
