//! Copies: where several packs hold the same id, or a page refers to what is not there, which of the packs are what they are
//! named by. The state that is lost knew which packs are damaged; a prune that does not could keep the bad copy and remove the
//! good one, or remove what a damaged reference no longer names.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::{ChunkId, DomainId, PackId};
use copal_engine::layout;
use copal_engine::pack::PackKind;
use copal_engine::state::PackRecord;
use copal_engine::time::Time;

use super::Report;
use super::chains::Chain;
use super::contents::{Found, is_whole};
use crate::error::JobError;
use crate::host::Host;
use crate::objects::{self, Call};

/// Reads every pack that shares ids with another one, and tree packs with references that do not resolve, and notes of each
/// whether it is whole. Of what else lies once there is nothing to prefer: that is left to a check. A pack that was known to
/// hold something else than it says stands as damaged, whatever its bytes: only the key can acquit it.
pub(super) async fn compare(
    host: &Host<'_>,
    packs: &mut BTreeMap<PackId, Found>,
    chains: &[Chain],
    recorded: &[(PackId, PackRecord)],
    now: Time,
    report: &mut Report,
) -> Result<(), JobError> {
    let mut doubtful = sharing(packs);
    doubtful.extend(dangling(packs, chains));
    let calls = doubtful.iter().map(|id| -> Call<'_, bool> {
        let record = &packs[id].record;
        let (name, length) = (layout::pack(record.place, *id), record.length);
        Box::pin(async move { is_whole(host, &name, (*id, length)).await })
    });
    let whole = objects::few_together(AT_ONCE, calls).await?;
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

/// The packs that hold an id which another pack of their domain holds, too. One domain's ids are looked at at a time.
fn sharing(packs: &BTreeMap<PackId, Found>) -> BTreeSet<PackId> {
    let domains: BTreeSet<DomainId> = packs.values().map(|found| found.record.domain).collect();
    let mut shared = BTreeSet::new();
    for domain in domains {
        let of_domain: Vec<(&PackId, &Found)> =
            packs.iter().filter(|(_, found)| found.record.domain == domain).collect();
        let ids = (0u32..).zip(&of_domain).flat_map(|(at, (_, found))| found.table.ids.iter().map(move |id| (*id, at)));
        let mut ids: Vec<(ChunkId, u32)> = ids.collect();
        ids.sort_unstable();
        for two in ids.windows(2).filter(|two| two[0].0 == two[1].0 && two[0].1 != two[1].1) {
            shared.extend(two.iter().map(|(_, at)| *of_domain[*at as usize].0));
        }
    }
    shared
}

/// The tree packs of which a page refers to what no pack of the domain holds, and those of manifests whose root page none
/// holds: the tables that say so have no hash of their own.
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

/// Packs that are read at the same time, of each a piece.
const AT_ONCE: usize = 4;
