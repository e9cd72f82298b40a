//! Entries: verifies that an index has all its earlier entries, all entries of packs accepted since, and no others.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::id::{DomainId, ObjectHash, PackId};
use copal_format::index::{Entry, Segment, SegmentWriter};
use copal_format::layout;
use copal_format::pack::PackTable;
use copal_format::state::PackRecord;
use copal_store::StoreError;
use sha2::{Digest, Sha256};

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::view::View;

/// Compares the segments of a state with those of the baseline. Returns whether packs that were known have entries
/// again. The inner error says what does not follow. Reads the segments that only one of the two names, and the tables
/// of new packs.
pub(super) async fn compare(
    job: &JobContext<'_>,
    before: &View,
    view: &View,
) -> Result<Result<bool, String>, JobError> {
    let changed = before.state.segments.keys().chain(view.state.segments.keys());
    let changed =
        changed.filter(|key| before.state.segments.contains_key(key) != view.state.segments.contains_key(key));
    let new = view.state.packs.iter().filter(|(id, _)| !before.state.packs.contains_key(id));
    let domains: BTreeSet<DomainId> =
        changed.map(|(domain, _)| *domain).chain(new.map(|(_, record)| record.domain)).collect();
    let calls = domains.into_iter().map(|domain| {
        let comparison = Comparison { job, before, view, domain, key: job.random() };
        async move { comparison.run().await }
    });
    let compared: Result<Vec<bool>, String> = objects::join_few(FEW, calls).await?.into_iter().collect();
    Ok(compared.map(|again| again.contains(&true)))
}

struct Comparison<'a> {
    job: &'a JobContext<'a>,
    before: &'a View,
    view: &'a View,
    domain: DomainId,
    /// The key of the checksums of entries.
    key: [u8; 16],
}

