//! Fates: whether a chunk or page can be read, judged by what a check learned about the packs that hold it.

use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::Location;
use copal_jobs::check::Harm;
use copal_jobs::view::View;

use super::hits::Hit;
use super::packs::Opened;

/// What a check learned about packs: which are damaged as a whole, and which were opened block by block.
#[derive(Default)]
pub struct Fates {
    harm: Harm,
    opened: Opened,
}

impl Fates {
    pub(super) fn new(harm: Harm, opened: Opened) -> Self {
        Self { harm, opened }
    }

    /// Whether nothing is damaged, according to the check and the state.
    pub fn are_all_good(&self, view: &View) -> bool {
        self.opened.has_only_good() && view.state.packs.keys().all(|pack| !self.is_harmed(view, pack))
    }

    /// Why an id cannot be read; empty if one of its copies is good.
    pub(super) fn hits(&self, view: &View, domain: DomainId, id: &ChunkId) -> Vec<Hit> {
        let index = view.index(domain);
        let copies: Vec<Location> = index.into_iter().flat_map(|index| index.copies(id)).map(|(at, _)| at).collect();
        if copies.is_empty() {
            return vec![Hit::Id(*id)];
        }
        if copies.iter().any(|copy| !self.is_bad(view, id, copy)) {
            return Vec::new();
        }
        copies.iter().map(|copy| Hit::Pack(copy.pack)).collect()
    }

    fn is_bad(&self, view: &View, id: &ChunkId, copy: &Location) -> bool {
        match self.opened.is_good(id, copy) {
            Some(is_good) => !is_good,
            None => self.is_harmed(view, &copy.pack),
        }
    }

    fn is_harmed(&self, view: &View, pack: &PackId) -> bool {
        self.harm.missing.contains(pack)
            || self.harm.damaged.contains(pack)
            || view.state.packs.get(pack).is_some_and(|record| self.harm.lets_stand(pack, record))
    }
}
