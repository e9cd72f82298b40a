//! Holdings: the packs that a root names, as quotas ask for them. A newer root costs only the runs that it does not
//! share with the one before, however many packs there are.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use copal_format::id::{DomainId, ObjectHash, PackId};
use copal_format::state::{PackRecord, RunReader};
use copal_format::time::Time;
use copal_format::wire::DecodeError;

use super::age::{AHEAD, DAY};

/// The packs of a root's runs, and the bytes of each domain.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    /// The runs, the newest first. The first run that names a pack counts.
    runs: Vec<(ObjectHash, Arc<PackRun>)>,
    domains: HashMap<DomainId, Sums>,
}

/// The packs of one run, ascending by id; 44 bytes for each.
#[derive(Debug)]
pub(super) struct PackRun(Vec<(Short, Option<Held>)>);

/// The first half of a pack's id: nobody makes two packs that share it.
type Short = [u8; 16];

/// What quotas need to know about a pack.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Held {
    domain: DomainId,
    /// In bytes; a pack is far below 4 GiB.
    length: u32,
    /// The minute in which it was accepted, since 1970.
    accepted: u32,
}

/// The bytes of a domain's packs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums {
    all: u64,
    /// Those accepted within the last [`RECENT`], by the minute.
    recent: BTreeMap<u32, u64>,
}

impl PackRun {
    /// Reads a run of packs, and keeps what quotas need.
    pub(super) fn of(run: &RunReader<'_>) -> Result<Self, DecodeError> {
        let packs = run.records().map(|(key, value)| {
            let id = PackId::from_slice(key).ok_or_else(|| DecodeError::new(0, "a run's key has the wrong form"))?;
            let record = value.map(PackRecord::decode).transpose()?;
            Ok((short(&id), record.map(|record| Held::of(&record))))
        });
        let mut packs = packs.collect::<Result<Vec<_>, DecodeError>>()?;
        // An unchecked store may hold two ids with the same first half: either of them counts.
        packs.dedup_by_key(|(id, _)| *id);
        Ok(Self(packs))
    }

    fn get(&self, id: &Short) -> Option<Option<Held>> {
        let at = self.0.binary_search_by(|(other, _)| other.cmp(id)).ok()?;
        Some(self.0[at].1)
    }
}

impl Holdings {
    /// The run of this name, if this root has it.
    pub(super) fn run(&self, hash: ObjectHash) -> Option<Arc<PackRun>> {
        self.runs.iter().find(|(name, _)| *name == hash).map(|(_, run)| run.clone())
    }

    /// The holdings of a root with these runs, the newest first. The minutes with sums end at `now`.
    pub(super) fn followed_by(&self, runs: Vec<(ObjectHash, Arc<PackRun>)>, now: Time) -> Self {
        let pairs = self.runs.iter().rev().zip(runs.iter().rev());
        let shared = pairs.take_while(|(old, new)| old.0 == new.0).count();
        // Only packs in runs that one of the two roots lacks can have changed.
        let differing = |runs: &[(ObjectHash, Arc<PackRun>)]| -> Vec<Arc<PackRun>> {
            runs[..runs.len() - shared].iter().map(|(_, run)| run.clone()).collect()
        };
        let differing = [differing(&runs), differing(&self.runs)].concat();
        let mut next = Self { runs, domains: self.domains.clone() };
        let oldest = minute(now - RECENT);
        for (at, run) in differing.iter().enumerate() {
            for (id, _) in &run.0 {
                if differing[..at].iter().any(|newer| newer.get(id).is_some()) {
                    continue;
                }
                let (before, after) = (self.get(id), next.get(id));
                if before != after {
                    before.into_iter().for_each(|held| next.change(held, oldest, u64::saturating_sub));
                    after.into_iter().for_each(|held| next.change(held, oldest, u64::saturating_add));
                }
            }
        }
        for sums in next.domains.values_mut() {
            sums.recent = sums.recent.split_off(&oldest);
        }
        next.domains.retain(|_, sums| *sums != Sums::default());
        next
    }

    fn change(&mut self, held: Held, oldest: u32, by: fn(u64, u64) -> u64) {
        let sums = self.domains.entry(held.domain).or_default();
        sums.all = by(sums.all, held.length.into());
        if held.accepted >= oldest {
            let within = sums.recent.entry(held.accepted).or_default();
            *within = by(*within, held.length.into());
        }
    }

    fn get(&self, id: &Short) -> Option<Held> {
        self.runs.iter().find_map(|(_, run)| run.get(id)).flatten()
    }

    /// Whether the root names this pack.
    pub(super) fn has(&self, id: &PackId) -> bool {
        self.get(&short(id)).is_some()
    }

    /// Bytes of the packs of a domain, and of those accepted today, by the minute. Leaves out the bytes of the packs in
    /// `asked`.
    pub(super) fn stored(&self, domain: DomainId, now: Time, asked: &BTreeMap<PackId, u64>) -> (u64, u64) {
        // As `is_of_today` says it.
        let today = minute(now - Duration::from_secs(DAY))..=minute(now + Duration::from_secs(AHEAD));
        let (mut all, mut new) = self.domains.get(&domain).map_or((0, 0), |sums| {
            (sums.all, sums.recent.range(today.clone()).fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes)))
        });
        for (id, length) in asked {
            if let Some(held) = self.get(&short(id)).filter(|held| held.domain == domain) {
                let again = u64::from(held.length).min(*length);
                all = all.saturating_sub(again);
                new = if today.contains(&held.accepted) { new.saturating_sub(again) } else { new };
            }
        }
        (all, new)
    }
}

impl Held {
    fn of(record: &PackRecord) -> Self {
        let length = u32::try_from(record.length).unwrap_or(u32::MAX);
        Self { domain: record.domain, length, accepted: minute(record.accepted) }
    }
}

fn short(id: &PackId) -> Short {
    *id.0.first_chunk().expect("16 of 32 bytes")
}

/// The minute of a time since 1970; 0 before.
fn minute(time: Time) -> u32 {
    u32::try_from(time.to_unix().0 / 60).unwrap_or(0)
}

/// How far back the bytes of a minute are known: a day, and some time for clocks that differ.
const RECENT: Duration = Duration::from_hours(26);

#[cfg(test)]
#[path = "holdings_tests.rs"]
mod tests;
