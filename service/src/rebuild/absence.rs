//! Absence: what is not there, and whether a prune has deleted it or it was lost. A prune records every name before it
//! deletes; so a pack that is gone and stands in no record was lost, and with it what kept snapshots need.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::{DomainId, ObjectHash, PackId};
use copal_engine::layout::{self, Place};
use copal_engine::state::{PackRecord, RunKind, RunReader, StateFold};

use super::Report;
use super::chains::Chain;
use super::contents::{Found, named_by};
use crate::error::JobError;
use crate::host::Host;
use crate::objects;

/// What became of the packs that are not there.
#[derive(Default)]
pub(super) struct Absence {
    /// Domains of which a pack is gone that nobody has deleted.
    bereft: BTreeSet<DomainId>,
    /// Domains of which packs were deleted.
    pruned: BTreeSet<DomainId>,
    /// Whether a pack is there of which nobody can tell what it held, or for whom.
    is_unsure: bool,
}

impl Absence {
    /// Looks for every pack that a manifest or a surviving run of the state names. Only the latter know what prunes have
    /// moved.
    pub(super) fn find(
        recorded: &[(PackId, PackRecord)],
        chains: &[Chain],
        packs: &BTreeMap<PackId, Found>,
        deleted: &BTreeSet<String>,
        report: &mut Report,
    ) -> Self {
        let is_unread = |(name, _): &(String, String)| name.starts_with("moved/");
        let mut absence = Self { is_unsure: report.packs_left_out.iter().any(is_unread), ..Self::default() };
        let mut known: BTreeMap<String, (PackId, BTreeSet<DomainId>)> = BTreeMap::new();
        for (id, domains) in named_by(chains) {
            known.insert(layout::pack(Place::Packs, id), (id, domains));
        }
        for (id, PackRecord { place, domain, .. }) in recorded {
            known.entry(layout::pack(*place, *id)).or_insert_with(|| (*id, BTreeSet::new())).1.insert(*domain);
        }
        for (name, (id, domains)) in known {
            if deleted.contains(&name) {
                absence.pruned.extend(domains);
            } else if !packs.contains_key(&id) {
                absence.bereft.extend(domains);
                report.packs_lost.push(name);
            }
        }
        absence
    }

    /// Whether what is absent from a domain was deleted, as far as its packs tell.
    pub(super) fn is_by_prune(&self, domain: DomainId) -> bool {
        !self.is_unsure && !self.bereft.contains(&domain) && self.pruned.contains(&domain)
    }
}

/// The packs in those runs of the state that can be read, whichever root names them; each once for every run that does.
pub(super) async fn recorded(host: &Host<'_>) -> Result<Vec<(PackId, PackRecord)>, JobError> {
    let mut packs = Vec::new();
    for listed in objects::list(host.store, "state/").await? {
        let name = listed.key.as_str();
        let Some(hash) = name.rsplit('/').next().and_then(|hash| ObjectHash::from_hex(hash).ok()) else { continue };
        let bytes = match objects::map_hashed(host.store, name, hash).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(error) => {
                error.blame()?;
                continue;
            }
        };
        let Ok(run) = RunReader::parse(&bytes) else { continue };
        let mut fold = StateFold::default();
        if run.kind() == RunKind::Packs && fold.add(&run).is_ok() {
            packs.extend(fold.finish().packs);
        }
    }
    packs.sort_unstable_by_key(|(id, record)| (*id, record.place, record.domain, record.is_forged()));
    packs.dedup_by_key(|(id, record)| (*id, record.place, record.domain, record.is_forged()));
    Ok(packs)
}
