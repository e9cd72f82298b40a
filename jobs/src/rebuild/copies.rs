//! Copies: verifies packs that share ids, or whose pages refer to missing ids. The lost state knew which packs are
//! damaged. A prune without that knowledge could keep a bad copy, or remove what a damaged reference no longer names.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::layout;
use copal_format::pack::PackKind;
use copal_format::state::PackRecord;
use copal_format::time::Time;

use super::Report;
use super::chains::Chain;
use super::contents::{Found, is_whole};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// Reads every pack that shares ids with another one, and every tree pack with dangling references, and notes whether
/// it is whole. Other packs are left to `check`. A pack known to be forged counts as damaged whatever its bytes are,
/// because only a check with the key can acquit it.
pub(super) async fn compare(
    job: &JobContext<'_>,
    packs: &mut BTreeMap<PackId, Found>,
    chains: &[Chain],
    recorded: &[(PackId, PackRecord)],
    now: Time,
    report: &mut Report,
) -> Result<(), JobError> {
    let mut doubtful = sharing(packs);
    doubtful.extend(dangling(packs, chains));
    let calls = doubtful.iter().map(|id| {
        let record = &packs[id].record;
        let (name, length) = (layout::pack(record.place, *id), record.length);
        async move { is_whole(job, &name, (*id, length)).await }
    });
    let whole = objects::join_few(AT_ONCE, calls).await?;
    for (id, is_whole) in doubtful.iter().zip(whole) {
        let Some(Found { record, .. }) = packs.get_mut(id) else { continue };
        if is_whole {
            record.read = now;
        } else {
            record.is_damaged = true;
            report.packs_damaged.push(layout::pack(record.place, *id));
        }
    }
    let forged: BTreeSet<&PackId> = recorded.iter().filter(|(_, of)| of.is_forged()).map(|(id, _)| id).collect();
    for id in forged {
        let Some(Found { record, .. }) = packs.get_mut(id) else { continue };
        (record.is_damaged, record.read) = (true, PackRecord::FORGED);
        report.packs_forged.push(layout::pack(record.place, *id));
    }
    Ok(())
}

/// The packs of each domain.
pub(super) fn by_domain(packs: &BTreeMap<PackId, Found>) -> BTreeMap<DomainId, Vec<(&PackId, &Found)>> {
    let mut domains: BTreeMap<DomainId, Vec<_>> = BTreeMap::new();
    for (id, found) in packs {
        domains.entry(found.record.domain).or_default().push((id, found));
    }
    domains
}

/// The packs that share an id with another pack of their domain. Examines the ids of one domain at a time.
fn sharing(packs: &BTreeMap<PackId, Found>) -> BTreeSet<PackId> {
    let mut shared = BTreeSet::new();
    for of_domain in by_domain(packs).values() {
        let ids = (0u32..).zip(of_domain).flat_map(|(at, (_, found))| found.table.ids.iter().map(move |id| (*id, at)));
        let mut ids: Vec<(ChunkId, u32)> = ids.collect();
        ids.sort_unstable();
        for two in ids.windows(2).filter(|two| two[0].0 == two[1].0 && two[0].1 != two[1].1) {
            shared.extend(two.iter().map(|(_, at)| *of_domain[*at as usize].0));
        }
    }
    shared
}

/// The tree packs whose pages refer to ids that no pack of the domain holds, and the tree packs of manifests whose root
/// page is missing. Tables have no hash of their own, so these may be wrong.
fn dangling(packs: &BTreeMap<PackId, Found>, chains: &[Chain]) -> BTreeSet<PackId> {
    let ids = |found: &Found| found.table.ids.iter().map(|id| (found.record.domain, *id)).collect::<Vec<_>>();
    let mut held: Vec<(DomainId, ChunkId)> = packs.values().flat_map(ids).collect();
    held.sort_unstable();
    held.dedup();
    let is_held = |domain: DomainId, id: ChunkId| held.binary_search(&(domain, id)).is_ok();
    let is_tree = |found: &Found| found.record.kind == PackKind::Tree;
    let trees = packs.iter().filter(|(_, found)| is_tree(found));
    let has_all = |found: &Found| found.table.pages.references().iter().all(|id| is_held(found.record.domain, *id));
    let mut dangling: BTreeSet<PackId> = trees.filter(|(_, found)| !has_all(found)).map(|(id, _)| *id).collect();
    let claims = chains.iter().flat_map(Chain::claims).map(|(_, verified)| &verified.manifest);
    for manifest in claims {
        let has_root = manifest.snapshot.as_ref().is_none_or(|claim| is_held(manifest.domain, claim.root));
        let named = manifest.packs.iter().map(|(id, _)| id).filter(|_| !has_root);
        dangling.extend(named.filter(|id| packs.get(id).is_some_and(is_tree)));
    }
    dangling
}

/// Packs read at the same time, piece by piece.
const AT_ONCE: usize = 4;
