//! Lost: what tells of a newer root than the newest there is.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_engine::id::ClientId;
use copal_engine::layout;
use copal_engine::limits::ROOT_TOLD;
use copal_engine::receipt::Receipt;
use copal_engine::state::{ClientHead, RunKind};
use copal_engine::wire::record::RecordError;
use copal_store::{Store, StoreError};

use super::{View, newest_heads};
use crate::clients;
use crate::error::JobError;
use crate::host::Host;
use crate::objects::{self, Call};

/// The number of a newer root than the newest one there is, and what tells of it: that was lost, and nobody may write on
/// an older one. Looks at every client: who deletes must.
pub async fn lost_newer(host: &Host<'_>, view: &View) -> Result<Option<(u64, String)>, JobError> {
    if let Some(lost) = lost_by_deletions(host.store, view).await? {
        return Ok(Some(lost));
    }
    let answered = clients::below_behind(host.store, "receipts/", &view.state.heads).await?;
    lost_by_receipts(host.store, view, answered.into_iter()).await
}

/// Refuses to go on without a root where something tells that there was one: nothing was found to be done only because
/// nothing was found.
pub(crate) async fn refuse_rootless(host: &Host<'_>, view: &View) -> Result<(), JobError> {
    if view.root.is_none()
        && let Some((_, evidence)) = lost_newer(host, view).await?
    {
        return Err(JobError::StateLost { evidence });
    }
    Ok(())
}

/// The same, as far as the records of deletions tell: what every writer looks at. What writes no more than this looks at
/// deletes nothing and answers no client but those whose receipts it has looked for.
pub(crate) async fn lost_by_deletions(store: &dyn Store, view: &View) -> Result<Option<(u64, String)>, JobError> {
    let Some((number, name)) = deletion_beyond(store, view.number()).await? else { return Ok(None) };
    let newest = newest_heads(store).await?.number();
    Ok((newest < number).then(|| (number, format!("{name} tells of root {number}, and the newest there is {newest}"))))
}

/// The same, as far as the receipts tell that these clients got. A receipt is written after the root that decides it, so
/// one that the newest root knows nothing of was decided by a root that is lost.
pub(crate) async fn lost_by_receipts(
    store: &dyn Store,
    view: &View,
    clients: impl Iterator<Item = ClientId>,
) -> Result<Option<(u64, String)>, JobError> {
    for (client, number, bytes) in answers_beyond(store, &view.state.heads, clients).await? {
        let newest = newest_heads(store).await?;
        if newest.state.heads.get(&client).is_some_and(|head| head.number >= number) {
            continue;
        }
        let Some(root) = tells_of((client, number), &bytes, newest.number()) else { continue };
        let name = layout::receipt(client, number);
        let words =
            format!("{name} tells of root {root}, and the newest there is {} has not decided it", newest.number());
        return Ok(Some((root, words)));
    }
    Ok(None)
}

/// What tells of a newer root than that of a view, in words, all of it taken together: for whoever has passed over roots.
pub(super) async fn told_beyond(store: &dyn Store, view: &View) -> Result<Option<String>, JobError> {
    if let Some((number, name)) = deletion_beyond(store, view.number()).await? {
        return Ok(Some(format!("{name} tells of root {number}")));
    }
    let heads = view.records(store, &[RunKind::Heads]).await?.heads;
    let answered = clients::below_behind(store, "receipts/", &heads).await?;
    for (client, number, bytes) in answers_beyond(store, &heads, answered.into_iter()).await? {
        if let Some(root) = tells_of((client, number), &bytes, view.number()) {
            return Ok(Some(format!("{} tells of root {root}", layout::receipt(client, number))));
        }
    }
    Ok(None)
}

/// The first record of deletions under a newer root than one of this number. One so far above that is a lie is passed over,
/// and with it all behind it.
async fn deletion_beyond(store: &dyn Store, number: u64) -> Result<Option<(u64, String)>, StoreError> {
    let after = objects::key(format!("{}-z", layout::deletion(number, &[0xff; 16])));
    let page = store.list("deletions/", Some(&after), RECORDS).await?;
    let names = page.objects.iter().map(|newer| newer.key.as_str());
    // What has a strange name hides none that has not.
    let mut told = names.filter_map(|name| Some((layout::deletion_root(name)?, name)));
    let told = told.find(|(told, _)| !is_told_far(*told, number));
    Ok(told.map(|(told, name)| (told, name.to_owned())))
}

type Answer = (ClientId, u64, Bytes);

/// The answers to the manifests that come next behind the heads of some clients.
async fn answers_beyond(
    store: &dyn Store,
    heads: &BTreeMap<ClientId, ClientHead>,
    clients: impl Iterator<Item = ClientId>,
) -> Result<Vec<Answer>, JobError> {
    let next = |client| heads.get(&client).map_or(1, |head| head.number + 1);
    let calls = clients.map(|client| -> Call<'_, Option<Answer>> {
        let number = next(client);
        Box::pin(async move {
            let bytes = objects::read(store, &layout::receipt(client, number)).await?;
            Ok(bytes.map(|bytes| (client, number, bytes)))
        })
    });
    Ok(objects::together(calls).await?.into_iter().flatten().collect())
}

/// The root that a receipt tells of, where the newest there is has this number. What says something that no service says is
/// passed over. Of what is damaged nobody knows what it said: it tells of the next root.
pub(crate) fn tells_of((client, number): (ClientId, u64), bytes: &[u8], newest: u64) -> Option<u64> {
    match Receipt::decode(client, number, bytes) {
        Ok(receipt) => Some(receipt.root).filter(|root| !is_told_far(*root, newest)),
        Err(RecordError::Malformed { .. } | RecordError::Misplaced { .. }) => None,
        Err(_) => Some(newest + 1),
    }
}

/// Whether the number of a root that somebody tells of is a lie: it is too far above the newest there is.
pub(crate) fn is_told_far(told: u64, newest: u64) -> bool {
    told > newest.saturating_add(ROOT_TOLD)
}

/// Records of deletions that are listed at once.
const RECORDS: usize = 32;
