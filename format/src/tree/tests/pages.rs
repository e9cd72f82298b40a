//! Pages: bytes that read back, or are refused.

use proptest::prelude::*;

use super::super::*;
use super::kit::*;
use crate::limits::CHUNK_BYTES;

/// The one page of a few entries.
fn page_of(entries: &[Entry]) -> Page {
    let mut builder = TreeBuilder::new(TreeParams::new(1 << 30, 2, 512 << 10, 512 << 10).unwrap(), keys());
    entries.iter().for_each(|entry| builder.push(entry).unwrap());
    let [page] = builder.finish().unwrap().pages.try_into().unwrap();
    page
}

fn decode_page(page: &Page) -> Result<PageContent, PageError> {
    decode(page.height, &page.references, &page.plaintext)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn entries_of_every_oddity_read_back(entries in any_entries(40)) {
        let page = page_of(&entries);
        prop_assert_eq!(decode_page(&page), Ok(PageContent::Entries(entries)));
    }

    #[test]
    fn altered_pages_give_a_value_or_an_error(
        entries in any_entries(12),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        height in 0..4u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut page = page_of(&entries);
        for (at, byte) in changes {
            let at = at.index(page.plaintext.len());
            page.plaintext[at] = byte;
            if let Ok(PageContent::Entries(entries)) = decode_page(&page) {
                // What was accepted keeps all promises: a builder takes it.
                prop_assert_eq!(decode_page(&page_of(&entries)), Ok(PageContent::Entries(entries)));
            }
        }
        let _ = decode(height, &page.references, &page.plaintext);
        page.plaintext.truncate(cut.index(page.plaintext.len()));
        let _ = decode_page(&page);
    }
}

#[test]
fn any_flipped_bit_changes_the_id() {
    let page = page_of(&files(3));
    for bit in 0..page.plaintext.len() * 8 {
        let mut plaintext = page.plaintext.clone();
        plaintext[bit / 8] ^= 1 << (bit % 8);
        let verified = VerifiedPage::open(&keys(), page.id, page.height, &page.references, &plaintext);
        assert_eq!(verified, Err(PageError::Id { id: page.id }), "bit {bit}");
    }
}

#[test]
fn a_reference_is_in_the_clear_once_and_by_position_inside() {
    let twice = |text| file(text, Content::Chunks(vec![Piece { id: chunk(1), length: 5 }; 3]));
    let page = page_of(&[twice("a"), twice("b")]);
    assert_eq!(page.references, [chunk(1)]);
    assert_eq!(decode_page(&page), Ok(PageContent::Entries(vec![twice("a"), twice("b")])));
}

#[test]
fn references_that_are_missing_or_not_used_are_refused() {
    let page = page_of(&files(3));
    let fewer = &page.references[..2];
    assert!(matches!(decode(1, fewer, &page.plaintext), Err(PageError::Column { column: 12, .. })));
    let more = [page.references.clone(), vec![chunk(99)]].concat();
    assert_eq!(decode(1, &more, &page.plaintext), Err(PageError::UnusedReferences { used: 3, given: 4 }));
}

#[test]
fn a_page_is_higher_than_the_lists_of_its_files() {
    let list = |height| file("a", Content::List { root: chunk(1), height });
    let page = page_of(&[list(3)]);
    assert_eq!(page.height, 4);
    assert!(decode_page(&page).is_ok());
    for height in [0, 1, 3, 5, 32] {
        assert_eq!(decode(height, &page.references, &page.plaintext), Err(PageError::Height(height)));
    }
}

#[test]
fn entries_that_contradict_themselves_are_refused() {
    let sound = file("a", Content::Inline(vec![1, 2, 3].into()));
    let pieces = |length, count| Content::Chunks(vec![Piece { id: chunk(1), length }; count]);
    let directory = || Entry { mode: Mode::new(EntryKind::Directory, 0), ..file("a", Content::None) };
    let extras = |extras| Entry { extras, ..sound.clone() };
    let cases = [
        (Entry { size: 4, ..sound.clone() }, BadEntry::Size),
        (file("a", Content::Inline(vec![].into())), BadEntry::Size),
        (file("a", pieces(0, 1)), BadEntry::Pieces),
        (file("a", pieces(CHUNK_BYTES + 1, 1)), BadEntry::Pieces),
        (file("a", pieces(1, LIST_AFTER + 1)), BadEntry::Pieces),
        (file("a", Content::List { root: chunk(1), height: 31 }), BadEntry::ListHeight(31)),
        (Entry { size: 1, ..directory() }, BadEntry::NotAFile),
        (Entry { mode: Mode::new(EntryKind::Symlink, 0), ..file("a", Content::None) }, BadEntry::LinkTarget),
        (Entry { mode: Mode::new(EntryKind::BlockDevice, 0), ..file("a", Content::None) }, BadEntry::Device),
        (Entry { extras: Extras { hardlink: Some(1), ..Extras::default() }, ..directory() }, BadEntry::Hardlink),
        (extras(Extras { device: Some((1, 1)), ..Extras::default() }), BadEntry::Device),
        (extras(Extras { holes: vec![0..1, 2..9], ..Extras::default() }), BadEntry::Holes),
        (extras(Extras { holes: vec![1..2, 0..1], ..Extras::default() }), BadEntry::Holes),
        (extras(Extras { xattrs: vec![(vec![2], vec![]), (vec![1], vec![])], ..Extras::default() }), BadEntry::Xattrs),
    ];
    for (entry, why) in cases {
        let refused = TreeBuilder::new(small_pages(), keys()).push(&entry);
        assert_eq!(refused, Err(BuildError::Entry { path: path("a"), source: why }));
    }
}

#[test]
fn a_page_whose_entry_contradicts_itself_is_refused_and_names_it() {
    let mut page = page_of(&[file("name", Content::Chunks(vec![Piece { id: chunk(1), length: 9 }]))]);
    let length = page.plaintext.iter().rposition(|&byte| byte == 9).unwrap();
    page.plaintext[length] = 8;
    assert_eq!(decode_page(&page), Err(PageError::Entry { path: path("name"), source: BadEntry::Size }));
}

#[test]
fn modes_keep_every_bit_and_unknown_types_are_refused() {
    assert_eq!(Mode::from_bits(0o106_755).map(Mode::bits), Some(0o106_755));
    for unknown in [0, 0o644, 0o170_000, 0o110_000, 0o1_100_644] {
        assert_eq!(Mode::from_bits(unknown), None, "{unknown:o}");
    }
}
