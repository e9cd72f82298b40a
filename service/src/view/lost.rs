//! Lost: what tells of a newer root than the newest there is.

use copal_engine::id::ClientId;
use copal_engine::layout;
use copal_engine::receipt::Receipt;
use copal_store::Store;

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
    let after = objects::key(format!("{}-z", layout::deletion(view.number(), &[0xff; 16])));
    let Some(newer) = store.list("deletions/", Some(&after), 1).await?.objects.into_iter().next() else {
        return Ok(None);
    };
    let name = newer.key.as_str();
    let number = name.strip_prefix("deletions/").and_then(|rest| rest.get(..20)?.parse().ok());
    let number = number.unwrap_or(view.number() + 1);
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
    let next = |client| view.state.heads.get(&client).map_or(1, |head| head.number + 1);
    let calls = clients.map(|client| -> Call<'_, _> {
        let number = next(client);
        Box::pin(async move { Ok((client, number, objects::read(store, &layout::receipt(client, number)).await?)) })
    });
    for (client, number, receipt) in objects::together(calls).await? {
        let Some(bytes) = receipt else { continue };
        let newest = newest_heads(store).await?;
        if newest.state.heads.get(&client).is_some_and(|head| head.number >= number) {
            continue;
        }
        let root = Receipt::decode(client, number, &bytes).map_or(newest.number() + 1, |receipt| receipt.root);
        let name = layout::receipt(client, number);
        let words =
            format!("{name} tells of root {root}, and the newest there is {} has not decided it", newest.number());
        return Ok(Some((root, words)));
    }
    Ok(None)
}
