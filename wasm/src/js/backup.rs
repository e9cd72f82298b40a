//! Backup: a client's run, for JavaScript.

use copal_format::compress::Compress;
use copal_format::exclusions::Exclusions;
use copal_format::order;
use copal_format::path::TreePath;
use copal_format::snapshot::SnapshotInfo;
use js_sys::{Array, Object, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use zeroize::Zeroizing;

use super::clients::Client;
use super::columns::Columns;
use super::convert::{
    Thrown, bytes_field, count, exact, field, hex, ids, list, number, number_field, object, optional, text_field,
    texts_field, time, wrong,
};
use super::owner::Descriptor;
use super::view::View;
use crate::backup::{self, Action, FileFacts, FileKind, Start};
use crate::fault::Fault;

#[wasm_bindgen]
pub struct Backup(backup::Backup);

#[wasm_bindgen]
impl Backup {
    #[wasm_bindgen(constructor)]
    pub fn new(
        client: &Client,
        descriptor: &Descriptor,
        view: &View,
        #[wasm_bindgen(unchecked_param_type = "BackupStart")] start: &JsValue,
    ) -> Thrown<Backup> {
        let compressor = field(start, "compressor");
        if !compressor.is_object() {
            return Err(wrong("compressor", "an object"));
        }
        let compressor: Compressor = compressor.unchecked_into();
        let random = Zeroizing::new(bytes_field(start, "random")?);
        let mut paths: Vec<Vec<u8>> = texts_field(start, "paths")?.into_iter().map(String::into_bytes).collect();
        order::sort(&mut paths);
        // No list of patterns would tell a restore that deletes all that must stay, so the snapshot has none.
        let hides_entries = field(start, "hidesEntries").is_truthy();
        let exclusions = hides_entries.then(|| Exclusions { is_cut: true, ..Exclusions::default() });
        let mut begin = Start {
            random: exact(&random, "random")?,
            kept_salt: exact(&bytes_field(start, "keptRandom")?, "keptRandom")?,
            now: time(number_field(start, "now")?),
            info: SnapshotInfo {
                host: text_field(start, "host")?,
                paths,
                label: text_field(start, "label")?,
                tags: texts_field(start, "tags")?,
                program: text_field(start, "program")?,
                user: text_field(start, "user")?,
                exclusions,
                ..SnapshotInfo::default()
            },
            pack_target: field(start, "packTarget").as_f64().map_or(PACK_TARGET, |bytes| bytes as u32),
        };
        let compressor_of =
            move |level| -> Box<dyn Compress> { Box::new(Elsewhere { compressor: compressor.clone(), level }) };
        let begun =
            backup::Backup::begin(client.0.clone(), &descriptor.0, view.0.clone(), &begin, Box::new(compressor_of));
        zeroize::Zeroize::zeroize(&mut begin.random);
        Ok(Self(begun?))
    }

    #[wasm_bindgen(getter)]
    pub fn source(&self) -> String {
        hex(self.0.source())
    }

    #[wasm_bindgen(js_name = nextManifest, unchecked_return_type = "string | null")]
    pub fn next_manifest(&self) -> JsValue {
        optional(self.0.next_manifest())
    }

    pub fn manifest(&mut self, #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] bytes: Option<Vec<u8>>) {
        self.0.manifest(bytes.as_deref());
    }

    #[wasm_bindgen(getter, unchecked_return_type = "number[]")]
    pub fn undecided(&self) -> Array {
        list(self.0.undecided().map(count))
    }

    pub fn parent(&mut self, kept: Vec<u8>) -> bool {
        self.0.parent(kept)
    }

    #[wasm_bindgen(getter, js_name = expectedBytes)]
    pub fn expected_bytes(&self) -> f64 {
        count(self.0.expected_bytes())
    }

    #[wasm_bindgen(js_name = takeBlockKey, unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub fn take_block_key(&self) -> Uint8Array {
        Uint8Array::from(self.0.block_key().expose().as_slice())
    }

    #[wasm_bindgen(js_name = sealerKey, unchecked_return_type = "Uint8Array<ArrayBuffer>")]
    pub fn sealer_key(&self) -> Uint8Array {
        Uint8Array::from(self.0.sealer_key().as_slice())
    }

    pub fn compare(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "FactsColumns")] found: &JsValue,
    ) -> Thrown<Uint8Array> {
        let found = Columns::of(found)?;
        let mut verdicts = Vec::with_capacity(found.len());
        found.each(|file| {
            verdicts.push(self.0.compare(file)? as u8);
            Ok(())
        })?;
        Ok(Uint8Array::from(verdicts.as_slice()))
    }

    #[wasm_bindgen(js_name = takeSame)]
    pub fn take_same(&mut self, count: u32) -> Thrown<()> {
        (0..count).try_for_each(|_| self.0.take_same()).map_err(JsValue::from)
    }

    pub fn inline(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "FileFacts")] file: &JsValue,
        bytes: &[u8],
    ) -> Thrown<()> {
        Ok(self.0.take_inline(&facts(file)?, bytes)?)
    }

    pub fn begin(&mut self) -> Thrown<()> {
        Ok(self.0.begin_file()?)
    }

    pub fn chunks(&mut self, chunks: &[u8], lengths: &[u32]) -> Thrown<Uint8Array> {
        let new: Vec<u8> = self.0.take_chunks(&ids(chunks)?, lengths)?.into_iter().map(u8::from).collect();
        Ok(Uint8Array::from(new.as_slice()))
    }

    pub fn again(&mut self) -> Thrown<()> {
        Ok(self.0.again()?)
    }

    pub fn end(&mut self, #[wasm_bindgen(unchecked_param_type = "FileFacts")] file: &JsValue) -> Thrown<()> {
        Ok(self.0.end_file(&facts(file)?)?)
    }

    pub fn fail(&mut self) -> Thrown<()> {
        Ok(self.0.fail()?)
    }

    pub fn miss(&mut self, path: &str) {
        self.0.miss(path.as_bytes());
    }

    pub fn changing(&mut self, path: &str) {
        self.0.changing(path.as_bytes());
    }

    #[wasm_bindgen(unchecked_return_type = "Action[]")]
    pub fn actions(&mut self) -> Array {
        let actions = Array::new();
        while let Some(action) = self.0.poll() {
            let object = match action {
                Action::Seal { block, raw } => {
                    let ids: Vec<_> = block.ids.iter().map(|id| id.0).collect();
                    object! {
                        "type": "seal",
                        "counter": count(block.counter),
                        "kind": if block.is_tree { "tree" } else { "data" },
                        "ids": Uint8Array::from(ids.as_flattened()),
                        "lengths": Uint32Array::from(block.lengths.as_slice()),
                        "raw": optional(block.is_tree.then(|| Uint8Array::from(raw.as_slice()))),
                    }
                }
                Action::Store(pack) => object! {
                    "type": "store",
                    "number": count(pack.number),
                    "bytes": Uint8Array::from(pack.bytes.as_slice()),
                },
            };
            actions.push(&object);
        }
        actions
    }

    pub fn sealed(&mut self, counter: f64, stored: Vec<u8>) -> Thrown<()> {
        Ok(self.0.sealed(counter as u64, stored)?)
    }

    pub fn seal(&mut self, counter: f64, plaintext: &[u8]) -> Thrown<()> {
        Ok(self.0.seal(counter as u64, plaintext)?)
    }

    pub fn named(&mut self, number: f64, sha256: &[u8]) -> Thrown<String> {
        Ok(self.0.named(number as u64, &exact(sha256, "sha256")?)?)
    }

    pub fn stored(&mut self, number: f64) -> Thrown<()> {
        Ok(self.0.stored(number as u64)?)
    }

    pub fn aim(&mut self, pack_target: u32) {
        self.0.aim(pack_target);
    }

    #[wasm_bindgen(getter)]
    pub fn unlisted(&self) -> f64 {
        count(self.0.unlisted() as u64)
    }

    #[wasm_bindgen(getter, js_name = isIdle)]
    pub fn is_idle(&mut self) -> bool {
        self.0.is_idle()
    }

    pub fn checkpoint(&mut self) -> Thrown<()> {
        Ok(self.0.checkpoint()?)
    }

    #[wasm_bindgen(js_name = claimStored)]
    pub fn claim_stored(&mut self) -> Thrown<f64> {
        Ok(count(self.0.claim_stored()?))
    }

    pub fn finish(&mut self) -> Thrown<()> {
        Ok(self.0.finish()?)
    }

    #[wasm_bindgen(js_name = nextClaim, unchecked_return_type = "Claim | null")]
    pub fn next_claim(&mut self) -> Thrown<JsValue> {
        Ok(optional(self.0.next_claim()?.map(|claim| {
            object! {
                "number": count(claim.number),
                "message": optional(claim.message.map(|message| Uint8Array::from(message.as_slice()))),
                "isLast": claim.is_last,
            }
        })))
    }

    #[wasm_bindgen(unchecked_return_type = "Claimed")]
    pub fn claimed(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] signature: Option<Vec<u8>>,
    ) -> Thrown<Object> {
        let signature = signature.map(|signature| exact(&signature, "signature")).transpose()?;
        let claimed = self.0.claimed(signature.as_ref())?;
        Ok(object! {
            "key": claimed.key,
            "bytes": Uint8Array::from(claimed.bytes.as_slice()),
            "number": count(claimed.number),
            "sha256": Uint8Array::from(claimed.hash.0.as_slice()),
            "snapshot": optional(claimed.snapshot.map(hex)),
            "partial": claimed.partial,
        })
    }

    #[wasm_bindgen(js_name = takeKept, unchecked_return_type = "Uint8Array<ArrayBuffer> | null")]
    pub fn take_kept(&mut self) -> JsValue {
        optional(self.0.take_kept().map(|bytes| Uint8Array::from(bytes.as_slice())))
    }

    #[wasm_bindgen(getter, unchecked_return_type = "Tally")]
    pub fn tally(&self) -> Object {
        let tally = self.0.tally();
        object! {
            "files": count(tally.counts.files),
            "directories": count(tally.counts.directories),
            "bytes": count(tally.counts.bytes),
            "unchangedFiles": count(tally.summary.unmodified),
            "newFiles": count(tally.summary.new),
            "changedFiles": count(tally.summary.changed),
            "errors": count(tally.summary.errors),
            "unchangedBytes": count(tally.bytes_unchanged),
            "newBytes": count(tally.bytes_new),
            "knownBytes": count(tally.bytes_known),
            "newChunks": count(tally.chunks_new),
            "storedBytes": count(tally.bytes_stored),
        }
    }
}

