//! Behind: how much of a source a replica does not have yet.

use copal_format::layout::Prunable;
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_store::{Key, Store};

use super::SyncError;
use super::carrier;
use crate::context::JobContext;
use crate::error::JobError;
use crate::stored::{PACKS, Stored};
use crate::view::{self, Parts, View};

/// How much a replica lacks.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// The root that the replica shows; 0 if it has none.
    pub root: u64,
    /// Kept snapshots of the source that the replica does not show.
    pub snapshots: u64,
    /// Bytes of packs that the source's state names and the replica does not have.
    pub bytes: u64,
    /// When the oldest of these snapshots was accepted.
    pub oldest: Option<Time>,
}

/// Compares the state of a source (with its records) with a replica.
pub async fn behind(source: &JobContext<'_>, view: &View, replica: &dyn Store) -> Result<Behind, SyncError> {
    let there = match view::read_parts(replica, &Parts::RECORDS).await {
        // It shows nothing, until a sync has brought what is missing.
        Err(JobError::Damaged { .. } | JobError::StateLost { .. }) => None,
        there => Some(there?),
    };
    let shows = |key| there.as_ref().is_some_and(|there| there.state.snapshots.contains_key(key));
    let stored = Stored::list(&JobContext { store: replica, ..*source }, PACKS).await?;
    let is_kept = |state| state == SnapshotState::Kept;
    let missing = view
        .state
        .snapshots
        .iter()
        .filter(|(key, snapshot)| is_kept(snapshot.state) && !snapshot.partial && !shows(key));
    let accepted: Vec<Time> = missing.map(|(_, snapshot)| snapshot.accepted).collect();
    let packs = view.state.packs.iter();
    let packs = packs.filter(|(id, record)| !stored.objects.contains_key(&Prunable::Pack(record.place, **id)));
    Ok(Behind {
        root: there.as_ref().map_or(0, View::number),
        snapshots: accepted.len() as u64,
        bytes: packs.fold(0, |sum: u64, (_, record)| sum.saturating_add(record.length)),
        oldest: accepted.into_iter().min(),
    })
}

/// The names of a source's roots, key slots, client records and descriptors. If they differ, there is something to sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News(Vec<Key>);

/// Reads the news of a source: one listing of each of four folders.
pub async fn news(source: &dyn Store) -> Result<News, SyncError> {
    let mut names = Vec::new();
    for prefix in ["roots/", "keys/", "clients/", "copal/"] {
        names.extend(carrier::list(source, prefix, None, MANY).await?.into_iter().map(|listed| listed.key));
    }
    Ok(News(names))
}

const MANY: usize = 1_000_000;
