//! Request: how a client signs a request to a gateway: HTTP message signatures (RFC 9421) over one fixed list of
//! components. Hosts provide time and random numbers; browser and command-line tool share this code.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::id::ClientId;

/// How long a signature is valid, in seconds. Also the most by which the signer's clock may be ahead.
pub const WINDOW: u64 = 60;

/// Whose key signs a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signatory {
    /// The owner, with the key in the descriptor.
    Owner,
    /// A client, with the request key in its record, or with its enrollment key until it joins.
    Client(ClientId),
}

/// The signed parts of a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The whole address, with scheme, host and query.
    pub uri: &'a str,
    /// The SHA-256 of the body; that of an empty string if there is none.
    pub digest: [u8; 32],
}

/// The parameters of a signature.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// Until when it is valid, in seconds since 1970; at most [`WINDOW`] after `created`.
    pub expires: u64,
    /// A random number, used once.
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

/// Why a request is not believed.
#[derive(Debug, Copy, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A header does not have the one accepted form.
    #[error("the header {0} is not of the form that a gateway takes")]
    Malformed(&'static str),
    /// The body does not have the signed digest.
    #[error("the body does not have the digest that was signed")]
    Body,
    /// The signature was made in the future, or has expired.
    #[error("signed {}, which is not within {WINDOW} s of the gateway's clock", clock(*.ahead))]
    Time {
        /// By how many seconds the signer's clock is ahead of the gateway's.
        ahead: i64,
    },
    /// The signature is valid for longer than [`WINDOW`].
    #[error("a signature counts for at most {WINDOW} s")]
    Long,
    /// The key did not sign this request.
    #[error("the signature is not that of the key that the gateway knows")]
    Signature,
}

impl Request<'_> {
    /// The SHA-256 of a body.
    pub fn digest(body: &[u8]) -> [u8; 32] {
        Sha256::digest(body).into()
    }

    /// Signs the request with `key`.
    pub fn sign(&self, terms: &Terms, key: &SigningKey) -> Headers {
        let unsigned = self.unsigned(terms);
        let signature = key.sign(unsigned.message.as_bytes()).to_bytes();
        unsigned.with(&signature)
    }

    /// The request prepared for a host that holds the key itself.
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

/// A request to be signed by a key that only the host holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsigned {
    /// The bytes to sign (Ed25519): the signature base.
    pub message: String,
    /// `Content-Digest`.
    pub content_digest: String,
    /// `Signature-Input`.
    pub input: String,
}

impl Unsigned {
    /// The headers with the signature of `message`.
    pub fn with(self, signature: &[u8; 64]) -> Headers {
        let signature = format!("{LABEL}=:{}:", STANDARD.encode(signature));
        Headers { content_digest: self.content_digest, input: self.input, signature }
    }
}

/// A parsed signature, not verified yet.
#[derive(Clone, Debug)]
pub struct Unverified {
    /// The parameters it claims; not to be believed yet.
    pub claimed: Terms,
    /// The SHA-256 that it claims for the body.
    pub claimed_digest: [u8; 32],
    content_digest: String,
    signature: Signature,
}

impl Unverified {
    /// Parses the headers `Content-Digest`, `Signature-Input` and `Signature`.
    pub fn parse(content_digest: &str, input: &str, signature: &str) -> Result<Self, RequestError> {
        let claimed_digest = read_digest(content_digest).ok_or(RequestError::Malformed("Content-Digest"))?;
        let claimed = Terms::parse(input).ok_or(RequestError::Malformed("Signature-Input"))?;
        let encoded = signature.strip_prefix(LABEL).and_then(|rest| rest.strip_prefix("=:")?.strip_suffix(':'));
        let bytes = encoded.and_then(decode::<64>).ok_or(RequestError::Malformed("Signature"))?;
        let signature = Signature::from_bytes(&bytes);
        Ok(Self { claimed, claimed_digest, content_digest: content_digest.to_owned(), signature })
    }

    /// Checks that the signature is valid at time `now`, in seconds since 1970.
    pub fn verify_time(&self, now: u64) -> Result<(), RequestError> {
        let Terms { created, expires, .. } = self.claimed;
        if created > now.saturating_add(WINDOW) || expires < now {
            return Err(RequestError::Time { ahead: created as i64 - now as i64 });
        }
        if expires < created || expires - created > WINDOW { Err(RequestError::Long) } else { Ok(()) }
    }

    /// Checks that `key` signed a request of this method and address with the claimed body (strictly, RFC 8032).
    pub fn verify(&self, method: &str, uri: &str, key: &[u8; 32]) -> Result<(), RequestError> {
        let key = VerifyingKey::from_bytes(key).map_err(|_| RequestError::Signature)?;
        let request = Request { method, uri, digest: self.claimed_digest };
        let message = request.base(&self.content_digest, &self.claimed.params());
        key.verify_strict(message.as_bytes(), &self.signature).map_err(|_| RequestError::Signature)
    }

    /// Checks that the body has the signed digest.
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

    /// Parses only the form that [`Terms::params`] writes.
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
            // Lower case only, so that each id has one spelling.
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

/// The SHA-256 of a `Content-Digest` value that has no other digest.
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

/// Parses seconds since 1970: at most 12 digits, no leading zeros.
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
