//! Call: a request with a known sender. The signature is verified before any byte of the body is read.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequest};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode, header};
use bytes::Bytes;
use copal_format::client::{ClientError, ClientRecord, read_chain};
use copal_format::layout;
use copal_format::request::{RequestError, Signatory, Unverified};
use copal_format::time::Time;
use serde_json::json;

use super::Gateway;
use super::bodies::Unread;
use super::facts::{Facts, job};
use super::memory::Refused;
use super::network::network;
use super::problem::{Problem, busy};
use super::rights::{Caller, House};
use super::room::{Room, Sender};
use super::tickets::is_for_part;
use copal_jobs::context::JobContext;
use copal_jobs::objects;

/// A request with a known sender.
pub(super) struct Call {
    pub(super) caller: Caller,
    pub(super) facts: Option<Arc<Facts>>,
    pub(super) house: House,
    pub(super) now: u64,
    pub(super) headers: HeaderMap,
    /// The scheme and host that the sender used.
    pub(super) origin: String,
    /// The network that the request came from, as far as the host tells.
    network: Option<IpAddr>,
    /// The lock only lets a call be borrowed across await points.
    body: Mutex<Body>,
    signed: Option<Unverified>,
}

impl FromRequest<Arc<Gateway>> for Call {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, gateway: &Arc<Gateway>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let now = (gateway.settings.clock)();
        let store = gateway.settings.store.as_ref();
        let facts = gateway.known.facts(store, gateway.settings.owner, now).await?;
        let house = House {
            is_made: facts.is_some(),
            open_slots: gateway.settings.open_slots,
            accept_init: gateway.settings.accept_init,
        };
        let origin = origin(gateway, &parts)?;
        let signed = read_signature(&parts.headers).map_err(|error| Problem::of_request(error, now))?;
        let caller = match (&signed, &facts) {
            (Some(signed), Some(facts)) => {
                signed.verify_time(now).map_err(|error| Problem::of_request(error, now))?;
                let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
                let others = gateway.settings.other_origins.iter();
                let targets = std::iter::once(&origin).chain(others).map(|origin| format!("{origin}{path}")).collect();
                let asked = Asked { method: parts.method.as_str(), targets };
                let caller = known_caller(gateway, facts, signed, &asked, now).await?;
                remember(gateway, signed)?;
                caller
            }
            // Creating a repository takes many requests, and nobody can be known before it exists.
            (_, None) if house.accept_init => Caller::Nobody,
            // A known client's first request, answered from memory: unsigned requests of others must not block it.
            (None, Some(_)) if parts.uri.path() == "/v1/repository" => Caller::Nobody,
            // The handler reads the ticket, and counts the request if the ticket is not known yet.
            (None, Some(_)) if is_for_part(parts.uri.path()) => Caller::Nobody,
            _ => {
                count_unsigned(gateway, now)?;
                Caller::Nobody
            }
        };
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        // A gateway without TLS of its own that has to be told its address is behind a proxy: all strangers come from there.
        let is_behind_proxy = gateway.settings.origin.is_some() && gateway.settings.scheme == "http";
        let peer = peer.filter(|_| !is_behind_proxy);
        let network = peer.and_then(|ConnectInfo(address)| network(address.ip()));
        Ok(Self { caller, facts, house, now, headers: parts.headers, origin, network, body: Mutex::new(body), signed })
    }
}

impl Call {
    /// The facts about the repository. Fails while there is none.
    pub(super) fn facts(&self) -> Result<&Arc<Facts>, Problem> {
        self.facts.as_ref().ok_or_else(|| {
            let detail = if self.house.accept_init {
                "there is no repository yet: \"copal init\" makes one"
            } else {
                "there is no repository"
            };
            Problem::new("no-repository", StatusCode::NOT_FOUND, detail)
        })
    }

    /// Fails if nobody has signed the request.
    pub(super) fn known(&self) -> Result<(), Problem> {
        match self.caller {
            Caller::Nobody => Err(Problem::unsigned("this has to be signed by a client of the repository")),
            _ => Ok(()),
        }
    }

    /// Whether the request came without a signature.
    pub(super) fn is_unsigned(&self) -> bool {
        self.signed.is_none()
    }

