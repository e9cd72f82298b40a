//! Records: the manifests and changes that clients write. Nobody deletes them, so quotas count them, and no number may
//! leave a gap that the client could fill at any time.

use std::sync::Arc;

use copal_format::client::Role;
use copal_format::id::ClientId;
use copal_format::layout;
use copal_jobs::objects;
use copal_store::{Listed, Store};
use futures::future::try_join;
use serde_json::json;

use super::Gateway;
use super::call::Call;
use super::problem::{Problem, busy};
use super::rights::{Caller, Upload};
use super::shared::Allowed;
use super::written::Record;

/// Counts so many records that the caller is about to create. Fails if it has created too many a short time ago: each
/// may become a root of its own, and changes of others have to find a free number.
pub(super) fn count(gateway: &Gateway, call: &Call, record: Record, many: u32) -> Result<(), Problem> {
    let Some(memory) = &gateway.memory else { return Ok(()) };
    memory.record(record, many, call.sender(), call.now).map_err(|seconds| {
        let detail = match record {
            Record::Manifest => "too many manifests were written within a short time",
            Record::Change => "too many changes were written within a minute",
        };
        busy(detail).with("seconds", json!(seconds))
    })
}

/// What counts for a client: its manifests and the receipts that they get, which may be far longer; for a full client all
/// changes, too. In a long-lived gateway also what it was allowed.
pub(super) async fn of_client(
    gateway: &Gateway,
    (client, role): (ClientId, Role),
    now: u64,
) -> Result<(Arc<Vec<Listed>>, Arc<Allowed>), Problem> {
    let written = gateway.memory.as_ref().map(|memory| &memory.written);
    if let Some(known) = written.and_then(|written| written.of(client, now)) {
        return Ok(known);
    }
    let store = gateway.settings.store.as_ref();
    let [manifests, receipts] = ["manifests", "receipts"].map(|folder| format!("{folder}/{client}/"));
    let (listed, receipts) = try_join(objects::list(store, &manifests), objects::list(store, &receipts)).await?;
    let mut listed = [listed, receipts].concat();
    if role == Role::Full {
        listed.extend(objects::list(store, "changes/").await?);
    }
    let listed = Arc::new(listed);
    let allowed = written.map(|written| written.keep(client, now, &listed)).unwrap_or_default();
    Ok((listed, allowed))
}

/// Fails if a record's number is far beyond all others of its chain.
pub(super) async fn is_reached(gateway: &Gateway, call: &Call, upload: &Upload<'_>) -> Result<(), Problem> {
    let (Some(number), Some(record)) = (layout::trailing_number(upload.key), Record::of(upload.key)) else {
        return Ok(());
    };
    let store = gateway.settings.store.as_ref();
    let is_after = match call.caller {
        Caller::Client { id, .. } if record == Record::Manifest => {
            is_near(store, number, |number| layout::manifest(id, number)).await?
                // Manifests can be lost.
                || is_near(store, number, |number| layout::receipt(id, number)).await?
        }
        _ => {
            is_near(store, number, layout::change).await? || {
                let newest = gateway.known.newest.get(store, call.now, false).await?;
                let head = newest.and_then(|newest| newest.root.change_head).map_or(0, |(head, _)| head);
                (head + 1..=head + LEAP).contains(&number)
            }
        }
    };
    call.permitted(if is_after { Ok(()) } else { Err("its number is far beyond the last one") })
}

/// Whether the number is among the first, or follows another one closely.
async fn is_near(store: &dyn Store, number: u64, name: impl Fn(u64) -> String) -> Result<bool, Problem> {
    let Some(before) = number.checked_sub(LEAP + 1) else { return Ok(true) };
    let start = objects::key(name(before));
    let folder = start.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
    let page = store.list(&format!("{folder}/"), Some(&start), 1).await?;
    let found = page.objects.first().and_then(|listed| layout::trailing_number(listed.key.as_str()));
    Ok(found.is_some_and(|found| found < number))
}

/// How far a number may be beyond another one: as many backups can be lost at once.
const LEAP: u64 = 1 << 10;
