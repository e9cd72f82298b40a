//! `dump`: writes a file or directory of a snapshot to standard output.

use copal_client::dump::dump_file;
use copal_format::tree::EntryKind;

use super::archive;
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
        exit = archive::write(context, &place, options.format.unwrap_or(Form::Tar), lines.raw())?;
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
