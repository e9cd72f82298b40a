//! Layout: the names of objects in the store. A name with a number above [`NUMBER`] is not the name of any object.

use core::fmt;

use serde::{Serialize, Serializer};

use crate::id::{ClientId, ObjectHash, PackId, SlotId};
use crate::limits::NUMBER;
use crate::shown::digits;

/// The folder of a pack.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// `packs/`: uploaded by a client.
    Packs = 0,
    /// `moved/`: written by prune; clients may not create objects there.
    Moved = 1,
}

/// The name of an object that prune may delete. Lists of names to delete contain nothing else.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prunable {
    /// A segment of the index.
    Segment(ObjectHash),
    /// A pack.
    Pack(Place, PackId),
    /// A run of the state.
    Run(ObjectHash),
}

impl Prunable {
    /// Parses an object's name; none if prune may not delete the object.
    pub fn parse(name: &str) -> Option<Self> {
        let hash = |text: &str| ObjectHash::from_hex(text).ok();
        let read = match name.split_once('/')? {
            ("index", rest) => Self::Segment(hash(rest)?),
            ("state", rest) => Self::Run(hash(rest)?),
            _ => pack_of(name).map(|(place, id)| Self::Pack(place, id))?,
        };
        (read.to_string() == name).then_some(read)
    }
}

impl Serialize for Prunable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl fmt::Display for Prunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Segment(hash) => segment(*hash),
            Self::Pack(place, id) => pack(*place, *id),
            Self::Run(hash) => state(*hash),
        })
    }
}

/// The name of a descriptor.
pub fn descriptor(version: u64) -> String {
    format!("copal/{version:020}")
}

/// The names of a key slot's two copies.
pub fn slot(id: SlotId) -> [String; 2] {
    [format!("keys/{id}/a"), format!("keys/{id}/b")]
}

/// The name of a client record.
pub fn client(id: ClientId, version: u64) -> String {
    format!("clients/{id}/{version:020}")
}

/// The name of a client record's second copy.
pub fn client_copy(id: ClientId, version: u64) -> String {
    format!("clients/{id}/{version:020}{COPY}")
}

/// The version in the name of a client record or of its second copy.
pub fn client_version(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("clients/")?.split_once('/')?.1;
    number_in(rest.strip_suffix(COPY).unwrap_or(rest))
}

/// The name of a pack.
pub fn pack(place: Place, id: PackId) -> String {
    let folder = match place {
        Place::Packs => "packs",
        Place::Moved => "moved",
    };
    format!("{folder}/{:02x}/{id}", id.0[0])
}

/// The name of a manifest.
pub fn manifest(client: ClientId, number: u64) -> String {
    format!("manifests/{client}/{number:020}")
}

/// The name of a receipt.
pub fn receipt(client: ClientId, number: u64) -> String {
    format!("receipts/{client}/{number:020}")
}

/// The name of a change.
pub fn change(number: u64) -> String {
    format!("changes/{number:020}")
}

/// The name of a root, with its number as nines' complement, so that listings begin with the newest root.
pub fn root(number: u64) -> String {
    format!("roots/{:020}", NINES - u128::from(number))
}

/// The name of a deletion record of a root.
pub fn deletion(root: u64, random: &[u8; 16]) -> String {
    format!("deletions/{root:020}-{}", digits(random))
}

/// The root's number in the name of a deletion record.
pub fn deletion_root(name: &str) -> Option<u64> {
    number_in(name.strip_prefix("deletions/")?.split_once('-')?.0)
}

/// The name of an expiry.
pub fn expiry(number: u64) -> String {
    format!("expiries/{number:020}")
}

/// The name of a state run.
pub fn state(hash: ObjectHash) -> String {
    format!("state/{hash}")
}

/// The name of an index segment.
pub fn segment(hash: ObjectHash) -> String {
    format!("index/{hash}")
}

/// The name of the reader program in the repository.
pub fn reader(hash: ObjectHash) -> String {
    format!("reader/{hash}.wasm")
}

/// The name of the text that explains the reader to people; the hash is that of the text.
pub fn reader_text(hash: ObjectHash) -> String {
    format!("reader/{hash}.txt")
}

/// The hash in the name of a reader or its text.
pub fn reader_hash(name: &str) -> Option<ObjectHash> {
    let rest = name.strip_prefix("reader/")?;
    let hash = ObjectHash::from_hex(rest.strip_suffix(".wasm").or_else(|| rest.strip_suffix(".txt"))?).ok()?;
    (reader(hash) == name || reader_text(hash) == name).then_some(hash)
}

/// The number in a root's name; none if the name is not a root's.
pub fn root_number(name: &str) -> Option<u64> {
    let complement = decimal(name.strip_prefix("roots/")?)?;
    in_range(NINES.checked_sub(complement)?).filter(|number| *number > 0)
}

/// The folder and id in a pack's name.
pub fn pack_of(name: &str) -> Option<(Place, PackId)> {
    let (place, rest) = match name.split_once('/')? {
        ("packs", rest) => (Place::Packs, rest),
        ("moved", rest) => (Place::Moved, rest),
        _ => return None,
    };
    let id = PackId::from_hex(rest.split_once('/')?.1).ok()?;
    (pack(place, id) == name).then_some((place, id))
}

