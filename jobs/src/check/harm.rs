//! Harm: what a check has learned about packs, and how it is noted in the state.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::{DomainId, PackId, PackTag};
use copal_format::index::{Bits, Mark};
use copal_format::layout;
use copal_format::state::PackRecord;
use copal_format::time::Time;

use super::{Kind, Report};
use crate::commit::{Proposal, commit};
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects::Call;
use crate::view::{self, Parts, View};

/// What was learned about packs.
#[derive(Clone, Debug, Default)]
pub struct Harm {
    /// Packs that do not exist.
    pub missing: BTreeSet<PackId>,
    /// Packs that are not what they should be.
    pub damaged: BTreeSet<PackId>,
    /// Packs that exist and may not be read. Nothing is noted about them, because missing rights are no damage.
    pub forbidden: BTreeSet<PackId>,
    /// Packs that the state called missing and that exist again, whole or not.
    pub returned: BTreeSet<PackId>,
    /// Forged packs: their bytes have the hash of their name, but the content is wrong.
    pub forged: BTreeSet<PackId>,
    /// Packs whose bytes were read and are whole, with the time of reading.
    pub whole: BTreeMap<PackId, Time>,
    /// Whole packs that were opened with the key.
    pub opened: BTreeSet<PackId>,
    /// Packs called missing or damaged before they were examined. Only these are acquitted: later harm may be new.
    pub accused: BTreeSet<PackId>,
    /// Domains whose packs were all examined.
    pub seen: BTreeSet<DomainId>,
}

impl Harm {
    pub(super) fn hits(&self, pack: &PackId) -> bool {
        self.missing.contains(pack) || self.damaged.contains(pack)
    }

    /// Whether something is wrong with a pack, whether it is noted in the state or not.
    pub(super) fn is_told(&self, pack: &PackId) -> bool {
        self.hits(pack) || self.forbidden.contains(pack)
    }

    /// Notes that a pack was read at this time and is whole. `record` is the pack's state before the reading.
    pub fn add_whole(&mut self, pack: PackId, record: &PackRecord, time: Time) {
        self.whole.insert(pack, time);
        self.hear(pack, record);
    }

    /// Notes that a pack exists and is not what it should be. `record` is the pack's state before the reading.
    pub fn add_damaged(&mut self, pack: PackId, record: &PackRecord) {
        self.damaged.insert(pack);
        self.hear(pack, record);
    }

    fn hear(&mut self, pack: PackId, record: &PackRecord) {
        if record.is_missing || record.is_damaged {
            self.accused.insert(pack);
        }
    }

    /// Whether a pack that the state called missing was looked for and found. False if nobody has looked for it since.
    fn has_found(&self, pack: &PackId) -> bool {
        let is_there = self.damaged.contains(pack) || self.whole.contains_key(pack);
        self.returned.contains(pack) || (is_there && self.accused.contains(pack))
    }

    /// Whether the state's mark against a pack still holds.
    pub fn lets_stand(&self, pack: &PackId, record: &PackRecord) -> bool {
        (record.is_missing && !self.has_found(pack)) || (record.is_damaged && !self.has_found_whole(pack, record))
    }

    /// Whether a pack was found whole by a test that can tell: a forged pack has its hash, so only opening it counts.
    fn has_found_whole(&self, pack: &PackId, record: &PackRecord) -> bool {
        let is_whole = if record.is_forged() { self.opened.contains(pack) } else { self.whole.contains_key(pack) };
        is_whole && self.accused.contains(pack)
    }

    /// Reports packs that were found harmed before and that nobody has found whole since.
    pub(super) fn tell_standing(&self, view: &View, report: &mut Report) {
        for (id, record) in &view.state.packs {
            if self.is_told(id) || !self.lets_stand(id, record) {
                continue;
            }
            let (kind, why) = match record.is_missing {
                true => (Kind::Missing, "it was not there before, and has not been looked for since"),
                false if record.is_forged() => {
                    (Kind::Damaged, "it holds something else than it says, and has not been opened whole since")
                }
                false => (Kind::Damaged, "it was found damaged before, and has not been found whole since"),
            };
            report.add_pack(kind, layout::pack(record.place, *id), *id, why);
        }
    }
}

