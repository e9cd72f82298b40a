//! Records: decodes signed and plain records, and key slots.

use copal_engine::change::{Change, Operation};
use copal_engine::client::{ClientRecord, Role};
use copal_engine::expiry::Expiry;
use copal_engine::id::{ChunkId, ClientId, ObjectHash, PackId};
use copal_engine::keys::owner::TextPurpose;
use copal_engine::keys::slot::Slot;
use copal_engine::layout;
use copal_engine::receipt::{IngestBy, Outcome, Reason, Receipt};
use copal_engine::repository::Descriptor;
use copal_engine::root::{Deletion, Root};
use copal_engine::state::{Decision, RunKind};
use copal_service::{clients, objects};
use serde_json::{Map, Value, json};

use super::{texts, words};
use crate::report::field::Stamp;
use crate::repository::Repository;
use crate::wait::wait;

pub(super) fn descriptor(version: u64, bytes: &[u8]) -> Result<Value, String> {
    let descriptor = Descriptor::decode(version, bytes).map_err(words)?;
    let p = &descriptor.parameters;
    Ok(json!({
        "version": descriptor.version,
        "repository": descriptor.repository.to_string(),
        "created": Stamp(descriptor.created),
        "chunks": { "min": p.chunk_min, "average": p.chunk_average, "max": p.chunk_max },
        "block_target": p.block_target,
        "tree_block_target": p.tree_block_target,
        "pack_target": p.pack_target,
        "tree_pack_target": p.tree_pack_target,
        "inline_max": p.inline_max,
        "pages": { "leaf_fanout": p.leaf_fanout, "inner_fanout": p.inner_fanout, "min": p.page_min, "max": p.page_max },
        "zstd_level": p.zstd_level,
        "owner_key": super::hex(&descriptor.owner_key),
        "kem_public": super::hex(&descriptor.kem_public),
        "ingest": by(descriptor.ingest),
        "reader": descriptor.reader.map(|hash| hash.to_string()),
        "shared_domain": descriptor.shared_domain.to_string(),
    }))
}

/// A key slot's header, without the secret that it wraps.
pub(super) fn slot(bytes: &[u8]) -> Result<Value, String> {
    let slot = Slot::parse(bytes).map_err(words)?;
    let cost = slot.cost().map(|cost| json!({ "m_kib": cost.m_kib, "t": cost.t, "p": cost.p }));
    Ok(json!({
        "slot": slot.id().to_string(),
        "kind": slot.kind().to_string(),
        "repository": slot.repository().to_string(),
        "created": Stamp(slot.created()),
        "argon2id": cost,
    }))
}

pub(super) fn client(repository: &Repository, name: &str, bytes: &[u8]) -> Result<Value, String> {
    let client = layout::client_of(name).ok_or("its name has no client")?;
    let version = layout::client_version(name).ok_or("its name has no version")?;
    // Later versions may be signed with the enrollment key that the first one names.
    let mut versions = Vec::new();
    for version in 1..version {
        for name in [layout::client(client, version), layout::client_copy(client, version)] {
            versions.extend(read(repository, &name)?.map(|bytes| (version, bytes)));
        }
    }
    versions.push((version, bytes.to_vec()));
    let owner = repository.owner.verifying_key();
    let record = copal_engine::client::read_chain(repository.id(), &owner, client, &versions).map_err(words)?;
    Ok(client_fields(repository, &record))
}

fn client_fields(repository: &Repository, record: &ClientRecord) -> Value {
    let name = repository.owner.open_text(TextPurpose::ClientName, &record.client.0, &record.sealed_name);
    json!({
        "client": record.client.to_string(),
        "version": record.version,
        "name": name.ok(),
        "role": match record.role {
            Role::Full => "full",
            Role::WriteOnly => "write-only",
        },
        "domain": record.domain.to_string(),
        "manifest_key": record.keys.map(|keys| super::hex(&keys.manifest)),
        "request_key": record.keys.map(|keys| super::hex(&keys.request)),
        "created": Stamp(record.created),
        "revoked": record.revoked.map(|(number, hash)| link(number, hash)),
        "last_change": record.last_change.map(|(number, hash)| link(number, hash)),
        "enrollment_key": record.enrollment.map(|key| super::hex(&key)),
    })
}

pub(super) fn change(repository: &Repository, number: u64, bytes: &[u8]) -> Result<Value, String> {
    let client = Change::claimed_client(bytes).map_err(words)?;
    let verified = Change::verify(repository.id(), &public_key(repository, client)?, client, number, bytes);
    let verified = verified.map_err(words)?;
    let operations: Vec<Value> =
        verified.change.operations.iter().map(|operation| operation_fields(repository, operation)).collect();
    Ok(json!({
        "number": number,
        "hash": verified.hash.to_string(),
        "previous": verified.change.previous.to_string(),
        "client": client.to_string(),
        "time": Stamp(verified.change.time),
        "operations": operations,
    }))
}

