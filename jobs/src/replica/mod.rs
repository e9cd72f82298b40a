//! Replica: a second copy of a repository in another store, with the same keys (decision 0026). A sync copies one root of
//! the source and everything that it stands on, as it is and without any key. It creates objects and never deletes or
//! replaces one. The root comes after all that it stands on. Its base comes after the root, because the sync has not
//! copied the base's own state, and a root without its base does not count. So an interrupted sync leaves the replica at
//! the root it had.

mod behind;
mod carrier;
mod diverged;
mod house;
mod records;
mod stand;

use std::collections::BTreeSet;

use copal_format::id::{ObjectHash, RepositoryId};
use copal_format::layout;
use copal_format::repository::Descriptor;
use copal_store::{Store, StoreError};

use crate::baseline;
use crate::check::accepted_losses;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::replica_mark::mark;
pub use crate::replica_mark::{end, is_replica};
use crate::view::{self, Parts, View};
use crate::witness::Witnessed;
pub use behind::{Behind, News, behind, news};
use carrier::Carrier;
pub use carrier::{Fault, GoesOn, Sum};
pub use diverged::compare;
use records::Numbers;

/// What came of a sync.
#[derive(Clone, Debug, Default)]
pub struct Synced {
    /// The source's root that was copied; 0 if the source has none.
    pub root: u64,
    /// Whether the replica now shows that root. If not, a part of the source's state is damaged.
    pub is_current: bool,
    /// What was created.
    pub stored: Sum,
    /// What could not be copied, or differs in the replica.
    pub faults: Vec<Fault>,
    /// Key slots that the replica has and the source has not: they were removed there, and still open the replica.
    pub slots_left: Vec<String>,
}

/// Why a sync ended before it was done. What was copied stays and is not copied again.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SyncError {
    /// A store failed, or the source's newest state cannot be read.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The target is no replica, so that a sync could spoil a repository.
    #[error("the repository to sync to is no replica")]
    NotReplica,
    /// The source and the target belong to different owners or repositories.
    #[error("the source is another repository than the one that the replica is of")]
    Foreign,
    /// The target holds a repository already.
    #[error("there is a repository already")]
    Exists,
    /// Both have an object of one name with different bytes, or the replica has what the source never had.
    #[error("{object} differs: {why}")]
    Diverged { object: String, why: &'static str },
    /// More is damaged or missing than a person would read.
    #[error("more than {0} objects of the source cannot be copied")]
    Riddled(usize),
    /// A listing has more objects than a repository can have, or does not go on.
    #[error("the listing of {prefix} does not end")]
    Endless { prefix: String },
    /// In every pass a prune deleted something before it was copied.
    #[error("the source was pruned {PASSES} times while it was copied")]
    Restless,
    /// The caller did not want to go on.
    #[error("interrupted")]
    Interrupted,
}

impl From<StoreError> for SyncError {
    fn from(error: StoreError) -> Self {
        Self::Job(error.into())
    }
}

/// Whose repository a store holds: the id and the owner's key of the oldest descriptor that can be read. None without one.
pub async fn identity(store: &dyn Store) -> Result<Option<(RepositoryId, [u8; 32])>, SyncError> {
    for listed in carrier::list(store, "copal/", None, house::DESCRIPTORS).await? {
        let Some(version) = layout::trailing_number(listed.key.as_str()) else { continue };
        let bytes = objects::read(store, listed.key.as_str()).await?;
        if let Some(Ok(descriptor)) = bytes.map(|bytes| Descriptor::decode(version, &bytes)) {
            return Ok(Some((descriptor.repository, descriptor.owner_key)));
        }
    }
    Ok(None)
}

