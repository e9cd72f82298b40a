//! Changes: signed changes of snapshots, for JavaScript.

use copal_engine::changing::Link;
use copal_format::id::ObjectHash;
use js_sys::{Object, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::convert::{Thrown, count, exact, hex, number_field, object, optional, text_field, time};
use crate::changes;
use crate::fault::Fault;

#[wasm_bindgen]
pub struct Changes(pub(super) changes::Changes);

#[wasm_bindgen]
impl Changes {
    #[wasm_bindgen(getter)]
    pub fn unread(&self) -> Option<String> {
        self.0.unread()
    }

    pub fn read(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] bytes: Option<Vec<u8>>,
    ) -> Thrown<()> {
        Ok(self.0.read(bytes.as_deref())?)
    }

    #[wasm_bindgen(unchecked_return_type = "{ message: Uint8Array<ArrayBuffer> | null } | null")]
    pub fn next(&mut self, now: f64) -> JsValue {
        let due = self.0.next(time(now));
        optional(
            due.map(|message| object! { "message": optional(message.map(|bytes| Uint8Array::from(bytes.as_slice()))) }),
        )
    }

    #[wasm_bindgen(unchecked_return_type = "{ key: string; bytes: Uint8Array<ArrayBuffer> }")]
    pub fn signed(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] signature: Option<Vec<u8>>,
    ) -> Thrown<Object> {
        let signature = signature.map(|bytes| exact::<64>(&bytes, "signature")).transpose()?;
        let signed = self.0.signed(signature.as_ref())?;
        Ok(object! { "key": signed.key, "bytes": Uint8Array::from(signed.bytes.as_slice()) })
    }

    pub fn stored(&mut self, there: &[u8]) -> Thrown<bool> {
        Ok(self.0.stored(there)?)
    }

    #[wasm_bindgen(getter, unchecked_return_type = "Link")]
    pub fn end(&self) -> Object {
        link(self.0.end())
    }
}

pub(super) fn link((number, hash): Link) -> Object {
    object! { "number": count(number), "hash": hex(hash) }
}

pub(super) fn link_of(value: &JsValue) -> Thrown<Option<Link>> {
    if !value.is_object() {
        return Ok(None);
    }
    let hash = ObjectHash::from_hex(&text_field(value, "hash")?).map_err(Fault::from)?;
    Ok(Some((number_field(value, "number")? as u64, hash)))
}
