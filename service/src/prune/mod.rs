//! Prune: frees what no kept snapshot needs, beside running backups and without keys. Flags first, removes after the
//! grace period, lists as doomed before deleting, and forgets a name only after it was deleted.

mod domain;
mod garbage;
mod repack;
mod sabotage;

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use copal_engine::id::{DomainId, ObjectHash};
use copal_engine::layout;
use copal_engine::root::{Deletion, Root};
use copal_engine::state::{DoomedRecord, DoomedState, SnapshotState};
use copal_engine::time::Time;

use crate::commit::{Proposal, commit};
use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::host::Host;
use crate::objects;
use crate::view::{self, View};

/// How a prune goes about it.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long something stays flagged before it is removed. Zero only for a repository known to be idle.
    pub grace: Duration,
    /// Bytes that may be copied into new packs.
    pub repack_most: u64,
    /// Whether nothing is written.
    pub is_dry_run: bool,
    /// Sizes packs should have: data, tree.
    pub pack_target: [u64; 2],
}

impl Options {
    /// The usual: a day of grace, no limit on copying.
    pub fn new(pack_target: [u64; 2]) -> Self {
        Self { grace: GRACE, repack_most: u64::MAX, is_dry_run: false, pack_target }
    }
}

/// What a prune did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Bytes copied.
    pub bytes_copied: u64,
    /// Objects nothing refers to, listed as doomed.
    pub orphans: u64,
    /// Objects deleted.
    pub objects_deleted: u64,
    /// Bytes of objects deleted.
    pub bytes_deleted: u64,
    /// Bytes of packs that the plan frees, copies written anew subtracted.
    pub bytes_planned: u64,
    /// Bytes that another prune will free once the grace period is over.
    pub bytes_pending: u64,
    /// When it is over for the first of them.
    pub pending_from: Option<Time>,
    /// Bytes of blocks without any present entry, in packs that stay.
    pub dead_bytes: u64,
    /// Bytes of dead entries in blocks that live on.
    pub trapped_bytes: u64,
    /// Of the dead bytes, about what stays when the grace period is over for everything: in packs too full to be copied.
    pub dead_for_good: u64,
    /// Of the trapped bytes those that stay then: freed only when the blocks are written anew.
    pub trapped_for_good: u64,
    /// Ids that kept snapshots refer to and that have no copy.
    pub lost: u64,
    /// Pages whose references cannot be read: nothing is removed in their domain until they are healed.
    pub unread: u64,
}

