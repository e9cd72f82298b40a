//! Numbers: how far the roots went, as everything in the store tells, so that a rebuilt root stands above all of them. A
//! number that stands too far above all others is a lie: no reader believes it, and the rebuilt root needs no number above
//! it.

use copal_engine::layout;
use copal_engine::limits::{NUMBER, ROOT_LEAP, ROOT_TOLD};
use copal_engine::number::reached;

use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view::Listed;

/// The numbers of roots that anything tells of.
#[derive(Default)]
pub(super) struct Numbers {
    /// The newest root that readers believe, or that was surely there.
    known: u64,
    told: Vec<u64>,
}

impl Numbers {
    /// Those of the roots, of the records of deletions, and of a root that was surely there.
    pub(super) async fn of_roots(host: &Host<'_>, deletions: Vec<u64>, seen: u64) -> Result<Self, JobError> {
        let listed = Listed::read(host.store).await?.numbers.first().copied().unwrap_or(0);
        let roots = objects::list(host.store, "roots/").await?;
        let roots = roots.iter().filter_map(|root| layout::root_number(root.key.as_str()));
        Ok(Self { known: listed.max(seen), told: roots.chain(deletions).collect() })
    }

    /// Adds one that a manifest or receipt tells of.
    pub(super) fn tell(&mut self, number: u64) {
        self.told.push(number);
    }

    /// Whether an answer may have been given by a root of this number.
    pub(super) fn is_plausible(&self, number: u64) -> bool {
        number <= self.newest().saturating_add(ROOT_TOLD)
    }

    /// The highest that is believed.
    pub(super) fn newest(&self) -> u64 {
        // The last numbers are left to lies: from there no number leads on.
        let told = self.told.iter().copied().filter(|told| *told <= NUMBER - 2 * ROOT_LEAP);
        reached(self.known.min(NUMBER - 2 * ROOT_LEAP), ROOT_LEAP, told)
    }

    /// The number of the rebuilt root.
    pub(super) fn next(&self) -> u64 {
        self.newest() + GAP
    }
}

/// So far above any number ever seen a rebuilt root stands.
const GAP: u64 = 1000;
