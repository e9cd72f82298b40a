//! Singly: how ingest goes on after a run that failed: it takes each client separately, so that none blocks another,
//! and skips the one that panicked or killed the process.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use copal_format::id::{ClientId, PackId};
use copal_format::receipt::{IngestBy, Outcome};
use copal_jobs::clients;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{self, Scope};
use copal_jobs::view::{self, Parts};
use futures::executor::block_on as wait;

use super::note::JobNote;
use super::watch::Stopped;
use super::work::{Indexes, Work};

/// Which clients ingest takes separately or skips.
#[derive(Debug, Default)]
pub(super) struct Care {
    /// Whether to take each client separately until all were tried.
    is_single: bool,
    /// The clients to skip, each until that time.
    aside: BTreeMap<ClientId, Instant>,
    /// Packs whose bytes were compared with their names: another manifest that names them does not have them read again.
    hashed: BTreeSet<PackId>,
}

impl Care {
    /// The start after an earlier process was killed while it ingested `what`.
    pub(super) fn after(what: Option<&str>, now: Instant) -> Self {
        let Some(what) = what else { return Self::default() };
        match ClientId::from_hex(what) {
            Ok(client) => Self { is_single: true, aside: BTreeMap::from([(client, now + REST)]), ..Self::default() },
            Err(_) => Self { is_single: true, ..Self::default() },
        }
    }

    /// The clients to skip.
    pub(super) fn aside(&self) -> impl Iterator<Item = ClientId> {
        self.aside.keys().copied()
    }

    fn is_needed(&mut self, now: Instant) -> bool {
        self.aside.retain(|_, until| *until > now);
        self.is_single || !self.aside.is_empty()
    }
}

impl Work {
    /// Ingests the uploads of these clients, or of all, and the changes.
    pub(super) fn ingest_carefully(&self, care: &mut Care, wanted: Option<&[ClientId]>) {
        if !care.is_needed(Instant::now()) {
            match self.ingest(care, wanted.map_or(Scope::All, Scope::Clients)) {
                // If the store failed, it would fail for each client too.
                Ok(()) | Err(Stopped::Failed(JobError::Store(_))) => return,
                Err(_) => {}
            }
        }
        let clients = match wanted {
            Some(clients) => clients.to_vec(),
            None => self.undecided(),
        };
        // Changes come first: no client can block them.
        let _ = self.ingest(care, Scope::Decisions);
        for client in clients {
            if care.aside.contains_key(&client) {
                continue;
            }
            if let Err(Stopped::Panicked(_)) = self.ingest(care, Scope::Client(client)) {
                care.aside.insert(client, Instant::now() + REST);
                (self.note)(&JobNote::Aside { client });
            }
        }
        care.is_single &= wanted.is_some();
    }

    fn ingest(&self, care: &mut Care, scope: Scope<'_>) -> Result<(), Stopped> {
        // Clients of a gateway leave ingest to this process, even if clients with direct access ingest themselves.
        let done = self.run("ingest", &named(scope), Indexes::Pieces, |job, _, metrics| {
            let is_hashed = |pack: &PackId| care.hashed.contains(pack);
            let done = wait(ingest::work(job, IngestBy::Service, scope, &is_hashed))?;
            if care.hashed.len() + done.hashed.len() > HASHED {
                care.hashed.clear();
            }
            care.hashed.extend(done.hashed);
            metrics.decided(&done.receipts, done.refused.len());
            for receipt in done.receipts.iter().filter(|receipt| receipt.outcome == Outcome::Rejected) {
                let words = receipt.reasons.iter().map(|(reason, text)| format!("{} ({text})", reason.text()));
                let why = words.collect::<Vec<_>>().join("; ");
                (self.note)(&JobNote::Rejected { client: receipt.client, number: receipt.number, why });
            }
            Ok(())
        });
        self.noted("ingest", done)
    }

    /// The clients with undecided manifests. Reports a failure and returns none.
    fn undecided(&self) -> Vec<ClientId> {
        let mut undecided = Vec::new();
        let done = self.run("ingest", "", Indexes::Pieces, |job, _, _| {
            undecided = wait(async {
                let heads = view::read_parts(job.store, &Parts::HEADS).await?.state.heads;
                clients::below_behind(job.store, "manifests/", &heads).await
            })?;
            Ok(())
        });
        let _ = self.noted("ingest", done);
        undecided
    }
}

/// The name of the work, for the note that stays if the run is killed.
fn named(scope: Scope<'_>) -> String {
    match scope {
        Scope::Client(client) | Scope::Clients(&[client]) => client.to_string(),
        _ => String::new(),
    }
}

/// Packs that are remembered as compared with their names; 32 bytes each. A job tells no more.
const HASHED: usize = 1 << 16;
/// How long to skip a client whose ingest panicked or was killed.
const REST: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: ClientId = ClientId([0xab; 16]);

    #[test]
    fn the_client_that_killed_a_process_rests_and_others_are_worked_alone() {
        let now = Instant::now();
        let mut care = Care::after(Some(&named(Scope::Clients(&[CLIENT]))), now);
        assert_eq!(care.aside().collect::<Vec<_>>(), [CLIENT]);
        assert!(care.is_needed(now + REST - Duration::from_secs(1)));
        care.is_single = false;
        assert!(!care.is_needed(now + REST), "it has rested");
    }

    #[test]
    fn who_killed_a_process_that_worked_several_clients_is_found_by_working_each_alone() {
        let now = Instant::now();
        let mut care = Care::after(Some(&named(Scope::All)), now);
        assert_eq!(care.aside().count(), 0);
        assert!(care.is_needed(now));
        assert!(!Care::after(None, now).is_needed(now));
    }
}
