//! Craft: packs and claims made by hand, for what no honest client writes.

use copal_engine::id::{ChunkId, DomainId, SourceId};
use copal_engine::manifest::SnapshotClaim;
use copal_engine::pack::{Pack, PackKind, PackWriter, PageView};
use copal_engine::time::Time;

/// A page of a crafted pack: its id, its height, what it refers to.
pub type CraftedPage<'a> = (ChunkId, u8, &'a [ChunkId]);

/// An id of this byte.
pub fn id(byte: u8) -> ChunkId {
    ChunkId([byte; 24])
}

/// One of many ids, each another, in no order.
pub fn spread_id(pack: u8, at: usize) -> ChunkId {
    let mixed = ((u64::from(pack) << 32) + at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = [pack; 24];
    bytes[..8].copy_from_slice(&mixed.to_be_bytes());
    bytes[8..16].copy_from_slice(&(at as u64).to_be_bytes());
    ChunkId(bytes)
}

/// A data pack of one block whose bytes nobody can open.
///
/// # Panics
/// If there are no ids.
pub fn data_pack(domain: DomainId, random: u8, ids: &[ChunkId]) -> Pack {
    let mut writer = writer(PackKind::Data, domain, random);
    writer.add_block(&[random; 300], 0, 0, ids.iter().copied(), []).expect("a small block fits");
    writer.finish()
}

/// A tree pack of one block whose bytes nobody can open.
///
/// # Panics
/// If there are no pages.
pub fn tree_pack(domain: DomainId, random: u8, pages: &[CraftedPage<'_>]) -> Pack {
    let mut writer = writer(PackKind::Tree, domain, random);
    let rows = pages.iter().map(|(_, height, references)| PageView { replaces: None, height: *height, references });
    writer.add_block(&[random; 300], 0, 0, pages.iter().map(|page| page.0), rows).expect("a small block fits");
    writer.finish()
}

/// A claim of a snapshot with this root page.
pub fn claim(root: ChunkId, partial: bool) -> SnapshotClaim {
    SnapshotClaim {
        root,
        partial,
        client_time: Time(1),
        source: SourceId([5; 16]),
        tags: Vec::new(),
        session_record: vec![1],
        counter: 0,
        info: vec![1],
        extent: None,
    }
}

fn writer(kind: PackKind, domain: DomainId, random: u8) -> PackWriter {
    PackWriter::new(kind, domain, [random; 16], vec![vec![1]]).expect("one short session record")
}
