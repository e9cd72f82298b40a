//! Diverged: whether a replica holds anything that is not the source's. Then a sync could not be complete, nor tell
//! which of the two is right.

use std::collections::BTreeMap;

use copal_format::layout;
use copal_store::Store;

use super::SyncError;
use super::carrier;
use super::records::Numbers;
use crate::context::JobContext;
use crate::objects;
use crate::view::{self, View};

/// Fails with [`SyncError::Diverged`] where a sync of this state of the source would.
pub async fn compare(source: &JobContext<'_>, view: &View, replica: &dyn Store) -> Result<(), SyncError> {
    refuse((source.store, replica), view, &Numbers::list(replica).await?).await
}

/// Fails if the replica is ahead of the source's state, or has other bytes under a name of the source. Compares the newest
/// root, and the last record of each chain: every record names the hash of the one before.
pub(super) async fn refuse(
    (source, target): (&dyn Store, &dyn Store),
    view: &View,
    there: &Numbers,
) -> Result<(), SyncError> {
    let diverged = |object, why| Err(SyncError::Diverged { object, why });
    let newest = view::newest_number(target).await?;
    if newest > view.number() {
        return diverged(layout::root(newest), AHEAD);
    }
    let same = if newest > 0 { is_same(source, target, &layout::root(newest)).await? } else { Same::Absent };
    // What a common root has decided about is the same on both sides.
    let decided = match same {
        Same::Other => return diverged(layout::root(newest), WRITTEN),
        Same::Yes => view::newest_heads(target).await.map(|view| view.state.heads).unwrap_or_default(),
        Same::Absent => BTreeMap::new(),
    };
    let last = there.manifests.iter().filter_map(|(client, numbers)| Some((*client, *numbers.last()?)));
    let last = last.filter(|(client, last)| decided.get(client).is_none_or(|head| head.number < *last));
    carrier::each_small(last, async |(client, last)| {
        let name = layout::manifest(client, last);
        match is_same(source, target, &name).await? {
            Same::Yes => Ok(()),
            // The source has lost what its state has decided about.
            Same::Absent if view.state.heads.get(&client).is_some_and(|head| head.number >= last) => Ok(()),
            Same::Absent | Same::Other => diverged(name, BOTH),
        }
    })
    .await?;
    let last = [there.changes.last().copied().map(layout::change), there.expiries.last().copied().map(layout::expiry)];
    for name in last.into_iter().flatten() {
        if is_same(source, target, &name).await? == Same::Other {
            return diverged(name, BOTH);
        }
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Same {
    Yes,
    Other,
    /// The source does not have it.
    Absent,
}

async fn is_same(source: &dyn Store, target: &dyn Store, name: &str) -> Result<Same, SyncError> {
    let (here, there) = futures::try_join!(objects::read(source, name), objects::read(target, name))?;
    Ok(match here {
        None => Same::Absent,
        Some(here) if there.is_none_or(|there| here == there) => Same::Yes,
        Some(_) => Same::Other,
    })
}

const AHEAD: &str =
    "the replica has a newer root than the source: it was written to, or the source was put back to an older state";
const WRITTEN: &str =
    "the replica was written to, or the source was put back to an older state and has gone on from there";
const BOTH: &str =
    "somebody has written to both the source and the replica, or the source was put back to an older state";
