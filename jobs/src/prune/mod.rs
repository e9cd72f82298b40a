//! Prune: frees what no kept snapshot needs, without keys and while backups run. It flags entries, removes them after
//! the grace period, lists objects as doomed before it deletes them, and clears a doomed name only after the deletion.

mod changes;
mod deletion;
mod domain;
mod garbage;
mod inventory;
mod kept;
mod leaving;
mod needed;
mod new_packs;
mod notes;
mod part;
mod rebase;
mod rebuilt;
mod repack;
mod replay;
mod roots;
mod run;
mod sabotage;
mod tables;
mod verified;

use core::time::Duration;

use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::layout::Place;
use copal_format::pack::PackKind;
use copal_format::policy::USUAL_GRACE;
use copal_format::time::Time;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::compact;
use crate::context::JobContext;
use crate::error::JobError;
use crate::policy::{self, Guarded};
use crate::shares::{self, Ended};
use crate::stored::{self, Stored};
use crate::trust::Standings;
use crate::view::{self, Parts};
use kept::roots_of;
use part::Part;

/// Options of a prune.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long an entry stays flagged before it is removed. Zero only for a repository known to be idle.
    pub grace: Duration,
    /// How many bytes may be copied into new packs in all.
    pub repack_most: u64,
    /// How many bytes are copied per root. This much free space is needed, and an interruption loses at most this much
    /// work.
    pub repack_step: u64,
    /// How many index entries are copied per root; this bounds the memory.
    pub repack_entries: u64,
    /// Whether nothing is written.
    pub is_dry_run: bool,
    /// The time for a dry run on a store that takes no writes: such a store cannot tell the time.
    pub otherwise: Time,
    /// Segments are merged up to this many entries.
    pub segment_most: u64,
    /// How many dead bytes, in blocks of their own, may remain before packs are repacked; in percent of the live bytes.
    pub dead_most: u32,
    /// Target pack sizes in bytes: data, tree.
    pub pack_target: [u64; 2],
    /// The time budget. Once it is over, no further root and no further domain is begun.
    pub budget: Budget,
    /// Whether a plan is written to `reports/plan/` before anything is removed or deleted.
    pub keeps_plan: bool,
}

impl Options {
    /// The defaults: 24 hours of grace, no limit on copying.
    pub fn new(pack_target: [u64; 2]) -> Self {
        Self {
            grace: GRACE,
            repack_most: u64::MAX,
            repack_step: REPACK_STEP,
            repack_entries: REPACK_ENTRIES,
            is_dry_run: false,
            otherwise: Time(0),
            segment_most: compact::ENTRIES,
            dead_most: DEAD_MOST,
            pack_target,
            budget: Budget::unlimited(),
            keeps_plan: false,
        }
    }

    /// The store's time; in a dry run on a store that takes no writes, [`Self::otherwise`].
    async fn now(&self, job: &JobContext<'_>) -> Result<Time, JobError> {
        match self.is_dry_run {
            true => Ok(job.now_or(self.otherwise).await?),
            false => Ok(job.now().await?),
        }
    }
}

/// The grace period of the policy in force; 24 hours without a policy.
pub async fn grace(job: &JobContext<'_>) -> Result<Duration, JobError> {
    let view = view::read_parts(job.store, &Parts::NOTHING).await?;
    Ok(policy::current(job, &view).await?.map_or(GRACE, |(_, policy)| policy.grace()))
}

/// What a prune did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Index entries that no kept snapshot needs any more, flagged for the first time.
    pub entries_flagged: u64,
    /// Index entries removed.
    pub entries_removed: u64,
    /// Index entries that backups are asked to upload again.
    pub entries_wanted: u64,
    /// Packs listed as doomed because they hold no present entry.
    pub packs_dead: u64,
    /// Packs whose live blocks were copied into new ones.
    pub packs_rewritten: u64,
    /// Bytes of the blocks that were copied.
    pub bytes_copied: u64,
    /// Objects nothing refers to, listed as doomed.
    pub orphans: u64,
    /// Doomed objects that the state still needs: they stay, and are no longer doomed.
    pub spared: u64,
    /// Shares that were over, deleted with all of their objects.
    pub shares_ended: u64,
    /// Objects deleted.
    pub objects_deleted: u64,
    /// Bytes of objects deleted.
    pub bytes_deleted: u64,
    /// Bytes of packs that the plan frees, minus the bytes it writes again as copies.
    pub bytes_planned: u64,
    /// Bytes that a later prune will free once the grace period is over.
    pub bytes_pending: u64,
    /// When the first of the pending bytes leave their grace period.
    #[serde(with = "nanoseconds")]
    pub pending_from: Option<Time>,
    /// Bytes of blocks without any present entry, in packs that stay.
    pub dead_bytes: u64,
    /// Bytes of dead entries in blocks that also hold live entries.
    pub trapped_bytes: u64,
    /// About how many dead bytes stay after every grace period is over, in packs with too much live data to be copied.
    pub dead_for_good: u64,
    /// Trapped bytes that stay after that. They are freed only when their blocks are written anew.
    pub trapped_for_good: u64,
    /// Needed copies beside older ones, in unproven packs. They stay until somebody with the key has opened them. Many
    /// of them mean that a client claims data it does not hold.
    pub unproven_copies: u64,
    /// Ids that kept snapshots refer to and that have no copy.
    pub lost: u64,
    /// Pages whose references cannot be read. Until they are healed, nothing is removed in their domain.
    pub unread: u64,
    /// Forgotten snapshots that are not removed, because the policy's floor or a hold protects them.
    pub protected: u64,
    /// Suspicious snapshots that nobody has released.
    pub held: u64,
    /// Bytes that should have been copied and were not, because of a limit or a full disk.
    pub bytes_postponed: u64,
    /// Whether copying stopped because the disk is full.
    pub is_full: bool,
    /// Whether the budget was over before everything was done. What was decided counts; the next prune continues.
    pub is_unfinished: bool,
}

