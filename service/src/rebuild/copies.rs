//! Copies: where several packs hold the same id, which of them are what they are named by. The state that is lost knew which
//! packs are damaged; a prune that does not could keep the bad copy and remove the good one.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_engine::layout;
use copal_engine::state::PackRecord;
use copal_engine::time::Time;

use super::Report;
use super::contents::Found;
use crate::error::JobError;
use crate::host::Host;
use crate::objects::{self, Call};

/// Reads every pack that shares ids with another one, and notes of each whether it is whole. Of what lies once there is
/// nothing to prefer: that is left to a check. A pack that was known to hold something else than it says stands as damaged,
/// whatever its bytes: only the key can acquit it.
pub(super) async fn compare(
    host: &Host<'_>,
    packs: &mut BTreeMap<PackId, Found>,
    recorded: &[(PackId, PackRecord)],
    now: Time,
    report: &mut Report,
) -> Result<(), JobError> {
    let shared = sharing(packs);
    let calls = shared.iter().map(|id| -> Call<'_, bool> {
        let record = &packs[id].record;
        let (name, length) = (layout::pack(record.place, *id), record.length);
        Box::pin(async move {
            match objects::hash(host.store, &name, length).await.map_err(JobError::from) {
                Ok(hash) => Ok(hash == Some(ObjectHash(id.0))),
                Err(error) => error.blame().map(|_| false),
            }
        })
    });
    let whole = objects::few_together(AT_ONCE, calls).await?;
    for (id, is_whole) in shared.iter().zip(whole) {
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

/// Packs that are read at the same time, of each a piece.
const AT_ONCE: usize = 4;
