//! Absence: whether a missing pack was deleted by a prune or lost. A prune records every name before it deletes the
//! object. So a missing pack that no record names was lost, and with it data that kept snapshots need.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use copal_format::id::{ClientId, DomainId, ObjectHash, PackId};
use copal_format::layout::{self, Place, Prunable};
use copal_format::state::{PackRecord, RunKind, RunReader, StateFold};

use super::Report;
use super::chains::Chain;
use super::contents::{Found, Named};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// The facts known about missing packs.
#[derive(Default)]
pub(super) struct Absence {
    /// Domains with a missing pack that no prune has deleted.
    bereft: BTreeSet<DomainId>,
    /// Domains with deleted packs.
    pruned: BTreeSet<DomainId>,
    /// Domains with a missing or damaged manifest, which may have named packs that nobody knows.
    torn: BTreeSet<DomainId>,
    /// Whether a lost manifest may be of any domain, or an unreadable pack exists that no manifest names.
    is_unsure: bool,
    /// Whether there are no receipts at all.
    is_unanswered: bool,
    /// Whether anything is missing or damaged besides manifests without receipts.
    is_harmed: bool,
    /// Manifests with accepted snapshots, by the runs that a root names.
    accepted: BTreeSet<(ClientId, u64)>,
}

impl Absence {
    /// Looks for every pack that a manifest or a surviving run names. Only runs name packs that prune has moved.
    pub(super) fn find(
        recorded: &Recorded,
        (chains, named): (&[Chain], &HashMap<PackId, Named>),
        (packs, unread): (&BTreeMap<PackId, Found>, &BTreeSet<PackId>),
        deleted: &BTreeSet<Prunable>,
        report: &mut Report,
    ) -> Self {
        let mut absence = Self {
            is_unanswered: chains.iter().all(|chain| chain.answered == 0),
            is_harmed: chains.iter().any(|chain| chain.is_harmed() || chain.has_lost_answers()) || !unread.is_empty(),
            accepted: recorded.accepted.clone(),
            ..Self::default()
        };
        absence.is_unsure = unread.iter().any(|id| !named.contains_key(id));
        for (client, number) in recorded.lost(chains) {
            let why = "it is not there, and a root has its snapshot";
            report.unreadable.push((layout::manifest(*client, *number), why.to_owned()));
            absence.is_unsure = true;
        }
        let mut known: BTreeMap<String, (PackId, BTreeSet<DomainId>)> = BTreeMap::new();
        for (id, of) in named {
            known.insert(layout::pack(Place::Packs, *id), (*id, of.domains.clone()));
        }
        for (id, PackRecord { place, domain, .. }) in &recorded.packs {
            known.entry(layout::pack(*place, *id)).or_insert_with(|| (*id, BTreeSet::new())).1.insert(*domain);
        }
        for (name, (id, domains)) in known {
            if Prunable::parse(&name).is_some_and(|name| deleted.contains(&name)) {
                absence.pruned.extend(domains);
            } else if !packs.contains_key(&id) {
                absence.bereft.extend(domains);
                report.packs_lost.push(name);
            }
        }
        let is_torn = |chain: &&Chain| chain.is_harmed() || absence.may_have_accepted_unproven(chain);
        let torn: Vec<Option<DomainId>> = chains.iter().filter(is_torn).map(|chain| chain.domain).collect();
        absence.is_unsure |= torn.contains(&None);
        absence.torn = torn.into_iter().flatten().collect();
        absence
    }

    /// Whether everything absent from a domain was deleted by prunes, as far as its packs show.
    pub(super) fn is_by_prune(&self, domain: DomainId) -> bool {
        !self.has_lost(domain) && self.pruned.contains(&domain)
    }

