//! Workers: the chunker and the sealer, for JavaScript; and the compressor, for the module that has the session.

use copal_format::compress::Compress;
use copal_format::keys::domain::DomainKey;
use copal_format::keys::secret::Secret;
use js_sys::{Object, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use zeroize::Zeroizing;

use super::convert::{Thrown, count, exact, ids, key_of, number_field, object};
use crate::chunker;
use crate::sealer::{self, BlockFacts};

#[wasm_bindgen]
pub struct Chunker {
    chunker: chunker::Chunker,
    window: Vec<u8>,
}

#[wasm_bindgen]
impl Chunker {
    /// Takes the key from the array, and overwrites the array with zeros.
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

    /// A sealer for the same domain. Takes the session's key from the array, and overwrites the array with zeros.
    pub fn sealer(&self, key: &Uint8Array, level: i32) -> Thrown<Sealer> {
        let secret = Zeroizing::new(key.to_vec());
        key.fill(0, 0, key.length());
        let secret: Zeroizing<[u8; sealer::Sealer::KEY]> = Zeroizing::new(exact(&secret, "key")?);
        let sealer = sealer::Sealer::new(self.chunker.keys().clone(), &secret, level);
        Ok(Sealer { sealer, raw: Vec::new() })
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

// Every small file makes such an object: setting properties by name would take as long as cutting a few kilobytes.
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
pub struct Sealer {
    sealer: sealer::Sealer,
    raw: Vec<u8>,
}

#[wasm_bindgen]
impl Sealer {
    #[wasm_bindgen(unchecked_return_type = "Prepared")]
    pub fn prepare(
        &mut self,
        counter: f64,
        #[wasm_bindgen(unchecked_param_type = "\"data\" | \"tree\"")] kind: &str,
        chunks: &[u8],
        lengths: Vec<u32>,
        raw: &Uint8Array,
    ) -> Thrown<Object> {
        let block = BlockFacts { counter: counter as u64, is_tree: kind == "tree", ids: ids(chunks)?, lengths };
        let (plaintext, terms) = self.sealer.prepare(&block, copied(raw, &mut self.raw))?;
        Ok(object! {
            "plaintext": Uint8Array::from(plaintext),
            "iv": Uint8Array::from(terms.nonce.as_slice()),
            "additionalData": Uint8Array::from(terms.associated.as_slice()),
        })
    }

    pub fn opened(&mut self, counter: f64, opened: &[u8]) -> Thrown<()> {
        Ok(self.sealer.opened(counter as u64, opened)?)
    }
}

/// Compresses what the session seals itself. Keeps the tables of one level.
#[wasm_bindgen]
#[derive(Default)]
pub struct Compressor {
    of_level: Option<(i32, Box<dyn Compress>)>,
    raw: Vec<u8>,
}

#[wasm_bindgen]
impl Compressor {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn compress(&mut self, raw: &Uint8Array, level: i32) -> Option<Vec<u8>> {
        let kept = self.of_level.take().filter(|(kept, _)| *kept == level);
        let (_, compressor) = self.of_level.insert(kept.unwrap_or_else(|| (level, sealer::compressor(level))));
        let mut small = Vec::new();
        compressor.compress(copied(raw, &mut self.raw), &mut small).then_some(small)
    }
}

/// Copies bytes into a buffer that is reused, and was zeroed only once.
fn copied<'a>(bytes: &Uint8Array, room: &'a mut Vec<u8>) -> &'a [u8] {
    let length = bytes.length() as usize;
    if room.len() < length {
        room.resize(length, 0);
    }
    bytes.copy_to(&mut room[..length]);
    &room[..length]
}
