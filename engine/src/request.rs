//! Request: what a client signs of a request to a gateway, as HTTP message signatures (RFC 9421) with one fixed list of
//! components. Hosts bring the clock and random numbers; a browser and the command sign with the same code.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::id::ClientId;

/// How long a signature counts, in seconds. As much may a clock be wrong.
pub const WINDOW: u64 = 60;

/// Whose key signs a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signatory {
    /// The owner, with the key that the descriptor names.
    Owner,
    /// A client, with the request key that its record names; while it waits to be joined, with the enrollment key.
    Client(ClientId),
}

/// What is signed of a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The whole address, with scheme, host and query.
    pub uri: &'a str,
    /// The SHA-256 of the body; without one, of nothing.
    pub digest: [u8; 32],
}

/// What a signature says of itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// Until when it counts; at most [`WINDOW`] later.
    pub expires: u64,
    /// A random number, never used twice.
    pub nonce: [u8; 16],
    /// Whose key signs.
    pub signatory: Signatory,
}

/// The headers of a signed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// `Content-Digest`.
    pub content_digest: String,
    /// `Signature-Input`.
    pub input: String,
    /// `Signature`.
    pub signature: String,
}

/// A request that is not believed.
#[derive(Debug, Copy, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A header is not of the one form that is taken.
    #[error("the header {0} is not of the form that a gateway takes")]
    Malformed(&'static str),
    /// The body is another one.
    #[error("the body does not have the digest that was signed")]
    Body,
    /// It was made in the future or is too old.
    #[error("signed {}, which is not within {WINDOW} s of the gateway's clock", clock(*.ahead))]
    Time {
        /// By how many seconds the signer's clock is ahead of the gateway's.
        ahead: i64,
    },
    /// It would count for longer than a signature may.
    #[error("a signature counts for at most {WINDOW} s")]
    Long,
    /// The key has not signed this.
    #[error("the signature is not that of the key that the gateway knows")]
    Signature,
}

impl Request<'_> {
    /// The SHA-256 of a body.
    pub fn digest(body: &[u8]) -> [u8; 32] {
        Sha256::digest(body).into()
    }

    /// Signs the request.
    pub fn sign(&self, terms: &Terms, key: &SigningKey) -> Headers {
        let unsigned = self.unsigned(terms);
        let signature = key.sign(unsigned.message.as_bytes()).to_bytes();
        unsigned.with(&signature)
    }

    /// What a host signs that holds the key itself.
    pub fn unsigned(&self, terms: &Terms) -> Unsigned {
        let content_digest = write_digest(&self.digest);
        let params = terms.params();
        let message = self.base(&content_digest, &params);
        Unsigned { message, content_digest, input: format!("{LABEL}={params}") }
    }

    fn base(&self, content_digest: &str, params: &str) -> String {
        base(&[("@method", self.method), ("@target-uri", self.uri), ("content-digest", content_digest)], params)
    }
}

/// A request that a key elsewhere signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsigned {
    /// The signature base, which is signed (Ed25519).
    pub message: String,
    /// `Content-Digest`.
    pub content_digest: String,
    /// `Signature-Input`.
    pub input: String,
}

impl Unsigned {
    /// The headers with a signature of the message.
    pub fn with(self, signature: &[u8; 64]) -> Headers {
        let signature = format!("{LABEL}=:{}:", STANDARD.encode(signature));
        Headers { content_digest: self.content_digest, input: self.input, signature }
    }
}

/// A signature that was read and not verified yet.
#[derive(Clone, Debug)]
pub struct Unverified {
    /// What it says of itself: nothing of it may be believed yet.
    pub claimed: Terms,
    /// The SHA-256 that the body is said to have.
    pub claimed_digest: [u8; 32],
    content_digest: String,
    signature: Signature,
}

impl Unverified {
    /// Reads the headers `Content-Digest`, `Signature-Input` and `Signature`.
    pub fn parse(content_digest: &str, input: &str, signature: &str) -> Result<Self, RequestError> {
        let claimed_digest = read_digest(content_digest).ok_or(RequestError::Malformed("Content-Digest"))?;
        let claimed = Terms::parse(input).ok_or(RequestError::Malformed("Signature-Input"))?;
        let encoded = signature.strip_prefix(LABEL).and_then(|rest| rest.strip_prefix("=:")?.strip_suffix(':'));
        let bytes = encoded.and_then(decode::<64>).ok_or(RequestError::Malformed("Signature"))?;
        let signature = Signature::from_bytes(&bytes);
        Ok(Self { claimed, claimed_digest, content_digest: content_digest.to_owned(), signature })
    }

