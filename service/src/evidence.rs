//! Evidence: what else in the store says how new the newest root must be. Nobody writes on an older one: what the lost
//! roots decided would be decided again, otherwise.

use copal_engine::client::Role;
use copal_engine::layout;
use copal_engine::manifest::Manifest;
use copal_engine::receipt::Receipt;

use crate::clients;
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view;

/// The number of the newest root that a receipt, a full client's manifest or a deletion knows of, and the object that
/// says so. Damaged objects say nothing.
pub async fn newest_known(host: &Host<'_>) -> Result<Option<(u64, String)>, JobError> {
    let mut newest: Option<(u64, String)> = None;
    let mut learn = |number: u64, name: String| {
        if newest.as_ref().is_none_or(|(known, _)| *known < number) {
            newest = Some((number, name));
        }
    };
    for client in clients::below(host.store, "receipts/").await? {
        // The numbers of roots grow along a chain.
        for listed in objects::list(host.store, &format!("receipts/{client}/")).await?.iter().rev() {
            let name = listed.key.as_str();
            let Some(number) = layout::trailing_number(name) else { continue };
            let Some(bytes) = objects::read(host.store, name).await? else { continue };
            if let Ok(receipt) = Receipt::decode(client, number, &bytes) {
                learn(receipt.root, name.to_owned());
                break;
            }
        }
    }
    for client in clients::below(host.store, "manifests/").await? {
        let record = match clients::read(host, client).await {
            Ok(record) => record,
            Err(JobError::Damaged { .. }) => continue,
            Err(error) => return Err(error),
        };
        let Some(keys) = record.filter(|record| record.role == Role::Full).and_then(|record| record.keys) else {
            continue;
        };
        for listed in objects::list(host.store, &format!("manifests/{client}/")).await?.iter().rev() {
            let name = listed.key.as_str();
            let Some(number) = layout::trailing_number(name) else { continue };
            let Some(bytes) = objects::read(host.store, name).await? else { continue };
            if let Ok(verified) = Manifest::verify(host.repository, &keys.manifest, client, number, &bytes) {
                if let Some((seen, _)) = verified.manifest.root_seen {
                    learn(seen, name.to_owned());
                }
                break;
            }
        }
    }
    if let Some(listed) = objects::list(host.store, "deletions/").await?.last() {
        let name = listed.key.as_str();
        let number = name.strip_prefix("deletions/").and_then(|rest| rest.get(..20)?.parse().ok());
        if let Some(number) = number {
            learn(number, name.to_owned());
        }
    }
    Ok(newest)
}

/// Fails if a root newer than `number`, the newest that was read, must have been there.
pub async fn refuse_older(host: &Host<'_>, number: u64) -> Result<(), JobError> {
    let Some((known, name)) = newest_known(host).await?.filter(|(known, _)| *known > number) else { return Ok(()) };
    // Another writer may have been faster than this reader.
    if view::read(host.store).await?.number() >= known {
        return Ok(());
    }
    Err(JobError::StateLost { evidence: format!("{name} knows {}, which is gone", layout::root(known)) })
}
