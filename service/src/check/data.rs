//! Data: the bytes of packs, read and hashed; those not read for longest first.

use std::collections::BTreeSet;

use copal_engine::id::PackId;
use copal_engine::layout;
use copal_engine::state::{PackRecord, RunKind};

use super::{Harm, Kind, Report};
use crate::budget::Budget;
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view::{self, Parts, View};
use crate::witness::Witnessed;

/// Reads these packs, of those that the newest state knows, because somebody found them harmed or whole again; what is
/// found counts, and not what was said.
pub(super) async fn look(host: &Host<'_>, packs: &BTreeSet<PackId>) -> Result<Harm, JobError> {
    let view = view::read_parts(host.store, &PACKS).await?;
    let witnessed = Witnessed::new(host.store);
    let host = &Host { store: &witnessed, ..*host };
    let mut harm = Harm::default();
    for (id, record) in view.state.packs.iter().filter(|(id, _)| packs.contains(id)) {
        match read(host, *id, record).await? {
            Found::Whole => drop(harm.whole.insert(*id, host.now().await?)),
            Found::Missing => drop(harm.missing.insert(*id)),
            Found::Damaged(_) => drop(harm.damaged.insert(*id)),
        }
    }
    witnessed.verdict().await?;
    Ok(harm)
}

/// Reads `part` of `parts` shares of the packs, or as many as the budget allows, but at least one.
pub(super) async fn check(
    host: &Host<'_>,
    view: &View,
    (part, parts): (u32, u32),
    budget: &Budget,
    report: &mut Report,
    harm: &mut Harm,
) -> Result<(), JobError> {
    let mut packs: Vec<_> = view.state.packs.iter().filter(|(id, _)| !harm.hits(id)).collect();
    packs.sort_by_key(|(id, record)| (record.read, **id));
    let share = (packs.len() as u64 * u64::from(part)).div_ceil(u64::from(parts.max(1)));
    for (number, (id, record)) in packs.into_iter().take(share as usize).enumerate() {
        if number > 0 && budget.is_over() {
            report.packs_left = share - number as u64;
            break;
        }
        let found = read(host, *id, record).await?;
        if found != Found::Missing {
            report.packs_read += 1;
            report.bytes_read += record.length;
        }
        let name = layout::pack(record.place, *id);
        match found {
            Found::Whole => drop(harm.whole.insert(*id, host.now_to_note().await?)),
            Found::Missing => {
                report.add_pack(Kind::Missing, name, *id, "it is not there");
                harm.missing.insert(*id);
            }
            Found::Damaged(why) => {
                report.add_pack(Kind::Damaged, name, *id, why);
                harm.damaged.insert(*id);
            }
        }
    }
    Ok(())
}

/// What a pack was found to be.
#[derive(PartialEq, Eq)]
enum Found {
    Whole,
    Missing,
    /// Why.
    Damaged(String),
}

async fn read(host: &Host<'_>, id: PackId, record: &PackRecord) -> Result<Found, JobError> {
    let read = objects::hash(host.store, &layout::pack(record.place, id), record.length).await;
    Ok(match read.map_err(JobError::from) {
        Ok(None) => Found::Missing,
        Ok(Some(hash)) if hash.0 == id.0 => Found::Whole,
        Ok(Some(_)) => Found::Damaged("its bytes do not have the hash it is named by".to_owned()),
        Err(error) => Found::Damaged(error.blame()?.1),
    })
}

/// Which packs there are.
const PACKS: Parts = Parts { kinds: &[RunKind::Packs], domains: Some(BTreeSet::new()) };
