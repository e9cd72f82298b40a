//! Devices: the clients of a repository, for JavaScript.

use copal_format::id::{ClientId, ObjectHash};
use js_sys::{Array, Object};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::changes::link_of;
use super::convert::{Thrown, bytes_field, count, milliseconds, object, optional, record, records, time};
use super::owner::{Descriptor, Owner};
use crate::devices::{Last, NextRecord};
use crate::fault::Fault;

#[wasm_bindgen]
impl Owner {
    #[wasm_bindgen(unchecked_return_type = "DeviceFacts")]
    pub fn device(
        &self,
        descriptor: &Descriptor,
        client: &str,
        #[wasm_bindgen(unchecked_param_type = "[number, Uint8Array][]")] versions: &Array,
    ) -> Thrown<Object> {
        let device = self.0.device(&descriptor.0, id(client)?, &records(versions)?)?;
        let newest = &device.record;
        Ok(object! {
            "client": client,
            "name": optional(device.name),
            "role": newest.role.to_string(),
            "since": milliseconds(device.since),
            "hasJoined": newest.keys.is_some(),
            "expires": optional(newest.enrollment.and_then(|enrollment| enrollment.expires).map(milliseconds)),
            "revoked": optional(newest.revoked.map(|(number, _)| count(number))),
            "isWhole": device.is_whole,
        })
    }

    #[wasm_bindgen(unchecked_return_type = "NextRecord")]
    pub fn rename(
        &self,
        descriptor: &Descriptor,
        client: &str,
        #[wasm_bindgen(unchecked_param_type = "[number, Uint8Array][]")] versions: &Array,
        name: &str,
        now: f64,
    ) -> Thrown<Object> {
        Ok(next(self.0.rename(&descriptor.0, id(client)?, &records(versions)?, name, time(now))?))
    }

    #[wasm_bindgen(unchecked_return_type = "NextRecord")]
    pub fn revoke(
        &self,
        descriptor: &Descriptor,
        client: &str,
        #[wasm_bindgen(unchecked_param_type = "[number, Uint8Array][]")] versions: &Array,
        #[wasm_bindgen(unchecked_param_type = "(Link & { bytes: Uint8Array }) | null")] manifest: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "(Link & { bytes: Uint8Array }) | null")] change: &JsValue,
        now: f64,
    ) -> Thrown<Object> {
        let (manifest, change) = (last(manifest)?, last(change)?);
        fn borrowed(of: &Option<(u64, ObjectHash, Vec<u8>)>) -> Option<Last<'_>> {
            of.as_ref().map(|(number, hash, bytes)| Last { number: *number, hash: *hash, bytes })
        }
        let versions = records(versions)?;
        let revoked =
            self.0.revoke(&descriptor.0, id(client)?, &versions, borrowed(&manifest), borrowed(&change), time(now))?;
        Ok(next(revoked))
    }
}

fn id(client: &str) -> Result<ClientId, Fault> {
    Ok(ClientId::from_hex(client)?)
}

/// The number, hash and bytes of an object.
fn last(value: &JsValue) -> Thrown<Option<(u64, ObjectHash, Vec<u8>)>> {
    link_of(value)?.map(|(number, hash)| Ok((number, hash, bytes_field(value, "bytes")?))).transpose()
}

fn next(next: NextRecord) -> Object {
    record(next.keys, &next.bytes)
}
