//! Remote: a repository behind a gateway, reached over HTTP or through a pipe to `copal serve --stdio` on another
//! machine. The rest of the program uses it like any other store.

mod identity;
mod orders;
mod pieces;
mod pipe;
mod problem;
mod reply;
mod runtime;
mod wire;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use copal_format::id::{ClientId, ObjectHash, PackId, RepositoryId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::limits::PACK_BYTES;
use copal_format::request::{Request, Terms, WINDOW};
use copal_gateway::protocol::PIPE_ORIGIN;
use copal_store::retry::{Backoff, Pause, Retry};
use copal_store::{Created, Key, ListPage, Listed, Op, Stat, Store, StoreError, StoreTime};
use ed25519_dalek::SigningKey;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use crate::clock;
use crate::entropy::random;
use copal_store::ssh::SshAddress;
use identity::Identity;
use problem::{Asked, of_reply, of_wire};
use reply::{Answerer, Question, Reply, object_most};
use wire::Wire;

pub use identity::Introduction;
pub use orders::OrderError;
pub(crate) use problem::Refusal;

/// A store behind a gateway.
pub struct GatewayStore {
    /// Without a trailing slash.
    address: String,
    wire: Wire,
    identity: Arc<Identity>,
    repository: Mutex<Option<Arc<About>>>,
}

/// The gateway's facts about its repository.
#[derive(Clone, Debug)]
struct About {
    repository: RepositoryId,
    is_presigned: bool,
}

/// A [`GatewayStore`] that retries calls after transient failures.
pub type RemoteStore = Retry<Arc<GatewayStore>, WaitAside>;

impl GatewayStore {
    /// A gateway with an HTTP address. Sends nothing yet.
    pub fn web(address: &str) -> Arc<Self> {
        Arc::new(Self::new(address.trim_end_matches('/').to_owned(), Wire::web()))
    }

    /// A gateway that `copal serve --stdio` runs on another machine. Starts nothing yet.
    pub fn ssh(address: SshAddress) -> Arc<Self> {
        // Signatures cover an address; a pipe has no host name of its own.
        Arc::new(Self::new(PIPE_ORIGIN.to_owned(), Wire::pipe(address)))
    }

    fn new(address: String, wire: Wire) -> Self {
        Self { address, wire, identity: Arc::default(), repository: Mutex::new(None) }
    }

    /// The same store with retries.
    pub fn patient(self: Arc<Self>) -> RemoteStore {
        Retry::new(self, Backoff::default(), WaitAside)
    }

    /// Tells where this machine keeps its keys, and which certificates it trusts.
    pub fn introduce(&self, introduction: Introduction) {
        if let Some(file) = &introduction.ca_file {
            self.wire.trust(file.clone());
        }
        self.identity.introduce(introduction);
    }

    /// Adds the owner's key, once a passphrase has opened it. It signs what no client may do, and everything if there
    /// is no client.
    pub fn know_owner(&self, owner: &OwnerSecret) {
        self.identity.know_owner(owner.signing_key());
    }

    /// From now on signs as this client with its enrollment key.
    pub fn join_as(&self, client: ClientId, enrollment: SigningKey) {
        self.identity.join_as(client, enrollment);
    }

    /// Asks the service to check packs found damaged, or whole again. Only the service records findings.
    pub async fn suspect(&self, packs: &[PackId]) -> Result<(), StoreError> {
        let asked = Asked { op: Op::Create, key: "the note of what was found" };
        for some in packs.chunks(SUSPECTS) {
            let named: Vec<String> = some.iter().map(ToString::to_string).collect();
            let body = json!({ "objects": named }).to_string();
            let question = Question::new(Method::POST, "/v1/suspects").sending(body.into());
            let reply = self.ask(&asked, question).await?;
            if !reply.status.is_success() {
                return Err(of_reply(&asked, &reply));
            }
        }
        Ok(())
    }

    /// Asks the gateway about its repository; `None` if there is no repository yet.
    async fn about(&self) -> Result<Option<Arc<About>>, StoreError> {
        #[derive(Deserialize)]
        struct Answer {
            repository: String,
            transfers: String,
        }
        if let Some(about) = self.repository.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(Some(about));
        }
        let asked = Asked { op: Op::Read, key: "the gateway's description" };
        let reply = self.wire.send(Question::new(Method::GET, format!("{}/v1/repository", self.address))).await;
        let reply = reply.map_err(|error| of_wire(&asked, error))?;
        match reply.problem().as_deref() {
            Some("no-repository") => return Ok(None),
            None if reply.status == StatusCode::NOT_FOUND => return Err(asked.io(NO_GATEWAY)),
            _ => {}
        }
        let answer: Answer = asked.json(&reply)?;
        let repository = RepositoryId::from_hex(&answer.repository).map_err(|error| asked.io(error))?;
        let about = Arc::new(About { repository, is_presigned: answer.transfers == "presigned" });
        *self.repository.lock().unwrap_or_else(PoisonError::into_inner) = Some(about.clone());
        Ok(Some(about))
    }

