//! `find`: searches snapshots for entries that match a pattern.

use copal_client::history::{self, History, Snapshot};
use copal_client::reader::PageReader;
use copal_client::repository::Repository;
use copal_format::id::DomainId;
use copal_format::path::TreePath;
use copal_jobs::view::View;

use super::context::Context;
use crate::args::look::Find;
use crate::exit::Exit;
use crate::look::search::{self, Search};
use crate::look::{hidden, row};
use crate::pick;
use crate::report::Failure;
use crate::report::clients::SignerField;
use crate::report::human;
use crate::report::rows::FindRow;

pub(super) fn run(context: &Context<'_>, options: &Find) -> Result<Exit, Failure> {
    let pattern = search::pattern(&options.glob)?;
    let (repository, view, history) = context.read()?;
    let readers = Readers::of(&repository, &view, &history);
    let places = chosen(context, &repository, options, (&view, &history))?;
    let mut lines = context.report.lines();
    let (mut lost, mut is_found) = (Vec::new(), false);
    for (domain, pages) in &readers.0 {
        let mut search = Search::new(pages, &pattern, &options.wanted);
        for (snapshot, directory) in places.iter().filter(|(snapshot, _)| snapshot.domain == *domain) {
            let signer = SignerField::of(snapshot);
            let unread = search.run(snapshot.root, directory, |entry| {
                is_found = true;
                let row = FindRow { snapshot: snapshot.id, signer: signer.clone(), entry: row(entry) };
                if options.long { lines.columns(&row) } else { lines.row(&row) }
            })?;
            lost.extend(unread.into_iter().map(|(range, why)| (snapshot.id.short(), hidden(&range, &why))));
        }
    }
    lines.finish()?;
    if !is_found {
        let searched = human::things(places.len() as u64, "snapshot", "snapshots");
        context.report.note(&format!("nothing found in {searched}"));
    }
    for (snapshot, what) in &lost {
        context.report.warn(&format!("snapshot {snapshot}: {what}"));
    }
    Ok(if lost.is_empty() { context.exit_of(&history) } else { Exit::Damage })
}

struct Readers(Vec<(DomainId, PageReader)>);

impl Readers {
    fn of(repository: &Repository, view: &View, history: &History) -> Self {
        let mut domains: Vec<DomainId> = history.snapshots.iter().map(|snapshot| snapshot.domain).collect();
        domains.sort_unstable();
        domains.dedup();
        Self(domains.into_iter().map(|domain| (domain, history::pages(repository, view, domain))).collect())
    }
}

/// The snapshots to search, and the directory to search in each.
fn chosen<'h>(
    context: &Context<'_>,
    repository: &Repository,
    options: &Find,
    (view, history): (&View, &'h History),
) -> Result<Vec<(&'h Snapshot, TreePath)>, Failure> {
    if options.snapshots.is_empty() {
        let all = pick::narrowed(history, &options.narrow).into_iter();
        return Ok(all.map(|snapshot| (snapshot, TreePath::TOP)).collect());
    }
    let mut places = Vec::new();
    for spec in &options.snapshots {
        let place = context.place(repository, (view, history), spec, &options.narrow)?;
        places.push((place.snapshot, place.scope.path().clone()));
    }
    Ok(places)
}
