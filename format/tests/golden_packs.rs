//! The bytes of packs and index segments, fixed for ever (`docs/format.md` §7 and §8). The expected ones were written by
//! a second implementation that follows that page.

use copal_format::id::{ChunkId, DomainId};
use copal_format::index::{NewSegment, SegmentWriter};
use copal_format::layout::Place;
use copal_format::pack::{Pack, PackKind, PackWriter, PageRow};

use crate::samples::hex;

pub(crate) const DOMAIN: DomainId = DomainId([0x11; 16]);
pub(crate) const RANDOM: [u8; 16] = [0x22; 16];

pub(crate) fn id(byte: u8) -> ChunkId {
    ChunkId([byte; 24])
}

fn data_pack() -> Pack {
    let mut writer = PackWriter::new(PackKind::Data, DOMAIN, RANDOM, vec![b"session".to_vec()]).unwrap();
    writer.add_block(b"first block", 0, 5, [id(1)], []).unwrap();
    writer.add_block(b"second", 0, 6, [id(2), id(3)], []).unwrap();
    writer.finish()
}

fn tree_pack() -> Pack {
    let sessions = vec![b"session".to_vec(), b"another".to_vec()];
    let mut writer = PackWriter::new(PackKind::Tree, DOMAIN, RANDOM, sessions).unwrap();
    let first = PageRow { replaces: None, height: 1, references: vec![id(1), id(2)] };
    let second = PageRow { replaces: Some(id(9)), height: 1, references: Vec::new() };
    let top = PageRow { replaces: None, height: 2, references: vec![id(0x0b)] };
    writer.add_block(b"leaves", 0, 7, [id(0x0b), id(0x0c)], [first.view(), second.view()]).unwrap();
    writer.add_block(b"top", 1, 8, [id(0x0d)], [top.view()]).unwrap();
    writer.finish()
}

fn segment() -> NewSegment {
    let mut writer = SegmentWriter::new(DOMAIN, RANDOM);
    let (data, tree) = (data_pack(), tree_pack());
    writer.add_pack(data.id, Place::Packs, &data.table).unwrap();
    writer.add_pack(tree.id, Place::Moved, &tree.table).unwrap();
    writer.finish().unwrap()
}

#[test]
fn data_pack_is_as_it_always_was() {
    assert_eq!(
        hex(&data_pack().bytes),
        "434f50414c50414b010001003b0000001111111111111111111111111111111122222222222222222222222222222222\
         0700000073657373696f6e666972737420626c6f636b7365636f6e643b0000000b000000000000000100000005000000\
         000000004600000006000000000000000200000006000000000000000101010101010101010101010101010101010101\
         010101010202020202020202020202020202020202020202020202020303030303030303030303030303030303030303\
         03030303020000000300000000000000780000003b00000000000000434f50414c454e44"
    );
    assert_eq!(data_pack().id.to_string(), "f801aa790d40c2dc137870c83a7de4a606d33561fd64c1d002fa45c05c8b4bae");
}

#[test]
fn tree_pack_is_as_it_always_was() {
    assert_eq!(
        hex(&tree_pack().bytes),
        "434f50414c50414b01010200460000001111111111111111111111111111111122222222222222222222222222222222\
         0700000073657373696f6e07000000616e6f746865726c6561766573746f704600000006000000000000000200000007\
         000000000000004c00000003000000010000000100000008000000000000000b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b\
         0b0b0b0b0b0b0b00000000000000000000000000000000000000000000000001000000020000000c0c0c0c0c0c0c0c0c\
         0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c09090909090909090909090909090909090909090909090901000000000000000d\
         0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d00000000000000000000000000000000000000000000000002\
         000000010000000101010101010101010101010101010101010101010101010202020202020202020202020202020202\
         020202020202020b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0200000003000000030000002001000046\
         00000000000000434f50414c454e44"
    );
    assert_eq!(tree_pack().id.to_string(), "37ccc21bfec01a409dd853d0d8f93528725616a428df290c3e74b741dabb2ebb");
}

#[test]
fn segment_is_as_it_always_was() {
    assert_eq!(
        hex(&segment().bytes),
        "434f50414c49445811111111111111111111111111111111222222222222222222222222222222220200000004000000\
         0600000000000000000000000000000037ccc21bfec01a409dd853d0d8f93528725616a428df290c3e74b741dabb2ebb\
         8f01000000000000460000002001000001010000f801aa790d40c2dc137870c83a7de4a606d33561fd64c1d002fa45c0\
         5c8b4baee4000000000000003b000000780000000000000000000000460000000600000002000000000000004c000000\
         0300000001000000010000003b0000000b00000001000000010000004600000006000000020000000000000000000000\
         000000000000000000000000000000000101010101010101010101010101010101010101010101010200000000000000\
         020202020202020202020202020202020202020202020202030000000000000003030303030303030303030303030303\
         030303030303030303000000010000000b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0000000000000101\
         0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c00000000010001010d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d\
         0d0d0d0d0d0d0d0d0100000000000201"
    );
    assert_eq!(segment().hash.to_string(), "d70db46ef6cb1a355e0849ff6fdd9796e9af13f4ed1bacf0d0cf0bb21679deb2");
}
