//! Maker: who has made a share. It is noted beside the openings, as number 0, so that a share ends when the owner
//! revokes the client that made it.

use copal_format::id::ClientId;
use copal_format::layout;
use copal_jobs::objects;
use copal_jobs::shares::ShareId;
use copal_store::{Key, Store};
use serde::{Deserialize, Serialize};

use super::super::Gateway;
use super::super::facts::{Facts, job};
use super::super::problem::Problem;
use super::super::rights::Caller;

/// The content of the note.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Maker {
    /// The client's id in hexadecimal, or `owner`.
    maker: String,
}

/// Notes who makes a share, before its terms are written. False if somebody else has begun to make it.
pub(super) async fn note(store: &dyn Store, id: &ShareId, caller: Caller) -> Result<bool, Problem> {
    let maker = match caller {
        Caller::Client { id, .. } => id.to_string(),
        Caller::Owner => OWNER.to_owned(),
        Caller::Joining { .. } | Caller::Nobody => return Ok(false),
    };
    let note = serde_json::to_vec(&Maker { maker }).expect("a text is JSON");
    Ok(objects::create_own(store, id.taken(NUMBER).as_str(), note.into()).await?)
}

/// Whether the maker of a share still counts. False also if nobody is noted, or the maker's record cannot be believed.
pub(super) async fn counts(gateway: &Gateway, facts: &Facts, id: &ShareId, now: u64) -> Result<bool, Problem> {
    let store = gateway.settings.store.as_ref();
    let noted = objects::read(store, id.taken(NUMBER).as_str()).await?;
    let Some(Maker { maker }) = noted.and_then(|bytes| serde_json::from_slice(&bytes).ok()) else { return Ok(false) };
    if maker == OWNER {
        return Ok(true);
    }
    let Ok(client) = ClientId::from_hex(&maker) else { return Ok(false) };
    let job = job(store, gateway.settings.entropy.as_ref(), facts);
    let read = match gateway.known.acquaintance(&job, client, now).await {
        Ok(None) => gateway.known.client(&job, client, now).await,
        known => known,
    };
    match read {
        Ok(record) => Ok(record.is_some_and(|record| record.revoked.is_none())),
        Err(problem) if problem.name == UNSOUND => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Whether an object in the folder of openings is the note.
pub(super) fn is_note(key: &Key) -> bool {
    layout::trailing_number(key.as_str()) == Some(NUMBER)
}

/// Openings are numbered from 1.
const NUMBER: u64 = 0;
const OWNER: &str = "owner";
/// The problem of a record that might be the client's revocation.
const UNSOUND: &str = "client-unsound";
