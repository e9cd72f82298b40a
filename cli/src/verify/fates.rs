//! Fates: whether a chunk or page can be read, as far as is known of the packs that hold it.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_engine::id::{ChunkId, PackId};
use copal_engine::index::{Index, Location};
use copal_service::check::Harm;
use copal_service::view::View;

use super::hits::Hit;
use super::packs::Opened;

/// What is known of packs: some are harmed as a whole, of some every block was opened.
pub struct Fates {
    harmed: BTreeSet<PackId>,
    opened: Opened,
}

impl Fates {
    /// Joins what the state knew with what a check has learned.
    pub(super) fn new(view: &View, harm: &Harm, opened: Opened) -> Self {
        let known = view.state.packs.iter().filter(|(_, record)| record.is_missing || record.is_damaged);
        let known = known.map(|(id, _)| *id).filter(|id| !harm.whole.contains_key(id));
        let harmed = known.chain(harm.missing.iter().copied()).chain(harm.damaged.iter().copied());
        Self { harmed: harmed.collect(), opened }
    }

    /// As the state knows them.
    pub fn known(view: &View) -> Self {
        Self::new(view, &Harm::default(), Opened::default())
    }

    /// Whether nothing is harmed.
    pub fn are_all_good(&self) -> bool {
        self.harmed.is_empty() && self.opened.has_only_good()
    }

    /// What stands in the way of reading an id; nothing if one of its copies is good.
    pub(super) fn hits(&self, index: Option<&Index<Bytes>>, id: &ChunkId) -> Vec<Hit> {
        let copies: Vec<Location> = index.into_iter().flat_map(|index| index.copies(id)).map(|(at, _)| at).collect();
        if copies.is_empty() {
            return vec![Hit::Id(*id)];
        }
        if copies.iter().any(|copy| !self.is_bad(copy)) {
            return Vec::new();
        }
        copies.iter().map(|copy| Hit::Pack(copy.pack)).collect()
    }

    fn is_bad(&self, copy: &Location) -> bool {
        match self.opened.is_good(copy) {
            Some(is_good) => !is_good,
            None => self.harmed.contains(&copy.pack),
        }
    }
}