    /// Whether something that a manifest without a receipt claims may have been lost. If receipts were lost, the
    /// manifest may have been accepted. And a moved pack may be gone without a trace.
    pub(super) fn may_have_lost(&self, (chain, number): (&Chain, u64), domain: DomainId) -> bool {
        let is_told = self.accepted.contains(&(chain.client, number));
        is_told || self.has_lost(domain) || self.is_unanswered || chain.has_lost_answers()
    }

    /// Whether a manifest that cannot be verified and has no receipt may have been accepted.
    pub(super) fn may_be_accepted(&self, client: ClientId, number: u64) -> bool {
        self.is_unanswered || self.is_harmed || !self.bereft.is_empty() || self.accepted.contains(&(client, number))
    }

    fn may_have_accepted_unproven(&self, chain: &Chain) -> bool {
        let mut unproven = chain.links.iter().filter(|link| link.standing.is_unproven()).map(|link| link.number);
        unproven.any(|number| self.may_be_accepted(chain.client, number))
    }

    fn has_lost(&self, domain: DomainId) -> bool {
        self.is_unsure || self.torn.contains(&domain) || self.bereft.contains(&domain)
    }
}

/// Fails if a pack that counts as lost is there and the listing lacks it. A pack that was left out is listed.
pub(super) async fn look_up(job: &JobContext<'_>, report: &Report) -> Result<(), JobError> {
    let left_out: BTreeSet<&String> = report.packs_left_out.iter().map(|(name, _)| name).collect();
    let unlisted = report.packs_lost.iter().filter(|name| !left_out.contains(name));
    let calls = unlisted.map(|name| async move {
        // A pack that the store refuses to give is as good as lost.
        objects::prove_absent(job.store, name).await.or_else(|error| error.blame().map(drop))
    });
    objects::join(calls).await.map(drop)
}

/// The records of all readable state runs, whether a root names the run or not.
#[derive(Default)]
pub(super) struct Recorded {
    /// The packs, once for every place, domain and verdict.
    pub(super) packs: Vec<(PackId, PackRecord)>,
    /// Manifests with accepted snapshots.
    accepted: BTreeSet<(ClientId, u64)>,
}

impl Recorded {
    /// Reads all runs. Only runs that a root names prove acceptance: other runs may belong to a root that did not win.
    pub(super) async fn read(job: &JobContext<'_>, named: &BTreeSet<ObjectHash>) -> Result<Self, JobError> {
        let mut recorded = Self::default();
        for listed in objects::list(job.store, "state/").await? {
            let name = listed.key.as_str();
            let Some(hash) = name.rsplit('/').next().and_then(|hash| ObjectHash::from_hex(hash).ok()) else { continue };
            match objects::map_hashed(job.store, name, hash).await {
                Ok(Some(bytes)) => recorded.take(&bytes, named.contains(&hash)),
                Ok(None) => {}
                Err(error) => drop(error.blame()?),
            }
        }
        recorded.packs.sort_unstable_by_key(|(id, record)| (*id, record.place, record.domain, record.is_forged()));
        recorded.packs.dedup_by_key(|(id, record)| (*id, record.place, record.domain, record.is_forged()));
        Ok(recorded)
    }

    /// The manifests of accepted snapshots that have gone together with their receipts.
    fn lost<'a>(&'a self, chains: &[Chain]) -> impl Iterator<Item = &'a (ClientId, u64)> {
        let heads: BTreeMap<ClientId, u64> = chains.iter().map(|chain| (chain.client, chain.head.0)).collect();
        self.accepted.iter().filter(move |(client, number)| heads.get(client).is_none_or(|head| number > head))
    }

    fn take(&mut self, bytes: &[u8], is_named: bool) {
        let Ok(run) = RunReader::parse(bytes) else { return };
        let mut fold = StateFold::default();
        if matches!(run.kind(), RunKind::Packs | RunKind::Snapshots) && fold.add(&run).is_ok() {
            let state = fold.finish();
            self.packs.extend(state.packs);
            self.accepted.extend(state.snapshots.into_keys().filter(|_| is_named));
        }
    }
}
