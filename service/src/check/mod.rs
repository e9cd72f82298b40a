//! Check: whether everything the repository needs is there and whole. Needs no key. Damage is located, noted in the
//! state so that clients heal it, and never hidden; it does not stop the check.

mod chains;
mod data;
mod lost;
mod records;
mod structure;

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::{DomainId, ObjectHash, PackId, PackTag, SnapshotId};
use copal_engine::index::{Bits, Mark};
use copal_engine::layout;
use copal_engine::state::PackRecord;
use copal_engine::time::Time;

use crate::budget::Budget;
use crate::commit::{Proposal, commit};
use crate::error::JobError;
use crate::host::Host;
use crate::progress::{self, Progress};
use crate::view::{self, Parts, View};

/// How thorough a check is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Structure: roots, segments, tables, closure, presence and size of packs.
    Structure,
    /// Structure, and the bytes of `part` of `parts` shares of the packs, those not read for longest first.
    Data {
        /// How many shares are read.
        part: u32,
        /// Out of how many.
        parts: u32,
    },
}

/// What is wrong with something.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It is not there.
    Missing,
    /// It is there and not what it should be.
    Damaged,
    /// Something that is there refers to what is not.
    Dangling,
    /// It is damaged, and nothing that stands needs it.
    Stale,
}

impl Kind {
    /// The kind's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Damaged => "damaged",
            Kind::Dangling => "dangling",
            Kind::Stale => "stale",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong with it.
    pub kind: Kind,
    /// The object, or the id, that it is about.
    pub object: String,
    /// In words.
    pub why: String,
    /// The kept snapshots it harms.
    pub snapshots: Vec<SnapshotId>,
    /// The pack it is about, if it is one.
    pub pack: Option<PackId>,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// Packs whose bytes were read.
    pub packs_read: u64,
    /// Bytes of them.
    pub bytes_read: u64,
    /// The root that was checked.
    pub root: u64,
    /// Packs that were due and not read because the budget was over. They are the first of the next check.
    pub packs_left: u64,
    /// Domains whose structure was not looked at because the budget was over. The next check begins with them.
    pub domains_left: u64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(&mut self, kind: Kind, object: impl Into<String>, why: impl core::fmt::Display) {
        let finding = Finding { kind, object: object.into(), why: why.to_string(), snapshots: Vec::new(), pack: None };
        self.findings.push(finding);
    }

    fn add_pack(&mut self, kind: Kind, object: String, pack: PackId, why: impl core::fmt::Display) {
        self.add(kind, object, why);
        if let Some(finding) = self.findings.last_mut() {
            finding.pack = Some(pack);
        }
    }
}

/// Checks the newest root and everything that stands beside it, and notes in the state what was lost or healed and which
/// packs were read.
pub async fn check(host: &Host<'_>, depth: Depth) -> Result<Report, JobError> {
    check_until(host, depth, &Budget::unlimited()).await
}

/// The same, until the budget is over. It divides the structure by domains and the data by packs, does at least one of
/// each, and notes where the next check goes on: the time at which each pack was read last is in the state, the last
/// domain in `work/check/`.
pub async fn check_until(host: &Host<'_>, depth: Depth, budget: &Budget) -> Result<Report, JobError> {
    let (report, harm) = inspect_until(host, depth, budget).await?;
    if let Some(harm) = harm {
        note(host, &harm).await?;
    }
    Ok(report)
}

/// Checks without noting anything. What was learned about packs may be noted afterwards, with what else the caller has
/// learned; none if the newest state cannot be read, and then nothing may be written.
pub async fn inspect(host: &Host<'_>, depth: Depth) -> Result<(Report, Option<Harm>), JobError> {
    inspect_until(host, depth, &Budget::unlimited()).await
}

async fn inspect_until(host: &Host<'_>, depth: Depth, budget: &Budget) -> Result<(Report, Option<Harm>), JobError> {
    let mut report = Report::default();
    let progress = if budget.is_limited() { progress::last(host, JOB).await? } else { Progress::default() };
    // What is not of any domain is looked at once a round.
    if progress.after.is_none() {
        records::check(host, &mut report).await?;
    }
    let harm = inspect_state(host, depth, budget, progress, &mut report).await?;
    // What is needed is not stale.
    let is_needed = |finding: &&Finding| finding.kind != Kind::Stale;
    let needed: BTreeSet<String> = report.findings.iter().filter(is_needed).map(|of| of.object.clone()).collect();
    report.findings.retain(|finding| finding.kind != Kind::Stale || !needed.contains(&finding.object));
    Ok((report, harm))
}

