//! Workers: what cuts, names and compresses, as JavaScript holds it.

use copal_engine::keys::domain::DomainKey;
use copal_engine::keys::secret::Secret;
use js_sys::{Object, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use super::clients::key_of;
use super::convert::{Thrown, count, number_field, object};
use crate::{chunker, compressor};

#[wasm_bindgen]
pub struct Chunker {
    chunker: chunker::Chunker,
    window: Vec<u8>,
}

#[wasm_bindgen]
impl Chunker {
    /// Takes the key out of the array and overwrites it there.
    #[wasm_bindgen(constructor)]
    pub fn new(
        key: &Uint8Array,
        #[wasm_bindgen(unchecked_param_type = "Parameters")] parameters: &JsValue,
    ) -> Thrown<Chunker> {
        let secret = key_of(key)?;
        key.fill(0, 0, key.length());
        let size = |name: &str| number_field(parameters, name).map(|size| size as u64);
        let (min, average, max) = (size("chunkMin")?, size("chunkAverage")?, size("chunkMax")?);
        let key = DomainKey::from_secret(Secret::new(*secret));
        Ok(Self { chunker: chunker::Chunker::new(&key, min, average, max)?, window: Vec::new() })
    }

    #[wasm_bindgen(unchecked_return_type = "Cut")]
    pub fn cut(&mut self, window: &Uint8Array, is_last: bool) -> Object {
        let cut = self.chunker.cut(copied(window, &mut self.window), is_last);
        let ids = cut.ids.iter().map(|id| id.0).collect::<Vec<_>>();
        let told: CutObject = Object::new().unchecked_into();
        told.set_ids(&Uint8Array::from(ids.as_flattened()));
        told.set_lengths(&Uint32Array::from(cut.lengths.as_slice()));
        told.set_consumed(count(cut.consumed as u64));
        told.unchecked_into()
    }
}

// Every small file makes one: by the names of its properties it would take as long as cutting a few kilobytes.
#[wasm_bindgen]
extern "C" {
    type CutObject;
    #[wasm_bindgen(method, setter, structural)]
    fn set_ids(this: &CutObject, ids: &Uint8Array);
    #[wasm_bindgen(method, setter, structural)]
    fn set_lengths(this: &CutObject, lengths: &Uint32Array);
    #[wasm_bindgen(method, setter, structural)]
    fn set_consumed(this: &CutObject, consumed: f64);
}

#[wasm_bindgen]
pub struct Compressor {
    compressor: compressor::Compressor,
    raw: Vec<u8>,
}

#[wasm_bindgen]
impl Compressor {
    #[wasm_bindgen(constructor)]
    pub fn new(level: i32) -> Compressor {
        Self { compressor: compressor::Compressor::new(level), raw: Vec::new() }
    }

    #[wasm_bindgen(unchecked_return_type = "Compressed")]
    pub fn compress(&mut self, lengths: &[u32], raw: &Uint8Array) -> Thrown<Object> {
        let compressed = self.compressor.compress(lengths, copied(raw, &mut self.raw))?;
        Ok(object! {
            "plaintext": Uint8Array::from(compressed.plaintext.as_slice()),
            "digest": Uint8Array::from(compressed.digest.as_slice()),
        })
    }
}

/// Copies bytes into room that is used again and again, and was filled with zeros once.
fn copied<'a>(bytes: &Uint8Array, room: &'a mut Vec<u8>) -> &'a [u8] {
    let length = bytes.length() as usize;
    if room.len() < length {
        room.resize(length, 0);
    }
    bytes.copy_to(&mut room[..length]);
    &room[..length]
}
