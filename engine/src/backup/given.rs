//! Given: packs that a session has given out and that no manifest has claimed yet.

use std::collections::VecDeque;

use copal_format::id::PackId;
use copal_format::order;
use copal_format::pack::{Pack, PackKind, PackWriter};

/// Packs that manifests may claim, all of which must be stored by now. No pack refers to a later one, so the list may
/// be split anywhere and claimed by several manifests in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The packs and their lengths.
    pub packs: Vec<(PackId, u64)>,
}

/// A pack whose name, its SHA-256, the host computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedPack {
    /// Its number among the session's packs.
    pub number: u64,
    /// The object to be stored.
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Given {
    listed: Vec<Listed>,
    next: u64,
    /// Packs for the host to name, if names are left to it.
    unnamed: Option<VecDeque<UnnamedPack>>,
}

struct Listed {
    kind: PackKind,
    number: u64,
    /// `None` until the host has named the pack.
    id: Option<PackId>,
    length: u64,
    /// Whether the host has said that the pack is stored.
    is_stored: bool,
}

impl Given {
    pub(super) fn leave_names(&mut self) {
        self.unnamed.get_or_insert_default();
    }

    /// Lists a full pack; returns its length, and the pack itself unless the host is to name it.
    pub(super) fn add(&mut self, writer: PackWriter) -> (u64, Option<Pack>) {
        let number = self.next;
        self.next += 1;
        match &mut self.unnamed {
            Some(unnamed) => {
                let (bytes, table) = writer.close();
                let length = bytes.len() as u64;
                self.listed.push(Listed { kind: table.kind, number, id: None, length, is_stored: false });
                unnamed.push_back(UnnamedPack { number, bytes });
                (length, None)
            }
            None => {
                let pack = writer.finish();
                let length = pack.bytes.len() as u64;
                self.listed.push(Listed { kind: pack.table.kind, number, id: Some(pack.id), length, is_stored: false });
                (length, Some(pack))
            }
        }
    }

    pub(super) fn poll_unnamed(&mut self) -> Option<UnnamedPack> {
        self.unnamed.as_mut()?.pop_front()
    }

    pub(super) fn name(&mut self, number: u64, id: PackId) -> bool {
        let found = self.listed.iter_mut().find(|pack| pack.number == number && pack.id.is_none());
        found.map(|pack| pack.id = Some(id)).is_some()
    }

    pub(super) fn is_named(&self) -> bool {
        self.listed.iter().all(|pack| pack.id.is_some())
    }

    /// Notes that a pack is stored; false if no named pack that waits for a claim has this number.
    pub(super) fn stored(&mut self, number: u64) -> bool {
        let found = self.listed.iter_mut().find(|pack| pack.number == number && pack.id.is_some());
        found.map(|pack| pack.is_stored = true).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.listed.len()
    }

    pub(super) fn take(&mut self) -> Listing {
        listing(std::mem::take(&mut self.listed))
    }

    /// Takes the data packs that are stored. Tree packs stay, because their pages may refer to chunks that are not stored.
    pub(super) fn take_stored(&mut self) -> Listing {
        let is_ready = |pack: &mut Listed| pack.is_stored && pack.kind == PackKind::Data;
        listing(self.listed.extract_if(.., is_ready).collect())
    }
}

fn listing(mut listed: Vec<Listed>) -> Listing {
    // Data packs come first: a tree pack may be full before the data block that its pages refer to.
    order::sort_by(&mut listed, |a, b| a.kind.cmp(&b.kind));
    let named = |pack: Listed| (pack.id.expect("a pack is named before it is stored"), pack.length);
    Listing { packs: listed.into_iter().map(named).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::id::{ChunkId, DomainId, ObjectHash};
    use copal_format::pack::PageView;

    fn pack(byte: u8) -> PackWriter {
        let mut writer = PackWriter::new(PackKind::Data, DomainId([1; 16]), [byte; 16], vec![vec![2; 9]]).unwrap();
        writer.add_block(&[byte; 40], 0, 7, [ChunkId([byte; 24])], []).unwrap();
        writer
    }

    #[test]
    fn a_pack_that_the_host_names_is_the_one_that_the_engine_names() {
        let (mut by_engine, mut by_host) = (Given::default(), Given::default());
        by_host.leave_names();
        for byte in 0..3 {
            let (length, whole) = by_engine.add(pack(byte));
            assert_eq!(by_host.add(pack(byte)), (length, None));
            let unnamed = by_host.poll_unnamed().unwrap();
            assert_eq!((unnamed.number, &unnamed.bytes), (u64::from(byte), &whole.unwrap().bytes));
            assert!(!by_host.is_named());
            assert!(by_host.name(unnamed.number, PackId(ObjectHash::of(&unnamed.bytes).0)));
        }
        assert_eq!(by_host.poll_unnamed(), None);
        assert!(by_host.is_named());
        assert_eq!(by_host.take(), by_engine.take());
    }

    #[test]
    fn a_name_is_given_once_and_to_what_there_is() {
        let mut given = Given::default();
        given.leave_names();
        given.add(pack(0));
        assert!(!given.name(1, PackId([1; 32])));
        assert!(given.name(0, PackId([1; 32])));
        assert!(!given.name(0, PackId([2; 32])));
        assert_eq!(given.take().packs[0].0, PackId([1; 32]));
    }

    #[test]
    fn a_claim_without_a_tree_takes_the_data_packs_that_are_stored_and_leaves_the_others() {
        let mut given = Given::default();
        let mut tree = PackWriter::new(PackKind::Tree, DomainId([1; 16]), [9; 16], vec![vec![2; 9]]).unwrap();
        let page = PageView { replaces: None, height: 1, references: &[ChunkId([8; 24])] };
        tree.add_block(&[9; 40], 0, 7, [ChunkId([9; 24])], [page]).unwrap();
        let ids: Vec<_> = [pack(0), pack(1), tree].map(|writer| given.add(writer).1.unwrap().id).into();
        assert!(given.stored(1) && given.stored(2));
        assert!(!given.stored(3), "there is no such pack");
        assert_eq!(given.take_stored().packs.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [ids[1]]);
        assert_eq!(given.take_stored().packs, []);
        assert_eq!(given.take().packs.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [ids[0], ids[2]]);
    }

    #[test]
    #[should_panic(expected = "a pack is named before it is stored")]
    fn a_pack_without_a_name_is_not_left_out_of_a_claim() {
        let mut given = Given::default();
        given.leave_names();
        given.add(pack(0));
        given.take();
    }
}
