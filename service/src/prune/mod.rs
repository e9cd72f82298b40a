//! Prune: frees what no kept snapshot needs, beside running backups and without keys. Flags first, removes after the
//! grace period, lists as doomed before deleting, and forgets a name only after it was deleted.

mod changes;
mod copies;
mod deletion;
mod domain;
mod garbage;
mod inventory;
mod kept;
mod needed;
mod notes;
mod rebuilt;
mod repack;
mod run;
mod sabotage;
mod tables;
mod verified;

use core::time::Duration;

use copal_engine::id::{ChunkId, DomainId, PackId};
use copal_engine::layout::Place;
use copal_engine::pack::PackKind;
use copal_engine::time::Time;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::compact;
use crate::error::JobError;
use crate::host::Host;
use crate::policy::{self, Guarded};
use crate::trust::Standings;
use crate::view::{self, Parts};
use domain::Part;
use kept::roots_of;

/// How a prune goes about it.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long something stays flagged before it is removed. Zero only for a repository known to be idle.
    pub grace: Duration,
    /// Bytes that may be copied into new packs.
    pub repack_most: u64,
    /// Bytes that are copied before a root decides about them: so much room is needed, and so much an interruption costs.
    pub repack_step: u64,
    /// Entries of packs that are copied before a root decides about them: so much memory is needed.
    pub repack_entries: u64,
    /// Whether nothing is written.
    pub is_dry_run: bool,
    /// Segments are merged up to so many entries.
    pub segment_most: u64,
    /// For a hundred bytes that are live so many may lie dead beside them, in blocks of their own, before packs are
    /// rewritten.
    pub dead_most: u32,
    /// Sizes packs should have: data, tree.
    pub pack_target: [u64; 2],
    /// When to come to an end: no further root is begun then, nor another domain.
    pub budget: Budget,
    /// Whether a plan is kept in `reports/plan/` before anything is removed or deleted.
    pub keeps_plan: bool,
}

impl Options {
    /// The usual: a day of grace, no limit on copying.
    pub fn new(pack_target: [u64; 2]) -> Self {
        Self {
            grace: GRACE,
            repack_most: u64::MAX,
            repack_step: REPACK_STEP,
            repack_entries: REPACK_ENTRIES,
            is_dry_run: false,
            segment_most: compact::ENTRIES,
            dead_most: DEAD_MOST,
            pack_target,
            budget: Budget::unlimited(),
            keeps_plan: false,
        }
    }
}

/// How long what nothing needs stays: as the policy in force says, a day without one.
pub async fn grace(host: &Host<'_>) -> Result<Duration, JobError> {
    let view = view::read_parts(host.store, &Parts::NOTHING).await?;
    Ok(policy::current(host, &view).await?.map_or(GRACE, |(_, policy)| policy.grace()))
}

/// What a prune did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Index entries that nothing kept needs any more, flagged for the first time.
    pub entries_flagged: u64,
    /// Index entries removed.
    pub entries_removed: u64,
    /// Index entries that backups are asked to upload again.
    pub entries_wanted: u64,
    /// Packs listed as doomed because nothing present lies in them.
    pub packs_dead: u64,
    /// Packs whose live blocks were copied into new ones.
    pub packs_rewritten: u64,
    /// Bytes of the blocks that were copied.
    pub bytes_copied: u64,
    /// Objects nothing refers to, listed as doomed.
    pub orphans: u64,
    /// Objects listed as doomed that the state still needs: they stay, and are doomed no more.
    pub spared: u64,
    /// Objects deleted.
    pub objects_deleted: u64,
    /// Bytes of objects deleted.
    pub bytes_deleted: u64,
    /// Bytes of packs that the plan frees, copies written anew subtracted.
    pub bytes_planned: u64,
    /// Bytes that another prune will free once the grace period is over.
    pub bytes_pending: u64,
    /// When it is over for the first of them.
    #[serde(with = "nanoseconds")]
    pub pending_from: Option<Time>,
    /// Bytes of blocks without any present entry, in packs that stay.
    pub dead_bytes: u64,
    /// Bytes of dead entries in blocks that live on.
    pub trapped_bytes: u64,
    /// Of the dead bytes, about what stays when the grace period is over for everything: in packs too full to be copied.
    pub dead_for_good: u64,
    /// Of the trapped bytes those that stay then: freed only when the blocks are written anew.
    pub trapped_for_good: u64,
    /// Copies of what is needed that lie beside older ones in packs that nobody has proven. They stay until somebody with
    /// the key has opened them; many of them mean that a client claims what it does not hold.
    pub unproven_copies: u64,
    /// Ids that kept snapshots refer to and that have no copy.
    pub lost: u64,
    /// Pages whose references cannot be read: nothing is removed in their domain until they are healed.
    pub unread: u64,
    /// Forgotten snapshots that are not removed: they lie within the policy's floor, or their series is held.
    pub protected: u64,
    /// Suspicious snapshots that nobody has released.
    pub held: u64,
    /// Bytes that were to be copied and were not: more than was allowed, or no room.
    pub bytes_postponed: u64,
    /// Whether copying ended for want of room.
    pub is_full: bool,
    /// Whether the budget was over before everything was done. What was decided counts; the next prune goes on.
    pub is_unfinished: bool,
}

