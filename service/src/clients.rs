//! Clients: their records, as the store holds them.

use std::collections::BTreeMap;

use copal_engine::client::{ClientRecord, read_chain};
use copal_engine::id::ClientId;
use copal_engine::layout;
use copal_engine::state::ClientHead;
use copal_store::Store;

use crate::error::JobError;
use crate::host::Host;
use crate::objects::{self, Call};

/// The newest record of a client; none if it has none. A record that is not sound might be the one that revokes it, so
/// then nothing is believed.
pub async fn read(host: &Host<'_>, client: ClientId) -> Result<Option<ClientRecord>, JobError> {
    let listed = objects::list(host.store, &format!("clients/{client}/")).await?;
    let named = listed.iter().filter_map(|listed| Some((layout::trailing_number(listed.key.as_str())?, &listed.key)));
    let calls = named.map(|(version, name)| -> Call<'_, _> {
        Box::pin(async move { Ok((version, objects::read(host.store, name.as_str()).await?)) })
    });
    let read = objects::together(calls).await?;
    let versions: Vec<(u64, Vec<u8>)> =
        read.into_iter().filter_map(|(version, bytes)| Some((version, bytes?.to_vec()))).collect();
    if versions.is_empty() {
        return Ok(None);
    }
    let record = read_chain(host.repository, &host.owner_key, client, &versions);
    record.map(Some).map_err(|error| JobError::damaged(format!("clients/{client}"), error))
}

/// The clients that have objects below a prefix such as `manifests/`, found without listing them all.
pub async fn below(store: &dyn Store, prefix: &str) -> Result<Vec<ClientId>, JobError> {
    seek(store, prefix, None).await
}

/// The clients that have objects below `manifests/` or `receipts/` with numbers above those of their heads: one listing of
/// one object for each client.
pub async fn below_behind(
    store: &dyn Store,
    prefix: &str,
    heads: &BTreeMap<ClientId, ClientHead>,
) -> Result<Vec<ClientId>, JobError> {
    seek(store, prefix, Some(heads)).await
}

async fn seek(
    store: &dyn Store,
    prefix: &str,
    heads: Option<&BTreeMap<ClientId, ClientHead>>,
) -> Result<Vec<ClientId>, JobError> {
    // Ids are random: the parts of the names are about equally long.
    let parts = (0..16).map(|digit| -> Call<'_, _> { Box::pin(seek_part(store, prefix, digit, heads)) });
    Ok(objects::together(parts).await?.concat())
}

/// Of the clients whose ids begin with a digit, those that have objects behind their heads.
async fn seek_part(
    store: &dyn Store,
    prefix: &str,
    digit: u8,
    heads: Option<&BTreeMap<ClientId, ClientHead>>,
) -> Result<Vec<ClientId>, JobError> {
    let part = format!("{prefix}{digit:x}");
    let mut clients = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(&part, after.as_ref(), 1).await?;
        let Some(listed) = page.objects.into_iter().next() else { return Ok(clients) };
        let Some(client) = layout::client_of(listed.key.as_str()) else {
            after = Some(listed.key);
            continue;
        };
        let head = heads.map(|heads| heads.get(&client).map_or(0, |head| head.number));
        let head = head.map(|number| objects::key(format!("{prefix}{client}/{number:020}")));
        if head.as_ref().is_none_or(|head| listed.key > *head) {
            clients.push(client);
            // This sorts behind every number: the next object listed is another client's.
            after = Some(objects::key(format!("{prefix}{client}/{}", "9".repeat(21))));
        } else {
            after = head;
        }
    }
}
