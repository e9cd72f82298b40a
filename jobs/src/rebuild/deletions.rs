//! Deletions: the names that prunes recorded before they deleted the objects. A record is a hint: a prune that sees a
//! rebuild deletes nothing after it has recorded. So an object that still exists is left out only as long as nothing is
//! refused because of that.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::{ChunkId, DomainId, PackId, PackTag};
use copal_format::index::Bits;
use copal_format::layout::{self, Prunable};
use copal_format::root::Deletion;

use super::Report;
use crate::commit::Proposal;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// What deletion records say.
pub(super) struct Deleted {
    /// Names of objects that do not count.
    pub(super) names: BTreeSet<Prunable>,
    /// The root numbers in the records.
    pub(super) roots: Vec<u64>,
    /// Packs that count again only because something was refused without them. A prune may have deleted the others that
    /// it has recorded.
    pub(super) returned: BTreeSet<PackId>,
}

impl Deleted {
    pub(super) async fn read(job: &JobContext<'_>, report: &mut Report) -> Result<Self, JobError> {
        let mut deleted = Self { names: BTreeSet::new(), roots: Vec::new(), returned: BTreeSet::new() };
        for listed in objects::list(job.store, "deletions/").await? {
            let name = listed.key.as_str();
            let Some(bytes) = report.given(objects::read(job.store, name).await)? else { continue };
            match Deletion::decode(&bytes) {
                Ok(deletion) => {
                    deleted.roots.push(deletion.root_number);
                    deleted.names.extend(deletion.names);
                }
                Err(error) => report.unreadable.push((name.to_owned(), error.to_string())),
            }
        }
        Ok(deleted)
    }

    /// Lets recorded packs that still exist count again, once anything is lost or was `refused`. All packs of a domain
    /// count if one of them holds an id that the folded state lacks, or if something of the domain was refused. Packs
    /// with an unreadable table count in any case: they may hold what is lost. Returns whether any pack counts again;
    /// then the state must be folded once more.
    pub(super) async fn take_back(
        &mut self,
        job: &JobContext<'_>,
        (proposal, refused): (&Proposal, &BTreeSet<DomainId>),
    ) -> Result<bool, JobError> {
        let lost: BTreeSet<(DomainId, ChunkId)> = lost_of(proposal).collect();
        let mut domains: BTreeMap<DomainId, (bool, Vec<(Prunable, PackId)>)> = BTreeMap::new();
        let is_settled = lost.is_empty() && refused.is_empty();
        let mut is_any_new = false;
        for folder in if is_settled { [].as_slice() } else { &["packs/", "moved/"] } {
            for listed in objects::list(job.store, folder).await? {
                let Some(name) = Prunable::parse(listed.key.as_str()).filter(|name| self.names.contains(name)) else {
                    continue;
                };
                let Some((place, id)) = layout::pack_of(listed.key.as_str()) else { continue };
                let table = match objects::read_table(job.store, place, id, listed.stat.length).await {
                    Ok(table) => table,
                    Err(error) => {
                        error.blame()?;
                        is_any_new |= self.names.remove(&name);
                        continue;
                    }
                };
                let (is_needed, names) = domains.entry(table.domain).or_default();
                *is_needed |= table.ids.iter().any(|id| lost.contains(&(table.domain, *id)));
                names.push((name, id));
            }
        }
        for (domain, (is_needed, names)) in domains {
            if !is_needed && !refused.contains(&domain) {
                continue;
            }
            for (name, id) in names {
                is_any_new |= self.names.remove(&name);
                if !is_needed {
                    self.returned.insert(id);
                }
            }
        }
        Ok(is_any_new)
    }
}

/// The ids that kept snapshots need and no pack holds.
fn lost_of(proposal: &Proposal) -> impl Iterator<Item = (DomainId, ChunkId)> + '_ {
    proposal.overlay.iter().flat_map(|(domain, marks)| {
        let lost = marks.iter().filter(|((_, tag), mark)| *tag == PackTag::NONE && mark.bits.contains(Bits::LOST));
        lost.map(|((id, _), _)| (*domain, *id))
    })
}