/// Inspects what the newest root names.
async fn inspect_state(
    host: &Host<'_>,
    depth: Depth,
    budget: &Budget,
    progress: Progress,
    report: &mut Report,
) -> Result<Option<Harm>, JobError> {
    match inspect_parts(host, depth, budget, progress, report).await {
        Err(JobError::Damaged { object, why }) => {
            report.add(Kind::Damaged, object, why);
            Ok(None)
        }
        Err(JobError::StateLost { evidence }) => {
            lost::check(host, evidence, report).await?;
            Ok(None)
        }
        inspected => inspected,
    }
}

async fn inspect_parts(
    host: &Host<'_>,
    depth: Depth,
    budget: &Budget,
    progress: Progress,
    report: &mut Report,
) -> Result<Option<Harm>, JobError> {
    let mut view = view::read_parts(host.store, &Parts::RECORDS).await?;
    report.root = view.number();
    let is_newest = match progress.after {
        None => chains::check(host, &view, report).await?,
        Some(_) => chains::check_newest(host, &view, report).await?,
    };
    let mut harm = Harm::default();
    let mut next = Progress::default();
    if let Depth::Data { part, parts } = depth
        && progress.is_data_first
    {
        data::check(host, &view, (part, parts), budget, report, &mut harm).await?;
    }
    next.after = structure::check(host, &mut view, (progress.after, budget), report, &mut harm).await?;
    if let Depth::Data { part, parts } = depth
        && !progress.is_data_first
    {
        data::check(host, &view, (part, parts), budget, report, &mut harm).await?;
        // Who was cut short has the next run's time for itself.
        next.is_data_first = report.packs_left > 0;
    }
    locate(host, &mut view, &harm, report).await?;
    drop_deleted(host, report).await?;
    if budget.is_limited() && next != progress {
        progress::note(host, JOB, &next).await?;
    }
    Ok(is_newest.then_some(harm))
}

/// Drops what was found about packs and segments that a newer root does not name any more: a prune that ran meanwhile
/// has deleted them.
async fn drop_deleted(host: &Host<'_>, report: &mut Report) -> Result<(), JobError> {
    let is_deletable = |finding: &Finding| finding.pack.is_some() || finding.object.starts_with("index/");
    if !report.findings.iter().any(is_deletable) {
        return Ok(());
    }
    let newest = view::read_parts(host.store, &Parts::RECORDS).await?;
    let segments: BTreeSet<String> = newest.state.segments.keys().map(|(_, hash)| layout::segment(*hash)).collect();
    report.findings.retain(|finding| match finding.pack {
        Some(pack) => newest.state.packs.contains_key(&pack),
        None => finding.kind == Kind::Stale || !is_deletable(finding) || segments.contains(&finding.object),
    });
    Ok(())
}

/// What was learned about packs.
#[derive(Clone, Debug, Default)]
pub struct Harm {
    /// Packs that are not there.
    pub missing: BTreeSet<PackId>,
    /// Packs that are not what they should be.
    pub damaged: BTreeSet<PackId>,
    /// Packs whose bytes were read and are whole, and when.
    pub whole: BTreeMap<PackId, Time>,
    /// Domains that were not looked at: of their packs nothing is known but what is said above.
    pub unseen: BTreeSet<DomainId>,
}

impl Harm {
    fn hits(&self, pack: &PackId) -> bool {
        self.missing.contains(pack) || self.damaged.contains(pack)
    }
}

/// Says of each harmed pack, and of each dangling reference, which kept snapshots reach it.
async fn locate(host: &Host<'_>, view: &mut View, harm: &Harm, report: &mut Report) -> Result<(), JobError> {
    let packs = report.findings.iter().filter_map(|finding| finding.pack);
    let mut domains: BTreeSet<DomainId> = packs.filter_map(|pack| Some(view.state.packs.get(&pack)?.domain)).collect();
    if report.findings.iter().any(|finding| finding.kind == Kind::Dangling) {
        domains.extend(view.domains().into_iter().filter(|domain| !harm.unseen.contains(domain)));
    }
    for domain in domains {
        structure::turn_to(host, view, domain).await?;
        let inventory = structure::inventory(host, view, domain, &mut harm.clone(), None).await?;
        locate_in(view, domain, &inventory, harm, report);
    }
    Ok(())
}

