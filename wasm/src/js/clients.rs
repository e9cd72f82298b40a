//! Clients: opens a repository with a passphrase, joins it and saves to it, for JavaScript.

use copal_format::id::ClientId;
use copal_format::keys::slot::SlotInput;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::request::{Signatory, Terms, Unsigned};
use js_sys::{Array, JsString, Object, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use zeroize::Zeroizing;

use super::convert::{
    Thrown, ToSign, count, exact, field, headers, hex, list, milliseconds, object, optional, records, time,
};
use super::owner::{Descriptor, Owner, by};
use crate::client::{HostKeys, Signer};
use crate::fault::Fault;
use crate::{client, enrollment, owner};

#[wasm_bindgen]
impl Owner {
    pub fn open(slot: &[u8], passphrase: &JsString) -> Thrown<Owner> {
        Ok(Self(owner::Owner::open(slot, &typed(passphrase)?)?))
    }

    #[wasm_bindgen(unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub fn stretch(slot: &[u8], passphrase: &JsString) -> Thrown<Uint8Array> {
        Ok(owner::Owner::stretch(slot, &typed(passphrase)?)?.expose().as_slice().into())
    }

    #[wasm_bindgen(getter)]
    pub fn repository(&self) -> String {
        hex(self.0.secret().repository())
    }

    #[wasm_bindgen(unchecked_return_type = "Joined")]
    pub fn register(
        &self,
        descriptor: &Descriptor,
        name: &str,
        now: f64,
        random: &[u8],
        #[wasm_bindgen(unchecked_optional_param_type = "{ manifest?: Uint8Array; request?: Uint8Array } | null")]
        public_keys: &JsValue,
    ) -> Thrown<Object> {
        let host = host_keys(public_keys)?;
        let random = Zeroizing::new(exact(random, "random")?);
        Ok(joined(self.0.register(&descriptor.0, name, time(now), &random, host)?))
    }

    pub fn resume(&self, kept: &[u8]) -> Thrown<Client> {
        Ok(Client(self.0.resume(kept)?))
    }
}

#[wasm_bindgen]
pub struct Enrollment(enrollment::Enrollment);

#[wasm_bindgen]
impl Enrollment {
    pub fn parse(line: String) -> Thrown<Enrollment> {
        let line = Zeroizing::new(line);
        Ok(Self(enrollment::Enrollment::parse(&line)?))
    }

    #[wasm_bindgen(getter, unchecked_return_type = "EnrollmentFacts")]
    pub fn facts(&self) -> Object {
        let line = &self.0.line;
        object! {
            "repository": hex(line.repository),
            "client": hex(line.client),
            "role": line.role().to_string(),
            "address": line.address.as_str(),
            "owner": hex(line.owner),
            "expires": milliseconds(line.expires),
        }
    }

    #[wasm_bindgen(js_name = signRequest, unchecked_return_type = "SignedHeaders")]
    pub fn sign_request(
        &self,
        #[wasm_bindgen(unchecked_param_type = "RequestToSign")] request: &JsValue,
    ) -> Thrown<Object> {
        let to_sign = ToSign::of(request)?;
        Ok(headers(self.0.sign_request(&to_sign.request(), to_sign.created, to_sign.expires, to_sign.nonce)))
    }

    #[wasm_bindgen(unchecked_return_type = "Joined")]
    pub fn join(
        &self,
        descriptor: &Descriptor,
        #[wasm_bindgen(unchecked_param_type = "[number, Uint8Array][]")] versions: &Array,
        now: f64,
        random: &[u8],
        #[wasm_bindgen(unchecked_param_type = "{ manifest?: Uint8Array; request?: Uint8Array } | null")]
        public_keys: &JsValue,
    ) -> Thrown<Object> {
        let host = host_keys(public_keys)?;
        let random = Zeroizing::new(exact(random, "random")?);
        Ok(joined(self.0.join(&descriptor.0, &records(versions)?, time(now), &random, host)?))
    }

    #[wasm_bindgen(js_name = joinFull, unchecked_return_type = "Joined")]
    pub fn join_full(
        &self,
        owner: &Owner,
        descriptor: &Descriptor,
        #[wasm_bindgen(unchecked_param_type = "[number, Uint8Array][]")] versions: &Array,
        now: f64,
        random: &[u8],
        #[wasm_bindgen(unchecked_param_type = "{ manifest?: Uint8Array; request?: Uint8Array } | null")]
        public_keys: &JsValue,
    ) -> Thrown<Object> {
        let host = host_keys(public_keys)?;
        let random = Zeroizing::new(exact(random, "random")?);
        Ok(joined(self.0.join_full(&owner.0, &descriptor.0, &records(versions)?, time(now), &random, host)?))
    }
}

#[wasm_bindgen]
pub struct Client(pub(super) client::Client);

#[wasm_bindgen]
impl Client {
    pub fn resume(kept: &[u8]) -> Thrown<Client> {
        Ok(Self(client::Client::resume(kept)?))
    }

