//! Findings: all damage, once per object, with the snapshots and paths that it affects.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::{PackId, PackTag, SnapshotId};
use copal_format::index::Bits;
use copal_format::layout;
use copal_format::path::TreePath;
use copal_format::state::PackRecord;
use copal_jobs::check::{Finding, Kind};
use copal_jobs::view::View;
use serde::Serialize;

use super::hits::{Hit, Hits, Impact};

/// Damage to one object.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The kind of damage.
    pub kind: DamageKind,
    /// The object's name, or the id of a chunk or page.
    pub object: String,
    /// The damage, in words.
    pub why: String,
    /// Snapshots that need it.
    pub snapshots: Vec<SnapshotId>,
    /// The first entries that need it, as far as the available keys show.
    pub paths: BTreeSet<TreePath>,
    /// How many more entries need it.
    pub more_paths: u64,
}

/// The kind of damage to an object.
#[derive(Serialize, Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum DamageKind {
    /// It is not there.
    Missing,
    /// It has other bytes than were written.
    Damaged,
    /// It is not what its writer claims: a signature, seal or id does not fit.
    Forged,
    /// It refers to something that the repository does not have.
    Unresolved,
    /// Its bytes are known to be gone; a backup of a source that has them heals it.
    Lost,
    /// It is damaged, but nothing current needs it.
    Stale,
}

#[derive(Default)]
pub(super) struct Findings {
    by_object: BTreeMap<String, Found>,
}

struct Found {
    kind: DamageKind,
    why: String,
    pack: Option<PackId>,
    impact: Impact,
}

impl Findings {
    pub(super) fn add(&mut self, finding: Finding, view: Option<&View>) {
        let kind = match finding.kind {
            Kind::Missing => DamageKind::Missing,
            Kind::Damaged => DamageKind::Damaged,
            Kind::Dangling => DamageKind::Unresolved,
            Kind::Stale => DamageKind::Stale,
            // [`Findings::locate`] finds out from the trees what is replaced.
            Kind::Replaced | Kind::Accepted => return,
        };
        let object = match (finding.pack, view) {
            (Some(pack), Some(view)) => name_of(view, pack),
            _ => finding.object,
        };
        let found = self.entry(object, kind, &finding.why);
        found.pack = found.pack.or(finding.pack);
        found.impact.snapshots = finding.snapshots;
    }

    pub(super) fn add_object(&mut self, object: &str, kind: DamageKind, why: &str) {
        self.entry(object.to_owned(), kind, why);
    }

    pub(super) fn add_pack(&mut self, view: &View, pack: PackId, kind: DamageKind, why: &str) {
        self.entry(name_of(view, pack), kind, why).pack = Some(pack);
    }

    /// Whether something refers to a missing object.
    pub(super) fn has_unresolved(&self) -> bool {
        self.by_object.values().any(|found| found.kind == DamageKind::Unresolved)
    }

    /// Sets the impact of every finding, and adds findings from the trees. Removes and returns the packs that were
    /// known to be damaged and that no kept snapshot needs: backups have replaced their content.
    pub(super) fn locate(&mut self, before: &View, view: &View, hits: Hits) -> Vec<PackId> {
        let is_known =
            |pack: &PackId| before.state.packs.get(pack).is_some_and(|record| record.is_missing || record.is_damaged);
        let is_seen = |record: &PackRecord| !hits.blind.contains(&record.domain);
        let packs = view.state.packs.iter().filter(|(pack, record)| is_known(pack) && is_seen(record));
        let mut replaced: Vec<PackId> = packs.map(|(pack, _)| *pack).collect();
        replaced.retain(|pack| !hits.impacts.contains_key(&Hit::Pack(*pack)));
        self.by_object.retain(|_, found| {
            found.impact.snapshots.clear();
            found.pack.is_none_or(|pack| !replaced.contains(&pack))
        });
        for (hit, impact) in hits.impacts {
            let (object, kind, why, pack) = match hit {
                Hit::Pack(pack) if is_known(&pack) => {
                    (name_of(view, pack), DamageKind::Lost, "it was found damaged before", Some(pack))
                }
                Hit::Pack(pack) => {
                    // An earlier finding may have a more exact kind.
                    let name = name_of(view, pack);
                    let kind = self.by_object.get(&name).map_or(DamageKind::Damaged, |found| found.kind);
                    (name, kind, "it cannot be read", Some(pack))
                }
                Hit::Id(id) => {
                    let mut marks = view.indexes.values().map(|index| index.overlay().bits(&id, PackTag::NONE));
                    let kind = match marks.any(|bits| bits.contains(Bits::LOST)) {
                        true => DamageKind::Lost,
                        false => DamageKind::Unresolved,
                    };
                    (id.to_string(), kind, "no pack holds it", None)
                }
                Hit::Forged(id) => (id.to_string(), DamageKind::Forged, "it does not fit the tree it is in", None),
            };
            let why = impact.why.clone().unwrap_or_else(|| why.to_owned());
            let found = self.entry(object, kind, &why);
            found.pack = found.pack.or(pack);
            found.impact = impact;
        }
        replaced
    }

    pub(super) fn finish(self) -> Vec<Damage> {
        let damage = self.by_object.into_iter().map(|(object, found)| Damage {
            kind: found.kind,
            object,
            why: found.why,
            snapshots: distinct(found.impact.snapshots),
            paths: found.impact.paths,
            more_paths: found.impact.more,
        });
        damage.collect()
    }

    /// The finding of an object. If two kinds meet, keeps the graver one with its reason.
    fn entry(&mut self, object: String, kind: DamageKind, why: &str) -> &mut Found {
        let new = || Found { kind, why: why.to_owned(), pack: None, impact: Impact::default() };
        let found = self.by_object.entry(object).or_insert_with(new);
        if kind < found.kind {
            *found = Found { pack: found.pack, impact: std::mem::take(&mut found.impact), ..new() };
        }
        found
    }
}

fn name_of(view: &View, pack: PackId) -> String {
    let place = view.state.packs.get(&pack).map_or(layout::Place::Packs, |record| record.place);
    layout::pack(place, pack)
}

fn distinct(mut snapshots: Vec<SnapshotId>) -> Vec<SnapshotId> {
    snapshots.sort_unstable();
    snapshots.dedup();
    snapshots
}
