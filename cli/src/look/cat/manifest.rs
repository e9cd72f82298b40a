//! Manifest: decodes manifests and the snapshots that they claim.

use copal_engine::id::{ObjectHash, PackId};
use copal_engine::keys::session::SessionRecord;
use copal_engine::manifest::{Manifest, SnapshotClaim};
use serde_json::{Value, json};

use super::records::{link, merge, public_key, signer};
use super::{texts, words};
use crate::history::open_info;
use crate::report::field::{PathsField, Stamp};
use crate::repository::Repository;

pub(super) fn manifest(repository: &Repository, name: &str, bytes: &[u8]) -> Result<Value, String> {
    let (client, number) = signer(name)?;
    let verified = Manifest::verify(repository.id(), &public_key(repository, client)?, client, number, bytes);
    let verified = verified.map_err(words)?;
    let manifest = &verified.manifest;
    let proven = manifest.proven_packs(repository.id(), &repository.owner.verifying_key());
    let pack = |(id, length): &(PackId, u64)| json!({ "pack": id.to_string(), "length": length, "proven": proven.contains(id) });
    let packs: Vec<Value> = manifest.packs.iter().map(pack).collect();
    let snapshot = manifest.snapshot.as_ref().map(|claim| snapshot_fields(repository, manifest, claim, verified.hash));
    Ok(json!({
        "client": client.to_string(),
        "number": number,
        "hash": verified.hash.to_string(),
        "previous": manifest.previous.to_string(),
        "domain": manifest.domain.to_string(),
        "root_seen": manifest.root_seen.map(|(number, hash)| link(number, hash)),
        "packs": packs,
        "snapshot": snapshot,
    }))
}

fn snapshot_fields(repository: &Repository, manifest: &Manifest, claim: &SnapshotClaim, hash: ObjectHash) -> Value {
    let session = SessionRecord::parse(&claim.session_record).map(|record| record.id(repository.id()).to_string());
    let mut fields = json!({
        "id": hash.snapshot().to_string(),
        "root_page": claim.root.to_string(),
        "partial": claim.partial,
        "client_time": Stamp(claim.client_time),
        "source": claim.source.to_string(),
        "tag_ids": texts(&claim.tags),
        "session": session.ok(),
        "counter": claim.counter,
    });
    fields["info"] = match open_info(repository, manifest.domain, claim) {
        Ok(info) => {
            let mut told = json!({
                "host": info.host,
                "label": info.label,
                "tags": info.tags,
                "started": Stamp(info.started),
                "files": info.counts.files,
                "directories": info.counts.directories,
                "others": info.counts.others,
                "bytes": info.counts.bytes,
                "new": info.summary.new,
                "changed": info.summary.changed,
                "unmodified": info.summary.unmodified,
                "errors": info.summary.errors,
                "metadata_seen": info.metadata.0,
                "program": info.program,
                "user": info.user,
            });
            merge(&mut told, json!(PathsField(info.paths)));
            told
        }
        Err(why) => json!({ "damaged": why }),
    };
    fields
}