    /// Whether the signature counts at this time, in seconds since 1970.
    pub fn verify_time(&self, now: u64) -> Result<(), RequestError> {
        let Terms { created, expires, .. } = self.claimed;
        if created > now.saturating_add(WINDOW) || expires < now {
            return Err(RequestError::Time { ahead: created as i64 - now as i64 });
        }
        if expires < created || expires - created > WINDOW { Err(RequestError::Long) } else { Ok(()) }
    }

    /// Whether the key has signed a request of this method and address with the claimed body (strictly, RFC 8032).
    pub fn verify(&self, method: &str, uri: &str, key: &[u8; 32]) -> Result<(), RequestError> {
        let key = VerifyingKey::from_bytes(key).map_err(|_| RequestError::Signature)?;
        let request = Request { method, uri, digest: self.claimed_digest };
        let message = request.base(&self.content_digest, &self.claimed.params());
        key.verify_strict(message.as_bytes(), &self.signature).map_err(|_| RequestError::Signature)
    }

    /// Whether the body is the one that was signed.
    pub fn verify_body(&self, body: &[u8]) -> Result<(), RequestError> {
        let is_same: bool = Request::digest(body).ct_eq(&self.claimed_digest).into();
        if is_same { Ok(()) } else { Err(RequestError::Body) }
    }
}

impl Terms {
    /// The value of `@signature-params`.
    fn params(&self) -> String {
        format!(
            "{COMPONENTS};created={};expires={};nonce=\"{}\";keyid=\"{}\";alg=\"ed25519\"",
            self.created,
            self.expires,
            URL_SAFE_NO_PAD.encode(self.nonce),
            self.signatory
        )
    }

    /// Reads one form only, the one that [`Terms::params`] writes.
    fn parse(input: &str) -> Option<Self> {
        let rest = input.strip_prefix(LABEL)?.strip_prefix('=')?.strip_prefix(COMPONENTS)?;
        let (created, rest) = rest.strip_prefix(";created=")?.split_once(";expires=")?;
        let (expires, rest) = rest.split_once(";nonce=\"")?;
        let (nonce, rest) = rest.split_once("\";keyid=\"")?;
        let signatory = rest.strip_suffix("\";alg=\"ed25519\"")?;
        let nonce = <[u8; 16]>::try_from(URL_SAFE_NO_PAD.decode(bounded(nonce, 22)?).ok()?).ok()?;
        let signatory = Signatory::parse(signatory)?;
        Some(Self { created: seconds(created)?, expires: seconds(expires)?, nonce, signatory })
    }
}

impl Signatory {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "owner" => Some(Self::Owner),
            // Only in small letters: of one name there is one form.
            id if id.bytes().any(|byte| byte.is_ascii_uppercase()) => None,
            id => ClientId::from_hex(id).ok().map(Self::Client),
        }
    }
}

impl core::fmt::Display for Signatory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Owner => f.write_str("owner"),
            Self::Client(id) => id.fmt(f),
        }
    }
}

/// The value of `Content-Digest` (RFC 9530) for a SHA-256.
pub fn write_digest(sha256: &[u8; 32]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(sha256))
}

/// The SHA-256 in a value of `Content-Digest` that holds this digest alone.
pub fn read_digest(value: &str) -> Option<[u8; 32]> {
    decode(value.strip_prefix("sha-256=:")?.strip_suffix(':')?)
}

/// The signature base of RFC 9421, section 2.5.
fn base(components: &[(&str, &str)], params: &str) -> String {
    let mut base = String::new();
    for (name, value) in components {
        base.push_str(&format!("\"{name}\": {value}\n"));
    }
    base + "\"@signature-params\": " + params
}

/// Seconds since 1970 in at most 12 digits, without zeros before.
fn seconds(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    bounded(text, 12).filter(|_| is_number)?.parse().ok()
}

fn bounded(text: &str, most: usize) -> Option<&str> {
    (text.len() <= most).then_some(text)
}

fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    STANDARD.decode(bounded(text, N.div_ceil(3) * 4)?).ok()?.try_into().ok()
}

fn clock(ahead: i64) -> String {
    let side = if ahead > 0 { "ahead" } else { "ago" };
    format!("{} s {side}", ahead.unsigned_abs())
}

const LABEL: &str = "copal";
const COMPONENTS: &str = "(\"@method\" \"@target-uri\" \"content-digest\")";

#[cfg(test)]
mod tests;
