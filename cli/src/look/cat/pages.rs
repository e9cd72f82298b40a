//! Pages: decodes tree pages.

use copal_engine::restore::extents::Extents;
use copal_engine::tree::{Content, Entry, PageContent, Piece, VerifiedPage};
use serde_json::{Map, Value, json};

use super::super::row;
use super::hex;
use crate::report::field::{PathField, Stamp};

pub(super) fn page(page: &VerifiedPage) -> Value {
    let (kind, items) = match page.content() {
        PageContent::Entries(entries) => ("entries", entries.iter().map(entry).collect::<Vec<_>>()),
        PageContent::Directory(children) => {
            let child = |child: &copal_engine::tree::Child| {
                json!({
                    "page": child.id.to_string(),
                    "entries": child.entries,
                    "bytes": child.bytes,
                    "last_path": json!(PathField::of(&child.last_path))["path"],
                })
            };
            ("directory", children.iter().map(child).collect())
        }
        PageContent::List(pieces) => ("list", pieces.iter().map(piece).collect()),
        PageContent::Lists(children) => {
            let child =
                |child: &copal_engine::tree::ListChild| json!({ "page": child.id.to_string(), "bytes": child.bytes });
            ("lists", children.iter().map(child).collect())
        }
    };
    json!({ "page": page.id().to_string(), "kind": kind, "height": page.height(), "items": items })
}

fn entry(entry: &Entry) -> Value {
    let mut value = json!(row(entry));
    if let Value::Object(fields) = &mut value {
        fields.insert("ctime".into(), json!(Stamp(entry.ctime)));
        fields.insert("birth".into(), json!(entry.birth.map(Stamp)));
        fields.insert("inode".into(), json!(entry.inode));
        content(entry, fields);
        let extras = &entry.extras;
        fields.extend(extras.hardlink.map(|group| ("hardlink".into(), json!(group))));
        fields.extend(extras.device.map(|device| ("device".into(), json!(device))));
        if !extras.xattrs.is_empty() {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let xattrs: Map<String, Value> =
                extras.xattrs.iter().map(|(name, value)| (text(name), json!(hex(value)))).collect();
            fields.insert("xattrs".into(), json!(xattrs));
        }
        if !extras.holes.is_empty() {
            let holes: Vec<[u64; 2]> = extras.holes.iter().map(|hole| [hole.start, hole.end - hole.start]).collect();
            fields.insert("holes".into(), json!(holes));
        }
    }
    value
}

fn content(entry: &Entry, fields: &mut Map<String, Value>) {
    let (name, value) = match &entry.content {
        Content::None => return,
        Content::Inline(content) => {
            let parts: String = Extents::of(entry).inline(content).map(|(_, bytes)| hex(bytes)).collect();
            ("inline", json!(parts))
        }
        Content::Chunks(pieces) => ("chunks", pieces.iter().map(piece).collect()),
        Content::List { root, .. } => ("list", json!(root.to_string())),
    };
    fields.insert(name.into(), value);
}

fn piece(piece: &Piece) -> Value {
    json!({ "chunk": piece.id.to_string(), "length": piece.length })
}
