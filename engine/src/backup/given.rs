//! Given: packs that a session has given out and that no manifest has claimed yet.

use copal_format::id::{ObjectHash, PackId};
use copal_format::order;
use copal_format::pack::{PackKind, PackTable, PackWriter};

/// A full pack. The host computes its name, because the host may have a faster SHA-256, and other threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenPack {
    /// Its number among the session's packs.
    pub number: u64,
    /// The object to be stored.
    pub bytes: Vec<u8>,
    /// What it holds.
    pub table: PackTable,
}

impl GivenPack {
    /// Its name: the SHA-256 of its bytes.
    pub fn id(&self) -> PackId {
        PackId(ObjectHash::of(&self.bytes).0)
    }
}

/// A pack that a manifest may claim.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ListedPack {
    /// Whether it holds chunks or pages.
    pub kind: PackKind,
    /// Its name.
    pub id: PackId,
    /// Its length in bytes.
    pub length: u64,
}

impl ListedPack {
    /// What a manifest says of it.
    pub fn named(self) -> (PackId, u64) {
        (self.id, self.length)
    }
}

#[derive(Default)]
pub(super) struct Given {
    listed: Vec<Listed>,
    next: u64,
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
    pub(super) fn add(&mut self, writer: PackWriter) -> GivenPack {
        let number = self.next;
        self.next += 1;
        let (bytes, table) = writer.close();
        let length = bytes.len() as u64;
        self.listed.push(Listed { kind: table.kind, number, id: None, length, is_stored: false });
        GivenPack { number, bytes, table }
    }

    pub(super) fn name(&mut self, number: u64, id: PackId) -> bool {
        let found = self.found(number).filter(|pack| pack.id.is_none());
        found.map(|pack| pack.id = Some(id)).is_some()
    }

    pub(super) fn is_named(&self) -> bool {
        self.listed.iter().all(|pack| pack.id.is_some())
    }

    /// Notes that a pack is stored; false if no named pack that waits for a claim has this number.
    pub(super) fn stored(&mut self, number: u64) -> bool {
        let found = self.found(number).filter(|pack| pack.id.is_some());
        found.map(|pack| pack.is_stored = true).is_some()
    }

    /// Searches from the end: a host mostly reports packs that were given out last.
    fn found(&mut self, number: u64) -> Option<&mut Listed> {
        self.listed.iter_mut().rev().find(|pack| pack.number == number)
    }

    pub(super) fn len(&self) -> usize {
        self.listed.len()
    }

    pub(super) fn take(&mut self) -> Vec<ListedPack> {
        listing(std::mem::take(&mut self.listed))
    }

    /// Takes the data packs that are stored. Tree packs stay, because their pages may refer to chunks that are not stored.
    pub(super) fn take_stored(&mut self) -> Vec<ListedPack> {
        let is_ready = |pack: &mut Listed| pack.is_stored && pack.kind == PackKind::Data;
        listing(self.listed.extract_if(.., is_ready).collect())
    }
}

/// No pack refers to a later one, so the list may be split anywhere and claimed by several manifests in order.
fn listing(mut listed: Vec<Listed>) -> Vec<ListedPack> {
    // Data packs come first: a tree pack may be full before the data block that its pages refer to.
    order::sort_by(&mut listed, |a, b| a.kind.cmp(&b.kind));
    let named = |pack: Listed| {
        let id = pack.id.expect("a pack is named before it is stored");
        ListedPack { kind: pack.kind, id, length: pack.length }
    };
    listed.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::id::{ChunkId, DomainId};
    use copal_format::pack::PageView;

    fn pack(byte: u8) -> PackWriter {
        let mut writer = PackWriter::new(PackKind::Data, DomainId([1; 16]), [byte; 16], vec![vec![2; 9]]).unwrap();
        writer.add_block(&[byte; 40], 0, 7, [ChunkId([byte; 24])], []).unwrap();
        writer
    }

    fn tree(byte: u8) -> PackWriter {
        let mut writer = PackWriter::new(PackKind::Tree, DomainId([1; 16]), [byte; 16], vec![vec![2; 9]]).unwrap();
        let page = PageView { replaces: None, height: 1, references: &[ChunkId([8; 24])] };
        writer.add_block(&[byte; 40], 0, 7, [ChunkId([byte; 24])], [page]).unwrap();
        writer
    }

    #[test]
    fn packs_are_listed_as_they_were_named() {
        let mut given = Given::default();
        let packs = [0, 1, 2].map(|byte| given.add(pack(byte)));
        for (given_pack, byte) in packs.iter().zip(0..) {
            let finished = pack(byte).finish();
            assert!(!given.is_named());
            assert_eq!((given_pack.number, given_pack.id()), (u64::from(byte), finished.id));
            assert_eq!((&given_pack.bytes, &given_pack.table), (&finished.bytes, &finished.table));
            assert!(given.name(given_pack.number, given_pack.id()));
        }
        assert!(given.is_named());
        let listed =
            packs.map(|pack| ListedPack { kind: PackKind::Data, id: pack.id(), length: pack.bytes.len() as u64 });
        assert_eq!(given.take(), listed);
    }

    #[test]
    fn a_name_is_given_once_and_to_what_there_is() {
        let mut given = Given::default();
        given.add(pack(0));
        assert!(!given.name(1, PackId([1; 32])));
        assert!(given.name(0, PackId([1; 32])));
        assert!(!given.name(0, PackId([2; 32])));
        assert_eq!(given.take()[0].id, PackId([1; 32]));
    }

    #[test]
    fn data_packs_come_first_and_each_kind_as_it_was_made_whatever_is_stored_first() {
        let mut given = Given::default();
        let packs = [pack(0), tree(1), pack(2), tree(3)].map(|writer| given.add(writer));
        for at in [3, 0, 2, 1] {
            assert!(given.name(at, packs[at as usize].id()) && given.stored(at));
        }
        let ids = |listed: Vec<ListedPack>| listed.iter().map(|pack| pack.id).collect::<Vec<_>>();
        let [data, leaf, more_data, more_leaf] = packs.map(|pack| pack.id());
        assert_eq!(ids(given.take_stored()), [data, more_data]);
        assert_eq!(ids(given.take()), [leaf, more_leaf]);

        let packs = [pack(4), tree(5), pack(6), tree(7)].map(|writer| given.add(writer));
        for at in [2, 3, 1, 0] {
            assert!(given.name(packs[at].number, packs[at].id()));
        }
        let [data, leaf, more_data, more_leaf] = packs.map(|pack| pack.id());
        assert_eq!(ids(given.take()), [data, more_data, leaf, more_leaf]);
    }

    #[test]
    fn a_claim_without_a_tree_takes_the_data_packs_that_are_stored_and_leaves_the_others() {
        let mut given = Given::default();
        let ids = [pack(0), pack(1), tree(9)].map(|writer| {
            let pack = given.add(writer);
            assert!(given.name(pack.number, pack.id()));
            pack.id()
        });
        assert!(given.stored(1) && given.stored(2));
        assert!(!given.stored(3), "there is no such pack");
        assert_eq!(given.take_stored().iter().map(|pack| pack.id).collect::<Vec<_>>(), [ids[1]]);
        assert_eq!(given.take_stored(), []);
        assert_eq!(given.take().iter().map(|pack| pack.id).collect::<Vec<_>>(), [ids[0], ids[2]]);
    }

    #[test]
    #[should_panic(expected = "a pack is named before it is stored")]
    fn a_pack_without_a_name_is_not_left_out_of_a_claim() {
        let mut given = Given::default();
        given.add(pack(0));
        given.take();
    }
}
