//! Trees: holes and content of files, reads of blocks, lists, paths.

use copal_engine::restore::window::{Target, Window};
use copal_format::id::{ChunkId, PackId};
use copal_format::index::Location;
use copal_format::layout::Place;
use copal_format::path::TreePath;
use copal_format::tree::{self, Content, Entry, EntryKind, Extras, Mode};

use crate::{Numbers, assume, bytes};

/// A file with any hole, of which [`Entry::check`] accepts only some.
fn file([start, end, size, ..]: &Numbers) -> Entry {
    let hole = *start..*end;
    Entry {
        size: *size,
        content: Content::List { root: ChunkId([1; 24]), height: 1 },
        extras: Extras { holes: vec![hole], ..Extras::default() },
        ..Entry::new(TreePath::TOP, Mode::new(EntryKind::File, 0))
    }
}

/// A hole of an accepted file lies in it, and leaves as much content as the file says.
pub(crate) fn holes_lie_in_files(numbers: &Numbers) {
    let file = file(numbers);
    let (hole, content) = (&file.extras.holes[0], file.content_bytes());
    if file.check().is_ok() {
        assert!(hole.start < hole.end && hole.end <= file.size && content == file.size - (hole.end - hole.start));
    }
}

/// Reads cover every wanted block, and exceed the limit of a request only for a single block.
pub(crate) fn windows_cover_blocks([one, two, gap, most, ..]: &Numbers) {
    let block = |number: u64| (number as u32, (number >> 32) as u32);
    let mut window = Window::default();
    for (offset, length) in [block(*one), block(*two)] {
        let (pack, id) = (PackId([1; 32]), ChunkId([1; 24]));
        let (place, is_page) = (Place::Packs, false);
        let at = Location {
            pack,
            place,
            pack_length: 0,
            table_length: 0,
            offset,
            length,
            items: 1,
            ordinal: 0,
            height: 0,
            is_page,
        };
        window.add(id, &at, Target { file: 0, offset: 0, length });
    }
    let reads = window.into_reads(*gap, *most);
    for read in &reads {
        let longest = read.blocks.iter().map(|block| block.length.into()).max();
        assert!(read.range.end - read.range.start <= longest.unwrap_or(0).max(*most));
        for block in &read.blocks {
            let start = u64::from(block.offset);
            assert!(read.range.start <= start && start + u64::from(block.length) <= read.range.end);
        }
    }
    let (one, two) = (block(*one), block(*two));
    assert!(reads.iter().map(|read| read.blocks.len()).sum::<usize>() == if one.0 == two.0 { 1 } else { 2 });
}

/// A list of lists is accepted only if the lengths of its children have a sum: after the second largest number, only 1.
pub(crate) fn lists_add_up([length, ..]: &Numbers) {
    let mut plaintext = vec![1, 3, 2, 2, 0, 0, 12, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    plaintext.extend_from_slice(&length.to_le_bytes()[..2]);
    let references = [ChunkId([1; 24]), ChunkId([2; 24])];
    assert!(tree::decode(2, &references, &plaintext).is_err(), "two bytes are never the shortest form of 1");
    plaintext[6] = 11;
    plaintext.pop();
    assert!(tree::decode(2, &references, &plaintext).is_ok() == (*length as u8 == 1));
}

/// An accepted path names an entry below the top directory: no name is empty, `.` or `..`, or holds a zero.
pub(crate) fn paths_name_entries(numbers: &Numbers) {
    let bytes: [u8; 4] = bytes(numbers);
    let Ok(path) = TreePath::new(bytes) else { return };
    assert!(!bytes.contains(&0) && bytes[0] != b'/' && bytes[3] != b'/');
    assert!(!bytes.windows(2).any(|two| two == b"//"));
    assert!(!bytes.starts_with(b"../") && !bytes.ends_with(b"/.."));
    let parent = path.parent().expect("it is not the top directory");
    assert!(path.is_within(&parent) && path.is_directly_in(&parent));
    assert!(parent.join(path.name()) == Ok(path));
}

/// The order of paths is total: equal only to itself, and the reverse the other way round.
pub(crate) fn path_order(numbers: &Numbers) {
    let bytes: [u8; 18] = bytes(numbers);
    assume(!bytes.contains(&0));
    let (one, two) = bytes.split_at(9);
    let order = TreePath::compare(one, two);
    assert!(order == TreePath::compare(two, one).reverse() && order.is_eq() == (one == two));
    let shared = TreePath::shared(one, two);
    assert!(one[..shared] == two[..shared] && (shared == 9 || one[shared] != two[shared]));
}

/// A mode that is read is written as the same bits.
pub(crate) fn modes_read_back([bits, ..]: &Numbers) {
    let Some(mode) = Mode::from_bits(*bits as u32) else { return };
    assert!(mode.bits() == *bits as u32 && Mode::new(mode.kind(), mode.permissions()) == mode);
}
