use std::sync::Mutex;

use bytes::Bytes;
use copal_format::id::{PackId, RepositoryId};
use copal_format::index::{Location, NewSegment, SegmentWriter};
use copal_format::layout::{self, Place};
use copal_format::pack::{BlockRow, PackKind, PackTable};
use copal_format::room::Memory;
use copal_store::memory::MemoryStore;
use copal_store::{Created, Key, Store, StoreError};
use futures::executor::block_on;

use super::*;
use crate::commit::Proposal;
use crate::context::Entropy;
use crate::objects;

const DOMAIN: DomainId = DomainId([4; 16]);

/// Counts, so that every name is made once.
#[derive(Default)]
struct Counter(Mutex<u64>);

impl Entropy for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        let mut count = self.0.lock().unwrap();
        *count += 1;
        bytes.fill(0);
        bytes[..8].copy_from_slice(&count.to_le_bytes());
    }
}

#[derive(Default)]
struct Repository {
    store: MemoryStore,
    entropy: Counter,
}

impl Repository {
    fn job(&self) -> JobContext<'_> {
        let (repository, owner_key) = (RepositoryId([1; 16]), [0; 32]);
        JobContext { store: &self.store, entropy: &self.entropy, scratch: &Memory, repository, owner_key }
    }

    fn view(&self) -> View {
        block_on(view::read(&self.store)).unwrap()
    }

    /// Commits a segment of one pack that holds these ids.
    fn add(&self, pack: u8, ids: &[u64]) {
        block_on(self.add_meanwhile(pack, ids));
    }

    async fn add_meanwhile(&self, pack: u8, ids: &[u64]) {
        let mut writer = SegmentWriter::new(DOMAIN, self.job().random());
        writer.add_pack(PackId([pack; 32]), Place::Packs, &table(ids)).unwrap();
        let NewSegment { hash, record, bytes } = writer.finish().unwrap();
        let mut proposal = Proposal { segments: vec![(hash, bytes)], ..Proposal::default() };
        proposal.delta.segments.insert((DOMAIN, hash), Some(record));
        let view = view::read(&self.store).await.unwrap();
        assert!(commit(&self.job(), &view, proposal).await.unwrap().is_some());
    }

    fn compact(&self, cover: usize, entries: u64) -> Report {
        block_on(compact_within(
            &self.job(),
            &Limits { cover, entries, grown: entries.div_ceil(2) },
            &Budget::unlimited(),
        ))
        .unwrap()
    }

    fn copies(&self, ids: impl IntoIterator<Item = u64>) -> Vec<Vec<Location>> {
        let view = self.view();
        let index = view.index(DOMAIN).unwrap();
        let sorted = |id| {
            let mut copies: Vec<Location> = index.copies(&chunk(id)).map(|(location, _)| location).collect();
            copies.sort();
            copies
        };
        ids.into_iter().map(sorted).collect()
    }
}