    #[wasm_bindgen(unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub fn keep(&self, random: &[u8]) -> Thrown<Uint8Array> {
        Ok(Uint8Array::from(self.0.keep(exact(random, "random")?).as_slice()))
    }

    #[wasm_bindgen(getter, unchecked_return_type = "ClientFacts")]
    pub fn facts(&self) -> Object {
        let client = &self.0;
        let is_host = |signer: &Signer| matches!(signer, Signer::Host(_));
        object! {
            "repository": hex(client.repository()),
            "client": hex(client.id()),
            "domain": hex(client.domain()),
            "role": client.role().to_string(),
            "address": optional(client.address()),
            "owner": hex(client.owner()),
            "hostSigns": object! {
                "manifests": is_host(&client.manifest),
                "requests": is_host(&client.request),
            },
        }
    }

    pub fn check(
        &self,
        descriptor: &Descriptor,
        #[wasm_bindgen(unchecked_param_type = "[number, Uint8Array][]")] versions: &Array,
    ) -> Thrown<()> {
        self.0.check(&descriptor.0, &records(versions)?)?;
        Ok(())
    }

    #[wasm_bindgen(js_name = signRequest, unchecked_return_type = "SignedHeaders")]
    pub fn sign_request(
        &self,
        #[wasm_bindgen(unchecked_param_type = "RequestToSign")] request: &JsValue,
    ) -> Thrown<Object> {
        let to_sign = ToSign::of(request)?;
        Ok(headers(self.0.sign_request(&to_sign.request(), to_sign.created, to_sign.expires, to_sign.nonce)?))
    }

    #[wasm_bindgen(js_name = unsignedRequest, unchecked_return_type = "UnsignedHeaders")]
    pub fn unsigned_request(
        &self,
        #[wasm_bindgen(unchecked_param_type = "RequestToSign")] request: &JsValue,
    ) -> Thrown<Object> {
        let to_sign = ToSign::of(request)?;
        Ok(unsigned(self.0.unsigned_request(&to_sign.request(), to_sign.created, to_sign.expires, to_sign.nonce)))
    }

    #[wasm_bindgen(js_name = chunkerKey, unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub fn chunker_key(&self) -> Uint8Array {
        Uint8Array::from(self.0.domain_key().expose().expose().as_slice())
    }
}

#[wasm_bindgen(unchecked_return_type = "ReceiptFacts")]
pub fn receipt(client: &str, number: f64, bytes: &[u8]) -> Thrown<Object> {
    let client = ClientId::from_hex(client).map_err(Fault::from)?;
    let receipt = Receipt::decode(client, number as u64, bytes).map_err(Fault::from)?;
    let reasons = receipt.reasons.iter().map(|(reason, text)| {
        let words = if text.is_empty() { reason.text() } else { text };
        object! { "code": *reason as u32, "text": words }
    });
    let outcome = match receipt.outcome {
        Outcome::Accepted => "accepted",
        Outcome::Rejected => "rejected",
    };
    Ok(object! {
        "number": count(receipt.number),
        "outcome": outcome,
        "by": by(receipt.by),
        "root": count(receipt.root),
        "time": milliseconds(receipt.time),
        "manifest": hex(receipt.manifest),
        "reasons": list(reasons),
        "missing": count(receipt.missing.len() as u64),
        "packs": list(receipt.packs.iter().map(hex)),
    })
}

/// What the host must sign for a client when only its id is known.
#[wasm_bindgen(js_name = unsignedRequest, unchecked_return_type = "UnsignedHeaders")]
pub fn unsigned_request(
    client: &str,
    #[wasm_bindgen(unchecked_param_type = "RequestToSign")] request: &JsValue,
) -> Thrown<Object> {
    let signatory = Signatory::Client(ClientId::from_hex(client).map_err(Fault::from)?);
    let to_sign = ToSign::of(request)?;
    let terms = Terms { created: to_sign.created, expires: to_sign.expires, nonce: to_sign.nonce, signatory };
    Ok(unsigned(to_sign.request().unsigned(&terms)))
}

/// A typed passphrase.
fn typed(passphrase: &JsString) -> Thrown<SlotInput> {
    let composed = Zeroizing::new(String::from(passphrase.normalize("NFC")));
    Ok(SlotInput::composed(composed).map_err(Fault::from)?)
}

fn unsigned(unsigned: Unsigned) -> Object {
    object! {
        "content-digest": unsigned.content_digest,
        "signature-input": unsigned.input,
        "message": Uint8Array::from(unsigned.message.as_bytes()),
    }
}

fn host_keys(public_keys: &JsValue) -> Thrown<HostKeys> {
    let key = |name: &str| match field(public_keys, name).dyn_into::<Uint8Array>() {
        Ok(bytes) => exact(&bytes.to_vec(), name).map(Some),
        Err(_) => Ok(None),
    };
    match public_keys.is_object() {
        true => Ok(HostKeys { manifest: key("manifest")?, request: key("request")? }),
        false => Ok(HostKeys::default()),
    }
}

fn joined(joined: owner::Joined) -> Object {
    let record = object! { "key": joined.key, "bytes": Uint8Array::from(joined.bytes.as_slice()) };
    object! { "client": Client(joined.client), "record": record }
}
