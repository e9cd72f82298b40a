//! Transfers: addresses for uploading and downloading many objects at once.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use copal_format::client::Role;
use copal_format::id::{ObjectHash, PackId};
use copal_format::request::write_digest;
use copal_store::Presigned;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::objects::{key_of, readable, tell};
use super::problem::Problem;
use super::rights::{self, Caller, Upload};
use super::written::Record;
use super::{Gateway, TRANSFER_SECONDS, content, pieces, quota, records};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<T> {
    objects: Vec<T>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    key: String,
    length: u64,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    key: String,
    /// The first and the last byte.
    range: Option<(u64, u64)>,
}

/// `POST /v1/uploads`.
pub(super) async fn uploads(State(gateway): State<Arc<Gateway>>, mut call: Call) -> Result<Response, Problem> {
    if call.house.is_made {
        call.known()?;
    }
    let wanted: Vec<Wanted> = batch(&gateway, &mut call).await?;
    let mut uploads = Vec::new();
    for one in &wanted {
        let hash = ObjectHash::from_hex(&one.sha256).map_err(|error| Problem::bad_request(error.to_string()))?;
        let upload = Upload { key: &one.key, length: one.length, sha256: hash.0 };
        call.permitted(rights::may_create(call.caller, call.house, &upload))?;
        uploads.push(upload);
    }
    quota::allow(&gateway, &call, &uploads).await?;
    let presigner = gateway.settings.presigner.as_ref();
    // Manifests that come through the gateway are counted when they come.
    let manifests = uploads.iter().filter(|upload| Record::of(upload.key) == Some(Record::Manifest));
    records::count(&gateway, &call, Record::Manifest, presigner.map_or(0, |_| manifests.count() as u32))?;
    let mut answers = Vec::new();
    for upload in &uploads {
        let key = key_of(upload.key.to_owned())?;
        let presigner = presigner.filter(|_| !content::is_verified(upload.key));
        let (given, is_signed) = match presigner {
            Some(presigner) => {
                let expires = Duration::from_secs(TRANSFER_SECONDS);
                let given = presigner.put(&key, upload.length, &upload.sha256, expires).await?;
                // The object arrives at the store without the gateway noticing, so others are told now.
                tell(&gateway, call.caller, upload.key);
                (given, false)
            }
            None => {
                let headers = vec![
                    ("content-length", upload.length.to_string()),
                    ("content-digest", write_digest(&upload.sha256)),
                    ("if-none-match", "*".to_owned()),
                ];
                (direct("PUT", &call.origin, upload.key, headers), true)
            }
        };
        answers.push(answer(upload.key, given, is_signed));
    }
    pieces::json(&gateway, call.sender(), &json!({ "objects": answers })).await
}

/// `POST /v1/downloads`.
pub(super) async fn downloads(State(gateway): State<Arc<Gateway>>, mut call: Call) -> Result<Response, Problem> {
    call.known()?;
    let named: Vec<Named> = batch(&gateway, &mut call).await?;
    let mut answers = Vec::new();
    for one in named {
        let key = key_of(one.key)?;
        readable(&gateway, &call, &key).await?;
        let (mut given, is_signed) = match &gateway.settings.presigner {
            Some(presigner) => (presigner.get(&key, Duration::from_secs(TRANSFER_SECONDS)).await?, false),
            None => (direct("GET", &call.origin, key.as_str(), Vec::new()), true),
        };
        if let Some((first, last)) = one.range {
            given.headers.push(("range", format!("bytes={first}-{last}")));
        }
        answers.push(answer(key.as_str(), given, is_signed));
    }
    pieces::json(&gateway, call.sender(), &json!({ "objects": answers })).await
}

/// `POST /v1/suspects`: packs that a full client found harmed or whole again. The service examines them itself.
pub(super) async fn suspects(State(gateway): State<Arc<Gateway>>, mut call: Call) -> Result<Response, Problem> {
    call.facts()?;
    if !matches!(call.caller, Caller::Owner | Caller::Client { role: Role::Full, .. }) {
        return call.permitted(Err("full clients say which packs are harmed"));
    }
    let named: Vec<String> = batch(&gateway, &mut call).await?;
    let packs = named.iter().map(|id| PackId::from_hex(id)).collect::<Result<Vec<_>, _>>();
    let packs = packs.map_err(|error| Problem::bad_request(error.to_string()))?;
    let Some(suspected) = &gateway.settings.suspected else {
        let detail = "this gateway does not look at packs: a scheduled check does";
        return Err(Problem::new("not-here", StatusCode::NOT_IMPLEMENTED, detail));
    };
    suspected(packs);
    Ok((StatusCode::ACCEPTED, Json(json!({}))).into_response())
}

/// Reads the list of objects in a request. The list is short, so that the answer stays small.
async fn batch<T: DeserializeOwned>(gateway: &Gateway, call: &mut Call) -> Result<Vec<T>, Problem> {
    let (bytes, _) = call.read(gateway, BATCH_BYTES).await?;
    let batch: Batch<T> = serde_json::from_slice(&bytes).map_err(|error| Problem::bad_request(error.to_string()))?;
    if batch.objects.len() > BATCH_MOST {
        return Err(Problem::too_large(format!("at most {BATCH_MOST} objects are taken at once")));
    }
    Ok(batch.objects)
}

/// An object's address at the gateway itself.
fn direct(method: &'static str, origin: &str, key: &str, headers: Vec<(&'static str, String)>) -> Presigned {
    Presigned { method, url: format!("{origin}/v1/objects/{key}"), headers }
}

fn answer(key: &str, given: Presigned, is_signed: bool) -> Value {
    let headers: Map<String, Value> =
        given.headers.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    json!({
        "key": key,
        "method": given.method,
        "url": given.url,
        "headers": headers,
        // Whether the request to that address must be signed like every other request to the gateway.
        "signed": is_signed,
        "expires_in": TRANSFER_SECONDS,
    })
}

/// How many objects one request may name, and its maximum length in bytes.
const BATCH_MOST: usize = 256;
const BATCH_BYTES: u64 = 256 << 10;