fn locate_in(view: &View, domain: DomainId, inventory: &structure::Inventory, harm: &Harm, report: &mut Report) {
    for snapshot in view.state.snapshots.values().filter(|snapshot| snapshot.domain == domain) {
        if snapshot.state != copal_engine::state::SnapshotState::Kept || snapshot.partial {
            continue;
        }
        let reach = inventory.graph.reach([snapshot.root]);
        let mut hit: BTreeSet<PackId> = BTreeSet::new();
        for (_, item) in inventory.copies().filter(|(_, item)| reach.reached.has(item.id)) {
            let pack = inventory.pack_of(&item).id;
            let is_hit = |copy: u32| harm.hits(&inventory.pack_of(&inventory.copy(copy)).id);
            if harm.hits(&pack) && inventory.copies_of(item.id).all(is_hit) {
                hit.insert(pack);
            }
        }
        let unresolved: BTreeSet<String> = reach.unresolved.iter().map(|id| id.to_string()).collect();
        for finding in &mut report.findings {
            let is_hit = finding.pack.is_some_and(|pack| hit.contains(&pack));
            if is_hit || (finding.kind == Kind::Dangling && unresolved.contains(&finding.object)) {
                finding.snapshots.push(snapshot.id);
            }
        }
    }
}

/// Writes what was learned into the state: what is lost becomes wanted, so that the next backup of a source that still
/// has it uploads it again; what is whole again is no longer lost.
pub async fn note(host: &Host<'_>, harm: &Harm) -> Result<(), JobError> {
    for _ in 0..ATTEMPTS {
        let mut view = view::read_parts(host.store, &Parts::RECORDS).await?;
        let mut proposal = Proposal::default();
        for (id, record) in &view.state.packs {
            let is_unseen = harm.unseen.contains(&record.domain) && !harm.whole.contains_key(id);
            let mut changed = PackRecord {
                is_missing: harm.missing.contains(id) || (is_unseen && record.is_missing),
                is_damaged: harm.damaged.contains(id) || (record.is_damaged && !harm.whole.contains_key(id)),
                ..record.clone()
            };
            if let Some(time) = harm.whole.get(id) {
                changed.read = *time;
            }
            if changed != *record {
                proposal.delta.packs.insert(*id, Some(changed));
            }
        }
        match want(host, &mut view, &mut proposal).await {
            // An index belongs to its root only as long as that is the newest.
            Err(JobError::StateLost { .. }) if view::newest_number(host.store).await? > view.number() => continue,
            wanted => wanted?,
        }
        if proposal.delta.is_empty() && proposal.overlay.is_empty() {
            return Ok(());
        }
        if commit(host, &view, proposal).await?.is_some() {
            return Ok(());
        }
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// Marks the copies in harmed packs as lost and wanted, and unmarks those in packs that are whole again.
async fn want(host: &Host<'_>, view: &mut View, proposal: &mut Proposal) -> Result<(), JobError> {
    let now = host.now().await?;
    let is_harmed = |record: &PackRecord| record.is_missing || record.is_damaged;
    let record_of = |id: &PackId| match proposal.delta.packs.get(id) {
        Some(changed) => changed.as_ref(),
        None => view.state.packs.get(id),
    };
    let harmed: BTreeSet<PackTag> =
        view.state.packs.keys().filter(|id| record_of(id).is_some_and(is_harmed)).map(PackId::tag).collect();
    for domain in view.domains() {
        view.turn_to(host.store, domain).await?;
        let Some(index) = view.index(domain) else { continue };
        if harmed.is_empty() && !index.overlay().marks().any(|(_, mark)| mark.bits.contains(Bits::LOST)) {
            continue;
        }
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

fn hash_in(name: &str) -> Option<ObjectHash> {
    ObjectHash::from_hex(name.rsplit('/').next()?).ok()
}

/// The job, in the names of what it notes.
const JOB: &str = "check";
/// So often the findings are noted again after another writer won.
const ATTEMPTS: u32 = 16;
