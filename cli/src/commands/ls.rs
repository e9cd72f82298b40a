//! `ls`: lists a directory of a snapshot.

use super::context::Context;
use super::place::Place;
use crate::args::look::Ls;
use crate::exit::Exit;
use crate::look::listing::{Depth, Listing};
use crate::look::{hidden, row, troubles};
use crate::report::rows::{LongLsRow, LsRow};
use crate::report::{Failure, Lines};

pub(super) fn run(context: &Context<'_>, options: &Ls) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let view = context.view(&repository)?;
    let history = context.history(&repository, &view)?;
    let place = context.place(&repository, (&view, &history), &options.snapshot, &options.narrow)?;
    let Place { snapshot, pages, scope } = place;
    let mut lines = context.report.lines();
    if !scope.is_directory() {
        let entry = scope.entries(&pages, snapshot.root).next()?;
        entry.map_or(Ok(()), |entry| write(&mut lines, row(&entry), options.long))?;
        lines.finish()?;
        return Ok(context.exit_of(&history));
    }
    let depth = if options.recursive { Depth::Everything } else { Depth::Children };
    let mut listing = Listing::new(&pages, snapshot.root, scope.path().clone(), depth);
    while let Some(entry) = listing.next_readable()? {
        write(&mut lines, row(&entry), options.long)?;
    }
    lines.finish()?;
    troubles(&snapshot.info).iter().for_each(|trouble| context.report.note(trouble));
    for (range, why) in listing.lost() {
        context.report.warn(&hidden(range, why));
    }
    Ok(if listing.lost().is_empty() { context.exit_of(&history) } else { Exit::Damage })
}

fn write(lines: &mut Lines, row: LsRow, long: bool) -> Result<(), Failure> {
    if long { lines.row(&LongLsRow(row)) } else { lines.row(&row) }
}
