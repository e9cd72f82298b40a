//! Place: resolves `SNAPSHOT[:PATH]`, and says which snapshot `latest` is where several could be meant.

use std::collections::HashSet;

use copal_client::history::{History, Snapshot, pages};
use copal_client::reader::PageReader;
use copal_client::repository::Repository;
use copal_client::restore::{Scope, ScopeError, SpecPath};
use copal_format::path::TreePath;
use copal_jobs::view::View;

use super::context::Context;
use crate::args::look::Narrow;
use crate::args::spec::{SnapshotSpec, Which};
use crate::pick::{self, Here, Intent};
use crate::report::Failure;
use crate::report::rows::SnapshotRow;

pub(super) struct Place<'h> {
    pub(super) snapshot: &'h Snapshot,
    pub(super) pages: PageReader,
    pub(super) scope: Scope,
}

impl Context<'_> {
    /// Resolves a snapshot and the path in it. `latest` is the newest snapshot that holds the path.
    pub(super) fn place<'h>(
        &self,
        repository: &Repository,
        (view, history): (&View, &'h History),
        spec: &SnapshotSpec,
        narrow: &Narrow,
    ) -> Result<Place<'h>, Failure> {
        let here = self.here(repository);
        let found = pick::find(history, &spec.which, narrow, &here, Intent::Read);
        let found = found.inspect_err(|_| self.note_claimants(history, narrow))?;
        let mut newest = None;
        let mut tried = HashSet::new();
        for &snapshot in &found {
            if tried.len() == TREES || !tried.insert((snapshot.root, &snapshot.info.paths)) {
                continue;
            }
            let pages = pages(repository, view, snapshot.domain);
            match locate(&pages, snapshot, spec.path.as_ref()) {
                Ok(scope) => {
                    self.note_latest(&spec.which, (snapshot, &scope), &found, narrow, &here);
                    return Ok(Place { snapshot, pages, scope });
                }
                Err(absent @ Failure::NotInSnapshot { .. }) => newest = newest.or(Some(absent)),
                Err(failure) => return Err(failure),
            }
        }
        Err(newest.expect("what is found is not empty"))
    }

    /// Resolves a snapshot. For a change it is never another machine's, unless the user names that machine or snapshot.
    pub(super) fn snapshot<'h>(
        &self,
        here: &Here,
        history: &'h History,
        which: &Which,
        narrow: &Narrow,
        intent: Intent,
    ) -> Result<&'h Snapshot, Failure> {
        let found = pick::find(history, which, narrow, here, intent)?;
        self.note_latest(which, (found[0], &Scope::whole()), &found, narrow, here);
        Ok(found[0])
    }

    /// Notes which snapshot `latest` is, unless nothing else could be meant.
    fn note_latest(
        &self,
        which: &Which,
        (chosen, scope): (&Snapshot, &Scope),
        found: &[&Snapshot],
        narrow: &Narrow,
        here: &Here,
    ) {
        if *which != Which::Latest {
            return;
        }
        let newest = pick::newest(found);
        let is_older = newest.iter().all(|snapshot| snapshot.id != chosen.id);
        // The sources of a series say whether it can hold the path, but only if those of the chosen snapshot do.
        let may_hold = |other: &Snapshot| !may_hold(chosen, scope.path()) || may_hold(other, scope.path());
        let others = newest.into_iter().filter(|other| other.series() != chosen.series() && may_hold(other));
        let others: Vec<SnapshotRow> = others.map(SnapshotRow::from).collect();
        let is_foreign = !narrow.names_machines() && !here.has_signed(chosen);
        if is_foreign || is_older || !others.is_empty() {
            let host = is_foreign.then_some(here.host.as_str());
            self.report.note(&SnapshotRow::from(chosen).as_latest(host, is_older, &others));
        }
    }
}

/// The part of a snapshot that a path names; the whole without a path.
pub(super) fn locate(pages: &PageReader, snapshot: &Snapshot, path: Option<&SpecPath>) -> Result<Scope, Failure> {
    let Some(path) = path else { return Ok(Scope::whole()) };
    Scope::find(pages, snapshot.root, path, &snapshot.sources()).map_err(|error| match error {
        ScopeError::Absent => {
            let path = match path {
                SpecPath::Absolute(wanted) => [b"/", wanted.as_bytes()].concat(),
                SpecPath::Relative(wanted) => wanted.as_bytes().to_vec(),
            };
            Failure::NotInSnapshot { path, snapshot: snapshot.id }
        }
        ScopeError::Lost(error) => error.into(),
        ScopeError::Tree(error) => error.into(),
    })
}

/// Whether a path may lie in what was backed up, or above it.
fn may_hold(snapshot: &Snapshot, path: &TreePath) -> bool {
    snapshot.sources().iter().any(|source| path.is_within(source) || source.is_within(path))
}

/// Different trees that are searched for a path, the newest first.
const TREES: usize = 100;
