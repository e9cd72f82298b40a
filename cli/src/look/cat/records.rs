//! Records: decodes each kind of object. A record serializes itself; what is added here joins records or opens what is
//! sealed for the owner.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_engine::read::open_info;
use copal_format::change::{Change, Operation};
use copal_format::expiry::Expiry;
use copal_format::id::{ClientId, TagId};
use copal_format::index::{OverlayRun, Segment};
use copal_format::keys::owner::TextPurpose;
use copal_format::keys::session::SessionRecord;
use copal_format::keys::slot::Slot;
use copal_format::layout;
use copal_format::manifest::Manifest;
use copal_format::pack;
use copal_format::receipt::Receipt;
use copal_format::repository::Descriptor;
use copal_format::root::{Deletion, Root};
use copal_format::shown::digits;
use copal_format::state::{RunKind, RunReader, StateFold};
use copal_jobs::{clients, objects};
use serde::Serialize;
use serde_json::{Value, json};

use super::words;

/// Decodes an object as its name says; the error says why it cannot be that object.
pub(super) fn decode(repository: &Repository, name: &str, bytes: &Bytes) -> Result<Value, String> {
    let number = || layout::trailing_number(name).ok_or_else(|| "its name has no number".to_owned());
    let client = || layout::client_of(name).ok_or_else(|| "its name has no client".to_owned());
    match name.split('/').next().unwrap_or_default() {
        "copal" => Ok(json!(Descriptor::decode(number()?, bytes).map_err(words)?)),
        "keys" => slot(repository, bytes),
        "clients" => client_record(repository, client()?, name, bytes),
        "manifests" => manifest(repository, client()?, number()?, bytes),
        "changes" => change(repository, number()?, bytes),
        "receipts" => Ok(json!(Receipt::decode(client()?, number()?, bytes).map_err(words)?)),
        "roots" => {
            let number = layout::root_number(name).ok_or("its name has no number")?;
            Ok(json!(Root::decode(number, bytes).map_err(words)?))
        }
        "expiries" => Ok(json!(Expiry::decode(number()?, bytes).map_err(words)?)),
        "deletions" => Ok(json!(Deletion::decode(bytes).map_err(words)?)),
        "packs" | "moved" => pack(repository, bytes),
        "index" => segment(bytes.clone()),
        "state" => run(bytes.clone()),
        "reader" if name.ends_with(".wasm") => Ok(json!({ "reader": "WebAssembly, for WASI preview 1" })),
        // Reports of jobs (JSON), and their unfinished work.
        _ => serde_json::from_slice(bytes).or_else(|_| Ok(json!({ "text": String::from_utf8_lossy(bytes) }))),
    }
}

/// A key slot's header, without the secret that it wraps.
fn slot(repository: &Repository, bytes: &[u8]) -> Result<Value, String> {
    let slot = Slot::parse(bytes).map_err(words)?;
    let (id, kind, of, name) = (slot.id(), slot.kind(), slot.repository(), slot.name(&repository.owner));
    let (created, cost) = (slot.created(), slot.cost());
    Ok(json!({ "slot": id, "name": name, "kind": kind, "repository": of, "created": created, "argon2id": cost }))
}

fn client_record(repository: &Repository, client: ClientId, name: &str, bytes: &[u8]) -> Result<Value, String> {
    let version = layout::client_version(name).ok_or("its name has no version")?;
    // Later versions may be signed with the enrollment key that the first one names.
    let mut versions = Vec::new();
    for version in 1..version {
        for name in [layout::client(client, version), layout::client_copy(client, version)] {
            let read = wait(objects::read(repository.store().as_ref(), &name)).map_err(words)?;
            versions.extend(read.map(|bytes| (version, bytes.to_vec())));
        }
    }
    versions.push((version, bytes.to_vec()));
    let owner = repository.owner.verifying_key();
    let record = copal_format::client::read_chain(repository.id(), &owner, client, &versions).map_err(words)?;
    let mut shown = json!(record);
    shown["name"] = json!(record.name(&repository.owner));
    Ok(shown)
}

fn manifest(repository: &Repository, client: ClientId, number: u64, bytes: &[u8]) -> Result<Value, String> {
    let verified = Manifest::verify(repository.id(), &public_key(repository, client)?, client, number, bytes);
    let verified = verified.map_err(words)?;
    let manifest = &verified.manifest;
    let mut shown = json!(manifest);
    shown["hash"] = json!(verified.hash);
    shown["proven"] = json!(manifest.proven_packs(repository.id(), &repository.owner.verifying_key()));
    if let Some(claim) = &manifest.snapshot {
        let snapshot = &mut shown["snapshot"];
        snapshot["id"] = json!(verified.hash.snapshot());
        snapshot["session"] = session(repository, &claim.session_record);
        snapshot["info"] = match open_info(&repository.owner, manifest.domain, claim) {
            Ok(info) => json!(info),
            Err(why) => json!({ "damaged": why.to_string() }),
        };
    }
    Ok(shown)
}

