//! Openings: whoever has a share's link takes one of its openings, and reads its sealed bytes with the ticket for it.
//!
//! The answer is the same for a share that never existed, has ended, was revoked or has no openings left, and for a
//! wrong token or ticket.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use copal_format::id::ObjectHash;
use copal_jobs::objects;
use copal_jobs::shares::{ShareId, TAKEN, TICKET, Terms};
use copal_store::{Store, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::Gateway;
use super::super::call::{Call, count_unsigned};
use super::super::pieces;
use super::super::problem::Problem;
use super::{length_of, maker};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Opening {
    /// 32 bytes that follow from the key in the link, in hexadecimal.
    token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    ticket: String,
    /// The number of the object with sealed bytes; the list without it.
    object: Option<u64>,
    /// The first and the last byte.
    range: Option<(u64, u64)>,
}

/// What is kept of a ticket.
#[derive(Serialize, Deserialize)]
struct Taken {
    /// The SHA-256 of the ticket's secret, in hexadecimal.
    ticket: String,
    /// When the ticket ends, in seconds since 1970.
    ends: u64,
}

/// `POST /v1/shares/{id}/openings`: takes one of the openings, and gives a ticket.
pub(in super::super) async fn open(
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    mut call: Call,
) -> Result<Response, Problem> {
    let Opening { token } = asked(&gateway, &mut call).await?;
    let store = gateway.settings.store.as_ref();
    let (id, terms) = standing(&gateway, &call, &id).await?;
    let token = ObjectHash::from_hex(&token).map_err(|_| gone())?;
    // Hashes are compared, so the time that this takes tells nothing of the token.
    if hash_of(&token.0) != terms.token {
        return Err(gone());
    }
    let mut secret = [0; 32];
    gateway.settings.entropy.fill(&mut secret);
    let ends = terms.ends.min(call.now.saturating_add(TICKET));
    let note = serde_json::to_vec(&Taken { ticket: hash_of(&secret), ends }).expect("texts and numbers are JSON");
    let noted = objects::list(store, &format!("{TAKEN}{}/", id.as_str())).await?;
    let before = noted.iter().filter(|listed| !maker::is_note(&listed.key)).count() as u64;
    // Two requests at once get two numbers, or one of them gets none.
    for number in before + 1..=terms.count.into() {
        if objects::create_own(store, id.taken(number).as_str(), note.clone().into()).await? {
            let ticket = format!("{number}-{}", ObjectHash(secret));
            let answer = json!({
                "ticket": ticket, "until": ends, "length": terms.length, "list": terms.list,
                "ends": terms.ends, "left": u64::from(terms.count) - number,
            });
            return Ok(([(header::CACHE_CONTROL, NO_STORE)], Json(answer)).into_response());
        }
    }
    Err(gone())
}

/// `POST /v1/shares/{id}/parts`: sealed bytes, or the address where the store gives them.
pub(in super::super) async fn part(
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    mut call: Call,
) -> Result<Response, Problem> {
    let Wanted { ticket, object, range } = asked(&gateway, &mut call).await?;
    let store = &gateway.settings.store;
    // Requests with a known ticket are not limited, however many others come without one.
    let strangers =
        gateway.memory.as_ref().filter(|memory| call.is_unsigned() && !memory.tickets.know(&id, &ticket, call.now));
    if strangers.is_some() {
        count_unsigned(&gateway, call.now)?;
    }
    let (id, terms) = standing(&gateway, &call, &id).await?;
    verify_ticket(store.as_ref(), &id, &ticket, call.now).await?;
    if let Some(memory) = strangers {
        memory.signed();
        memory.tickets.remember(id.as_str(), &ticket, call.now);
    }
    let (key, length) = match object {
        None => (id.list(), terms.list),
        Some(number) => {
            let key = id.data(number);
            let length = length_of(&terms, number).ok_or_else(|| Problem::not_found(key.as_str()))?;
            (key, length)
        }
    };
    let range = range.map(range_of).transpose()?;
    if let Some(range) = range.clone().filter(|range| range.end > length) {
        return Err(pieces::beyond(StoreError::OutOfRange { key, range, length }));
    }
    if let Some(presigner) = &gateway.settings.presigner {
        let given = presigner.get(&key, Duration::from_secs(ADDRESS_SECONDS)).await?;
        let mut headers: serde_json::Map<_, _> =
            given.headers.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        if let Some(Range { start, end }) = range {
            headers.insert("range".to_owned(), json!(format!("bytes={start}-{}", end - 1)));
        }
        let answer = json!({ "url": given.url, "headers": headers });
        return Ok(([(header::CACHE_CONTROL, NO_STORE)], Json(answer)).into_response());
    }
    let range = range.unwrap_or(0..length);
    let (length, body) = pieces::read(&gateway, call.sender(), &key, Some(&range)).await?;
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let headers = HeaderMap::from_iter([kind, (header::CACHE_CONTROL, NO_STORE)]);
    Ok((headers, length, body).into_response())
}

/// The share, if its terms exist, it has not ended, and its maker was not revoked.
async fn standing(gateway: &Gateway, call: &Call, id: &str) -> Result<(ShareId, Terms), Problem> {
    let id = ShareId::parse(id).ok_or_else(gone)?;
    let bytes = objects::read(gateway.settings.store.as_ref(), id.terms().as_str()).await?;
    let terms = bytes.and_then(|bytes| Terms::read(&bytes)).filter(|terms| call.now < terms.ends);
    let terms = terms.ok_or_else(gone)?;
    match maker::counts(gateway, call.facts()?, &id, call.now).await? {
        true => Ok((id, terms)),
        false => Err(gone()),
    }
}

async fn verify_ticket(store: &dyn Store, id: &ShareId, ticket: &str, now: u64) -> Result<(), Problem> {
    let parts = ticket
        .split_once('-')
        .and_then(|(number, secret)| Some((number.parse::<u64>().ok()?, ObjectHash::from_hex(secret).ok()?)));
    // Another spelling of the same ticket would be remembered as a second ticket.
    let is_as_given = |(number, secret): &(u64, ObjectHash)| format!("{number}-{secret}") == ticket;
    let (number, secret) = parts.filter(is_as_given).ok_or_else(gone)?;
    let noted = objects::read(store, id.taken(number).as_str()).await?;
    let taken: Option<Taken> = noted.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let is_valid = taken.is_some_and(|taken| taken.ticket == hash_of(&secret.0) && now < taken.ends);
    if is_valid { Ok(()) } else { Err(gone()) }
}

async fn asked<T: DeserializeOwned>(gateway: &Gateway, call: &mut Call) -> Result<T, Problem> {
    call.facts()?;
    let (bytes, _) = call.read(gateway, ASKED_BYTES).await?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::bad_request(error.to_string()))
}

fn range_of((first, last): (u64, u64)) -> Result<Range<u64>, Problem> {
    match first <= last && last < u64::MAX {
        true => Ok(first..last + 1),
        false => Err(Problem::bad_request("a range is [FIRST, LAST]")),
    }
}

fn hash_of(secret: &[u8; 32]) -> String {
    ObjectHash::of(secret).to_string()
}

fn gone() -> Problem {
    let detail = "there is no such share: it has ended, was opened as often as it may be, was revoked, or never was";
    Problem::new("no-share", StatusCode::NOT_FOUND, detail)
}

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const ASKED_BYTES: u64 = 1 << 10;
/// For how long an address of the store is valid. A request that has begun goes on.
const ADDRESS_SECONDS: u64 = 60;
