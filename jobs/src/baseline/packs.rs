//! Packs: verifies that a state has a record of every accepted pack, with its true age and proof, and no other records.

use std::collections::BTreeMap;

use copal_format::id::{ClientId, PackId};
use copal_format::layout::Place;
use copal_format::state::{PackClaim, PackRecord};
use copal_format::time::Time;

use super::claims::{Claim, Claims};
use super::mends::Mends;
use crate::view::View;

/// Compares a state's packs with the baseline and later claims. Notes by checks may differ: nobody signs them.
pub(super) fn compare(before: &View, view: &View, claims: &Claims, mends: &mut Mends) -> Result<(), String> {
    let (old, new) = (&before.state.packs, &view.state.packs);
    let told = claims.decided.values().filter(|claim| claim.is_told).flat_map(|claim| &claim.packs);
    if let Some(id) = old.keys().chain(told.map(|(id, _)| id)).find(|id| !new.contains_key(id)) {
        return Err(format!("pack {id} is missing"));
    }
    let mut named: BTreeMap<PackId, Vec<Naming<'_>>> = BTreeMap::new();
    for (key, claim) in &claims.decided {
        for (id, length) in &claim.packs {
            named.entry(*id).or_default().push(Naming { key: *key, claim, length: *length });
        }
    }
    for (id, record) in new {
        let is_proven_by = |before: bool| !record.is_proven || before || claims.proven.contains(id);
        let follows = match old.get(id) {
            Some(known) => is_proven_by(known.is_proven) && *record == PackRecord { ..mutable(known, record) },
            None => {
                let made = named.get(id).and_then(|named| named.iter().find(|of| of.makes(record)));
                let earliest = made.map(|of| of.claim.stored);
                if let Some(earliest) = earliest.filter(|earliest| record.accepted < *earliest) {
                    mends.packs.insert(*id, earliest);
                }
                let is_of_lost = record.claim.is_some_and(|of| {
                    let lost = claims.lost.get(&(of.client, of.number));
                    lost.is_some_and(|lost| (lost.domain, lost.by_full_client) == (record.domain, of.by_full_client))
                });
                if is_of_lost && made.is_none() {
                    // Nobody can tell what the lost manifest said, so its packs are neither proven nor old.
                    if !is_proven_by(false) {
                        mends.unproven.insert(*id);
                    }
                    let earliest = before.root.as_ref().map_or(Time(0), |(root, _)| root.time);
                    if record.accepted < earliest {
                        mends.packs.insert(*id, earliest);
                    }
                    record.place == Place::Packs
                } else {
                    is_proven_by(false) && made.is_some()
                }
            }
        };
        if !follows {
            return Err(format!("nobody has signed what it says of pack {id}"));
        }
    }
    Ok(())
}

/// A known record with the fields that may change.
fn mutable(known: &PackRecord, now: &PackRecord) -> PackRecord {
    let PackRecord { is_missing, is_damaged, read, is_proven, .. } = *now;
    PackRecord { is_missing, is_damaged, read, is_proven, ..known.clone() }
}

/// A manifest that names a pack.
struct Naming<'a> {
    key: (ClientId, u64),
    claim: &'a Claim,
    length: u64,
}

impl Naming<'_> {
    /// Whether the record was made for this manifest.
    fn makes(&self, record: &PackRecord) -> bool {
        let (client, number) = self.key;
        let claim = PackClaim { client, number, by_full_client: self.claim.by_full_client };
        let is_same = (record.domain, record.length, record.place) == (self.claim.domain, self.length, Place::Packs);
        is_same && record.claim == Some(claim)
    }
}
