//! The engine as the page restores with it: the order of its calls is that of `web-demo/src/core/restore/`.

use core::ops::Range;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, EntryKind};
use copal_tests::restores::{Restores, same};
use copal_wasm::look::{Library, Piece, Tree};
use copal_wasm::owner::Owner;
use copal_wasm::view::Read;

use super::Place;
use crate::shelf::{self, Objects};

/// Restores everything, and parts of each file as a preview does.
pub(crate) fn restore(place: &Place, restores: &mut Restores) {
    let library = library(place);
    let snapshots = library.snapshots();
    let newest = snapshots.iter().max_by_key(|snapshot| snapshot.record.accepted).expect("there are two");
    let tree = library.tree(newest.id).expect("it can be read");
    let folder = place.path("page");
    fs::create_dir(&folder).expect("a directory of ours");

    let (entries, files) = run(place, &library, &tree, TreePath::TOP, 0..u64::MAX);
    let mut paths = BTreeMap::new();
    for (number, entry) in &entries {
        let name = String::from_utf8(entry.path.name().to_vec()).expect("names of ours");
        assert_content(&name, entry);
        let file = fs::File::create_new(folder.join(&name)).expect("a new file");
        file.set_len(entry.size).expect("room for a hole");
        for piece in &files[number] {
            file.write_all_at(&piece.bytes, piece.offset).expect("room for a piece");
        }
        paths.insert(name, entry.path.clone());
    }
    restores.compare("engine of the page", &place.source(), &folder);
    for name in restores.names() {
        let given = some_bytes(place, &library, &tree, &paths[&name], &place.source().join(&name));
        restores.note("engine of the page, parts", &name, given);
    }
    assert!(same(&folder.join("inline"), &folder.join("empty")).is_err(), "the comparison tells files apart");
}

/// Fails if a file's content does not lie where its name says: then a cell would test nothing.
fn assert_content(name: &str, entry: &Entry) {
    let kind = match (&entry.content, entry.content_bytes()) {
        (Content::None, 0) => "nothing",
        // What is inline comes as pieces.
        (Content::None | Content::Inline(_), _) => "inline",
        (Content::Chunks(_), _) => "chunked",
        (Content::List { .. }, _) => "listed",
    };
    let expected = match name {
        "empty" | "only a hole" => "nothing",
        name if name.starts_with("sparse") => "inline",
        name => name.split([',', ' ']).next().expect("a first word"),
    };
    assert_eq!(kind, expected, "{name}");
    let is_sparse = name.contains("hole") || name.starts_with("sparse");
    assert_eq!(!entry.extras.holes.is_empty(), is_sparse, "{name}: {:?}", entry.extras.holes);
}

/// Whether parts are the file's: from its beginning and from its middle, which end before, in and behind its first hole.
fn some_bytes(place: &Place, library: &Library, tree: &Tree, path: &TreePath, saved: &Path) -> Result<(), String> {
    for part in PARTS {
        let (entries, files) = run(place, library, tree, path.clone(), part.clone());
        let (number, entry) = entries.first_key_value().ok_or("nothing is restored")?;
        let part = part.start.min(entry.size)..part.end.min(entry.size);
        let mut found = vec![0; (part.end - part.start) as usize];
        for piece in &files[number] {
            // What is inline comes whole.
            let piece_end = piece.offset + piece.bytes.len() as u64;
            let given = piece.offset.max(part.start)..piece_end.min(part.end);
            if given.start < given.end {
                let of = |range: Range<u64>, start: u64| (range.start - start) as usize..(range.end - start) as usize;
                found[of(given.clone(), part.start)].copy_from_slice(&piece.bytes[of(given, piece.offset)]);
            }
        }
        let mut expected = vec![0; found.len()];
        let file = fs::File::open(saved).map_err(|error| error.to_string())?;
        file.read_exact_at(&mut expected, part.start).map_err(|error| error.to_string())?;
        if found != expected {
            return Err(format!("bytes {part:?} differ"));
        }
    }
    Ok(())
}

const PARTS: [Range<u64>; 9] =
    [0..1, 0..5, 0..4096, 0..70_000, 0..1_100_000, 3..5, 3..70_000, 65_000..1_100_001, 1_000_000..u64::MAX];

type Files = (BTreeMap<u32, Entry>, BTreeMap<u32, Vec<Piece>>);

/// Regular files, by their numbers, and the pieces of each.
fn run(place: &Place, library: &Library, tree: &Tree, path: TreePath, part: Range<u64>) -> Files {
    let mut restore = tree.restore(vec![path], part);
    let (mut entries, mut files): Files = Default::default();
    let mut ended = 0;
    loop {
        let window = restore.advance().expect("the order is right");
        window.needs.iter().for_each(|read| library.supply(read, stored(place, read)));
        assert_eq!(window.damaged, []);
        for started in window.entries {
            files.insert(started.file, Vec::new());
            if started.entry.kind() == EntryKind::File {
                entries.insert(started.file, started.entry);
            }
        }
        let mut pieces = window.pieces;
        for (at, (read, _)) in window.reads.iter().enumerate() {
            pieces.extend(restore.take(at, stored(place, read).as_deref()).expect("it was asked for"));
        }
        pieces.into_iter().for_each(|piece| files.get_mut(&piece.file).expect("it began").push(piece));
        ended += window.ends.len();
        if window.is_done {
            assert_eq!(ended, files.len(), "each file ends");
            return (entries, files);
        }
    }
}

fn library(place: &Place) -> Library {
    let roots = fs::read_dir(place.path("repository/roots")).expect("it is there");
    let root = roots.map(|entry| entry.expect("a name").file_name().into_string().expect("text")).min();
    let root = root.map(|number| format!("roots/{number}"));
    let objects: Objects<'_> = &|name| whole(place, name);
    let view = shelf::view(objects, root.as_deref(), place.kit.shared);
    let library = shelf::library(objects, &Owner::of(place.kit.owner.clone()), view);
    assert_eq!(library.problems(), []);
    library
}

fn stored(place: &Place, read: &Read) -> Option<Vec<u8>> {
    shelf::part(&|name| whole(place, name), read)
}

fn whole(place: &Place, name: &str) -> Option<Vec<u8>> {
    fs::read(place.path("repository").join(name)).ok()
}
