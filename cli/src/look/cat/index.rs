//! Index: decodes packs and index segments.

use bytes::Bytes;
use copal_engine::index::Segment;
use copal_engine::keys::session::SessionRecord;
use copal_engine::layout::{self, Place};
use copal_engine::pack::{PackKind, PackTable};
use serde_json::{Value, json};

use super::{texts, words};
use crate::repository::Repository;

pub(super) fn pack(repository: &Repository, table: &PackTable) -> Value {
    let session =
        |record: &Vec<u8>| SessionRecord::parse(record).ok().map(|record| record.id(repository.id()).to_string());
    let sessions: Vec<Option<String>> = table.sessions.iter().map(session).collect();
    let blocks = table.blocks.iter().map(|block| {
        let entries = block.entries.clone().zip(table.block_ids(block)).map(|(at, id)| match table.page(at as usize) {
            None => json!({ "chunk": id.to_string() }),
            Some(page) => json!({
                "page": id.to_string(),
                "height": page.height,
                "replaces": page.replaces.map(|id| id.to_string()),
                "references": texts(page.references),
            }),
        });
        json!({
            "offset": block.offset,
            "length": block.length,
            "session": sessions.get(usize::from(block.session)),
            "counter": block.counter,
            "entries": entries.collect::<Vec<_>>(),
        })
    });
    let blocks: Vec<Value> = blocks.collect();
    json!({
        "kind": kind(table.kind),
        "domain": table.domain.to_string(),
        "sessions": sessions,
        "blocks": blocks,
    })
}

/// The location of every chunk and page of a segment, by pack and block.
pub(super) fn segment(bytes: Bytes) -> Result<Value, String> {
    let segment = Segment::parse(bytes).map_err(words)?;
    segment.verify().map_err(words)?;
    let mut held: Vec<Vec<Value>> = vec![Vec::new(); segment.block_count() as usize];
    for entry in segment.entries() {
        let name = if entry.location.is_page { "page" } else { "chunk" };
        held[entry.block as usize].push(json!({
            name: entry.id.to_string(),
            "ordinal": entry.location.ordinal,
            "height": entry.location.height,
        }));
    }
    let mut packs = Vec::new();
    for (at, pack) in (0..).zip(segment.packs()) {
        let blocks = segment.blocks_of(at).filter_map(|at| {
            let (block, entries) = (segment.block(at)?, std::mem::take(&mut held[at as usize]));
            Some(json!({ "offset": block.offset, "length": block.length, "entries": entries }))
        });
        let blocks: Vec<Value> = blocks.collect();
        packs.push(json!({
            "pack": layout::pack(pack.place, pack.id),
            "kind": kind(pack.kind),
            "length": pack.length,
            "table_length": pack.table_length,
            "blocks": blocks,
        }));
    }
    Ok(json!({ "domain": segment.domain().to_string(), "entries": segment.len(), "packs": packs }))
}

pub(super) fn kind(kind: PackKind) -> &'static str {
    match kind {
        PackKind::Data => "data",
        PackKind::Tree => "tree",
    }
}

pub(super) fn place(place: Place) -> &'static str {
    match place {
        Place::Packs => "packs",
        Place::Moved => "moved",
    }
}
