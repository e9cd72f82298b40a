//! Clients: their records, as the store holds them.

use std::collections::BTreeMap;

use copal_engine::client::{ClientRecord, read_chain};
use copal_engine::id::ClientId;
use copal_engine::layout;
use copal_store::Store;

use crate::error::JobError;
use crate::host::Host;
use crate::objects;

/// The newest record of a client; none if it has none. A record that is not sound might be the one that revokes it, so
/// then nothing is believed.
pub async fn read(host: &Host<'_>, client: ClientId) -> Result<Option<ClientRecord>, JobError> {
    let mut versions = Vec::new();
    for listed in objects::list(host.store, &format!("clients/{client}/")).await? {
        let name = listed.key.as_str();
        if let Some(version) = layout::trailing_number(name)
            && let Some(bytes) = objects::read(host.store, name).await?
        {
            versions.push((version, bytes.to_vec()));
        }
    }
    if versions.is_empty() {
        return Ok(None);
    }
    let record = read_chain(host.repository, &host.owner_key, client, &versions);
    record.map(Some).map_err(|error| JobError::damaged(format!("clients/{client}"), error))
}

/// The clients that have objects below a prefix such as `manifests/`, found without listing them all.
pub async fn below(store: &dyn Store, prefix: &str) -> Result<Vec<ClientId>, JobError> {
    let mut clients: BTreeMap<ClientId, ()> = BTreeMap::new();
    let mut after = None;
    loop {
        let page = store.list(prefix, after.as_ref(), 1).await?;
        let Some(listed) = page.objects.into_iter().next() else {
            return Ok(clients.into_keys().collect());
        };
        let Some(client) = layout::client_of(listed.key.as_str()) else {
            after = Some(listed.key);
            continue;
        };
        clients.insert(client, ());
        // This sorts behind every number: the next object listed is another client's.
        after = Some(objects::key(format!("{prefix}{client}/{}", "9".repeat(21))));
    }
}
