//! Lost: evidence that a newer root existed than the newest one listed.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::limits::ROOT_TOLD;
use copal_format::receipt::Receipt;
use copal_format::state::{ClientHead, RunKind};
use copal_format::wire::record::RecordError;
use copal_store::{Store, StoreError};

use super::{View, newest_heads};
use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// The number of a root that is newer than the newest existing one and is therefore lost, with the evidence in words.
/// After such a loss nobody may write on an older root. This examines all clients, as every job that deletes must.
pub async fn lost_newer(job: &JobContext<'_>, view: &View) -> Result<Option<(u64, String)>, JobError> {
    if let Some(lost) = lost_by_deletions(job.store, view).await? {
        return Ok(Some(lost));
    }
    let answered = clients::below_behind(job.store, "receipts/", &view.state.heads).await?;
    lost_by_receipts(job.store, view, answered.into_iter()).await
}

/// Fails without a root if evidence shows that there was one. Otherwise a job would report that there is nothing to do,
/// only because it found nothing.
pub(crate) async fn refuse_rootless(job: &JobContext<'_>, view: &View) -> Result<(), JobError> {
    if view.root.is_none()
        && let Some((_, evidence)) = lost_newer(job, view).await?
    {
        return Err(JobError::StateLost { evidence });
    }
    Ok(())
}

/// Like [`lost_newer`], but with deletion records as the only evidence. Every writer checks these. A writer that checks
/// nothing else deletes nothing, and answers only clients whose receipts it has checked.
pub(crate) async fn lost_by_deletions(store: &dyn Store, view: &View) -> Result<Option<(u64, String)>, JobError> {
    let Some((number, name)) = deletion_beyond(store, view.number()).await? else { return Ok(None) };
    let newest = newest_heads(store).await?.number();
    Ok((newest < number).then(|| (number, format!("{name} tells of root {number}, and the newest there is {newest}"))))
}

/// Like [`lost_newer`], with the receipts of these clients as the only evidence. A receipt is written after its root.
/// So a receipt that the newest root has not decided belongs to a lost root.
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

/// Evidence of a newer root than the view's, in words, from deletion records or any client's receipts. For readers that
/// have passed over roots.
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

/// The first deletion record under a newer root than `number`, except records with false, far too high numbers.
async fn deletion_beyond(store: &dyn Store, number: u64) -> Result<Option<(u64, String)>, StoreError> {
    let after = objects::key(format!("{}-z", layout::deletion(number, &[0xff; 16])));
    let page = store.list("deletions/", Some(&after), RECORDS).await?;
    let names = page.objects.iter().map(|newer| newer.key.as_str());
    // An object with a strange name does not hide the records behind it.
    let mut told = names.filter_map(|name| Some((layout::deletion_root(name)?, name)));
    let told = told.find(|(told, _)| !is_told_far(*told, number));
    Ok(told.map(|(told, name)| (told, name.to_owned())))
}

type Answer = (ClientId, u64, Bytes);

/// The receipts that exist for the manifest right after each client's head.
async fn answers_beyond(
    store: &dyn Store,
    heads: &BTreeMap<ClientId, ClientHead>,
    clients: impl Iterator<Item = ClientId>,
) -> Result<Vec<Answer>, JobError> {
    let next = |client| heads.get(&client).map_or(1, |head| head.number + 1);
    let calls = clients.map(|client| {
        let number = next(client);
        async move {
            let bytes = objects::read(store, &layout::receipt(client, number)).await?;
            Ok(bytes.map(|bytes| (client, number, bytes)))
        }
    });
    Ok(objects::join(calls).await?.into_iter().flatten().collect())
}

/// The root that a receipt is evidence of; `newest` is the newest existing one. A receipt that no service writes is
/// ignored. A damaged one is evidence of root `newest + 1`, because its content is unknown.
pub(crate) fn tells_of((client, number): (ClientId, u64), bytes: &[u8], newest: u64) -> Option<u64> {
    match Receipt::decode(client, number, bytes) {
        Ok(receipt) => Some(receipt.root).filter(|root| !is_told_far(*root, newest)),
        Err(RecordError::Malformed { .. } | RecordError::Misplaced { .. }) => None,
        Err(_) => Some(newest + 1),
    }
}

/// Whether a root number that an object names is false, because it is too far above the newest root.
pub(crate) fn is_told_far(told: u64, newest: u64) -> bool {
    told > newest.saturating_add(ROOT_TOLD)
}

/// Deletion records listed with one call.
const RECORDS: usize = 32;
