//! Locate: which needed snapshots the findings harm, and which findings a newer root has made obsolete.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use copal_engine::mark::{Bits, CopyItem};
use copal_format::id::{DomainId, PackId};
use copal_format::layout;
use copal_format::state::PackRecord;

use super::{Finding, Harm, Kind, Needed, Report, structure};
use crate::budget::Budget;
use crate::context::JobContext;
use crate::error::JobError;
use crate::view::{self, Parts, View};

/// Adds the harmed snapshots to each finding, and drops findings that are no damage.
pub(super) async fn all(
    job: &JobContext<'_>,
    (view, budget): (&mut View, &Budget),
    harm: &Harm,
    report: &mut Report,
) -> Result<(), JobError> {
    locate(job, (view, budget), harm, report).await?;
    drop_deleted(job, report).await
}

/// Drops findings about packs and segments that the newest root does not name, because a prune has deleted them.
async fn drop_deleted(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let is_deletable = |finding: &Finding| finding.pack.is_some() || finding.object.starts_with("index/");
    if !report.findings.iter().any(is_deletable) {
        return Ok(());
    }
    let mut newest = view::read_parts(job.store, &Parts::RECORDS).await?;
    // A pack that the index names was not deleted, even if it has no record: the missing record is the finding.
    let is_unknown = |finding: &Finding| finding.pack.is_some_and(|pack| !newest.state.packs.contains_key(&pack));
    let mut named: BTreeSet<PackId> = BTreeSet::new();
    let domains = if report.findings.iter().any(is_unknown) { newest.domains() } else { Vec::new() };
    for domain in domains {
        // An unreadable index was reported before.
        if structure::turn_to(job, &mut newest, &[domain]).await?.is_some() {
            continue;
        }
        for (_, segment) in newest.segments_of(domain) {
            named.extend((0..segment.pack_count()).filter_map(|at| Some(segment.pack(at)?.id)));
        }
    }
    let segments: BTreeSet<String> = newest.state.segments.keys().map(|(_, hash)| layout::segment(*hash)).collect();
    report.findings.retain(|finding| match finding.pack {
        Some(pack) => newest.state.packs.contains_key(&pack) || named.contains(&pack),
        None => finding.kind == Kind::Stale || !is_deletable(finding) || segments.contains(&finding.object),
    });
    Ok(())
}

/// Adds the needed snapshots to each harmed pack and dangling reference, and turns known harmed packs that nothing
/// needs into replaced ones. Examines one snapshot of each domain, and more until the budget is over.
async fn locate(
    job: &JobContext<'_>,
    (view, budget): (&mut View, &Budget),
    harm: &Harm,
    report: &mut Report,
) -> Result<(), JobError> {
    let packs = report.findings.iter().filter_map(|finding| finding.pack);
    let mut domains: BTreeSet<DomainId> = packs.filter_map(|pack| Some(view.state.packs.get(&pack)?.domain)).collect();
    if report.findings.iter().any(|finding| finding.kind == Kind::Dangling) {
        domains.extend(&harm.seen);
    }
    let needed = Needed::of(job, view).await?;
    let known: BTreeSet<PackId> =
        view.state.packs.iter().filter(|(_, of)| of.is_missing || of.is_damaged).map(|(id, _)| *id).collect();
    for domain in domains {
        if structure::turn_to(job, view, &[domain]).await?.is_some() {
            continue;
        }
        let inventory = structure::inventory(job, view, domain, &mut harm.clone(), None).await?;
        Domain { view, domain, needed: &needed, known: &known, harm, inventory }.locate(budget, report);
    }
    Ok(())
}

/// The inputs to locate harm in one domain.
struct Domain<'a> {
    view: &'a View,
    domain: DomainId,
    needed: &'a Needed,
    /// Packs that the state called harmed before the check noted anything.
    known: &'a BTreeSet<PackId>,
    harm: &'a Harm,
    inventory: structure::Inventory<'a>,
}