    /// Sends a request to the gateway, signed if this machine has a key to sign with.
    async fn ask(&self, asked: &Asked<'_>, question: Question) -> Result<Reply, StoreError> {
        let reply = self.ask_once(asked, question.clone()).await?;
        let is_known = match reply.problem().as_deref() {
            // The record of this client was never written, or is lost: go on as a new machine.
            Some("client-unknown") => !self.identity.forget_client(),
            // The enrollment key stops being valid once the client's record exists.
            Some("signature-wrong") => !self.identity.has_joined(),
            _ => true,
        };
        if is_known {
            return Ok(reply);
        }
        self.ask_once(asked, question).await
    }

    async fn ask_once(&self, asked: &Asked<'_>, mut question: Question) -> Result<Reply, StoreError> {
        let about = self.about().await?;
        question.url = format!("{}{}", self.address, question.url);
        let digest = Request::digest(&question.body);
        let signer = about.and_then(|about| self.identity.signer(about.repository, asked));
        let content_digest = match signer {
            Some((signatory, key)) => {
                let created = u64::try_from(clock::now().to_unix().0).unwrap_or(0);
                let terms = Terms { created, expires: created + WINDOW, nonce: random(), signatory };
                let request = Request { method: question.method.as_str(), uri: &question.url, digest };
                let signed = request.sign(&terms, &key);
                question.headers.insert("signature-input", value(&signed.input));
                question.headers.insert("signature", value(&signed.signature));
                signed.content_digest
            }
            None => copal_format::request::write_digest(&digest),
        };
        question.headers.insert("content-digest", value(&content_digest));
        self.wire.send(question).await.map_err(|error| of_wire(asked, error))
    }

    /// Reads an object from the gateway, or from the address to which it redirects.
    async fn get(&self, key: &Key, range: Option<Range<u64>>) -> Result<Reply, StoreError> {
        let asked = Asked { op: Op::Read, key: key.as_str() };
        let mut question = Question::new(Method::GET, format!("/v1/objects/{key}")).taking(object_most(key));
        if let Some(range) = &range {
            let bytes = value(&format!("bytes={}-{}", range.start, range.end - 1));
            question = question.with(header::RANGE, bytes).taking(range.end - range.start);
        }
        let reply = self.ask(&asked, question.clone()).await?;
        if reply.status != StatusCode::TEMPORARY_REDIRECT {
            return Ok(reply);
        }
        let location = reply.headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
        let location = location.ok_or_else(|| asked.io("the gateway leads nowhere"))?;
        self.refuse_less_safe(&asked, location)?;
        // The gateway's headers are left out: the store must not see a signature that is meant for the gateway.
        let elsewhere = Question { to: Answerer::Store, url: location.to_owned(), ..question };
        self.wire.send(elsewhere).await.map_err(|error| of_wire(&asked, error))
    }

    /// Fails if the gateway is reached through TLS and this address, which it names, is not.
    fn refuse_less_safe(&self, asked: &Asked<'_>, url: &str) -> Result<(), StoreError> {
        match self.address.starts_with("https:") && !url.starts_with("https:") {
            true => Err(asked.io("the gateway leads to an address without TLS")),
            false => Ok(()),
        }
    }

    /// Uploads through a presigned address.
    async fn put_elsewhere(&self, asked: &Asked<'_>, key: &Key, bytes: Bytes) -> Result<Reply, StoreError> {
        #[derive(Deserialize)]
        struct Upload {
            url: String,
            headers: std::collections::BTreeMap<String, String>,
        }
        #[derive(Deserialize)]
        struct Uploads {
            objects: Vec<Upload>,
        }
        let sha256 = ObjectHash(Request::digest(&bytes)).to_string();
        let batch = json!({ "objects": [{ "key": key.as_str(), "length": bytes.len(), "sha256": sha256 }] });
        let question = Question::new(Method::POST, "/v1/uploads").sending(batch.to_string().into());
        let uploads: Uploads = asked.json(&self.ask(asked, question).await?)?;
        let upload = uploads.objects.into_iter().next().ok_or_else(|| asked.io("the gateway names no address"))?;
        self.refuse_less_safe(asked, &upload.url)?;
        let mut question = Question::elsewhere(Method::PUT, upload.url).sending(bytes);
        for (name, text) in &upload.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| asked.io(error))?;
            question = question.with(name, HeaderValue::from_str(text).map_err(|error| asked.io(error))?);
        }
        self.wire.send(question).await.map_err(|error| of_wire(asked, error))
    }
}