fn change(repository: &Repository, number: u64, bytes: &[u8]) -> Result<Value, String> {
    let client = Change::claimed_client(bytes).map_err(words)?;
    let verified = Change::verify(repository.id(), &public_key(repository, client)?, client, number, bytes);
    let verified = verified.map_err(words)?;
    let mut shown = json!(verified.change);
    shown["hash"] = json!(verified.hash);
    for (at, operation) in verified.change.operations.iter().enumerate() {
        if let Operation::Tag { add, .. } = operation {
            let open = |(tag, sealed): &(TagId, Vec<u8>)| {
                let name = repository.owner.open_text(TextPurpose::TagName, &tag.0, sealed);
                json!({ "id": tag, "name": name.ok() })
            };
            shown["operations"][at]["tag"]["add"] = add.iter().map(open).collect();
        }
    }
    Ok(shown)
}

fn pack(repository: &Repository, bytes: &[u8]) -> Result<Value, String> {
    let table = pack::parse(bytes).map_err(words)?;
    let sessions: Vec<Value> = table.sessions.iter().map(|record| session(repository, record)).collect();
    let blocks = table.blocks.iter().map(|block| {
        let mut shown = json!(block);
        let entries = block.entries.clone().zip(table.block_ids(block));
        shown["entries"] = entries.map(|(at, id)| json!({ "id": id, "page": table.page(at as usize) })).collect();
        shown
    });
    let blocks: Vec<Value> = blocks.collect();
    Ok(json!({ "kind": table.kind, "domain": table.domain, "sessions": sessions, "blocks": blocks }))
}

/// The three tables of a segment: packs, blocks, and entries.
fn segment(bytes: Bytes) -> Result<Value, String> {
    let segment = Segment::parse(bytes).map_err(words)?;
    segment.verify().map_err(words)?;
    let entries: Vec<_> = (0..segment.len()).filter_map(|at| segment.entry_at(at)).collect();
    let (packs, blocks): (Vec<_>, Vec<_>) = (segment.packs().collect(), segment.blocks().collect());
    Ok(json!({ "domain": segment.domain(), "packs": packs, "blocks": blocks, "entries": entries }))
}

/// The records of a state run, each with its key.
fn run(bytes: Bytes) -> Result<Value, String> {
    // The ninth byte of every run is its kind.
    if bytes.get(8) == Some(&(RunKind::Overlay as u8)) {
        let run = OverlayRun::parse(bytes).map_err(words)?;
        run.verify().map_err(words)?;
        let records: Vec<_> = run.iter().collect();
        return Ok(json!({ "kind": RunKind::Overlay, "domain": run.domain(), "records": records }));
    }
    let reader = RunReader::parse(&bytes).map_err(words)?;
    let removed: Vec<String> =
        reader.records().filter(|(_, value)| value.is_none()).map(|(key, _)| digits(key)).collect();
    let mut fold = StateFold::default();
    fold.add(&reader).map_err(words)?;
    let state = fold.finish();
    let records = match reader.kind() {
        RunKind::Segments => pairs(&state.segments),
        RunKind::Snapshots => pairs(&state.snapshots),
        RunKind::Heads => pairs(&state.heads),
        RunKind::Packs => pairs(&state.packs),
        RunKind::Doomed => pairs(&state.doomed),
        RunKind::OverlayRuns => pairs(&state.overlays),
        RunKind::Overlay => Value::Null,
    };
    Ok(json!({ "kind": reader.kind(), "records": records, "removed": removed }))
}

fn pairs<K: Serialize, V: Serialize>(records: &BTreeMap<K, V>) -> Value {
    records.iter().map(|record| json!(record)).collect()
}

fn session(repository: &Repository, record: &[u8]) -> Value {
    json!(SessionRecord::parse(record).ok().map(|record| record.id(repository.id())))
}

fn public_key(repository: &Repository, client: ClientId) -> Result<[u8; 32], String> {
    let record = wait(clients::read(&repository.job(), client)).map_err(words)?;
    let keys = record.and_then(|record| record.keys).ok_or("its client has no undamaged record with keys")?;
    Ok(keys.manifest)
}
