//! Reading: the state and the snapshots of a repository, as commands read them.

use copal_client::history::History;
use copal_client::repository::{LocalClient, Repository};
use copal_client::wait::wait;
use copal_jobs::error::JobError;
use copal_jobs::view::{self, Parts, View};

use super::super::known;
use super::Context;
use crate::args::look::Narrow;
use crate::exit::Exit;
use crate::pick::{self, Here};
use crate::report::Failure;

impl Context<'_> {
    /// Opens the repository, and reads its newest state and its snapshots.
    pub(in crate::commands) fn read(&self) -> Result<(Repository, View, History), Failure> {
        let repository = self.open()?;
        let view = self.view(&repository)?;
        let history = self.listing(&repository, &view)?;
        Ok((repository, view, history))
    }

    /// Reads the newest state, with all indexes.
    pub(in crate::commands) fn view(&self, repository: &Repository) -> Result<View, Failure> {
        wait(view::read(repository.store().as_ref())).map_err(Failure::from)
    }

    /// Like [`Self::view`], but without indexes, which may be large or damaged; for commands that look up no chunk.
    pub(in crate::commands) fn records(&self, repository: &Repository) -> Result<View, Failure> {
        wait(view::read_parts(repository.store().as_ref(), &Parts::RECORDS)).map_err(Failure::from)
    }

    /// Reads the snapshots. Warns about lost objects and about manifests that cannot be listed.
    pub(in crate::commands) fn history(&self, repository: &Repository, view: &View) -> Result<History, Failure> {
        self.reported(repository, view, || History::renew(repository, view, &[]))
    }

    /// Like [`Self::history`], but of a remote repository it opens only manifests that are new to this machine. For
    /// commands that only read: one that forgets must not count on a manifest that is damaged since.
    pub(in crate::commands) fn listing(&self, repository: &Repository, view: &View) -> Result<History, Failure> {
        self.reported(repository, view, || History::read(repository, view))
    }

    fn reported(
        &self,
        repository: &Repository,
        view: &View,
        read: impl FnOnce() -> Result<History, JobError>,
    ) -> Result<History, Failure> {
        let lost = self.tell_lost(repository, view)?;
        let mut history = read()?;
        for (object, why) in &history.problems {
            self.report.warn(&format!("{object} cannot be listed: {why}"));
        }
        if !history.problems.is_empty() {
            self.report.note("\"copal check --full\" finds all that is damaged; what can be listed is not affected");
        }
        known::keep(&self.places()?, repository, &history);
        history.problems.extend(lost);
        Ok(history)
    }

    /// Like [`Self::lost`], and warns about each lost object.
    pub(in crate::commands) fn tell_lost(
        &self,
        repository: &Repository,
        view: &View,
    ) -> Result<Vec<(String, String)>, Failure> {
        let lost = self.lost(repository, view)?;
        for (object, why) in &lost {
            self.report.warn(&format!("{object} is lost: {why}"));
        }
        Ok(lost)
    }

    /// Notes which write-only clients claim the host asked for: only `--client` finds their snapshots.
    pub(in crate::commands) fn note_claimants(&self, history: &History, narrow: &Narrow) {
        for client in pick::claimants(history, narrow).values() {
            let (who, id) = (client.human(), client.client.short());
            self.report.note(&format!("client {who} is not that host; \"--client {id}\" takes its snapshots"));
        }
    }

    pub(in crate::commands) fn here(&self, repository: &Repository) -> Here {
        Here { host: self.this_host(), client: LocalClient::id_in(repository.state_dir()) }
    }

    /// The exit code of a command that succeeded: damage if some snapshots could not be read.
    pub(in crate::commands) fn exit_of(&self, history: &History) -> Exit {
        if history.problems.is_empty() { Exit::Done } else { Exit::Damage }
    }
}