#[async_trait]
impl Store for GatewayStore {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let asked = Asked { op: Op::Create, key: key.as_str() };
        let reply = match self.about().await? {
            Some(about) if about.is_presigned && !is_verified(key) => self.put_elsewhere(&asked, key, bytes).await?,
            _ => {
                let question = Question::new(Method::PUT, format!("/v1/objects/{key}")).sending(bytes);
                self.ask(&asked, question.with(header::IF_NONE_MATCH, HeaderValue::from_static("*"))).await?
            }
        };
        match reply.status {
            // A store answers 200 where a gateway answers 201.
            status if status == StatusCode::CREATED || (status == StatusCode::OK && reply.from == Answerer::Store) => {
                if asked.key.starts_with("clients/") {
                    self.identity.has_joined();
                    self.identity.remember_client();
                }
                Ok(Created::New)
            }
            StatusCode::PRECONDITION_FAILED => Ok(Created::Exists),
            _ => Err(of_reply(&asked, &reply)),
        }
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.read_whole(key).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.read_part(key, range).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        let asked = Asked { op: Op::Stat, key: key.as_str() };
        let reply = self.ask(&asked, Question::new(Method::HEAD, format!("/v1/objects/{key}"))).await?;
        match reply.status {
            StatusCode::OK => {}
            _ if reply.is_absence() => return Ok(None),
            _ => return Err(of_reply(&asked, &reply)),
        }
        let text = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok());
        let length = text("content-length").and_then(|text| text.parse().ok());
        let created = text("copal-created").and_then(|text| text.parse().ok());
        let (Some(length), Some(created)) = (length, created) else {
            return Err(asked.io("the gateway does not tell length and time"));
        };
        // The gateway may be run by somebody else, so a hash that it states is not believed.
        Ok(Some(Stat { length, created: StoreTime(created), sha256: None }))
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        #[derive(Deserialize)]
        struct Object {
            key: String,
            length: u64,
            created: String,
        }
        #[derive(Deserialize)]
        struct Page {
            objects: Vec<Object>,
            more: bool,
        }
        let asked = Asked { op: Op::List, key: prefix };
        let after = after.map(|key| format!("&after={key}")).unwrap_or_default();
        let path = format!("/v1/objects?prefix={prefix}&limit={}{after}", limit.clamp(1, LIST_MOST));
        let reply = self.ask(&asked, Question::new(Method::GET, path)).await?;
        if reply.problem().as_deref() == Some("no-repository") {
            return Ok(ListPage { objects: Vec::new(), more: false });
        }
        let page: Page = asked.json(&reply)?;
        let mut objects = Vec::with_capacity(page.objects.len().min(LIST_MOST));
        for object in page.objects {
            let created = StoreTime(object.created.parse().map_err(|error| asked.io(error))?);
            let stat = Stat { length: object.length, created, sha256: None };
            objects.push(Listed { key: Key::new(object.key).map_err(|error| asked.io(error))?, stat });
        }
        Ok(ListPage { objects, more: page.more })
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let asked = Asked { op: Op::Delete, key: key.as_str() };
        let reply = self.ask(&asked, Question::new(Method::DELETE, format!("/v1/objects/{key}"))).await?;
        if reply.status.is_success() { Ok(()) } else { Err(of_reply(&asked, &reply)) }
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        #[derive(Deserialize)]
        struct Answer {
            now: String,
        }
        let asked = Asked { op: Op::Now, key: "" };
        let reply = self.ask(&asked, Question::new(Method::GET, "/v1/time")).await?;
        let answer: Answer = asked.json(&reply)?;
        Ok(StoreTime(answer.now.parse().map_err(|error| asked.io(error))?))
    }

    fn is_remote(&self) -> bool {
        true
    }

    /// The most bytes that a gateway accepts in one object.
    fn largest(&self) -> Option<u64> {
        Some(PACK_BYTES)
    }
}

/// Sleeps on the network threads, so that one sleep delays no other call.
#[derive(Clone, Copy, Debug)]
pub struct WaitAside;

#[async_trait]
impl Pause for WaitAside {
    fn jitter(&self, most: Duration) -> Duration {
        most.mul_f64(f64::from(u32::from_le_bytes(random())) / f64::from(u32::MAX))
    }

    async fn sleep(&self, wait: Duration) {
        runtime::run(async move { tokio::time::sleep(wait).await }).await;
    }
}

/// Whether an object goes through the gateway even if others go to the store: the gateway verifies it.
fn is_verified(key: &Key) -> bool {
    ["changes/", "clients/"].iter().any(|folder| key.as_str().starts_with(folder))
}

/// A header value from text that is known to be valid.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("digits and letters are a value")
}

const NO_GATEWAY: &str = "what answers at this address is no gateway: it says 404";
/// Packs per request.
const SUSPECTS: usize = 256;
/// Objects per listing request.
const LIST_MOST: usize = 10_000;

#[cfg(test)]
mod tests;
