//! Keeping: the policy in force, what another policy would let go, and holds. Uses the functions and facts of the
//! service.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use copal_engine::retention::{Held, Protection, Signed, Weighed, expirable, held, protected, protected_if, weigh};
use copal_format::change::Change;
use copal_format::id::{ClientId, ObjectHash, RepositoryId, SnapshotId, TagId};
use copal_format::layout;
use copal_format::policy::{
    Count, Floor, Hold, Lingering, Period, Periods, Policy, SignedPolicy, Span, USUAL_CHECK_PARTS, USUAL_GRACE,
};
use copal_format::repository::Descriptor;
use copal_format::root::Root;
use copal_format::state::{RunKind, RunReader, SnapshotRecord, SnapshotState, fold_snapshots};
use copal_format::time::Time;

use crate::fault::{Code, Fault};
use crate::newest::{Newest, Read, named, present};

/// The policy in force, and the snapshots that it is about.
#[derive(Debug)]
pub struct Keeping {
    repository: RepositoryId,
    owner_key: [u8; 32],
    newest: Newest,
    runs: BTreeMap<ObjectHash, Vec<u8>>,
    snapshots: Snapshots,
    policy: Option<SignedPolicy>,
}

/// The part of a policy that a person sets in the page. The rest stays as in the policy in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The counted rules.
    pub counts: Periods<Count>,
    /// Keeps everything not older, counted back from the newest.
    pub within: Option<Span>,
    /// The least that every series keeps.
    pub floor: Floor,
    /// Sets of tags: a snapshot with all tags of one set is kept. None: as in the policy in force.
    pub tags: Option<Vec<Vec<TagId>>>,
    /// When a snapshot is suspicious. None: as in the policy in force.
    pub hold: Option<Option<Hold>>,
    /// How long prune keeps unreferenced data. None: as in the policy in force.
    pub grace: Option<Duration>,
    /// The time zone in which days begin, in POSIX form. None: as in the policy in force.
    pub zone: Option<String>,
}

/// What the policy in force says about snapshots if they are forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// How long prune keeps unreferenced data; none without a policy.
    pub grace: Option<Duration>,
    /// The snapshots whose data stays nevertheless.
    pub stays: Vec<(SnapshotId, Protection)>,
}

/// What would become of the snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foresight {
    /// Each kept snapshot, and whether it expires or what keeps it.
    pub weighed: Vec<Weighed>,
    /// Those that only the guard of a replaced policy still keeps.
    pub later: BTreeSet<SnapshotId>,
    /// Forgotten snapshots that prune may not remove now, but may after the change.
    pub freed: Vec<SnapshotId>,
    /// The suspicious snapshots that hold their series.
    pub held: Vec<Held>,
    /// The guard of replaced policies that counts too.
    pub lingers: Option<Lingering>,
}

type Snapshots = BTreeMap<(ClientId, u64), SnapshotRecord>;

impl Keeping {
    /// The repository at the root with this name; `None` if it has no roots. The host first supplies what
    /// [`Keeping::needs`] returns until nothing is needed.
    pub fn new(descriptor: &Descriptor, root_key: Option<&str>) -> Result<Self, Fault> {
        let (runs, snapshots, policy) = Default::default();
        let Descriptor { repository, owner_key, .. } = *descriptor;
        Ok(Self { repository, owner_key, newest: Newest::new(root_key)?, runs, snapshots, policy })
    }

    /// The next reads: the root, and the runs of snapshots that it names.
    pub fn needs(&self) -> Vec<Read> {
        let missing = self.run_names().filter(|hash| !self.runs.contains_key(hash));
        self.newest.needs().into_iter().chain(missing.map(|hash| Read::whole(layout::state(hash)))).collect()
    }

    /// Takes an object that was needed; `None` if it does not exist.
    pub fn supply(&mut self, key: &str, bytes: Option<Vec<u8>>) -> Result<(), Fault> {
        let bytes = present(key, bytes)?;
        if key.starts_with("roots/") {
            self.newest.supply(key, &bytes)?;
        } else {
            self.runs.insert(named(key, &bytes)?, bytes);
        }
        let runs: Option<Vec<&Vec<u8>>> = self.run_names().map(|hash| self.runs.get(&hash)).collect();
        let runs = runs.unwrap_or_default().into_iter().map(|run| RunReader::parse(run));
        self.snapshots = fold_snapshots(runs.collect::<Result<Vec<_>, _>>()?)?;
        Ok(())
    }