/// Makes an empty store the replica of a repository, or completes what an interrupted call began: puts the mark there, then
/// the keys, client records and readers, and the descriptors last. The caller has made sure that nothing else lies there.
pub async fn found(source: &JobContext<'_>, target: &dyn Store, goes_on: &GoesOn<'_>) -> Result<Sum, SyncError> {
    match (identity(target).await?, is_replica(target).await?) {
        (Some(_), false) => return Err(SyncError::Exists),
        (Some(there), true) if there != (source.repository, source.owner_key) => return Err(SyncError::Exists),
        _ => {}
    }
    mark(target).await?;
    let carrier = Carrier::new(source, target, goes_on);
    house::carry(&carrier).await?;
    match carrier.faults(&BTreeSet::new()).into_iter().next() {
        // A replica that lacks a key or a client record is incomplete, and its maker would not notice.
        Some(Fault { object, why }) => Err(JobError::Damaged { object, why }.into()),
        None => Ok(carrier.stored()),
    }
}

/// Brings a replica up to the newest root of its source. `source` has the repository and the owner's key that
/// [`identity`] has found in the replica.
pub async fn sync(source: &JobContext<'_>, target: &dyn Store, goes_on: &GoesOn<'_>) -> Result<Synced, SyncError> {
    if !is_replica(target).await? {
        return Err(SyncError::NotReplica);
    }
    if identity(source.store).await?.is_some_and(|of| of != (source.repository, source.owner_key)) {
        return Err(SyncError::Foreign);
    }
    // What cannot be read counts as damaged only while the source itself works.
    let witnessed = Witnessed::new(source.store);
    let source = &JobContext { store: &witnessed, ..*source };
    let mut stored = Sum::default();
    for _ in 0..PASSES {
        let view = view::read_parts(source.store, &Parts::RECORDS).await?;
        let there = Numbers::list(target).await?;
        diverged::refuse((source.store, target), &view, &there).await?;
        let carrier = Carrier::new(source, target, goes_on);
        let slots_left = house::carry(&carrier).await?;
        let is_current = carry_root(&carrier, &view, &there, &witnessed).await?;
        stored += carrier.stored();
        if let Some(is_current) = is_current {
            let mut faults = carrier.faults(&BTreeSet::new());
            if !faults.is_empty() {
                faults = carrier.faults(&accepted_losses(source).await?);
            }
            return Ok(Synced { root: view.number(), is_current, stored, faults, slots_left });
        }
    }
    Err(SyncError::Restless)
}

/// Copies a root and what it stands on. Returns whether the replica now shows the root; none if the source has a newer one
/// and has deleted something of this one.
async fn carry_root(
    carrier: &Carrier<'_>,
    view: &View,
    there: &Numbers,
    witnessed: &Witnessed<&dyn Store>,
) -> Result<Option<bool>, SyncError> {
    let Some((root, hash)) = &view.root else { return Ok(Some(true)) };
    let source = carrier.source;
    let verified = baseline::newest_to(source, root.number).await?;
    let is_whole = stand::carry(carrier, view, verified).await?;
    records::carry_signed(carrier, view, there).await?;
    if carrier.has_gone() && view::is_superseded(source.store, view).await? {
        return Ok(None);
    }
    witnessed.verdict().await?;
    // Meanwhile somebody may have made the replica a repository of its own.
    if !is_replica(carrier.target).await? {
        return Err(SyncError::NotReplica);
    }
    if is_whole {
        if !carry_one(carrier, root.number, *hash).await? {
            return Ok(None);
        }
        // A prune looks for the root that the last prune has verified.
        for (number, hash) in root.base.into_iter().chain(verified) {
            if !carry_one(carrier, number, hash).await? && view::is_superseded(source.store, view).await? {
                return Ok(None);
            }
        }
        // These records name roots: in a store that lacks such a root they would be evidence of a loss.
        records::carry_answers(carrier, view).await?;
    }
    carrier.settle_gone()?;
    Ok(Some(is_whole))
}

/// Copies one root; false if it is not there any more.
async fn carry_one(carrier: &Carrier<'_>, number: u64, hash: ObjectHash) -> Result<bool, SyncError> {
    let name = layout::root(number);
    match objects::read_hashed(carrier.source.store, &name, hash).await? {
        Some(bytes) => carrier.put_if_absent(&name, bytes).await.map(|()| true),
        None => Ok(false),
    }
}

/// How often a sync begins again because the source was pruned meanwhile.
const PASSES: u32 = 8;
