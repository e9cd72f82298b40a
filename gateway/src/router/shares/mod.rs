//! Shares: full clients make, list and revoke what a link opens. `openings` answers whoever has a link.

mod maker;
mod openings;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use copal_format::client::Role;
use copal_jobs::objects;
use copal_jobs::shares::{self, DATA, LONGEST, OBJECT_BYTES, ShareId, TAKEN, TERMS, Terms};
use copal_store::Store;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::call::Call;
use super::problem::Problem;
use super::rights::Caller;
use super::{Gateway, pieces};
pub(super) use openings::{open, part};

/// `POST /v1/shares/{id}`: makes a share of uploaded objects by writing its terms.
pub(super) async fn create(
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    mut call: Call,
) -> Result<Response, Problem> {
    permitted(&call)?;
    let id = id_of(&id)?;
    let (bytes, _) = call.read(&gateway, TERMS_BYTES).await?;
    let terms = Terms::read(&bytes).ok_or_else(|| Problem::bad_request("these are no terms of a share"))?;
    if terms.ends <= call.now || terms.ends > call.now.saturating_add(LONGEST) {
        return Err(Problem::bad_request(format!("a share ends within {LONGEST} s")));
    }
    let store = gateway.settings.store.as_ref();
    verify_content(store, &id, &terms).await?;
    if objects::list(store, TERMS).await?.len() >= SHARES_MOST {
        let detail = format!("there are {SHARES_MOST} shares: revoke some first");
        return Err(Problem::new("shares-full", StatusCode::FORBIDDEN, detail));
    }
    // A client that got no answer asks again.
    let is_made = maker::note(store, &id, call.caller).await?
        && objects::create_own(store, id.terms().as_str(), terms.encode()).await?;
    if !is_made {
        return Err(Problem::new("exists", StatusCode::PRECONDITION_FAILED, "there is a share of this id"));
    }
    Ok((StatusCode::CREATED, Json(json!({}))).into_response())
}

/// Whether all of the share's bytes are there, so that nobody opens half of one.
async fn verify_content(store: &dyn Store, id: &ShareId, terms: &Terms) -> Result<(), Problem> {
    let listed = objects::list(store, &format!("{DATA}{}/", id.as_str())).await?;
    let is_whole = listed.len() as u64 == terms.length.div_ceil(OBJECT_BYTES)
        && (1..).zip(&listed).all(|(number, object)| {
            object.key == id.data(number) && Some(object.stat.length) == length_of(terms, number)
        })
        && store.stat(&id.list()).await?.is_some_and(|stat| stat.length == terms.list);
    if is_whole { Ok(()) } else { Err(Problem::bad_request("not all objects of this share are there")) }
}

/// The length of a data object by the terms; none if they have none of this number.
fn length_of(terms: &Terms, number: u64) -> Option<u64> {
    let before = number.checked_sub(1)?.checked_mul(OBJECT_BYTES)?;
    let rest = terms.length.checked_sub(before).filter(|rest| *rest > 0)?;
    Some(rest.min(OBJECT_BYTES))
}

/// `GET /v1/shares`: all shares, the newest first.
pub(super) async fn list(State(gateway): State<Arc<Gateway>>, call: Call) -> Result<Response, Problem> {
    permitted(&call)?;
    let store = gateway.settings.store.as_ref();
    let mut taken: BTreeMap<ShareId, u64> = BTreeMap::new();
    for opening in objects::list(store, TAKEN).await? {
        if let Some(id) = ShareId::of(opening.key.as_str()).filter(|_| !maker::is_note(&opening.key)) {
            *taken.entry(id).or_default() += 1;
        }
    }
    let mut listed = objects::list(store, TERMS).await?;
    listed.sort_by_key(|listed| std::cmp::Reverse(listed.stat.created));
    let taken = &taken;
    let read = listed.into_iter().map(|listed| async move {
        let Some(id) = ShareId::of(listed.key.as_str()) else { return Ok(None) };
        // Skips a share that was revoked meanwhile.
        let bytes = objects::read(store, listed.key.as_str()).await?;
        let Some(terms) = bytes.and_then(|bytes| Terms::read(&bytes)) else { return Ok(None) };
        Ok::<_, Problem>(Some(json!({
            "id": id.as_str(),
            "made": listed.stat.created.0.div_euclid(1_000_000_000),
            "ends": terms.ends,
            "count": terms.count,
            "taken": taken.get(&id).copied().unwrap_or_default(),
            "length": terms.length,
            "label": terms.label,
        })))
    });
    let found: Vec<Option<Value>> = stream::iter(read).buffered(AT_ONCE).try_collect().await?;
    let answer = json!({ "shares": found.into_iter().flatten().collect::<Vec<_>>() });
    pieces::json(&gateway, call.sender(), &answer).await
}

/// `DELETE /v1/shares/{id}`: revokes a share. Deletes the terms first: without them the share is over.
pub(super) async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    call: Call,
) -> Result<Response, Problem> {
    permitted(&call)?;
    let id = id_of(&id)?;
    shares::remove(gateway.settings.store.as_ref(), &id).await?;
    // An address of the bucket stays valid: what was allowed by it may still come, and counts.
    if let Some(memory) = gateway.memory.as_ref().filter(|_| gateway.settings.presigner.is_none()) {
        memory.shares.revoked(&id);
    }
    Ok(Json(json!({})).into_response())
}

fn permitted(call: &Call) -> Result<(), Problem> {
    call.facts()?;
    match call.caller {
        Caller::Owner | Caller::Client { role: Role::Full, .. } => Ok(()),
        _ => call.permitted(Err("full clients make, list and revoke shares")),
    }
}

fn id_of(id: &str) -> Result<ShareId, Problem> {
    ShareId::parse(id).ok_or_else(|| Problem::bad_request("a share's id is 32 hexadecimal digits"))
}

/// Shares at once.
const SHARES_MOST: usize = 256;
const TERMS_BYTES: u64 = 8 << 10;
/// Terms that are read at the same time.
const AT_ONCE: usize = 16;
