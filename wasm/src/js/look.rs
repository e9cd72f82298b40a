//! Look: snapshots and their trees, for JavaScript.

use copal_engine::difference::Difference;
use copal_format::id::{ClientId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::snapshot::MetadataSeen;
use copal_format::state::SnapshotState;
use copal_format::tree::Change;
use js_sys::{Array, Function, Object, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::convert::{
    Thrown, count, entry, exact, hex, list, milliseconds, object, optional, read, read_of, reads, records, set,
};
use super::owner::{Descriptor, Owner};
use super::view::View;
use crate::fault::Fault;
use crate::look::{self, History, Listing, Opened, Piece, Range, Snapshot, id_of, path_of};

#[wasm_bindgen]
pub struct Library(pub(super) look::Library);

#[wasm_bindgen]
impl Library {
    #[wasm_bindgen(constructor)]
    pub fn new(owner: &Owner, descriptor: &Descriptor, view: &View) -> Thrown<Library> {
        Ok(Self(look::Library::new(&owner.0, &descriptor.0, view.0.clone())?))
    }

    #[wasm_bindgen(js_name = neededClients)]
    pub fn needed_clients(&self) -> Vec<String> {
        self.0.needed_clients().into_iter().map(hex).collect()
    }

    #[wasm_bindgen(js_name = supplyClient)]
    pub fn supply_client(
        &mut self,
        client: &str,
        #[wasm_bindgen(unchecked_param_type = "[number, Uint8Array][]")] versions: &Array,
    ) -> Thrown<()> {
        let client = ClientId::from_hex(client).map_err(Fault::from)?;
        self.0.supply_client(client, &records(versions)?);
        Ok(())
    }

    #[wasm_bindgen(js_name = neededManifests)]
    pub fn needed_manifests(&self) -> Vec<String> {
        self.0.needed_manifests()
    }

    #[wasm_bindgen(js_name = supplyManifest)]
    pub fn supply_manifest(
        &mut self,
        key: &str,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] bytes: Option<Vec<u8>>,
    ) -> Thrown<()> {
        Ok(self.0.supply_manifest(key, bytes.as_deref())?)
    }

    #[wasm_bindgen(unchecked_return_type = "SnapshotFacts[]")]
    pub fn snapshots(&self) -> Array {
        list(self.0.snapshots().iter().map(snapshot))
    }

    #[wasm_bindgen(unchecked_return_type = "{ key: string; code: string }[]")]
    pub fn problems(&self) -> Array {
        list(self.0.problems().into_iter().map(|(key, fault)| object! { "key": key, "code": fault.code.text() }))
    }

    pub fn tree(&self, snapshot: &str) -> Thrown<Tree> {
        Ok(Tree(self.0.tree(SnapshotId::from_hex(snapshot).map_err(Fault::from)?)?))
    }

    pub fn supply(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Read")] read: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] bytes: Option<Vec<u8>>,
    ) -> Thrown<()> {
        self.0.supply(&read_of(read)?, bytes);
        Ok(())
    }

    #[wasm_bindgen(js_name = takeKey, unchecked_return_type = "Uint8Array<ArrayBuffer> | null")]
    pub fn take_key(&self, session: u32) -> JsValue {
        optional(self.0.take_key(session).map(|key| Uint8Array::from(key.expose().as_slice())))
    }
}

#[wasm_bindgen]
pub struct Tree(look::Tree);

#[wasm_bindgen]
impl Tree {
    #[wasm_bindgen(getter)]
    pub fn root(&self) -> String {
        hex(self.0.root())
    }

    #[wasm_bindgen(unchecked_return_type = "Listing")]
    pub fn list(
        &self,
        directory: &str,
        #[wasm_bindgen(unchecked_param_type = "string | null")] after: Option<String>,
        limit: u32,
    ) -> Thrown<Object> {
        let after = place(after)?;
        Ok(listing(&self.0.list(&path_of(directory)?, after.as_ref(), limit as usize)))
    }

    #[wasm_bindgen(unchecked_return_type = "Listing")]
    pub fn entry(&self, id: &str) -> Thrown<Object> {
        Ok(listing(&self.0.entry(&path_of(id)?)))
    }

    #[wasm_bindgen(js_name = compareWith)]
    pub fn compare_with(&self, before: &Tree) -> Comparison {
        Comparison(look::Comparison::new(&before.0, &self.0))
    }

    pub fn restore(
        &self,
        ids: Vec<String>,
        start: f64,
        #[wasm_bindgen(unchecked_param_type = "number | null")] end: Option<f64>,
    ) -> Thrown<Restore> {
        let paths = ids.iter().map(|id| path_of(id)).collect::<Result<Vec<TreePath>, Fault>>()?;
        Ok(Restore(self.0.restore(paths, start as u64..end.map_or(u64::MAX, |end| end as u64))))
    }
}

#[wasm_bindgen]
pub struct Comparison(look::Comparison);

#[wasm_bindgen]
impl Comparison {
    #[wasm_bindgen(unchecked_return_type = "{ needs: Read[]; changes: ChangeFacts[]; isDone: boolean }")]
    pub fn next(&mut self, limit: u32) -> Thrown<Object> {
        let found = self.0.next(limit as usize)?;
        Ok(object! {
            "needs": reads(&found.needs),
            "changes": list(found.changes.iter().map(change)),
            "isDone": found.is_done,
        })
    }
}

#[wasm_bindgen]
pub struct Sweep {
    sweep: look::Sweep,
    history: History,
}

#[wasm_bindgen]
impl Sweep {
    pub fn below(directory: &str) -> Thrown<Sweep> {
        Ok(Self { sweep: look::Sweep::new(Range::Below(path_of(directory)?)), history: History::default() })
    }

    pub fn at(id: &str) -> Thrown<Sweep> {
        Ok(Self { sweep: look::Sweep::new(Range::At(path_of(id)?)), history: History::default() })
    }

    pub fn add(&mut self, tree: &Tree) {
        self.sweep.add(&tree.0);
    }

    #[wasm_bindgen(unchecked_return_type = "Swept")]
    pub fn next(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Wants | null")] wants: Option<Function>,
    ) -> Thrown<Object> {
        let mut thrown = None;
        let part = self.sweep.next(&mut |entry| {
            let Some(wants) = &wants else { return Some(self.history.number(entry)) };
            let (id, mode) = (id_of(&entry.path).into(), entry.mode.bits().into());
            let (size, modified) = (count(entry.size).into(), milliseconds(entry.mtime).into());
            let number = wants.call4(&JsValue::UNDEFINED, &id, &mode, &size, &modified);
            number.map_err(|error| thrown = Some(error)).ok()?.as_f64().map(|number| number as u32)
        });
        if let Some(error) = thrown {
            return Err(error);
        }
        let found = part.found.iter().map(|(number, found)| {
            let object = entry(found);
            set(&object, "number", *number);
            set(&object, "content", optional(self.history.content(found)));
            object
        });
        Ok(object! {
            "tree": part.tree as u32,
            "needs": reads(&part.needs),
            "found": list(found),
            "again": list(part.again),
            "damaged": list(part.damaged),
            "isDone": part.is_done,
        })
    }
}

#[wasm_bindgen]
pub struct Restore(look::Restore);

#[wasm_bindgen]
impl Restore {
    #[wasm_bindgen(unchecked_return_type = "Window")]
    pub fn next(&mut self) -> Thrown<Object> {
        let window = self.0.advance()?;
        let entries = window.entries.iter().map(|started| {
            let object = entry(&started.entry);
            set(&object, "file", started.file);
            object
        });
        let parts = window.reads.iter().map(|(part, bytes)| {
            let object = read(part);
            set(&object, "bytes", count(*bytes));
            object
        });
        let damaged = window.damaged.iter().map(|damage| {
            object! { "file": optional(damage.file), "path": damage.path.as_str(), "why": damage.why.as_str() }
        });
        Ok(object! {
            "needs": reads(&window.needs),
            "entries": list(entries),
            "pieces": pieces(&window.pieces),
            "reads": list(parts),
            "ends": list(window.ends.iter().copied()),
            "damaged": list(damaged),
            "isDone": window.is_done,
        })
    }

    #[wasm_bindgen(getter)]
    pub fn unsettled(&self) -> Vec<u32> {
        self.0.unsettled()
    }

    #[wasm_bindgen(unchecked_return_type = "SealedBlock[]")]
    pub fn sealed(&self, read: u32) -> Thrown<Array> {
        let sealed = self.0.sealed(read as usize)?;
        Ok(list(sealed.iter().map(|block| {
            object! {
                "start": count(block.range.start),
                "end": count(block.range.end),
                "session": block.session,
                "additionalData": Uint8Array::from(block.associated.as_slice()),
            }
        })))
    }

    #[wasm_bindgen(js_name = takeOpened, unchecked_return_type = "Piece[] | null")]
    pub fn take_opened(&mut self, read: u32, start: f64, iv: &[u8], plaintext: Vec<u8>) -> Thrown<JsValue> {
        let opened = Opened { nonce: exact(iv, "iv")?, plaintext };
        let taken = self.0.take_opened(read as usize, start as u64, opened)?;
        Ok(optional(taken.map(|taken| pieces(&taken))))
    }

    #[wasm_bindgen(unchecked_return_type = "Piece[]")]
    pub fn take(
        &mut self,
        read: u32,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] bytes: Option<Uint8Array>,
    ) -> Thrown<Array> {
        // If the host's cipher has opened all blocks, the bytes are not copied in.
        let bytes = bytes.filter(|_| self.0.has_left(read as usize)).map(|bytes| bytes.to_vec());
        Ok(pieces(&self.0.take(read as usize, bytes.as_deref())?))
    }
}