/// The number of 20 digits at the end of a name.
pub fn trailing_number(name: &str) -> Option<u64> {
    number_in(name.rsplit('/').next()?)
}

/// The client in the name of a client record, manifest or receipt.
pub fn client_of(name: &str) -> Option<ClientId> {
    let mut parts = name.split('/');
    match parts.next()? {
        "clients" | "manifests" | "receipts" => ClientId::from_hex(parts.next()?).ok(),
        _ => None,
    }
}

fn number_in(text: &str) -> Option<u64> {
    in_range(decimal(text)?)
}

fn in_range(number: u128) -> Option<u64> {
    u64::try_from(number).ok().filter(|number| *number <= NUMBER)
}

fn decimal(text: &str) -> Option<u128> {
    (text.len() == 20 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// The suffix of the second copy's name.
const COPY: &str = ".b";
const NINES: u128 = 99_999_999_999_999_999_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_roots_list_first() {
        assert!(root(2) < root(1) && root(10) < root(9));
        assert_eq!(root(1), "roots/99999999999999999998");
        assert_eq!(root_number(&root(NUMBER)), Some(NUMBER));
        for other in [root(0), root(NUMBER + 1), root(u64::MAX), "roots/1".to_owned()] {
            assert_eq!(root_number(&other), None, "{other}");
        }
    }

    #[test]
    fn names_of_packs_read_back() {
        let id = PackId([0xab; 32]);
        assert_eq!(pack_of(&pack(Place::Moved, id)), Some((Place::Moved, id)));
        assert_eq!(pack_of(&format!("packs/00/{id}")), None);
    }

    #[test]
    fn only_packs_segments_and_runs_are_names_to_delete() {
        let (hash, id) = (ObjectHash([0xab; 32]), PackId([0xab; 32]));
        let packs = [Place::Packs, Place::Moved].map(|place| Prunable::Pack(place, id));
        for name in [Prunable::Segment(hash), Prunable::Run(hash)].into_iter().chain(packs) {
            assert_eq!(Prunable::parse(&name.to_string()), Some(name));
            assert_eq!(Prunable::parse(&name.to_string().to_uppercase()), None, "{name}");
            assert_eq!(Prunable::parse(&name.to_string().replace("ab", "AB")), None, "{name}");
            assert_eq!(Prunable::parse(&format!("{name}/x")), None, "{name}");
            assert_eq!(Prunable::parse(&format!("./{name}")), None, "{name}");
        }
        let [slot, _] = slot(SlotId([1; 16]));
        let others = [descriptor(1), slot, client(ClientId([3; 16]), 1), manifest(ClientId([3; 16]), 1), change(1)];
        let hashed = ["receipts", "roots", "deletions", "reports", "tmp"].map(|folder| format!("{folder}/{hash}"));
        let crooked = ["", "packs", "packs/", "state/", "index/x", "keys/../state/x", "packs/ab/../../keys/x"];
        let others = others.into_iter().chain(hashed).chain(crooked.map(str::to_owned));
        for other in others.chain([root(1), expiry(1), reader(hash), format!("packs/00/{id}")]) {
            assert_eq!(Prunable::parse(&other), None, "{other}");
        }
    }

    #[test]
    fn names_of_readers_read_back() {
        let hash = ObjectHash([0xab; 32]);
        assert_eq!([reader(hash), reader_text(hash)].map(|name| reader_hash(&name)), [Some(hash); 2]);
        for other in [format!("reader/{hash}"), format!("reader/{hash}.wasm/x"), reader(hash).to_uppercase()] {
            assert_eq!(reader_hash(&other), None, "{other}");
        }
        assert_eq!(reader_hash(&format!("reader/{}.wasm", "AB".repeat(32))), None);
    }

    #[test]
    fn both_copies_of_a_client_record_read_back() {
        let id = ClientId([3; 16]);
        for name in [client(id, 42), client_copy(id, 42)] {
            assert_eq!((client_version(&name), client_of(&name)), (Some(42), Some(id)), "{name}");
        }
        assert_eq!(client_copy(id, 42), format!("clients/{id}/00000000000000000042.b"));
        assert_eq!(trailing_number(&client_copy(id, 42)), None);
        for other in
            [manifest(id, 42), client(id, 42) + ".a", client(id, 42) + ".b.b", format!("clients/{id}/x/{:020}", 1)]
        {
            assert_eq!(client_version(&other), None, "{other}");
        }
    }

    #[test]
    fn numbers_and_clients_read_back() {
        let client = ClientId([3; 16]);
        let name = manifest(client, 42);
        assert_eq!((trailing_number(&name), client_of(&name)), (Some(42), Some(client)));
        assert_eq!(deletion_root(&deletion(42, &[7; 16])), Some(42));
    }

    #[test]
    fn a_number_beyond_the_range_is_not_read_from_any_name() {
        let id = ClientId([3; 16]);
        for number in [NUMBER + 1, u64::MAX] {
            assert_eq!(trailing_number(&change(number)), None);
            assert_eq!(client_version(&client_copy(id, number)), None);
            assert_eq!(deletion_root(&deletion(number, &[7; 16])), None);
        }
    }
}
