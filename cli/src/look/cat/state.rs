//! State: decodes state runs, record by record.

use bytes::Bytes;
use copal_engine::index::{Bits, OverlayRun};
use copal_engine::layout;
use copal_engine::state::{
    ClientHead, DoomedState, PackRecord, RunKind, RunReader, SnapshotRecord, SnapshotState, StateFold,
};
use serde_json::{Value, json};

use super::index::{kind as pack_kind, place};
use super::records::decision;
use super::{hex, texts, words};
use crate::report::field::Stamp;

pub(super) fn run(bytes: Bytes) -> Result<Value, String> {
    // The ninth byte of every run is its kind.
    if bytes.get(8) == Some(&(RunKind::Overlay as u8)) {
        return overlay(bytes);
    }
    let reader = RunReader::parse(&bytes).map_err(words)?;
    let removed: Vec<String> = reader.records().filter(|(_, value)| value.is_none()).map(|(key, _)| hex(key)).collect();
    let mut fold = StateFold::default();
    fold.add(&reader).map_err(words)?;
    let state = fold.finish();
    let (kind, records): (_, Vec<Value>) = match reader.kind() {
        RunKind::Segments => (
            "segments",
            state
                .segments
                .iter()
                .map(|((domain, hash), record)| {
                    json!({
                        "segment": layout::segment(*hash),
                        "domain": domain.to_string(),
                        "entries": record.entries,
                        "length": record.length,
                        "first": record.first.to_string(),
                        "last": record.last.to_string(),
                    })
                })
                .collect(),
        ),
        RunKind::Snapshots => {
            let row = |((client, number), record): (&(_, u64), _)| snapshot(layout::manifest(*client, *number), record);
            ("snapshots", state.snapshots.iter().map(row).collect())
        }
        RunKind::Heads => {
            ("heads", state.heads.iter().map(|(client, record)| head(client.to_string(), record)).collect())
        }
        RunKind::Packs => {
            ("packs", state.packs.iter().map(|(id, record)| pack(layout::pack(record.place, *id), record)).collect())
        }
        RunKind::Doomed => (
            "doomed",
            state
                .doomed
                .iter()
                .map(|(name, record)| {
                    let state = match record.state {
                        DoomedState::Doomed => "doomed",
                        DoomedState::Spent => "spent",
                    };
                    json!({ "object": name.to_string(), "state": state, "time": Stamp(record.time), "root": record.root })
                })
                .collect(),
        ),
        RunKind::OverlayRuns => (
            "overlays",
            state
                .overlays
                .iter()
                .map(|((domain, hash), record)| {
                    json!({
                        "run": layout::state(*hash),
                        "domain": domain.to_string(),
                        "root": record.root,
                        "length": record.length,
                        "records": record.records,
                    })
                })
                .collect(),
        ),
        RunKind::Overlay => ("overlay", Vec::new()),
    };
    Ok(json!({ "kind": kind, "records": records, "removed": removed }))
}

fn overlay(bytes: Bytes) -> Result<Value, String> {
    let run = OverlayRun::parse(bytes).map_err(words)?;
    run.verify().map_err(words)?;
    let record = |((id, pack), mark): (copal_engine::index::Copied, copal_engine::index::Mark)| {
        let named = [(Bits::FLAGGED, "flagged"), (Bits::WANTED, "wanted"), (Bits::LOST, "lost")];
        let bits: Vec<&str> =
            named.into_iter().filter(|(bit, _)| mark.bits.contains(*bit)).map(|(_, name)| name).collect();
        json!({ "id": id.to_string(), "pack": hex(&pack.0), "bits": bits, "time": Stamp(mark.time) })
    };
    let records: Vec<Value> = run.iter().map(record).collect();
    Ok(json!({ "kind": "overlay", "domain": run.domain().to_string(), "records": records }))
}

fn snapshot(manifest: String, record: &SnapshotRecord) -> Value {
    let state = match record.state {
        SnapshotState::Kept => "kept",
        SnapshotState::Forgotten => "forgotten",
        SnapshotState::Gone => "gone",
    };
    json!({
        "manifest": manifest,
        "id": record.id.to_string(),
        "domain": record.domain.to_string(),
        "root_page": record.root.to_string(),
        "partial": record.partial,
        "client_time": Stamp(record.client_time),
        "accepted": Stamp(record.accepted),
        "source": record.source.to_string(),
        "tags": texts(&record.tags),
        "state": state,
        "state_time": Stamp(record.state_time),
        "pinned": record.pinned,
        "by_full_client": record.by_full_client,
    })
}

fn head(client: String, head: &ClientHead) -> Value {
    let decisions: Vec<Value> = head.decisions.iter().map(decision).collect();
    json!({
        "client": client,
        "number": head.number,
        "hash": head.hash.to_string(),
        "time": Stamp(head.time),
        "decisions": decisions,
    })
}

fn pack(name: String, record: &PackRecord) -> Value {
    json!({
        "pack": name,
        "place": place(record.place),
        "domain": record.domain.to_string(),
        "kind": pack_kind(record.kind),
        "length": record.length,
        "missing": record.is_missing,
        "damaged": record.is_damaged,
        "forged": record.is_forged(),
        "read": (record.read.0 > 0).then_some(Stamp(record.read)),
        "accepted": Stamp(record.accepted),
        "proven": record.is_proven,
        "client": record.claim.map(|claim| claim.client.to_string()),
        "manifest": record.claim.map(|claim| claim.number),
    })
}