    /// Turns a refusal by the rights into an answer.
    pub(super) fn permitted<T>(&self, verdict: Result<T, &'static str>) -> Result<T, Problem> {
        verdict.map_err(|why| match self.caller {
            Caller::Nobody if self.house.is_made => Problem::unsigned(why),
            _ => Problem::not_permitted(why),
        })
    }

    /// Whose limits count the request.
    pub(super) fn sender(&self) -> Sender {
        match self.caller {
            Caller::Client { id, .. } | Caller::Joining { id, .. } => Sender::Client(id),
            Caller::Nobody if self.house.is_made => Sender::Stranger(self.network),
            // Whoever makes the repository cannot be known yet.
            Caller::Owner | Caller::Nobody => Sender::Owner,
        }
    }

    /// The body's length by its header.
    pub(super) fn length(&self) -> Result<u64, Problem> {
        let length = self.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        length.ok_or_else(|| Problem::new("length-missing", StatusCode::LENGTH_REQUIRED, "Content-Length is missing"))
    }

    /// The body's SHA-256 by its header.
    pub(super) fn claimed_digest(&self) -> Result<[u8; 32], Problem> {
        let text = self.headers.get("content-digest").and_then(|value| value.to_str().ok());
        let missing = || Problem::bad_request("Content-Digest is missing or not a SHA-256");
        text.and_then(copal_format::request::read_digest).ok_or_else(missing)
    }

    /// Reads the whole body and verifies it against the signature. Only few large bodies are read at the same time.
    pub(super) async fn read(&mut self, gateway: &Gateway, most: u64) -> Result<(Bytes, Room), Problem> {
        let length = match self.headers.get(header::CONTENT_LENGTH) {
            Some(_) => Some(self.length()?),
            None => None,
        };
        let body = std::mem::take(self.body.get_mut().unwrap_or_else(PoisonError::into_inner));
        let read = gateway.bodies.read(self.sender(), body, length, most).await.map_err(|unread| match unread {
            Unread::Busy => busy("too much is sent at once"),
            Unread::Slow => Problem::new("slow", StatusCode::REQUEST_TIMEOUT, "the body does not arrive"),
            Unread::Cut => Problem::bad_request("the body is cut"),
            Unread::Large => Problem::too_large(format!("at most {most} bytes are taken here")),
        })?;
        if let Some(signed) = &self.signed {
            signed.verify_body(&read.0).map_err(|error| Problem::of_request(error, self.now))?;
        }
        Ok(read)
    }
}

/// The signature in the three headers; none if both signature headers are missing.
fn read_signature(headers: &HeaderMap) -> Result<Option<Unverified>, RequestError> {
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().unwrap_or_default(),
            _ => "",
        }
    };
    if !headers.contains_key("signature") && !headers.contains_key("signature-input") {
        return Ok(None);
    }
    Unverified::parse(one("content-digest"), one("signature-input"), one("signature")).map(Some)
}

/// The scheme and host as the sender knows them.
fn origin(gateway: &Gateway, parts: &Parts) -> Result<String, Problem> {
    if let Some(origin) = &gateway.settings.origin {
        return Ok(origin.clone());
    }
    let host = parts.headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let host = parts.uri.authority().map(|authority| authority.as_str()).or(host);
    let host = host.ok_or_else(|| Problem::bad_request("the header Host is missing"))?;
    Ok(format!("{}://{host}", gateway.settings.scheme))
}

/// A request as its client may have signed it: for each address of the gateway, because a proxy hides which was used.
struct Asked<'a> {
    method: &'a str,
    targets: Vec<String>,
}

impl Asked<'_> {
    fn verify(&self, signed: &Unverified, key: &[u8; 32]) -> Result<(), RequestError> {
        let is_signed = self.targets.iter().any(|target| signed.verify(self.method, target, key).is_ok());
        if is_signed { Ok(()) } else { Err(RequestError::Signature) }
    }
}

