//! `ls`: lists a directory of a snapshot.

use std::collections::HashSet;

use copal_client::reader::PageReader;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::Entry;

use super::context::Context;
use super::place::Place;
use crate::args::look::Ls;
use crate::exit::Exit;
use crate::look::listing::{Depth, Listing};
use crate::look::{hidden, is_directory, made_directory, row, troubles};
use crate::report::rows::LsRow;
use crate::report::{Failure, Lines};

pub(super) fn run(context: &Context<'_>, options: &Ls) -> Result<Exit, Failure> {
    let (repository, view, history) = context.read()?;
    let Place { snapshot, pages, scope } =
        context.place(&repository, (&view, &history), &options.snapshot, &options.narrow)?;
    let mut lines = context.report.lines();
    let mut lost = Vec::new();
    // Without a path the listing begins at what was backed up, not at the directories above it.
    let mut sources = if options.snapshot.path.is_none() { snapshot.sources() } else { Vec::new() };
    sources.sort();
    sources.dedup_by(|source, above| source.is_within(above));
    let mut begins = Vec::new();
    for source in &sources {
        begins.extend(entry_at(&pages, snapshot.root, source, &mut lost)?);
    }
    let has_one = sources.len() < 2 || begins.is_empty();
    if begins.is_empty() {
        let entry = entry_at(&pages, snapshot.root, scope.path(), &mut lost)?;
        begins.push(entry.unwrap_or_else(|| made_directory(scope.path().clone())));
    }
    for entry in begins {
        if !is_directory(&entry) || !has_one {
            write(&mut lines, row(&entry), options.long)?;
        }
        if is_directory(&entry) && (has_one || options.recursive) {
            let depth = if options.recursive { Depth::Everything } else { Depth::Children };
            let mut listing = Listing::new(&pages, snapshot.root, entry.path, depth);
            while let Some(entry) = listing.next_readable()? {
                write(&mut lines, row(&entry), options.long)?;
            }
            lost.extend(listing.lost().iter().map(|(range, why)| hidden(range, why)));
        }
    }
    lines.finish()?;
    troubles(&snapshot.info).iter().for_each(|trouble| context.report.note(trouble));
    // Several sources may miss the same page.
    let mut told = HashSet::new();
    lost.iter().filter(|hidden| told.insert(*hidden)).for_each(|hidden| context.report.warn(hidden));
    Ok(if lost.is_empty() { context.exit_of(&history) } else { Exit::Damage })
}

/// The entry at a path. If only entries below it can be read, an entry for their directory; if none can, nothing. Adds
/// what cannot be read to `lost`.
fn entry_at(
    pages: &PageReader,
    root: ChunkId,
    path: &TreePath,
    lost: &mut Vec<String>,
) -> Result<Option<Entry>, Failure> {
    let mut entries = pages.entries(root);
    entries.seek(path.clone());
    let first = entries.next_readable()?.filter(|entry| entry.path.is_within(path));
    lost.extend(entries.lost().iter().map(|(range, why)| hidden(range, why)));
    // A snapshot's top is a directory, whatever its writer says.
    let is_own = |first: &Entry| first.path == *path && (is_directory(first) || !path.is_top());
    Ok(first.map(|first| if is_own(&first) { first } else { made_directory(path.clone()) }))
}

fn write(lines: &mut Lines, row: LsRow, long: bool) -> Result<(), Failure> {
    if long { lines.columns(&row) } else { lines.row(&row) }
}
