use super::*;
use copal_format::keys::domain::DomainKey;

const REPOSITORY: RepositoryId = RepositoryId([1; 16]);

fn key() -> Secret {
    Secret::new([2; 32])
}

fn snapshot(number: u8) -> KeptSnapshot {
    KeptSnapshot { id: Some(SnapshotId([number; 16])), root: id(number.into()), begun: Time(-5), bytes: 77 }
}

fn id(number: u32) -> ChunkId {
    let mut bytes = [0; ChunkId::LEN];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    ChunkId(bytes)
}

fn page(number: u32, references: Vec<ChunkId>, length: usize) -> Page {
    Page { id: id(number), height: 1, references, plaintext: vec![number as u8; length], replaces: None }
}

fn writer() -> KeptWriter {
    KeptWriter::begin(&key(), REPOSITORY, [3; 16])
}

fn open(bytes: &[u8]) -> Option<KeptTree<Vec<u8>>> {
    KeptTree::open(&key(), REPOSITORY, bytes.to_vec())
}

/// Two trees in one file: pages 1 and 2, then page 3 too.
fn file() -> (Vec<u8>, usize) {
    let mut writer = writer();
    writer.add(&[page(1, vec![id(9)], 300_000), page(2, vec![], 10)]).unwrap();
    writer.end(snapshot(1)).unwrap();
    let mut file = writer.take().unwrap();
    let first = file.len();
    writer.add(&[page(3, vec![], 10), page(1, vec![], 5)]).unwrap();
    writer.end(snapshot(2)).unwrap();
    file.extend(writer.take().unwrap());
    assert_eq!(writer.take(), None);
    (file, first)
}

#[test]
fn pages_are_found_again_as_they_were_first_added() {
    let mut tree = open(&file().0).unwrap();
    assert_eq!(tree.snapshot, snapshot(2));
    assert_eq!(tree.stored(&id(1)).unwrap(), joined(&page(1, vec![id(9)], 300_000)));
    assert_eq!(tree.stored(&id(3)).unwrap(), joined(&page(3, vec![], 10)));
    assert_eq!(tree.stored(&id(4)), None);
}

#[test]
fn a_file_that_was_cut_is_its_last_whole_tree() {
    let (file, first) = file();
    for end in 0..file.len() {
        let found = open(&file[..end]).map(|tree| tree.snapshot);
        assert_eq!(found, (end >= first).then(|| snapshot(1)), "{end} of {}", file.len());
    }
}

#[test]
fn an_altered_byte_costs_pages_or_the_tree_and_changes_none() {
    let (file, _) = file();
    let expected = [page(1, vec![id(9)], 300_000), page(2, vec![], 10), page(3, vec![], 10)];
    for at in 0..file.len() {
        let mut altered = file.clone();
        altered[at] ^= 1;
        let Some(mut tree) = open(&altered) else { continue };
        assert!([snapshot(1), snapshot(2)].contains(&tree.snapshot));
        for page in &expected {
            assert!(tree.stored(&page.id).is_none_or(|found| found == joined(page)), "byte {at}");
        }
    }
}

#[test]
fn who_has_another_key_opens_nothing() {
    let (file, _) = file();
    assert!(KeptTree::open(&Secret::new([9; 32]), REPOSITORY, file.clone()).is_none());
    assert!(KeptTree::open(&key(), RepositoryId([9; 16]), file).is_none());
}

#[test]
fn a_page_that_is_not_what_its_id_says_is_not_given() {
    let keys = DomainKeys::new(&DomainKey::from_secret(Secret::new([4; 32])));
    let mut tree = open(&file().0).unwrap();
    assert!(tree.stored(&id(2)).is_some() && tree.page(&keys, &id(2)).is_none());
}

#[test]
fn lists_of_an_unchanged_file_are_copied_and_its_chunks_are_not() {
    let mut before = writer();
    before.add(&[page(1, vec![id(2), id(9)], 10), page(2, vec![id(8)], 10), page(3, vec![], 10)]).unwrap();
    before.end(snapshot(1)).unwrap();
    let mut before = open(&before.take().unwrap()).unwrap();
    let mut next = KeptWriter::begin(&key(), REPOSITORY, [4; 16]);
    let content = Content::List { root: id(1), height: 2 };
    next.take_over(&content, |id| before.stored(id).map(<[u8]>::to_vec)).unwrap();
    next.end(KeptSnapshot { id: None, ..snapshot(2) }).unwrap();
    let mut next = open(&next.take().unwrap()).unwrap();
    assert_eq!(next.snapshot.id, None);
    assert_eq!([1, 2, 3, 8, 9].map(|number| next.stored(&id(number)).is_some()), [true, true, false, false, false]);
}

#[test]
fn a_head_may_be_longer_than_a_block() {
    const PAGES: u32 = 2 * (HEAD_BYTES / (ChunkId::LEN + 8)) as u32;
    let mut writer = writer();
    writer.add(&(0..PAGES).map(|number| page(number, vec![], 1)).collect::<Vec<_>>()).unwrap();
    writer.end(snapshot(1)).unwrap();
    let file = writer.take().unwrap();
    let mut tree = open(&file).unwrap();
    assert_eq!((tree.pages.len() as u32, tree.records.blocks.len() > 3), (PAGES, true));
    assert!(tree.stored(&id(PAGES - 1)).is_some());
    assert!(open(&file[..file.len() - 1]).is_none());
}