async fn known_caller(
    gateway: &Gateway,
    facts: &Facts,
    signed: &Unverified,
    asked: &Asked<'_>,
    now: u64,
) -> Result<Caller, Problem> {
    let refused = |error| Problem::of_request(error, now);
    let id = match signed.claimed.signatory {
        Signatory::Owner => {
            if let Err(error) = asked.verify(signed, &facts.descriptor.owner_key) {
                count_unsigned(gateway, now)?;
                return Err(refused(error));
            }
            return Ok(Caller::Owner);
        }
        Signatory::Client(id) => id,
    };
    let job = job(gateway.settings.store.as_ref(), gateway.settings.entropy.as_ref(), facts);
    let verify = |record: &ClientRecord| {
        // A record has either keys or an enrollment key.
        let enrollment = record.enrollment.map(|enrollment| enrollment.key);
        let key = record.keys.as_ref().map(|keys| keys.request).or(enrollment);
        asked.verify(signed, &key.ok_or(RequestError::Signature)?)
    };
    if let Some(record) = gateway.known.acquaintance(&job, id, now).await?
        && verify(&record).is_ok()
    {
        return caller_of(&record, now);
    }
    // Anybody can name a client. Until its signature is verified, such a request counts as unsigned.
    count_unsigned(gateway, now)?;
    // The client may be new, or may have joined since its record was read.
    let record = gateway.known.client(&job, id, now).await?.ok_or_else(|| {
        let detail = format!("client {id} is not registered in this repository");
        Problem::new("client-unknown", StatusCode::UNAUTHORIZED, detail)
    })?;
    if let Err(error) = verify(&record) {
        let used = was_enrolled_by(&job, &record, signed, asked).await?;
        let detail = format!("the enrollment of client {id} was used already");
        let used = used.then(|| Problem::new("enrollment-used", StatusCode::FORBIDDEN, detail));
        return Err(used.unwrap_or_else(|| refused(error)));
    }
    if let Some(memory) = &gateway.memory {
        memory.signed();
    }
    caller_of(&record, now)
}

fn caller_of(record: &ClientRecord, now: u64) -> Result<Caller, Problem> {
    let (id, role, domain) = (record.client, record.role, record.domain);
    if record.revoked.is_some() {
        let detail = format!("the owner has revoked client {id}");
        return Err(Problem::new("client-revoked", StatusCode::FORBIDDEN, detail));
    }
    let now = Time::from_unix(i64::try_from(now).unwrap_or(i64::MAX), 0);
    if record.enrollment.is_some_and(|enrollment| enrollment.is_over(now)) {
        let detail = format!("the enrollment of client {id} has expired");
        return Err(Problem::new("enrollment-expired", StatusCode::FORBIDDEN, detail));
    }
    Ok(if record.keys.is_some() { Caller::Client { id, role, domain } } else { Caller::Joining { id, role } })
}

/// Limits the rate of requests that are unsigned, or not verified yet.
pub(super) fn count_unsigned(gateway: &Gateway, now: u64) -> Result<(), Problem> {
    match &gateway.memory {
        Some(memory) => memory.unsigned(now).map_err(|_| busy("too many requests that nobody has signed")),
        None => Ok(()),
    }
}

/// Whether a joined client's former enrollment key signed this request.
async fn was_enrolled_by(
    job: &JobContext<'_>,
    record: &ClientRecord,
    signed: &Unverified,
    asked: &Asked<'_>,
) -> Result<bool, Problem> {
    if record.keys.is_none() {
        return Ok(false);
    }
    let mut versions = Vec::new();
    let mut first = Err(ClientError::Unknown { client: record.client });
    for name in [layout::client(record.client, 1), layout::client_copy(record.client, 1)] {
        if first.is_err() {
            versions.extend(objects::read(job.store, &name).await?.map(|bytes| (1, bytes.to_vec())));
            first = read_chain(job.repository, &job.owner_key, record.client, &versions);
        }
    }
    let enrollment = first.ok().and_then(|first| first.enrollment);
    Ok(enrollment.is_some_and(|enrollment| asked.verify(signed, &enrollment.key).is_ok()))
}

fn remember(gateway: &Gateway, signed: &Unverified) -> Result<(), Problem> {
    let Some(memory) = &gateway.memory else { return Ok(()) };
    // Read anew: the memory compares this time with another clock, and reading the client's record may have taken long.
    let now = (gateway.settings.clock)();
    memory.first(&signed.claimed, now).map_err(|refused| match refused {
        Refused::Replayed => {
            let detail = "this request came before: each has to be signed with a number of its own";
            Problem::new("replayed", StatusCode::UNAUTHORIZED, detail).with("time", json!(now))
        }
        Refused::Early => {
            let detail = "this request was signed before this gateway was started: sign it anew";
            Problem::new("replayed", StatusCode::UNAUTHORIZED, detail).with("time", json!(now))
        }
        Refused::Busy => busy("too many requests"),
    })
}
