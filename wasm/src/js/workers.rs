//! Workers: what cuts, names and compresses, as JavaScript holds it.

use copal_engine::keys::domain::DomainKey;
use copal_engine::keys::secret::Secret;
use js_sys::{Object, Uint8Array, Uint32Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

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
        // The same room again and again.
        self.window.resize(window.length() as usize, 0);
        window.copy_to(&mut self.window);
        let cut = self.chunker.cut(&self.window, is_last);
        let ids: Vec<u8> = cut.ids.iter().flat_map(|id| id.0).collect();
        object! {
            "ids": Uint8Array::from(ids.as_slice()),
            "lengths": Uint32Array::from(cut.lengths.as_slice()),
            "consumed": count(cut.consumed as u64),
        }
    }
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
        self.raw.resize(raw.length() as usize, 0);
        raw.copy_to(&mut self.raw);
        let compressed = self.compressor.compress(lengths, &self.raw)?;
        Ok(object! {
            "plaintext": Uint8Array::from(compressed.plaintext.as_slice()),
            "digest": Uint8Array::from(compressed.digest.as_slice()),
        })
    }
}