impl Domain<'_> {
    fn locate(&self, budget: &Budget, report: &mut Report) {
        let graph = &self.inventory.graph;
        let bad = only_in(&self.inventory, |pack| self.is_bad(pack));
        let snapshots = self.view.snapshots_of(self.domain).map(|(_, snapshot)| snapshot);
        let mut needed: Vec<_> = snapshots.filter(|of| self.needed.has(of) && !of.partial).collect();
        needed.sort_by_key(|snapshot| (Reverse(snapshot.accepted), snapshot.id));
        let all = graph.reach(needed.iter().map(|snapshot| snapshot.root));
        if all.unread.is_empty() {
            self.tell_replaced(&self.packs_of(&all.reached, &bad), report);
        }
        let is_harmed = |reference: Option<u32>| reference.is_none_or(|number| bad.has(number));
        let above = graph.above(is_harmed, |page| !all.reached.has(page));
        needed.retain(|of| graph.number(&of.root).is_none_or(|root| above.has(root) || bad.has(root)));
        // Bounded, because all snapshots may need a pack, and all packs of a disk may be harmed.
        let mut left = NAMED.saturating_sub(report.findings.iter().map(|finding| finding.snapshots.len()).sum());
        for (at, snapshot) in needed.into_iter().enumerate() {
            if at > 0 && (left == 0 || budget.is_over()) {
                report.has_unnamed = true;
                return;
            }
            let reach = graph.reach([snapshot.root]);
            let hit = self.packs_of(&reach.reached, &bad);
            let unresolved: BTreeSet<String> = reach.unresolved.iter().map(|id| id.to_string()).collect();
            let is_hit = |of: &Finding| of.pack.is_some_and(|pack| hit.contains(&pack));
            let is_dangling = |of: &Finding| of.kind == Kind::Dangling && unresolved.contains(&of.object);
            for finding in report.findings.iter_mut().filter(|of| is_hit(of) || is_dangling(of)) {
                finding.snapshots.push(snapshot.id);
                left = left.saturating_sub(1);
            }
        }
    }

    /// Whether a pack is harmed. A pack found harmed before stays so until it is read again.
    fn is_bad(&self, pack: &PackId) -> bool {
        let stands = |of: &PackRecord| self.harm.lets_stand(pack, of);
        self.harm.is_told(pack) || self.view.state.packs.get(pack).is_some_and(stands)
    }

    /// The packs that hold ids which were reached and have only harmed copies.
    fn packs_of(&self, reached: &Bits, bad: &Bits) -> BTreeSet<PackId> {
        let nothing = Bits::new(self.inventory.graph.scratch(), 0);
        let hit = reached.and_without(bad, &nothing).flat_map(|id| self.inventory.copies_of(id));
        hit.map(|copy| self.inventory.pack_of(&self.inventory.copy(copy)).id).collect()
    }

    /// Marks known harmed packs as replaced if nothing needs them any more.
    fn tell_replaced(&self, needed: &BTreeSet<PackId>, report: &mut Report) {
        let is_here = |pack: &PackId| self.view.state.packs.get(pack).is_some_and(|of| of.domain == self.domain);
        let is_replaced =
            |pack: &PackId| self.known.contains(pack) && is_here(pack) && self.is_bad(pack) && !needed.contains(pack);
        for finding in report.findings.iter_mut().filter(|of| of.pack.as_ref().is_some_and(is_replaced)) {
            finding.kind = Kind::Replaced;
            finding.why.push_str(", and nothing kept needs it any more");
        }
    }
}

/// The ids whose copies all lie in packs that pass the test.
fn only_in(inventory: &structure::Inventory<'_>, is_meant: impl Fn(&PackId) -> bool) -> Bits {
    let meant: Vec<bool> = inventory.packs.iter().map(|pack| is_meant(&pack.id)).collect();
    let mut ids = Bits::new(inventory.graph.scratch(), inventory.ids() as usize);
    let mut copies = inventory.copies().peekable();
    while let Some((_, item)) = copies.next() {
        let is_meant = |of: &CopyItem| meant[inventory.block(of.block).pack as usize];
        let mut is_all = is_meant(&item);
        while let Some((_, other)) = copies.next_if(|(_, other)| other.id == item.id) {
            is_all &= is_meant(&other);
        }
        if is_all {
            ids.set(item.id);
        }
    }
    ids
}

/// The most snapshots that all findings together list.
const NAMED: usize = 1 << 20;
