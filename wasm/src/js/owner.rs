//! Owner: descriptor and owner's secret, for JavaScript, in the modules `page` and `administration`.

use copal_format::id::RepositoryId;
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::SlotKind;
use copal_format::keys::text;
use copal_format::receipt::IngestBy;
use copal_format::repository as engine;
use js_sys::{Array, Object, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::Zeroizing;

use super::convert::{Thrown, ToSign, count, headers, hex, key_of, list, milliseconds, object, optional};
use crate::fault::Fault;
use crate::owner;

#[wasm_bindgen]
pub struct Descriptor(pub(super) engine::Descriptor);

#[wasm_bindgen]
impl Descriptor {
    #[wasm_bindgen(constructor)]
    pub fn new(version: f64, bytes: &[u8]) -> Thrown<Descriptor> {
        Ok(Self(engine::Descriptor::decode(version as u64, bytes).map_err(Fault::from)?))
    }

    #[wasm_bindgen(getter, unchecked_return_type = "DescriptorFacts")]
    pub fn facts(&self) -> Object {
        let descriptor = &self.0;
        let p = &descriptor.parameters;
        object! {
            "version": count(descriptor.version),
            "repository": hex(descriptor.repository),
            "created": milliseconds(descriptor.created),
            "owner": descriptor.owner().map(|(_, owner)| hex(owner)).unwrap_or_default(),
            "ingest": by(descriptor.ingest),
            "sharedDomain": hex(descriptor.shared_domain),
            "reader": optional(descriptor.reader.map(hex)),
            "parameters": object! {
                "chunkMin": p.chunk_min,
                "chunkAverage": p.chunk_average,
                "chunkMax": p.chunk_max,
                "blockTarget": p.block_target,
                "packTarget": p.pack_target,
                "inlineMax": p.inline_max,
                "zstdLevel": p.zstd_level,
            },
        }
    }
}

#[wasm_bindgen]
pub struct Owner(pub(super) owner::Owner);

#[wasm_bindgen]
impl Owner {
    #[wasm_bindgen(js_name = slotsToTry, unchecked_return_type = "SlotsToTry")]
    pub fn slots_to_try(
        #[wasm_bindgen(unchecked_param_type = "Uint8Array[]")] copies: &Array,
        repository: &str,
        #[wasm_bindgen(js_name = isPassphrase)] is_passphrase: bool,
    ) -> Thrown<Object> {
        let copies: Vec<Vec<u8>> = copies.iter().map(|copy| Uint8Array::new(&copy).to_vec()).collect();
        let repository = RepositoryId::from_hex(repository).map_err(Fault::from)?;
        let kind = if is_passphrase { SlotKind::Passphrase } else { SlotKind::RecoveryCode };
        let order = owner::SlotsToTry::of(&copies, repository, kind);
        Ok(object! {
            "tries": list(order.tries),
            "isDamaged": order.is_damaged,
            "isCostly": order.is_costly,
        })
    }

    #[wasm_bindgen(js_name = openStretched)]
    pub fn open_stretched(slot: &[u8], stretched: &Uint8Array) -> Thrown<Owner> {
        let secret = key_of(stretched)?;
        Ok(Self(owner::Owner::open_stretched(slot, &Secret::new(*secret))?))
    }

    #[wasm_bindgen(js_name = openWithRecoveryCode)]
    pub fn open_with_recovery_code(slot: &[u8], code: String) -> Thrown<Owner> {
        let code = Zeroizing::new(code);
        // Not through `open`: only the page's module has the code that stretches passphrases.
        let secret = text::decode_recovery(&code).map_err(Fault::from)?;
        Ok(Self(owner::Owner::open_stretched(slot, &secret)?))
    }

    pub fn check(&self, descriptor: &Descriptor) -> Thrown<()> {
        Ok(self.0.check(&descriptor.0)?)
    }

    #[wasm_bindgen(js_name = signRequest, unchecked_return_type = "SignedHeaders")]
    pub fn sign_request(
        &self,
        #[wasm_bindgen(unchecked_param_type = "RequestToSign")] request: &JsValue,
    ) -> Thrown<Object> {
        let to_sign = ToSign::of(request)?;
        Ok(headers(self.0.sign_request(&to_sign.request(), to_sign.created, to_sign.expires, to_sign.nonce)))
    }
}

pub(super) fn by(by: IngestBy) -> &'static str {
    match by {
        IngestBy::Client => "client",
        IngestBy::Service => "service",
    }
}
