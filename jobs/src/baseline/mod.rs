//! Baseline: the last state that a prune has verified or made. Anybody who may create roots and states can write any
//! state. So prune removes nothing on a state that does not follow from the baseline by what clients and the owner have
//! signed since (decision 0015). Only prunes and rebuilds write baselines, in a folder where nobody else writes.

mod changes;
mod claims;
mod entries;
mod flags;
mod mends;
mod packs;
mod snapshots;

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_format::id::{ObjectHash, PackId};
use copal_format::layout;
use copal_format::root::Deletion;

use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects;
use crate::view::{self, Parts, View};
use changes::Changes;
use claims::Claims;
pub(crate) use mends::Mends;

/// The result of comparing a state with the baseline.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    /// Packs named by undecided manifests.
    pub(crate) claimed: BTreeSet<PackId>,
    /// What the next root has to put right.
    pub(crate) mends: Mends,
    pub(crate) is_baseline: bool,
}

/// Notes a root as baseline: the writer has verified its state, or is about to make it on root `on`.
pub(crate) async fn note(job: &JobContext<'_>, on: u64, root: (u64, ObjectHash)) -> Result<(), JobError> {
    let (random, time) = (job.random(), job.now().await?);
    let record = Deletion { root_number: on, random, time, names: Vec::new(), baseline: Some(root) };
    job.store.create(&objects::key(record.name()), Bytes::from(record.encode())).await?;
    Ok(())
}

/// The newest baseline that still exists; none if there never was one.
pub(crate) async fn newest(job: &JobContext<'_>) -> Result<Option<(u64, ObjectHash)>, JobError> {
    newest_to(job, u64::MAX).await
}

/// Like [`newest`], among roots up to this number.
pub(crate) async fn newest_to(job: &JobContext<'_>, most: u64) -> Result<Option<(u64, ObjectHash)>, JobError> {
    let (mut found, mut last) = (None, None);
    for listed in objects::list(job.store, "deletions/").await?.iter().rev() {
        let name = listed.key.as_str();
        let Some(on) = layout::deletion_root(name) else { continue };
        // Records of the same number may name a root made on that root, which is newer.
        if found.is_some() && last != Some(on) {
            break;
        }
        last = Some(on);
        let bytes = objects::read(job.store, name).await?;
        let baseline = bytes.and_then(|bytes| Deletion::decode(&bytes).ok()?.baseline);
        if let Some((number, hash)) = baseline.filter(|baseline| found < Some(*baseline) && baseline.0 <= most)
            && view::is_there(job.store, number, hash).await?
        {
            found = Some((number, hash));
        }
    }
    Ok(found)
}

/// Compares a state with the baseline: the newest one in the store, or the root `verified` by this run if that is
/// newer. None if the comparison fails because the view's root is not the newest any more.
pub(crate) async fn verify(
    job: &JobContext<'_>,
    mut verified: Option<(u64, ObjectHash)>,
    view: &View,
) -> Result<Option<Agreed>, JobError> {
    let (mut most, mut gone) = (u64::MAX, None);
    loop {
        let noted = newest_to(job, most).await?;
        let baseline = noted.max(verified);
        match compare(job, baseline, view).await {
            Err(JobError::StateLost { .. } | JobError::Contradicted { .. })
                if view::is_superseded(job.store, view).await? =>
            {
                return Ok(None);
            }
            // Another prune has noted a newer baseline, or found none, and deleted what the older baseline names.
            Err(JobError::StateLost { .. }) if baseline != noted || newest_to(job, most).await? != noted => {
                verified = None;
            }
            // A writer that slept may have made a root now that was noted before, and what it names is deleted. An older
            // baseline counts then: more has to agree with it.
            Err(error @ JobError::StateLost { .. }) if let Some((number, _)) = noted => {
                gone.get_or_insert(error);
                most = number.saturating_sub(1);
            }
            compared => return compared.map(Some).map_err(|error| gone.unwrap_or(error)),
        }
    }
}

async fn compare(job: &JobContext<'_>, baseline: Option<(u64, ObjectHash)>, view: &View) -> Result<Agreed, JobError> {
    if baseline == view.base() || is_planted(Mistake::StateBelieved) {
        let claimed = Claims::since(job, view, view).await?.waiting;
        return Ok(Agreed { claimed, is_baseline: baseline == view.base(), ..Agreed::default() });
    }
    let before = match baseline {
        Some(root) => view::read_root(job.store, root, &Parts::RECORDS).await?,
        // Without a baseline nothing was ever removed: the state holds everything that was accepted.
        None => View::default(),
    };
    let claims = Claims::since(job, &before, view).await?;
    let Compared { claimed, mends, .. } = compare_with(job, (&before, view), claims).await?;
    Ok(Agreed { claimed, mends, is_baseline: false })
}

/// Compares a state with an older one, which was verified. Returns what the next root has to put right; none if the
/// state does not follow, or if packs that were known have entries again. Examines only clients whose heads differ, so
/// the cost depends on how much has happened since.
pub(crate) async fn follows(job: &JobContext<'_>, before: &View, view: &View) -> Result<Option<Mends>, JobError> {
    if is_planted(Mistake::StateBelieved) {
        return Ok(Some(Mends::default()));
    }
    let claims = Claims::decided_since(job, before, view).await?;
    match compare_with(job, (before, view), claims).await {
        // Pages whose entries are back may refer to data that a decision has just found unneeded.
        Ok(compared) => Ok(Some(compared.mends).filter(|_| !compared.has_again)),
        Err(JobError::StateLost { .. } | JobError::Contradicted { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

struct Compared {
    /// Packs named by undecided manifests.
    claimed: BTreeSet<PackId>,
    mends: Mends,
    /// Whether packs that were known have entries again.
    has_again: bool,
}

async fn compare_with(
    job: &JobContext<'_>,
    (before, view): (&View, &View),
    mut claims: Claims,
) -> Result<Compared, JobError> {
    let contradicts = |why| JobError::contradicted(view.number(), why);
    let changes = Changes::between(job, before, view).await?;
    claims.proven.extend(changes.proven());
    changes.compare_policy(job, before, view).await?;
    claims::compare_heads(before, view).map_err(contradicts)?;
    let mut mends = Mends::default();
    snapshots::compare(before, view, &claims, &changes, &mut mends).map_err(contradicts)?;
    packs::compare(before, view, &claims, &mut mends).map_err(contradicts)?;
    let (flags, entries) = futures::try_join!(flags::compare(job, before, view), entries::compare(job, before, view))?;
    let has_again = flags.and(entries).map_err(contradicts)?;
    Ok(Compared { claimed: claims.waiting, mends, has_again })
}