/// Notes the result in the state. Lost copies become wanted, so that the next backup that still has the data uploads it
/// again. Copies in packs that are whole again are no longer lost.
pub fn note<'a>(job: &'a JobContext<'_>, harm: &'a Harm) -> Call<'a, ()> {
    Box::pin(go(job, harm))
}

async fn go(job: &JobContext<'_>, harm: &Harm) -> Result<(), JobError> {
    for _ in 0..ATTEMPTS {
        let mut view = view::read_parts(job.store, &Parts::RECORDS).await?;
        let mut proposal = Proposal::default();
        // Marks change only in domains that were examined, and where a pack was lost or came back.
        let mut domains = harm.seen.clone();
        let is_acquitted = |id: &PackId| harm.has_found(id) || is_planted(Mistake::UnseenAcquitted);
        for (id, record) in &view.state.packs {
            let stays_damaged = record.is_damaged && !harm.has_found_whole(id, record);
            let mut changed = PackRecord {
                is_missing: harm.missing.contains(id) || (record.is_missing && !is_acquitted(id)),
                is_damaged: harm.damaged.contains(id) || stays_damaged,
                ..record.clone()
            };
            if harm.forged.contains(id) {
                changed.read = PackRecord::FORGED;
            } else if let Some(time) = harm.whole.get(id).filter(|_| !changed.is_damaged) {
                changed.read = *time;
            }
            if (changed.is_missing, changed.is_damaged) != (record.is_missing, record.is_damaged) {
                domains.insert(record.domain);
            }
            if changed != *record {
                proposal.delta.packs.insert(*id, Some(changed));
            }
        }
        match want(job, &mut view, domains, &mut proposal).await {
            // An index fits its root only while that is the newest.
            Err(JobError::StateLost { .. }) if view::is_superseded(job.store, &view).await? => continue,
            wanted => wanted?,
        }
        if proposal.is_empty() {
            return Ok(());
        }
        if commit(job, &view, proposal).await?.is_some() {
            return Ok(());
        }
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// Marks copies in harmed packs as lost and wanted, and unmarks copies in packs that are whole again.
async fn want(
    job: &JobContext<'_>,
    view: &mut View,
    domains: BTreeSet<DomainId>,
    proposal: &mut Proposal,
) -> Result<(), JobError> {
    let now = job.now().await?;
    for domain in domains {
        let packs = view.packs_of(domain).map(|(id, record)| match proposal.delta.packs.get(id) {
            Some(changed) => (id, changed.as_ref()),
            None => (id, Some(record)),
        });
        let harmed = packs.filter(|(_, record)| record.is_some_and(|of| of.is_missing || of.is_damaged));
        let harmed: BTreeSet<PackTag> = harmed.map(|(id, _)| id.tag()).collect();
        // Most domains are sound: their segments need not be read.
        let overlay = view::overlay_of(job.store, &view.state, domain).await?;
        if harmed.is_empty() && !overlay.marks().any(|(_, mark)| mark.bits.contains(Bits::LOST)) {
            continue;
        }
        view.turn_to(job.store, domain).await?;
        let Some(index) = view.index(domain) else { continue };
        for (_, segment) in view.segments_of(domain) {
            for entry in segment.entries() {
                let tag = entry.location.pack.tag();
                let old = index.overlay().mark(&entry.id, tag);
                let lost = Bits::LOST | Bits::WANTED;
                let bits = match (harmed.contains(&tag), old.bits.contains(Bits::LOST)) {
                    (true, _) => old.bits | lost,
                    (false, true) => old.bits.without(lost),
                    (false, false) => continue,
                };
                let time = if old.bits.is_empty() { now } else { old.time };
                if bits != old.bits {
                    let records = proposal.overlay.entry(domain).or_default();
                    records.insert((entry.id, tag), Mark { bits, time });
                }
            }
        }
    }
    Ok(())
}

/// How often noting is begun again after another writer won.
const ATTEMPTS: u32 = 64;