    fn run_names(&self) -> impl Iterator<Item = ObjectHash> + '_ {
        let runs = self.root().into_iter().flat_map(|root| &root.runs);
        runs.filter(|run| run.kind == RunKind::Snapshots).map(|run| run.hash)
    }

    /// The root; none for a repository without roots.
    pub fn root(&self) -> Option<&Root> {
        self.newest.root.as_ref().map(|(root, _)| root)
    }

    /// How many snapshots are kept.
    pub fn kept(&self) -> u64 {
        let is_kept = |record: &SnapshotRecord| record.state == SnapshotState::Kept && !record.partial;
        self.snapshots.values().filter(|record| is_kept(record)).count() as u64
    }

    /// The name of the change with the policy in force; none without a policy.
    pub fn policy_name(&self) -> Option<String> {
        self.change().map(layout::change)
    }

    /// The number of that change.
    pub fn change(&self) -> Option<u64> {
        self.root()?.policy.map(|(number, _)| number)
    }

    /// Takes the change that [`Keeping::policy_name`] names: it must be the one that the root names, and signed by the
    /// owner.
    pub fn supply_policy(&mut self, change: Option<&[u8]>) -> Result<(), Fault> {
        let Some((number, hash)) = self.root().and_then(|root| root.policy) else { return Ok(()) };
        let damaged = |why| Fault::new(Code::Damaged, format!("{} {why}", layout::change(number)));
        let change = Change::vouched(number, hash, change.ok_or_else(|| damaged("is gone"))?)?;
        if !change.is_signed_by_owner(self.repository, &self.owner_key) {
            return Err(damaged("is not signed by the owner"));
        }
        self.policy = Some(change.owner_policy().ok_or_else(|| damaged("holds no policy"))?);
        Ok(())
    }

    /// The policy in force; none if there never was one.
    pub fn policy(&self) -> Result<Option<&SignedPolicy>, Fault> {
        if self.change().is_some() && self.policy.is_none() {
            return Err(Fault::misuse("the change with the policy is to be read first"));
        }
        Ok(self.policy.as_ref())
    }

    /// The guard of replaced policies that still counts.
    pub fn lingers(&self, now: Time) -> Option<Lingering> {
        self.root().and_then(|root| root.lingering).filter(|lingering| lingering.lasts(now))
    }

    /// The policy in force with the guard that counts now.
    fn guarding(&self, now: Time) -> Result<Option<SignedPolicy>, Fault> {
        Ok(self.policy()?.map(|policy| Lingering::join(self.lingers(now), policy.clone(), now)))
    }

    /// The snapshots of the state, by the manifests that claim them.
    pub fn snapshots(&self) -> impl IntoIterator<Item = Signed<'_>> + Clone {
        &self.snapshots
    }

    /// The suspicious snapshots that hold their series.
    pub fn held(&self, now: Time) -> Result<Vec<Held>, Fault> {
        let policy = self.guarding(now)?;
        Ok(policy.map(|policy| held(&policy, &self.snapshots, Time(i64::MAX))).unwrap_or_default())
    }

    /// What the policy says if these snapshots are forgotten.
    pub fn guard(&self, ids: &[SnapshotId], now: Time) -> Result<Guard, Fault> {
        let Some(policy) = self.guarding(now)? else { return Ok(Guard { grace: None, stays: Vec::new() }) };
        let stays = protected_if(&policy, &self.snapshots, now, |record| ids.contains(&record.id));
        Ok(Guard { grace: Some(policy.grace()), stays })
    }

    /// The policy in force with other rules; if there is none, a new policy with the usual hold.
    pub fn with(&self, rules: &Rules) -> Result<SignedPolicy, Fault> {
        let usual = || {
            let plain = SignedPolicy::new(Policy::default(), "", USUAL_GRACE, USUAL_CHECK_PARTS)?;
            plain.with_guard(Floor::default(), Some(Hold::USUAL))
        };
        let made = |base: SignedPolicy| {
            let mut policy = base.rules().clone();
            policy.counts = rules.counts;
            policy.spans[Period::Last as usize] = rules.within;
            policy.tags = rules.tags.clone().unwrap_or(policy.tags);
            let (zone, grace) = (rules.zone.as_deref().unwrap_or(base.zone()), rules.grace.unwrap_or(base.grace()));
            let policy = SignedPolicy::new(policy, zone, grace, base.check_parts())?;
            policy.with_guard(rules.floor, rules.hold.unwrap_or(base.hold()))
        };
        let base = self.policy()?.cloned().map_or_else(usual, Ok);
        Ok(base.and_then(made)?)
    }

    /// What becomes of the snapshots if this policy is set now.
    pub fn foresee(&self, policy: &SignedPolicy, now: Time) -> Result<Foresight, Fault> {
        let lingers = self.lingers(now);
        let lingers = self.policy()?.map_or(lingers, |before| Lingering::after(lingers, before, policy, now));
        let joined = Lingering::join(lingers, policy.clone(), now);
        let foresight = self.foresight(&joined, &self.snapshots, now)?;
        let mut later = expirable(policy, &self.snapshots, now);
        for weighed in foresight.weighed.iter().filter(|weighed| weighed.expires()) {
            later.remove(&weighed.verdict.id);
        }
        Ok(Foresight { lingers, later, ..foresight })
    }

    /// What becomes of the snapshots if the owner releases some suspicious ones.
    pub fn foresee_release(&self, ids: &[SnapshotId], now: Time) -> Result<Foresight, Fault> {
        let Some(policy) = self.guarding(now)? else { return Ok(Foresight::default()) };
        let mut snapshots = self.snapshots.clone();
        for record in snapshots.values_mut().filter(|record| ids.contains(&record.id)) {
            record.released = true;
        }
        Ok(Foresight { lingers: self.lingers(now), ..self.foresight(&policy, &snapshots, now)? })
    }

    fn foresight(&self, policy: &SignedPolicy, snapshots: &Snapshots, now: Time) -> Result<Foresight, Fault> {
        let stays = protected(policy, snapshots, now);
        let today = self.guarding(now)?.map(|today| protected(&today, &self.snapshots, now)).unwrap_or_default();
        Ok(Foresight {
            weighed: weigh(policy, snapshots, now),
            later: BTreeSet::new(),
            freed: today.into_keys().filter(|id| !stays.contains_key(id)).collect(),
            held: held(policy, snapshots, Time(i64::MAX)),
            lingers: None,
        })
    }
}