fn operation_fields(repository: &Repository, operation: &Operation) -> Value {
    let name = match operation {
        Operation::Forget(_) => "forget",
        Operation::Undelete(_) => "undelete",
        Operation::Pin(_) => "pin",
        Operation::Unpin(_) => "unpin",
        Operation::Tag { .. } => "tag",
        Operation::Policy(_) | Operation::OwnerPolicy { .. } => "policy",
        Operation::Release { .. } => "release",
        Operation::Prove { .. } => "prove",
    };
    let mut fields = json!({ "operation": name, "snapshots": texts(operation.snapshots()) });
    match operation {
        Operation::Tag { add, remove, .. } => {
            let named = |(tag, sealed): &(copal_engine::id::TagId, Vec<u8>)| {
                let name = repository.owner.open_text(TextPurpose::TagName, &tag.0, sealed);
                json!({ "id": tag.to_string(), "name": name.ok() })
            };
            fields["add"] = add.iter().map(named).collect();
            fields["remove"] = json!(texts(remove));
        }
        Operation::Policy(policy) | Operation::OwnerPolicy { policy, .. } => {
            fields["policy"] = json!(super::hex(policy));
        }
        Operation::Prove { packs, .. } => fields["packs"] = json!(texts(packs)),
        _ => {}
    }
    fields
}

pub(super) fn receipt(name: &str, bytes: &[u8]) -> Result<Value, String> {
    let (client, number) = signer(name)?;
    let receipt = Receipt::decode(client, number, bytes).map_err(words)?;
    let mut fields = json!({
        "client": client.to_string(),
        "number": number,
        "manifest": receipt.manifest.to_string(),
        "root": receipt.root,
        "time": Stamp(receipt.time),
        "by": by(receipt.by),
    });
    merge(&mut fields, verdict(receipt.outcome, &receipt.reasons, &receipt.missing, &receipt.packs));
    Ok(fields)
}

/// What a root decided about a manifest.
pub(super) fn decision(decision: &Decision) -> Value {
    let mut fields = json!({ "number": decision.number, "hash": decision.hash.to_string() });
    merge(&mut fields, verdict(decision.outcome, &decision.reasons, &decision.missing, &decision.packs));
    fields
}

pub(super) fn root(name: &str, bytes: &[u8]) -> Result<Value, String> {
    let number = layout::root_number(name).ok_or("its name has no number")?;
    let root = Root::decode(number, bytes).map_err(words)?;
    let runs = root.runs.iter().map(|run| {
        let kind = match run.kind {
            RunKind::Segments => "segments",
            RunKind::Snapshots => "snapshots",
            RunKind::Heads => "heads",
            RunKind::Packs => "packs",
            RunKind::Doomed => "doomed",
            RunKind::Overlay => "overlay",
            RunKind::OverlayRuns => "overlays",
        };
        json!({ "kind": kind, "run": layout::state(run.hash), "length": run.length, "records": run.records })
    });
    let runs: Vec<Value> = runs.collect();
    Ok(json!({
        "number": root.number,
        "random": super::hex(&root.random),
        "base": root.base.map(|(number, hash)| link(number, hash)),
        "time": Stamp(root.time),
        "rebuilt": root.rebuilt,
        "runs": runs,
        "last_change": root.change_head.map(|(number, hash)| link(number, hash)),
        "policy": root.policy.map(|(number, hash)| link(number, hash)),
        "last_expiry": root.expiry_head.map(|(number, hash)| link(number, hash)),
    }))
}

pub(super) fn expiry(number: u64, bytes: &[u8]) -> Result<Value, String> {
    let expiry = Expiry::decode(number, bytes).map_err(words)?;
    Ok(json!({
        "number": number,
        "previous": expiry.previous.to_string(),
        "policy": expiry.policy,
        "change": expiry.change,
        "time": Stamp(expiry.time),
        "snapshots": texts(&expiry.snapshots),
    }))
}

pub(super) fn deletion(bytes: &[u8]) -> Result<Value, String> {
    let deletion = Deletion::decode(bytes).map_err(words)?;
    Ok(json!({ "root": deletion.root_number, "time": Stamp(deletion.time), "names": texts(&deletion.names) }))
}

fn verdict(outcome: Outcome, reasons: &[(Reason, String)], missing: &[ChunkId], packs: &[PackId]) -> Value {
    let reasons: Vec<Value> =
        reasons.iter().map(|(reason, text)| json!({ "reason": reason.text(), "text": text })).collect();
    json!({
        "outcome": match outcome {
            Outcome::Accepted => "accepted",
            Outcome::Rejected => "rejected",
        },
        "reasons": reasons,
        "missing": texts(missing),
        "unusable_packs": texts(packs),
    })
}

pub(super) fn link(number: u64, hash: ObjectHash) -> Value {
    json!({ "number": number, "hash": hash.to_string() })
}

fn by(by: IngestBy) -> &'static str {
    match by {
        IngestBy::Client => "client",
        IngestBy::Service => "service",
    }
}

/// The client and number in the name of a manifest or receipt.
pub(super) fn signer(name: &str) -> Result<(ClientId, u64), String> {
    let client = layout::client_of(name).ok_or("its name has no client")?;
    Ok((client, layout::trailing_number(name).ok_or("its name has no number")?))
}

pub(super) fn public_key(repository: &Repository, client: ClientId) -> Result<[u8; 32], String> {
    let record = wait(clients::read(&repository.host(), client)).map_err(words)?;
    let keys = record.and_then(|record| record.keys).ok_or("no sound record of its client is there")?;
    Ok(keys.manifest)
}

fn read(repository: &Repository, name: &str) -> Result<Option<Vec<u8>>, String> {
    let read = wait(objects::read(repository.store().as_ref(), name));
    read.map(|bytes| bytes.map(|bytes| bytes.to_vec())).map_err(words)
}

/// Adds the fields of one JSON object to another.
pub(super) fn merge(into: &mut Value, from: Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { return };
    let from: Map<String, Value> = from;
    into.extend(from);
}
