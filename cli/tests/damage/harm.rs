//! Harm: what may happen to which object.

use std::fs;
use std::path::PathBuf;

use super::world::World;
use crate::kit::Machine;

/// What is harmed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thing {
    Descriptor,
    /// One of the two copies of a key slot.
    SlotCopy,
    /// Both copies.
    Slot,
    /// One of the two copies of a client record.
    RecordCopy,
    /// Both copies.
    ClientRecord,
    /// The blocks of a pack of data.
    PackData,
    /// The table at its end.
    PackTable,
    TreePack,
    /// What its table says of the references of its pages.
    TreeReferences,
    Manifest,
    Receipt,
    Change,
    Segment,
    StateRun,
    Root,
    /// The reader that the repository carries.
    Reader,
    /// This machine's keys, outside of the repository.
    ClientKeys,
}

/// What happens to it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    Delete,
    Truncate,
    Flip,
    /// It changes places with another of its kind.
    Swap,
    /// Another of its kind has its bytes too.
    Duplicate,
}

/// Each with its name in the table.
pub(crate) const THINGS: [(Thing, &str); 17] = [
    (Thing::Descriptor, "descriptor"),
    (Thing::SlotCopy, "key slot, one copy"),
    (Thing::Slot, "key slot, both copies"),
    (Thing::RecordCopy, "client record, one copy"),
    (Thing::ClientRecord, "client record, both copies"),
    (Thing::PackData, "pack, its data"),
    (Thing::PackTable, "pack, its table"),
    (Thing::TreePack, "tree pack"),
    (Thing::TreeReferences, "tree pack, references"),
    (Thing::Manifest, "manifest"),
    (Thing::Receipt, "receipt"),
    (Thing::Change, "change"),
    (Thing::Segment, "segment"),
    (Thing::StateRun, "state run"),
    (Thing::Root, "root"),
    (Thing::Reader, "reader"),
    (Thing::ClientKeys, "this machine's client keys"),
];

/// Each with its name in the table.
pub(crate) const HARMS: [(Harm, &str); 5] = [
    (Harm::Delete, "delete"),
    (Harm::Truncate, "truncate"),
    (Harm::Flip, "flip"),
    (Harm::Swap, "swap"),
    (Harm::Duplicate, "duplicate"),
];

/// What was at a place, and what is there since.
struct Change {
    path: PathBuf,
    before: Option<Vec<u8>>,
    since: Option<Vec<u8>>,
}

/// What was done, to be undone.
pub(crate) struct Done {
    changes: Vec<Change>,
    /// What names the harmed object to a person: any of these.
    pub(crate) names: Vec<String>,
}

/// Harms a thing of a machine that is a copy of the world's.
pub(crate) fn harm(world: &World, machine: &Machine, thing: Thing, harm: Harm) -> Done {
    let mut done = Done { changes: Vec::new(), names: world.names_of(thing, harm) };
    for place in world.places_of(thing) {
        let path = machine.path(place);
        let (swapped, free) = world.others_of(machine, thing, place);
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{place}: {error}"));
        let part = world.part_of(thing, &bytes);
        match harm {
            // Of a table: nothing is left of it.
            Harm::Delete if part.start > 0 => done.put(path, Some(bytes[..part.start].to_vec())),
            Harm::Delete => done.put(path, None),
            Harm::Truncate => done.put(path, Some(bytes[..part.start + (part.end - part.start) / 2].to_vec())),
            Harm::Flip => {
                let mut flipped = bytes;
                // Always the same field, however large what lies before it came out.
                let at = match thing {
                    Thing::PackTable => part.end - TRAILER - 1,
                    Thing::TreeReferences => part.start + 5,
                    Thing::Segment => ENTRIES,
                    _ => part.start + (part.end - part.start) / 2,
                };
                flipped[at] ^= 0x10;
                done.put(path, Some(flipped));
            }
            Harm::Swap => {
                let theirs = fs::read(&swapped).unwrap_or_else(|error| panic!("{swapped:?}: {error}"));
                let part_there = world.part_of(thing, &theirs);
                let (a, b) = (&bytes[part.clone()], &theirs[part_there.clone()]);
                assert_ne!(a, b, "{thing:?}: they differ");
                done.put(path, Some([&bytes[..part.start], b, &bytes[part.end..]].concat()));
                done.put(swapped, Some([&theirs[..part_there.start], a, &theirs[part_there.end..]].concat()));
            }
            Harm::Duplicate => {
                assert!(!free.exists(), "{free:?} is a free name");
                let name = free.strip_prefix(machine.path("repository")).unwrap_or(&free);
                done.names.push(name.to_str().unwrap().to_owned());
                done.put(free, Some(bytes));
            }
        }
    }
    done
}

impl Done {
    fn put(&mut self, path: PathBuf, bytes: Option<Vec<u8>>) {
        let before = fs::read(&path).ok();
        set(&path, bytes.as_deref());
        self.changes.push(Change { path, before, since: bytes });
    }

    /// Undoes the harm where nothing else was written since.
    pub(crate) fn undo(&self) {
        for Change { path, before, since } in &self.changes {
            if fs::read(path).ok() == *since {
                set(path, before.as_deref());
            }
        }
    }
}

fn set(path: &PathBuf, bytes: Option<&[u8]>) {
    let _ = fs::remove_file(path);
    if let Some(bytes) = bytes {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Bytes of the end of a pack, behind its table (`docs/format.md`).
pub(crate) const TRAILER: usize = 32;
/// Where a segment says how many entries it has.
const ENTRIES: usize = 48;
