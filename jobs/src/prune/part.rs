//! Part: the inputs of one domain's part of a prune.

use core::time::Duration;
use std::collections::BTreeSet;

use copal_format::id::{DomainId, PackId};
use copal_format::time::Time;

use super::Options;
use super::new_packs::NewPacks;
use super::rebuilt::Rebuilt;
use super::tables::Tables;
use crate::context::JobContext;
use crate::stored::Stored;
use crate::trust::Standings;
use crate::view::View;

pub(super) struct Part<'a> {
    pub(super) job: &'a JobContext<'a>,
    pub(super) view: &'a View,
    pub(super) options: &'a Options,
    pub(super) stored: &'a Stored,
    pub(super) domain: DomainId,
    pub(super) now: Time,
    /// The last rebuild, whose flags are spared for a while.
    pub(super) rebuilt: Option<Rebuilt>,
    /// How far packs are believed.
    pub(super) standings: &'a Standings,
    /// The floor: how long displaced copies stay at least.
    pub(super) floor: Duration,
    /// Whether this is the run's first root: it frees what dies whole before anything is copied.
    pub(super) is_first: bool,
}

/// Caches and budgets that all domains share, and that a run carries from root to root.
pub(super) struct Work<'a> {
    /// Pack tables that were read.
    pub(super) tables: &'a mut Tables,
    /// Blocks that were copied and that no root names yet.
    pub(super) new_packs: &'a mut NewPacks,
    /// Packs of copies that the next root names.
    pub(super) used: BTreeSet<PackId>,
    /// Bytes that may still be copied for this root.
    pub(super) allowance: u64,
    /// Entries that may still be copied for this root.
    pub(super) entries: u64,
    pub(super) copied: &'a mut u64,
    /// Bytes that should be copied, now or later.
    pub(super) wanted: u64,
    /// True if copying was put off because other packs die whole.
    pub(super) has_put_off: bool,
}
