//! Numbers: the root numbers that objects in the store mention. A rebuilt root gets a number above all of them, except
//! false ones: a number too far above all others, which no reader believes.

use copal_format::layout;
use copal_format::limits::{NUMBER, ROOT_LEAP, ROOT_TOLD};
use copal_format::number::reached;

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::view::Listed;

/// The root numbers that objects in the store mention.
#[derive(Default)]
pub(super) struct Numbers {
    /// The newest root that readers believe, or that was surely there.
    known: u64,
    told: Vec<u64>,
    /// The numbers of the objects in `roots/`, the highest first.
    roots: Vec<u64>,
}

impl Numbers {
    /// Collects the numbers of roots and deletion records, and a root that was certainly there (`seen`).
    pub(super) async fn of_roots(job: &JobContext<'_>, deletions: Vec<u64>, seen: u64) -> Result<Self, JobError> {
        let listed = Listed::read(job.store).await?.numbers.first().copied().unwrap_or(0);
        let roots = objects::list(job.store, "roots/").await?;
        let roots: Vec<u64> = roots.iter().filter_map(|root| layout::root_number(root.key.as_str())).collect();
        let told = roots.iter().copied().chain(deletions).collect();
        Ok(Self { known: listed.max(seen), told, roots })
    }

    /// Adds a number that a manifest or receipt tells of.
    pub(super) fn tell(&mut self, number: u64) {
        self.told.push(number);
    }

    /// Whether a root of this number may have written a receipt.
    pub(super) fn is_plausible(&self, number: u64) -> bool {
        number <= self.newest().saturating_add(ROOT_TOLD)
    }

    /// The highest number that is believed.
    pub(super) fn newest(&self) -> u64 {
        // The very highest numbers are never believed, because no number would be left above them.
        let told = self.told.iter().copied().filter(|told| *told <= NUMBER - 2 * ROOT_LEAP);
        reached(self.known.min(NUMBER - 2 * ROOT_LEAP), ROOT_LEAP, told)
    }

    /// The number of the rebuilt root. Fails if readers would believe a higher one, because then nobody would read the
    /// rebuilt root. False names can lead up to the very highest numbers, or lie where only the rebuilt root leads.
    pub(super) fn next(&self) -> Result<u64, JobError> {
        let next = self.newest() + GAP;
        let highest = reached(next, ROOT_LEAP, self.roots.iter().copied());
        let above = self.roots.iter().filter(|root| (next + 1..=highest).contains(*root));
        let names: Vec<String> = above.map(|root| layout::root(*root)).collect();
        let Some(first) = names.first() else { return Ok(next) };
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names_first = names[..names.len().min(NAMED)].join(", ");
        let why = format!(
            "readers would believe these names instead of the rebuilt root; look at them, and delete those that are not \
             roots: {names_first}{more}"
        );
        Err(JobError::damaged(first, why))
    }
}

/// How far a rebuilt root stands above the highest number that is believed.
const GAP: u64 = 1000;
/// How many names an error lists.
const NAMED: usize = 10;