/// Runs one prune. What dies whole goes first: a root flags, removes and dooms, and the objects are deleted. Then live
/// blocks of sparse packs are copied, step by step, each step with a root of its own. A last root clears.
pub async fn prune(host: &Host<'_>, options: &Options) -> Result<Report, JobError> {
    run::prune(host, options).await
}

/// What is needed of blocks that hold little of that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sparse {
    /// The blocks.
    pub blocks: Vec<SparseBlock>,
    /// What is needed of them, in the order in which who reads the newest snapshot meets it.
    pub live: Vec<Live>,
    /// About how many stored bytes that are.
    pub live_bytes: u64,
    /// About how many stored bytes of these blocks are not needed.
    pub dead_bytes: u64,
}

/// A block that holds little of what is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseBlock {
    /// Its pack.
    pub pack: PackId,
    /// Where that lies.
    pub place: Place,
    /// What it holds.
    pub kind: PackKind,
    /// The pack's length.
    pub pack_length: u64,
    /// Where the block starts.
    pub offset: u32,
    /// Its stored bytes.
    pub length: u32,
}

/// A chunk or page that is needed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its block, as a number in [`Sparse::blocks`].
    pub block: u32,
    /// Its position in the block.
    pub ordinal: u16,
    /// Its id.
    pub id: ChunkId,
}

/// The blocks of a domain whose live part somebody with the key shall write anew, so that at most `trapped_most` percent
/// of what is live is dead bytes in blocks that live on; of stored bytes `most` in all.
pub async fn sparse(
    host: &Host<'_>,
    options: &Options,
    domain: DomainId,
    trapped_most: u32,
    most: u64,
) -> Result<Sparse, JobError> {
    let view = view::read_parts(host.store, &Parts::of_domain(domain)).await?;
    if view.index(domain).is_none() {
        return Ok(Sparse::default());
    }
    let stored = garbage::Stored::list(host).await?;
    let now = host.now().await?;
    let guarded = Guarded::of(host, &view, now).await?;
    let mut standings = Standings::default();
    standings.learn(host, view.state.packs.values()).await?;
    let (view, stored, standings, floor) = (&view, &stored, &standings, guarded.floor);
    let (rebuilt, is_first) = (None, true);
    let part = Part { host, view, options, stored, domain, now, rebuilt, standings, floor, is_first };
    part.sparse(&roots_of(view, domain, now, options.grace, &guarded), trapped_most, most).await
}

impl Report {
    /// Takes what a root has decided: deeds add up, of the state the latest word counts.
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

/// A time as reports hold it.
mod nanoseconds {
    use copal_engine::time::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.0).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Time>, D::Error> {
        Ok(Option::deserialize(from)?.map(Time))
    }
}

/// How long something stays flagged by default.
pub const GRACE: Duration = Duration::from_secs(24 * 3600);
/// Bytes copied before a root says so.
const REPACK_STEP: u64 = 1 << 30;
/// Entries copied before a root says so, of about 250 bytes each.
const REPACK_ENTRIES: u64 = 1 << 20;
/// What may lie dead in blocks of its own, in percent of what is live.
const DEAD_MOST: u32 = 2;
