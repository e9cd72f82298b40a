//! `ls`: lists a directory of a snapshot.

use copal_client::restore::{Scope, SpecPath};
use copal_format::path::TreePath;

use super::context::Context;
use super::place::{Place, locate};
use crate::args::look::Ls;
use crate::exit::Exit;
use crate::look::listing::{Depth, Listing};
use crate::look::{hidden, row, troubles};
use crate::report::rows::LsRow;
use crate::report::{Failure, Lines};

pub(super) fn run(context: &Context<'_>, options: &Ls) -> Result<Exit, Failure> {
    let (repository, view, history) = context.read()?;
    let place = context.place(&repository, (&view, &history), &options.snapshot, &options.narrow)?;
    let Place { snapshot, pages, scope } = &place;
    let mut lines = context.report.lines();
    let mut lost = Vec::new();
    // Without a path the listing begins at what was backed up, not at the directories above it.
    let mut sources = if options.snapshot.path.is_none() { snapshot.sources() } else { Vec::new() };
    sources.sort();
    sources.dedup_by(|source, above| source.is_within(above));
    let mut scopes: Vec<Scope> = sources.iter().filter_map(|source| source_of(&place, source)).collect();
    if scopes.is_empty() {
        scopes.push(scope.clone());
    }
    let has_one = sources.len() < 2;
    for scope in scopes {
        if !scope.is_directory() || !has_one {
            let entry = scope.entries(pages, snapshot.root).next()?;
            entry.map_or(Ok(()), |entry| write(&mut lines, row(&entry), options.long))?;
        }
        if scope.is_directory() && (has_one || options.recursive) {
            let depth = if options.recursive { Depth::Everything } else { Depth::Children };
            let mut listing = Listing::new(pages, snapshot.root, scope.path().clone(), depth);
            while let Some(entry) = listing.next_readable()? {
                write(&mut lines, row(&entry), options.long)?;
            }
            lost.extend(listing.lost().iter().map(|(range, why)| hidden(range, why)));
        }
    }
    lines.finish()?;
    troubles(&snapshot.info).iter().for_each(|trouble| context.report.note(trouble));
    lost.iter().for_each(|hidden| context.report.warn(hidden));
    Ok(if lost.is_empty() { context.exit_of(&history) } else { Exit::Damage })
}

/// A path that was backed up; none if nothing of it was saved. If it cannot be looked for, the whole snapshot: the
/// listing then reports what cannot be read.
fn source_of(place: &Place<'_>, source: &TreePath) -> Option<Scope> {
    let path = SpecPath::Absolute(source.clone());
    match locate(&place.pages, place.snapshot, Some(&path)) {
        Err(Failure::NotInSnapshot { .. }) => None,
        found => Some(found.unwrap_or_else(|_| Scope::whole())),
    }
}

fn write(lines: &mut Lines, row: LsRow, long: bool) -> Result<(), Failure> {
    if long { lines.columns(&row) } else { lines.row(&row) }
}
