//! Locate: which kept snapshots are harmed by what a check has found, and what of it a newer root has done away with.

use std::collections::BTreeSet;

use copal_engine::id::{DomainId, PackId};
use copal_engine::layout;
use copal_engine::mark::{Bits, CopyItem};
use copal_engine::state::{PackRecord, SnapshotState};

use super::{Finding, Harm, Kind, Report, structure};
use crate::error::JobError;
use crate::host::Host;
use crate::view::{self, Parts, View};

/// Drops what was found about packs and segments that a newer root does not name any more: a prune that ran meanwhile
/// has deleted them.
pub(super) async fn drop_deleted(host: &Host<'_>, report: &mut Report) -> Result<(), JobError> {
    let is_deletable = |finding: &Finding| finding.pack.is_some() || finding.object.starts_with("index/");
    if !report.findings.iter().any(is_deletable) {
        return Ok(());
    }
    let mut newest = view::read_parts(host.store, &Parts::RECORDS).await?;
    // A pack that an index still names and no record knows is not deleted: it is what was found.
    let is_unknown = |finding: &Finding| finding.pack.is_some_and(|pack| !newest.state.packs.contains_key(&pack));
    let mut named: BTreeSet<PackId> = BTreeSet::new();
    let domains = if report.findings.iter().any(is_unknown) { newest.domains() } else { Vec::new() };
    for domain in domains {
        // What cannot be read was reported.
        if structure::turn_to(host, &mut newest, domain).await?.is_some() {
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

/// Says of each harmed pack, and of each dangling reference, which kept snapshots reach it; and of packs that were known
/// to be harmed whether anything does.
pub(super) async fn locate(host: &Host<'_>, view: &mut View, harm: &Harm, report: &mut Report) -> Result<(), JobError> {
    let packs = report.findings.iter().filter_map(|finding| finding.pack);
    let mut domains: BTreeSet<DomainId> = packs.filter_map(|pack| Some(view.state.packs.get(&pack)?.domain)).collect();
    if report.findings.iter().any(|finding| finding.kind == Kind::Dangling) {
        domains.extend(&harm.seen);
    }
    for domain in domains {
        if structure::turn_to(host, view, domain).await?.is_some() {
            continue;
        }
        let inventory = structure::inventory(host, view, domain, &mut harm.clone(), None).await?;
        locate_in(view, domain, &inventory, harm, report);
    }
    Ok(())
}

fn locate_in(view: &View, domain: DomainId, inventory: &structure::Inventory<'_>, harm: &Harm, report: &mut Report) {
    let graph = &inventory.graph;
    // What was found before and is not read this time is no better for that.
    let is_bad =
        |pack: &PackId| harm.is_told(pack) || view.state.packs.get(pack).is_some_and(|of| harm.lets_stand(pack, of));
    let bad = only_in(inventory, is_bad);
    let kept = view.state.snapshots.values().filter(|snapshot| snapshot.domain == domain);
    let kept: Vec<_> = kept.filter(|of| of.state == SnapshotState::Kept && !of.partial).collect();
    let all = graph.reach(kept.iter().map(|snapshot| snapshot.root));
    let is_harmed = |reference: Option<u32>| reference.is_none_or(|number| bad.has(number));
    let above = graph.above(is_harmed, |page| !all.reached.has(page));
    let nothing = Bits::new(graph.scratch(), 0);
    for snapshot in kept {
        if graph.number(&snapshot.root).is_some_and(|root| !above.has(root) && !bad.has(root)) {
            continue;
        }
        let reach = graph.reach([snapshot.root]);
        let hit = reach.reached.and_without(&bad, &nothing);
        let copies = hit.flat_map(|id| inventory.copies_of(id)).map(|copy| inventory.copy(copy));
        let hit: BTreeSet<PackId> = copies.map(|copy| inventory.pack_of(&copy).id).collect();
        let unresolved: BTreeSet<String> = reach.unresolved.iter().map(|id| id.to_string()).collect();
        for finding in &mut report.findings {
            let is_hit = finding.pack.is_some_and(|pack| hit.contains(&pack));
            if is_hit || (finding.kind == Kind::Dangling && unresolved.contains(&finding.object)) {
                finding.snapshots.push(snapshot.id);
            }
        }
    }
    let is_all_read = all.unread.is_empty();
    // What lies below a page that cannot be read may need any pack.
    let is_known = |of: &PackRecord| of.domain == domain && (of.is_missing || of.is_damaged);
    let is_replaced = |pack: &PackId| is_bad(pack) && view.state.packs.get(pack).is_some_and(is_known);
    for finding in report.findings.iter_mut().filter(|finding| is_all_read && finding.snapshots.is_empty()) {
        if finding.pack.as_ref().is_some_and(is_replaced) {
            finding.kind = Kind::Replaced;
            finding.why.push_str(", and nothing kept needs it any more");
        }
    }
}

/// The ids all of whose copies lie in packs that pass the test.
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
