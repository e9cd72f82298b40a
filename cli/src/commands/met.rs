//! Met: compares the repository's state with what this machine has seen of it.

use std::path::{Path, PathBuf};

use copal_client::backend::Backend;
use copal_client::met::memory_of;
use copal_client::repository::{Met, Repository, list_descriptors};
use copal_client::wait::wait;
use copal_format::layout;
use copal_jobs::error::JobError;
use copal_jobs::view::{self, Parts, View};
use copal_store::{Store, StoreError};

use super::context::{CLIENTS, Context};
use crate::report::Failure;

impl Context<'_> {
    /// Lists the parts of the state that are lost: objects that this machine has seen or that another object names,
    /// each with the reason. Every command that reads reports them. Fails if the repository has lost its whole state.
    pub(super) fn lost(&self, repository: &Repository, view: &View) -> Result<Vec<(String, String)>, Failure> {
        for why in &view.passed {
            self.report.warn(&format!("{why}: it is passed over"));
        }
        let mut lost = Vec::new();
        match wait(view::lost_newer(&repository.job(), view)) {
            Ok(None) => {}
            Ok(Some((_, evidence))) if view.root.is_none() => {
                return Err(Failure::from(JobError::StateLost { evidence }));
            }
            Ok(Some((number, evidence))) => lost.push((layout::root(number), evidence)),
            // A damaged object here might have named a newer root.
            Err(error) => lost.extend([error.blame()?]),
        }
        let store = repository.store().as_ref();
        let older = self.older(store, repository.state_dir(), view, CLIENTS)?;
        // What is damaged cannot be accepted.
        let is_root = !lost.is_empty() || older.iter().any(is_of_root);
        lost.extend(older);
        if !lost.is_empty() {
            self.report.note(&format!(
                "newer snapshots may be missing from this output: {}",
                Failure::remedy_of_older(is_root)
            ));
        }
        Ok(lost)
    }

    /// Lists the objects that are older than this machine has seen them. If there are none, or if the user accepts them,
    /// remembers the state.
    pub(super) fn older(
        &self,
        store: &dyn Store,
        state_dir: &Path,
        view: &View,
        clients: &str,
    ) -> Result<Vec<(String, String)>, Failure> {
        let memory = memory_of(state_dir, &self.location()?);
        let older = Met::older(store, &memory, view.root.as_ref(), clients)?;
        // An older root first needs a new index, whose root is numbered above all that any machine has met.
        if older.is_empty() || !self.global.another || older.iter().any(is_of_root) {
            return Ok(older);
        }
        // Another process of this machine may have remembered a newer root than that of the view.
        let view = wait(view::read_parts(store, &Parts::NOTHING))?;
        if view.number() < Met::of_machine(&memory).root_number() {
            return Ok(older);
        }
        Met::now(store, view.root.as_ref(), clients)?.keep(&memory);
        for (object, why) in older {
            self.report.note(&format!("{object} is older than it was, and accepted: {why}"));
        }
        Ok(Vec::new())
    }

    /// Fails if the state is older than one this machine has met; called before writes.
    pub(super) fn refuse_older(&self, store: &dyn Store, state_dir: &Path, clients: &str) -> Result<(), Failure> {
        let view = wait(view::read_parts(store, &Parts::NOTHING))?;
        match self.older(store, state_dir, &view, clients)?.into_iter().next() {
            Some((object, why)) => Err(Failure::Older { object, why }),
            None => Ok(()),
        }
    }

    /// Remembers the current state, after a write of this machine.
    pub(super) fn remember(&self, store: &dyn Store, state_dir: &Path, clients: &str) -> Result<(), Failure> {
        let view = wait(view::read_parts(store, &Parts::NOTHING))?;
        Met::now(store, view.root.as_ref(), clients)?.keep(&memory_of(state_dir, &self.location()?));
        Ok(())
    }

    /// This machine's state directory for the repository that `backend` holds; none if no descriptor there can be read.
    pub(super) fn state_there(&self, backend: &Backend) -> Result<Option<PathBuf>, Failure> {
        let descriptors = list_descriptors(backend.store().as_ref())?;
        let newest = descriptors.iter().rev().find_map(|(_, read)| read.as_ref().ok());
        newest.map(|descriptor| Ok(self.places()?.state_of(descriptor.repository))).transpose()
    }

    /// Like [`Self::older`], through the other machine of an `ssh://` repository. Needs no key where nothing was met.
    pub(super) fn older_there(&self, backend: &Backend) -> Result<Vec<(String, String)>, Failure> {
        if self.met().is_empty() {
            return Ok(Vec::new());
        }
        let Some(state_dir) = self.state_there(backend)? else { return Ok(Vec::new()) };
        match wait(view::read_parts(backend.store().as_ref(), &Parts::NOTHING)) {
            Ok(view) => self.older(backend.store().as_ref(), &state_dir, &view, CLIENTS),
            Err(JobError::Store(StoreError::Denied { .. })) => {
                self.report
                    .note("without its key this machine cannot tell whether the repository is older than it was");
                Ok(Vec::new())
            }
            // The job reports what is wrong with the state.
            Err(_) => Ok(Vec::new()),
        }
    }
}

fn is_of_root((object, _): &(String, String)) -> bool {
    layout::root_number(object).is_some()
}