fn pieces(pieces: &[Piece]) -> Array {
    list(pieces.iter().map(|piece| {
        object! {
            "file": piece.file,
            "offset": count(piece.offset),
            "bytes": Uint8Array::from(piece.bytes.as_slice()),
        }
    }))
}

fn place(after: Option<String>) -> Result<Option<TreePath>, Fault> {
    after.map(|id| path_of(&id)).transpose()
}

fn listing(listing: &Listing) -> Object {
    object! {
        "needs": reads(&listing.needs),
        "entries": list(listing.entries.iter().map(entry)),
        "next": optional(listing.next.as_ref().map(id_of)),
        "damaged": list(listing.damaged.iter().map(String::as_str)),
    }
}

fn change((how, change): &(Difference, Change)) -> Object {
    object! {
        "path": change.path.to_string(),
        "before": optional(change.before.as_ref().map(entry)),
        "after": optional(change.after.as_ref().map(entry)),
        "isMetadata": *how == Difference::Metadata,
    }
}

fn snapshot(snapshot: &Snapshot) -> Object {
    let info = &snapshot.info;
    let forgotten = (snapshot.record.state != SnapshotState::Kept).then_some(snapshot.record.state_time);
    object! {
        "id": hex(snapshot.id),
        "client": hex(snapshot.client),
        "clientName": optional(snapshot.client_name.as_deref()),
        "role": snapshot.role.to_string(),
        "number": count(snapshot.number),
        "domain": hex(snapshot.domain),
        "source": hex(snapshot.record.source),
        "time": milliseconds(snapshot.time),
        "started": milliseconds(info.started),
        "accepted": milliseconds(snapshot.record.accepted),
        "host": snapshot.machine(),
        "claimedHost": info.host.as_str(),
        "paths": texts(&info.paths),
        "label": info.label.as_str(),
        "tags": list(snapshot.tags.iter().map(String::as_str)),
        "files": count(info.counts.files),
        "directories": count(info.counts.directories),
        "others": count(info.counts.others),
        "bytes": count(info.counts.bytes),
        "newEntries": count(info.summary.new),
        "changedEntries": count(info.summary.changed),
        "errors": count(info.summary.errors),
        "changing": count(info.troubles.changing),
        "unreadablePaths": texts(&info.troubles.unreadable_paths),
        "changingPaths": texts(&info.troubles.changing_paths),
        "pinned": snapshot.record.pinned,
        "forgotten": optional(forgotten.map(milliseconds)),
        "program": info.program.as_str(),
        "user": info.user.as_str(),
        "hasModes": info.metadata.contains(MetadataSeen::MODES),
    }
}

fn texts(paths: &[Vec<u8>]) -> Array {
    list(paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()))
}