// Every new file passes here. Reading properties by name (as text) would take most of the time of small files.
#[wasm_bindgen]
extern "C" {
    type Facts;
    #[wasm_bindgen(method, getter, structural)]
    fn path(this: &Facts) -> JsValue;
    #[wasm_bindgen(method, getter, structural)]
    fn size(this: &Facts) -> f64;
    #[wasm_bindgen(method, getter, structural)]
    fn modified(this: &Facts) -> f64;
}

fn facts(file: &JsValue) -> Thrown<FileFacts> {
    if !file.is_object() {
        return Err(wrong("file", "an object"));
    }
    let file: &Facts = file.unchecked_ref();
    let path = file.path().as_string().ok_or_else(|| wrong("path", "a text"))?;
    let path = TreePath::new(path).map_err(Fault::from)?;
    let size = number(file.size(), "size")? as u64;
    let modified = time(number(file.modified(), "modified")?);
    Ok(FileFacts { path, size, modified, kind: FileKind::File })
}

/// Compresses in the module for sealing.
#[derive(Debug)]
struct Elsewhere {
    compressor: Compressor,
    level: i32,
}

impl Compress for Elsewhere {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        // If the other module returns nothing, or nothing smaller, the block is stored uncompressed.
        let small = self.compressor.compress(raw, self.level).ok().flatten();
        let small = small.filter(|small| small.len() < raw.len());
        out.extend_from_slice(small.as_deref().unwrap_or_default());
        small.is_some()
    }
}

#[wasm_bindgen]
extern "C" {
    #[derive(Clone, Debug)]
    type Compressor;
    #[wasm_bindgen(method, structural, catch)]
    fn compress(this: &Compressor, raw: &[u8], level: i32) -> Result<Option<Vec<u8>>, JsValue>;
}

const PACK_TARGET: u32 = 16 << 20;
