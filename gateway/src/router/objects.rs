//! Objects: creates, reads, stats, lists and deletes objects through the gateway itself.

use std::ops::Range;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use copal_format::client::Role;
use copal_format::limits::PACK_BYTES;
use copal_format::request::Request;
use copal_store::reserve::Reserve;
use copal_store::{Created, Key, ListPage, Store, StoreError};
use serde::Deserialize;
use serde_json::json;

use super::call::Call;
use super::problem::Problem;
use super::rights::{self, Caller, Upload};
use super::written::Record;
use super::{Arrival, Gateway, TRANSFER_SECONDS, content, pieces, quota, records};

/// `PUT /v1/objects/{key}`.
pub(super) async fn create(
    State(gateway): State<Arc<Gateway>>,
    Path(key): Path<String>,
    mut call: Call,
) -> Result<Response, Problem> {
    let key = key_of(key)?;
    let length = call.length()?;
    let upload = Upload { key: key.as_str(), length, sha256: call.claimed_digest()? };
    call.permitted(rights::may_create(call.caller, call.house, &upload))?;
    if call.headers.get(header::IF_NONE_MATCH).is_none_or(|value| value != "*") {
        let detail = "objects are created, never replaced: If-None-Match: * has to be sent";
        return Err(Problem::new("not-create-only", StatusCode::PRECONDITION_REQUIRED, detail));
    }
    quota::allow(&gateway, &call, &[upload]).await?;
    let (caller, claimed) = (call.caller, upload.sha256);
    let (bytes, room) = call.read(&gateway, length.min(PACK_BYTES)).await?;
    // The store may go on after the sender has dropped the request, so the bytes themselves keep their room.
    let bytes = room.hold(bytes);
    if bytes.len() as u64 != length || Request::digest(&bytes) != claimed {
        return Err(Problem::new("body-altered", StatusCode::BAD_REQUEST, "the body is not what its headers say"));
    }
    content::verify(&gateway, &call, key.as_str(), &bytes).await?;
    quota::has_come(&gateway, &call, upload).await?;
    let created = match Record::of(key.as_str()) {
        Some(record) => create_record(&gateway, &call, record, &key, bytes).await?,
        None => gateway.settings.store.create(&key, bytes).await?,
    };
    tell(&gateway, caller, key.as_str());
    Ok(match created {
        Created::New => StatusCode::CREATED.into_response(),
        Created::Exists => exists(key.as_str()).into_response(),
    })
}

/// Creates a manifest or a change. Limits how many a sender creates. An attempt that fails does not count: a client
/// that comes late tries the next number.
async fn create_record(
    gateway: &Gateway,
    call: &Call,
    record: Record,
    key: &Key,
    bytes: Bytes,
) -> Result<Created, Problem> {
    records::count(gateway, call, record, 1)?;
    let store = gateway.settings.store.as_ref();
    let created = match record {
        Record::Manifest => store.create(key, bytes).await,
        // On a full disk, a change may be what frees space.
        Record::Change => Reserve::new(store).create(key, bytes).await,
    };
    if let Some(memory) = gateway.memory.as_ref().filter(|_| !matches!(created, Ok(Created::New))) {
        memory.record_was_late(record, call.sender());
    }
    Ok(created?)
}

fn exists(key: &str) -> Problem {
    Problem::new("exists", StatusCode::PRECONDITION_FAILED, format!("object {key} exists"))
}

/// Tells other parts of the gateway and the host about a new object.
pub(super) fn tell(gateway: &Gateway, caller: Caller, key: &str) {
    match (key.split('/').next(), caller) {
        (Some("clients"), _) => gateway.known.doubt_clients(),
        (Some("manifests"), Caller::Client { id, .. }) => gateway.hint(Arrival::Manifest(id)),
        (Some("changes"), _) => gateway.hint(Arrival::Change),
        _ => {}
    }
}

/// `GET /v1/objects/{key}`, with or without a range.
pub(super) async fn read(
    State(gateway): State<Arc<Gateway>>,
    Path(key): Path<String>,
    call: Call,
) -> Result<Response, Problem> {
    let key = key_of(key)?;
    readable(&gateway, &call, &key).await?;
    let range = call.headers.get(header::RANGE).map(parse_range).transpose()?;
    if let Some(presigner) = gateway.settings.presigner.as_ref().filter(|_| !is_read_first(&key)) {
        let expires = std::time::Duration::from_secs(TRANSFER_SECONDS);
        let given = presigner.get(&key, expires).await?;
        let location = HeaderValue::from_str(&given.url).map_err(|_| {
            Problem::new("store-failed", StatusCode::INTERNAL_SERVER_ERROR, "the store's address is none")
        })?;
        return Ok((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, location)]).into_response());
    }
    let mut headers = octets();
    let store = &gateway.settings.store;
    // A remote store maps nothing: it would read the object into memory as a whole.
    let is_large = ["packs/", "moved/", "index/", "state/"].iter().any(|prefix| key.as_str().starts_with(prefix));
    let body = if is_large || store.is_remote() {
        let (length, body) = pieces::read(&gateway, call.sender(), &key, range.as_ref()).await?;
        headers.extend(length);
        body
    } else {
        // Mapped whole whatever the range is, so nothing is copied into memory.
        let bytes = store.map(&key).await?;
        let length = bytes.len() as u64;
        let Range { start, end } = range.clone().unwrap_or(0..length);
        if end > length {
            return Err(pieces::beyond(StoreError::OutOfRange { key, range: start..end, length }));
        }
        bytes.slice(start as usize..end as usize).into()
    };
    let Some(range) = range else { return Ok((headers, body).into_response()) };
    let said = format!("bytes {}-{}/*", range.start, range.end - 1);
    headers.insert(header::CONTENT_RANGE, said.parse().expect("digits are a value"));
    Ok((StatusCode::PARTIAL_CONTENT, headers, body).into_response())
}