impl Comparison<'_> {
    async fn run(&self) -> Result<Result<bool, String>, JobError> {
        let (old, new) = (self.named(self.before), self.named(self.view));
        let gone = self.read(old.difference(&new)).await?;
        let fresh = self.read(new.difference(&old)).await?;
        if let Some(pack) = self.first_lost(&gone, &fresh, old.intersection(&new)).await? {
            return Ok(Err(format!("the index has lost entries of pack {pack}")));
        }
        let (mut added, mut again): (BTreeMap<PackId, Sum>, BTreeMap<PackId, Vec<Entry>>) = Default::default();
        for (at, segment) in fresh.iter().enumerate() {
            for entry in segment.entries().filter(|entry| !holds(&gone, entry) && !holds(&fresh[..at], entry)) {
                let pack = entry.location.pack;
                match self.before.state.packs.contains_key(&pack) {
                    true => again.entry(pack).or_default().push(entry),
                    false => added.entry(pack).or_default().add(&self.key, &entry),
                }
            }
        }
        // Packs that were named again, because some of their entries had been removed.
        for (pack, entries) in &again {
            if !self.agrees(pack, &|of| entries.iter().all(|entry| holds(std::slice::from_ref(of), entry))).await? {
                return Ok(Err(format!("the index has entries that pack {pack} does not hold")));
            }
        }
        let is_new = |(id, _): &(&PackId, &PackRecord)| !self.before.state.packs.contains_key(id);
        for (pack, _) in self.view.packs_of(self.domain).filter(is_new) {
            let found = added.remove(pack).unwrap_or_default();
            let is_all = |of: &Segment<Bytes>| {
                let mut sum = Sum::default();
                of.entries().for_each(|entry| sum.add(&self.key, &entry));
                sum == found
            };
            if !self.agrees(pack, &is_all).await? {
                return Ok(Err(format!("the index does not have what pack {pack} holds")));
            }
        }
        Ok(match added.keys().next() {
            Some(pack) => Err(format!("the index has entries of pack {pack}, of which nothing is known")),
            None => Ok(!again.is_empty()),
        })
    }

    fn named(&self, view: &View) -> BTreeSet<ObjectHash> {
        view.state.segments_of(self.domain).map(|(hash, _)| hash).collect()
    }

    async fn read<'s>(&self, names: impl Iterator<Item = &'s ObjectHash>) -> Result<Vec<Segment<Bytes>>, JobError> {
        let calls = names.copied().map(|hash| {
            let name = layout::segment(hash);
            async move {
                let gone = || JobError::StateLost { evidence: format!("{name} is gone") };
                let bytes = objects::map_hashed(self.job.store, &name, hash).await?.ok_or_else(gone)?;
                Segment::parse(bytes).map_err(|error| JobError::damaged(&name, error))
            }
        });
        objects::join_few(FEW, calls).await
    }

    /// The pack of an entry that the index had and has lost; none without such an entry.
    async fn first_lost<'s>(
        &self,
        gone: &[Segment<Bytes>],
        fresh: &[Segment<Bytes>],
        stayed: impl Iterator<Item = &'s ObjectHash>,
    ) -> Result<Option<PackId>, JobError> {
        let lost = || gone.iter().flat_map(Segment::entries).filter(|entry| !holds(fresh, entry));
        if lost().next().is_none() {
            return Ok(None);
        }
        // Two segments may have held the entry, and only one of them was merged with others.
        let stayed = self.read(stayed).await?;
        Ok(lost().find(|entry| !holds(&stayed, entry)).map(|entry| entry.location.pack))
    }

    /// Whether a pack's own table, as a segment, passes a test. A missing or damaged pack passes, because there is
    /// nothing to compare with and no copy in it counts.
    async fn agrees(&self, pack: &PackId, test: &(dyn Fn(&Segment<Bytes>) -> bool + Sync)) -> Result<bool, JobError> {
        let record = &self.view.state.packs[pack];
        let store = self.job.store;
        for is_hashed in [false, true] {
            let read = match is_hashed {
                false => objects::read_table(store, record.place, *pack, record.length).await,
                true => objects::read_table_hashed(store, record.place, *pack, record.length).await,
            };
            let table = match read {
                Err(JobError::Store(StoreError::NotFound { .. })) => return Ok(true),
                Err(JobError::Damaged { .. }) if is_hashed => return Ok(true),
                Err(JobError::Damaged { .. }) => continue,
                // A check has already found that the pack is at fault, not the store.
                Err(error) if record.is_damaged => return error.blame().map(|_| true),
                Err(error) => return Err(error),
                Ok(table) => table,
            };
            if self.segment_of(pack, record, &table)?.is_some_and(|segment| test(&segment)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn segment_of(
        &self,
        pack: &PackId,
        record: &PackRecord,
        table: &PackTable,
    ) -> Result<Option<Segment<Bytes>>, JobError> {
        if (table.domain, table.kind) != (record.domain, record.kind) {
            return Ok(None);
        }
        let mut writer = SegmentWriter::new(self.domain, self.key);
        writer.add_pack(*pack, record.place, table)?;
        Ok(writer.finish().and_then(|new| Segment::parse(Bytes::from(new.bytes)).ok()))
    }
}

fn holds(segments: &[Segment<Bytes>], entry: &Entry) -> bool {
    segments.iter().any(|segment| segment.find(&entry.id).any(|found| found == entry.location))
}

/// A keyed checksum of entries that does not depend on their order. Without the key nobody can find other entries with
/// the same sum.
#[derive(Default, PartialEq, Eq)]
struct Sum(u128);

impl Sum {
    fn add(&mut self, key: &[u8; 16], entry: &Entry) {
        let at = &entry.location;
        let mut hasher = Sha256::new();
        hasher.update(key);
        hasher.update(entry.id.as_bytes());
        hasher.update([at.place as u8, at.height, u8::from(at.is_page)]);
        hasher.update(at.pack_length.to_le_bytes());
        for number in [at.table_length, at.offset, at.length, at.items, u32::from(at.ordinal)] {
            hasher.update(number.to_le_bytes());
        }
        let hash: [u8; 32] = hasher.finalize().into();
        self.0 = self.0.wrapping_add(u128::from_le_bytes(*hash.first_chunk().expect("a hash has 32 bytes")));
    }
}

/// Segments read at the same time.
const FEW: usize = 4;