/// Ids spread over their range, as keyed digests are.
fn chunk(id: u64) -> ChunkId {
    let mut bytes = [0; ChunkId::LEN];
    bytes[..8].copy_from_slice(&id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes[16..].copy_from_slice(&id.to_be_bytes());
    ChunkId(bytes)
}

fn table(ids: &[u64]) -> PackTable {
    let block = BlockRow { offset: 100, length: 50, session: 0, counter: 0, entries: 0..ids.len() as u32 };
    PackTable {
        kind: PackKind::Data,
        domain: DOMAIN,
        sessions: vec![b"session".to_vec()],
        blocks: vec![block],
        ids: ids.iter().map(|id| chunk(*id)).collect(),
        pages: Default::default(),
    }
}

fn numbers(range: core::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

#[test]
fn segments_of_like_size_become_one_that_finds_the_same() {
    let repository = Repository::default();
    (0..4).for_each(|pack| repository.add(pack, &numbers(u64::from(pack) * 50..u64::from(pack) * 50 + 100)));
    let before = repository.copies(0..260);
    let report = repository.compact(12, 1 << 25);
    assert_eq!(report, Report { segments_before: 4, segments_after: 1, root: 5, is_unfinished: false });
    assert_eq!(repository.copies(0..260), before);
}

#[test]
fn superseded_segments_are_doomed_and_nothing_else() {
    let repository = Repository::default();
    (0..3).for_each(|pack| repository.add(pack, &[u64::from(pack)]));
    let old: Vec<String> = repository.view().state.segments.keys().map(|(_, hash)| layout::segment(*hash)).collect();
    repository.compact(12, 1 << 25);
    let doomed: Vec<String> = repository.view().state.doomed.keys().map(ToString::to_string).collect();
    assert_eq!(doomed, old);
    let objects = block_on(objects::list(&repository.store, "index/")).unwrap();
    assert_eq!(objects.len(), 4, "prune deletes, compact does not");
}

#[test]
fn nothing_worth_merging_writes_no_root() {
    let repository = Repository::default();
    repository.add(1, &numbers(0..10));
    repository.add(2, &numbers(10..40));
    let report = repository.compact(12, 1 << 25);
    assert_eq!(report, Report { segments_before: 2, segments_after: 2, root: 2, is_unfinished: false });
    repository.add(3, &numbers(50..60));
    assert_eq!(repository.compact(12, 1 << 25).segments_after, 2, "10 and 10, but not 30");
    assert_eq!(repository.compact(12, 1 << 25).root, 4, "once merged, they stay");
}

#[test]
fn no_more_segments_cover_an_id_than_allowed() {
    let repository = Repository::default();
    (0..8).for_each(|size| repository.add(size, &numbers(0..3_u64.pow(u32::from(size)))));
    assert_eq!(repository.compact(4, 1 << 25).segments_after, 4);
    let view = repository.view();
    let largest = view.segments_by_size(DOMAIN).iter().map(|(_, segment)| segment.len()).collect::<Vec<_>>();
    assert_eq!(largest, [1 + 3 + 9 + 27 + 81, 243, 729, 2187], "the smallest are merged");
}

#[test]
fn what_does_not_fit_one_segment_is_split_by_id() {
    let repository = Repository::default();
    (0..5).for_each(|pack| repository.add(pack, &numbers(u64::from(pack) * 100..u64::from(pack) * 100 + 120)));
    let before = repository.copies(0..600);
    let report = repository.compact(1, 256);
    let view = repository.view();
    let limits = Limits { cover: 1, entries: 256, grown: 128 };
    let chains = chains(&view, DOMAIN, &limits);
    assert_eq!((chains.len(), chains[0].parts.len() as u64), (1, report.segments_after), "they follow each other");
    assert!((3..=4).contains(&report.segments_after), "{report:?}");
    assert!(chains[0].parts.iter().all(|(_, record)| record.entries <= 256));
    assert_eq!(repository.copies(0..600), before);
    assert_eq!(repository.compact(1, 256).root, report.root, "full segments are not copied again");
}

#[test]
fn segments_that_follow_each_other_grow_as_one() {
    let repository = Repository::default();
    let add =
        |pack: u8, count: u64| repository.add(pack, &numbers(u64::from(pack) * 1000..u64::from(pack) * 1000 + count));
    let limits = Limits { cover: 12, entries: 200, grown: 1 << 24 };
    let compact = || block_on(compact_within(&repository.job(), &limits, &Budget::unlimited())).unwrap();
    (0..2).for_each(|pack| add(pack, 500));
    let split = compact().segments_after;
    assert!(split >= 5, "{split}");
    (2..4).for_each(|pack| add(pack, 100));
    compact();
    let sizes = |repository: &Repository| -> Vec<u64> {
        chains(&repository.view(), DOMAIN, &limits).iter().map(|chain| chain.entries).collect()
    };
    assert_eq!(sizes(&repository), [200, 1000], "the small segments of a large chain are not copied with small ones");
    (4..6).for_each(|pack| add(pack, 200));
    add(6, 400);
    let before = repository.copies(0..7000);
    compact();
    assert_eq!(sizes(&repository), [2000], "the chain is no larger than all that is smaller");
    assert_eq!(repository.copies(0..7000), before);
}

#[test]
fn more_copies_of_an_id_than_are_merged_at_once_are_merged_all_the_same() {
    let repository = Repository::default();
    (0..3).for_each(|pack| repository.add(pack, &[&[7; 100][..], &numbers(0..20)].concat()));
    let before = repository.copies(0..20);
    assert_eq!(before[7].len(), 303);
    let report = repository.compact(1, 16);
    assert!(report.segments_after > 3);
    assert_eq!(repository.copies(0..20), before);
}

#[test]
fn a_damaged_segment_is_found_before_anything_is_written() {
    let repository = Repository::default();
    (0..2).for_each(|pack| repository.add(pack, &numbers(u64::from(pack) * 500..u64::from(pack) * 500 + 500)));
    let names = || block_on(objects::list(&repository.store, "index/")).unwrap();
    let before = names();
    repository.store.corrupt(&before[1].key, |bytes| *bytes.last_mut().unwrap() ^= 1).unwrap();
    for entries in [100, 10_000] {
        let limits = Limits { cover: 1, entries, grown: 1 << 24 };
        let refused = block_on(compact_within(&repository.job(), &limits, &Budget::unlimited()));
        assert!(matches!(refused, Err(JobError::Damaged { object, .. }) if object == before[1].key.as_str()));
        assert_eq!(names().len(), 2);
    }
}

#[test]
fn a_damaged_segment_is_not_merged() {
    let repository = Repository::default();
    repository.add(1, &numbers(0..10));
    repository.add(2, &numbers(10..20));
    let name = repository.view().state.segments.keys().next().map(|(_, hash)| layout::segment(*hash)).unwrap();
    repository.store.corrupt(&objects::key(&*name), |bytes| *bytes.last_mut().unwrap() ^= 1).unwrap();
    let refused = block_on(compact(&repository.job()));
    assert!(matches!(refused, Err(JobError::Damaged { object, .. }) if object == name));
    assert_eq!(repository.view().number(), 2);
}

#[test]
fn whoever_loses_the_race_decides_again_on_the_new_root() {
    let repository = Repository::default();
    (0..3).for_each(|pack| repository.add(pack, &[u64::from(pack)]));
    let overtaken = Overtaken { repository: &repository, store: &repository.store, is_due: Mutex::new(true) };
    let job = JobContext { store: &overtaken, ..repository.job() };
    let report = block_on(compact(&job)).unwrap();
    // What was merged is merged: the other writer has only added a segment.
    assert_eq!(report, Report { segments_before: 3, segments_after: 2, root: 5, is_unfinished: false });
    assert_eq!(block_on(objects::list(&repository.store, "index/")).unwrap().len(), 5);
    assert!(repository.copies([0, 1, 2, 77]).iter().all(|copies| copies.len() == 1));
}

/// Another writer commits just before the first root is created.
struct Overtaken<'a> {
    repository: &'a Repository,
    store: &'a MemoryStore,
    is_due: Mutex<bool>,
}

#[async_trait::async_trait]
impl Store for Overtaken<'_> {
    copal_store::pass_on!(store: read, read_range, stat, list, delete, now);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let is_due = key.as_str().starts_with("roots/") && std::mem::take(&mut *self.is_due.lock().unwrap());
        if is_due {
            self.repository.add_meanwhile(9, &[77]).await;
        }
        self.store.create(key, bytes).await
    }
}

#[test]
fn segments_stay_below_what_the_store_takes() {
    let repository = Repository { store: MemoryStore::bounded(8_000), ..Repository::default() };
    (0..8).for_each(|pack| repository.add(pack, &numbers(u64::from(pack) * 100..u64::from(pack) * 100 + 30)));
    let before = repository.copies(0..800);
    let report = block_on(compact(&repository.job())).unwrap();
    assert!(report.segments_after > 1 && report.segments_after < report.segments_before, "{report:?}");
    assert_eq!(repository.copies(0..800), before);
}