/// Whether the object is read before anybody can sign. The gateway sends such objects itself: a page in a browser can
/// ask for an address of the store only with a signature, and is not redirected to another server.
fn is_read_first(key: &Key) -> bool {
    ["copal/", "keys/"].iter().any(|prefix| key.as_str().starts_with(prefix))
}

/// Whether the caller may read an object. Its name decides; for a write-only client's runs and segments also the state.
pub(super) async fn readable(gateway: &Arc<Gateway>, call: &Call, key: &Key) -> Result<(), Problem> {
    let name = key.as_str();
    call.permitted(rights::may_read(call.caller, call.house, name))?;
    if let Caller::Client { role: Role::WriteOnly, domain, .. } = call.caller
        && (name.starts_with("index/") || name.starts_with("state/"))
    {
        let store = gateway.settings.store.as_ref();
        let mut is_open = false;
        for is_fresh in [false, true] {
            let newest = gateway.known.newest.get(store, call.now, is_fresh).await?;
            is_open = newest.is_some_and(|newest| newest.is_open_to(domain, name));
            if is_open {
                break;
            }
        }
        if !is_open {
            // Superseded, or of another domain: the answer does not tell which.
            return Err(Problem::not_found(name));
        }
    }
    Ok(())
}

/// `HEAD /v1/objects/{key}`.
pub(super) async fn stat(
    State(gateway): State<Arc<Gateway>>,
    Path(key): Path<String>,
    call: Call,
) -> Result<Response, Problem> {
    let key = key_of(key)?;
    call.permitted(rights::may_stat(call.caller, call.house, key.as_str()))?;
    let stat = gateway.settings.store.stat(&key).await?.ok_or_else(|| Problem::not_found(key.as_str()))?;
    let mut headers = octets();
    headers.insert(header::CONTENT_LENGTH, stat.length.into());
    headers.insert("copal-created", stat.created.0.into());
    if let Some(hash) = stat.sha256 {
        let hex = copal_format::id::ObjectHash(hash).to_string();
        headers.insert("copal-sha256", hex.parse().expect("digits are a value"));
    }
    Ok((headers, Bytes::new()).into_response())
}

/// `DELETE /v1/objects/{key}`: key slots, by the owner.
pub(super) async fn delete(
    State(gateway): State<Arc<Gateway>>,
    Path(key): Path<String>,
    call: Call,
) -> Result<Response, Problem> {
    let key = key_of(key)?;
    call.permitted(rights::may_delete(call.caller, call.house, key.as_str()))?;
    gateway.settings.store.delete(&key).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The parameters of a listing.
#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    prefix: String,
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

/// `GET /v1/objects?prefix=&after=&limit=`.
pub(super) async fn list(
    State(gateway): State<Arc<Gateway>>,
    Query(asked): Query<Asked>,
    call: Call,
) -> Result<Response, Problem> {
    let prefix = call.permitted(rights::may_list(call.caller, call.house, &asked.prefix))?;
    let after = asked.after.map(key_of).transpose()?;
    let limit = asked.limit.unwrap_or(LIST_MOST).clamp(1, LIST_MOST);
    let store = gateway.settings.store.as_ref();
    let page = match call.house.is_made {
        true => store.list(&prefix, after.as_ref(), limit).await?,
        false => list_begun(store, &prefix, after.as_ref(), limit).await?,
    };
    let object = |listed: &copal_store::Listed| {
        json!({
            "key": listed.key.as_str(),
            "length": listed.stat.length,
            // A string, because not every JSON reader has numbers this large.
            "created": listed.stat.created.0.to_string(),
        })
    };
    let objects: Vec<_> = page.objects.iter().map(object).collect();
    pieces::json(&gateway, call.sender(), &json!({ "objects": objects, "more": page.more })).await
}

/// Lists a place without a repository: only what an interrupted `init` has created. A listing of everything asks
/// whether the place is free, so it fails if other objects exist.
async fn list_begun(store: &dyn Store, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, Problem> {
    let mut page = store.list(prefix, after, LIST_MOST).await?;
    let found = page.objects.len();
    page.objects.retain(|listed| rights::is_first(listed.key.as_str()));
    if prefix.is_empty() && (page.more || page.objects.len() < found) {
        return Err(Problem::not_permitted("there is no repository, and other files lie in its place"));
    }
    page.more = page.objects.len() > limit;
    page.objects.truncate(limit);
    Ok(page)
}

/// Parses an object name from a request.
pub(super) fn key_of(name: String) -> Result<Key, Problem> {
    Key::new(name).map_err(|error| Problem::bad_request(error.to_string()))
}

/// Parses `bytes=a-b`. Both ends are required, because store clients know which range they want.
fn parse_range(value: &HeaderValue) -> Result<Range<u64>, Problem> {
    let numbers = value.to_str().ok().and_then(|text| text.strip_prefix("bytes=")?.split_once('-'));
    let numbers = numbers.and_then(|(start, end)| Some((start.parse::<u64>().ok()?, end.parse::<u64>().ok()?)));
    match numbers {
        Some((start, end)) if start <= end && end < u64::MAX => Ok(start..end + 1),
        _ => Err(Problem::bad_request("a range is bytes=FIRST-LAST")),
    }
}

fn octets() -> HeaderMap {
    HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ])
}

/// Objects in one listing at most.
const LIST_MOST: usize = 10_000;