/// Deletes shares that are over, which are no part of the repository, and then runs one prune. First, a root flags, removes
/// and dooms whatever dies whole, and the doomed objects are deleted. Then live blocks of sparse packs are copied in steps,
/// each with a root of its own. A last root clears the deleted names.
pub async fn prune(job: &JobContext<'_>, options: &Options) -> Result<Report, JobError> {
    let ended = match options.is_dry_run {
        true => Ended::default(),
        false => shares::sweep(job).await?,
    };
    let mut report = run::prune(job, options).await?;
    report.shares_ended = ended.shares;
    report.objects_deleted += ended.objects;
    report.bytes_deleted += ended.bytes;
    Ok(report)
}

/// Blocks that hold little live data, and the live data in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sparse {
    /// The blocks.
    pub blocks: Vec<SparseBlock>,
    /// The live chunks and pages, in the order in which a reader of the newest snapshot meets them.
    pub live: Vec<Live>,
    /// About how many stored bytes are live.
    pub live_bytes: u64,
    /// About how many stored bytes of these blocks are dead.
    pub dead_bytes: u64,
}

/// A block that holds little live data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseBlock {
    /// The block's pack.
    pub pack: PackId,
    /// The place of the pack: `packs/` or `moved/`.
    pub place: Place,
    /// What the pack holds: data or tree pages.
    pub kind: PackKind,
    /// The pack's length in bytes.
    pub pack_length: u64,
    /// The block's offset in the pack.
    pub offset: u32,
    /// The block's stored bytes.
    pub length: u32,
}

/// A chunk or page that is needed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The number of its block in [`Sparse::blocks`].
    pub block: u32,
    /// Its position in the block.
    pub ordinal: u16,
    /// Its id.
    pub id: ChunkId,
}

/// The blocks of a domain whose live data a client with the key should write anew, so that at most `trapped_most`
/// percent of the live bytes remain as dead bytes in partly live blocks. At most `most` stored bytes in all.
pub async fn sparse(
    job: &JobContext<'_>,
    options: &Options,
    domain: DomainId,
    trapped_most: u32,
    most: u64,
) -> Result<Sparse, JobError> {
    let view = view::read_parts(job.store, &Parts::of_domain(domain)).await?;
    if view.index(domain).is_none() {
        return Ok(Sparse::default());
    }
    let stored = Stored::list(job, stored::PRUNABLE).await?;
    let now = options.now(job).await?;
    let guarded = Guarded::of(job, &view, now).await?;
    let mut standings = Standings::default();
    standings.learn(job, view.state.packs.values()).await?;
    let (view, stored, standings, floor) = (&view, &stored, &standings, guarded.floor);
    let (rebuilt, is_first) = (None, true);
    let part = Part { job, view, options, stored, domain, now, rebuilt, standings, floor, is_first };
    part.sparse(&roots_of(view, domain, now, options.grace, &guarded), trapped_most, most).await
}

impl Report {
    /// Adds the report of one root: counts of actions add up, values about the state are replaced.
    fn take(&mut self, now: Report) {
        *self = Report {
            entries_flagged: self.entries_flagged + now.entries_flagged,
            entries_removed: self.entries_removed + now.entries_removed,
            packs_dead: self.packs_dead + now.packs_dead,
            packs_rewritten: self.packs_rewritten + now.packs_rewritten,
            bytes_planned: self.bytes_planned + now.bytes_planned,
            orphans: self.orphans + now.orphans,
            spared: self.spared + now.spared,
            bytes_copied: self.bytes_copied + now.bytes_copied,
            objects_deleted: self.objects_deleted + now.objects_deleted,
            bytes_deleted: self.bytes_deleted + now.bytes_deleted,
            is_full: self.is_full || now.is_full,
            is_unfinished: self.is_unfinished || now.is_unfinished,
            ..now
        };
    }
}

/// Serialises a time as nanoseconds.
mod nanoseconds {
    use copal_format::time::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.0).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Time>, D::Error> {
        Ok(Option::deserialize(from)?.map(Time))
    }
}

/// The default grace period.
pub const GRACE: Duration = USUAL_GRACE;
/// Bytes copied per root.
const REPACK_STEP: u64 = 1 << 30;
/// Entries copied per root; each takes about 250 bytes of memory.
const REPACK_ENTRIES: u64 = 1 << 20;
/// Dead bytes in blocks of their own, in percent of the live bytes.
const DEAD_MOST: u32 = 2;

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn counts_of_all_roots_add_up_and_values_of_the_state_are_those_of_the_last_root() {
        let counts = |n| Report {
            entries_flagged: n,
            entries_removed: 2 * n,
            packs_dead: 3 * n,
            packs_rewritten: 4 * n,
            bytes_planned: 5 * n,
            orphans: 6 * n,
            spared: 7 * n,
            bytes_copied: 8 * n,
            objects_deleted: 9 * n,
            bytes_deleted: 10 * n,
            ..Report::default()
        };
        let mut report = Report { lost: 3, is_full: true, is_unfinished: true, ..counts(2) };
        report.take(Report { lost: 1, ..counts(3) });
        assert_eq!(report, Report { lost: 1, is_full: true, is_unfinished: true, ..counts(5) });
    }
}