/// Runs one prune: a root that flags, removes and dooms; the deletions; a root that clears.
pub async fn prune(host: &Host<'_>, options: &Options) -> Result<Report, JobError> {
    for _ in 0..ATTEMPTS {
        let view = view::read(host.store).await?;
        let Some((root, hash)) = view.root.clone() else { return Ok(Report::default()) };
        if let Some((_, evidence)) = view::lost_newer(host, &view).await? {
            return Err(JobError::StateLost { evidence });
        }
        // What an earlier root doomed and an interrupted prune left.
        let mut report = Report::default();
        let cleared = if options.is_dry_run {
            Vec::new()
        } else {
            delete_doomed(host, &view, (&root, hash), &mut report).await?
        };
        let Some(cleared) = not_superseded(host, &view, cleared).await? else { continue };
        let proposal = propose(host, &view, options, &cleared, &mut report).await?;
        if options.is_dry_run {
            return Ok(report);
        }
        let Some(proposal) = proposal else {
            garbage::delete_old_roots(host, &mut report).await?;
            return Ok(report);
        };
        if is_planted(Fault::DeletedFirst) {
            for name in proposal.delta.doomed.keys() {
                host.store.delete(&objects::key(name.as_str())).await?;
            }
        }
        if commit(host, &view, proposal).await?.is_none() {
            continue;
        }
        finish(host, &mut report).await?;
        garbage::delete_old_roots(host, &mut report).await?;
        return Ok(report);
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// Deletes what the root just written dooms, and clears the names.
async fn finish(host: &Host<'_>, report: &mut Report) -> Result<(), JobError> {
    for _ in 0..ATTEMPTS {
        let view = view::read(host.store).await?;
        let Some((root, hash)) = view.root.clone() else { return Ok(()) };
        let cleared = delete_doomed(host, &view, (&root, hash), report).await?;
        if cleared.is_empty() {
            return Ok(());
        }
        let mut proposal = Proposal::default();
        clear(&view, &cleared, host.now().await?, &mut proposal);
        if commit(host, &view, proposal).await?.is_some() {
            return Ok(());
        }
    }
    // The names stay doomed; the next prune deletes and clears them.
    Ok(())
}

/// Decisions belong to the newest root: another prune may have deleted and cleared meanwhile.
async fn not_superseded(host: &Host<'_>, view: &View, cleared: Vec<String>) -> Result<Option<Vec<String>>, JobError> {
    let newest = view::read(host.store).await?;
    Ok((newest.base() == view.base()).then_some(cleared))
}

/// Deletes the objects that a root lists as doomed. The names are recorded first, so that a rebuild of the state does
/// not take one that is half deleted, and the root must still be there. Gives the names that are gone.
async fn delete_doomed(
    host: &Host<'_>,
    view: &View,
    (root, hash): (&Root, ObjectHash),
    report: &mut Report,
) -> Result<Vec<String>, JobError> {
    let doomed = view.state.doomed.iter().filter(|(_, record)| record.state == DoomedState::Doomed);
    let names: Vec<String> = doomed.map(|(name, _)| name.clone()).collect();
    if is_planted(Fault::ClearedBlindly) {
        return Ok(names);
    }
    for part in names.chunks(DELETION_NAMES) {
        let random = host.random();
        let deletion = Deletion { root_number: root.number, random, time: host.now().await?, names: part.to_vec() };
        let name = objects::key(layout::deletion(root.number, &random));
        host.store.create(&name, Bytes::from(deletion.encode())).await?;
        if !view::is_there(host.store, root.number, hash).await? {
            return Ok(Vec::new());
        }
        for name in part {
            let object = objects::key(name.as_str());
            if let Some(stat) = host.store.stat(&object).await? {
                host.store.delete(&object).await?;
                report.objects_deleted += 1;
                report.bytes_deleted += stat.length;
            }
        }
    }
    Ok(names)
}

/// Turns the names that this writer has itself deleted into spent ones.
fn clear(view: &View, cleared: &[String], now: Time, proposal: &mut Proposal) {
    for name in cleared {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: view.number() + 1 };
        proposal.delta.doomed.insert(name.clone(), Some(spent));
    }
}

/// Everything the next root changes; none if there is nothing to change.
async fn propose(
    host: &Host<'_>,
    view: &View,
    options: &Options,
    cleared: &[String],
    report: &mut Report,
) -> Result<Option<Proposal>, JobError> {
    let mut proposal = Proposal::default();
    // Taken after the root was read: a pack that a root names and this lacks is gone.
    let stored = garbage::Stored::list(host).await?;
    let now = host.now().await?;
    clear(view, cleared, now, &mut proposal);
    let mut roots: BTreeMap<DomainId, Vec<_>> = BTreeMap::new();
    for (key, snapshot) in &view.state.snapshots {
        let is_missed = is_planted(Fault::UndeleteMissed) && snapshot.state_time > snapshot.accepted;
        if is_marked(view, *key, now, options.grace) && !is_missed {
            roots.entry(snapshot.domain).or_default().push(snapshot.root);
        }
    }
    for domain in view.indexes.keys() {
        let roots = roots.get(domain).map(Vec::as_slice).unwrap_or_default();
        let part = domain::Part { host, view, options, stored: &stored, domain: *domain, now };
        part.propose(roots, &mut proposal, report).await?;
    }
    bury(view, now, &mut proposal);
    garbage::doom_orphans(host, view, &stored, now, &mut proposal, report).await?;
    garbage::expire_spent(view, now, &mut proposal);
    Ok((!proposal.delta.is_empty() || !proposal.overlay.is_empty()).then_some(proposal))
}

/// Whether the pages of a snapshot are followed: it is kept, or it is a checkpoint that a later run may go on from.
fn is_marked(view: &View, key: (copal_engine::id::ClientId, u64), now: Time, grace: Duration) -> bool {
    let snapshot = &view.state.snapshots[&key];
    if snapshot.state != SnapshotState::Kept {
        return false;
    }
    if !snapshot.partial {
        return true;
    }
    let later = view.state.snapshots.range((key.0, key.1 + 1)..=(key.0, u64::MAX));
    let is_followed = later
        .filter(|(_, later)| !later.partial && later.source == snapshot.source)
        .any(|(_, later)| now.since(later.accepted) >= grace);
    let is_silent = view.state.heads.get(&key.0).is_none_or(|head| now.since(head.time) >= CHECKPOINT_SILENCE);
    !is_followed && !is_silent
}

/// Snapshots and checkpoints whose root page leaves the index cannot come back: forgotten ones are not undeleted any
/// more, and a closed checkpoint is not opened again when its client wakes up.
fn bury(view: &View, now: Time, proposal: &mut Proposal) {
    for (key, snapshot) in &view.state.snapshots {
        let is_removed = proposal.removed_ids.contains(&(snapshot.domain, snapshot.root));
        let is_unmarked = snapshot.state == SnapshotState::Forgotten || snapshot.partial;
        if snapshot.state != SnapshotState::Gone && is_unmarked && is_removed {
            let gone =
                copal_engine::state::SnapshotRecord { state: SnapshotState::Gone, state_time: now, ..snapshot.clone() };
            proposal.delta.snapshots.insert(*key, Some(gone));
        }
    }
}

/// How long something stays flagged by default.
pub const GRACE: Duration = Duration::from_secs(24 * 3600);
/// A checkpoint of a client that was silent for so long is closed.
const CHECKPOINT_SILENCE: Duration = Duration::from_secs(30 * 24 * 3600);
/// So often a prune starts again after another writer won.
const ATTEMPTS: u32 = 16;
/// Names in one deletion record.
const DELETION_NAMES: usize = 10_000;
