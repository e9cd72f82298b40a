//! Overlay: marks on copies, made after their segments were written: flagged, wanted or lost.

use core::iter::Peekable;
use core::ops::{BitOr, BitOrAssign};
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::search::Records;
use crate::id::{ChunkId, DomainId, PackTag};
use crate::state::run::{HEAD, Head, Run, RunKind, put_head};
use crate::time::Time;
use crate::wire::DecodeError;

/// The marks of a copy; most copies have none.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bits(u32);

impl Bits {
    /// No mark: the copy can be used.
    pub const NONE: Bits = Bits(0);
    /// Unreferenced: no kept snapshot needs the copy. Clients do not deduplicate against it, and prune may remove it.
    pub const FLAGGED: Bits = Bits(1);
    /// A client that has the plaintext should upload it again.
    pub const WANTED: Bits = Bits(2);
    /// Its bytes are gone.
    pub const LOST: Bits = Bits(4);

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: Bits) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether no bit is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// These bits without those of `other`.
    pub fn without(self, other: Bits) -> Bits {
        Bits(self.0 & !other.0)
    }
}

impl Serialize for Bits {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let named = [(Bits::FLAGGED, "flagged"), (Bits::WANTED, "wanted"), (Bits::LOST, "lost")];
        to.collect_seq(named.into_iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, name)| name))
    }
}

impl BitOr for Bits {
    type Output = Bits;
    fn bitor(self, other: Bits) -> Bits {
        Bits(self.0 | other.0)
    }
}

impl BitOrAssign for Bits {
    fn bitor_assign(&mut self, other: Bits) {
        self.0 |= other.0;
    }
}

/// The bits of a copy, and when it was flagged.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Mark {
    /// Its bits. A mark without bits hides an older mark.
    pub bits: Bits,
    /// When it was flagged, on the store's clock.
    pub time: Time,
}

/// The copy that a mark is about: its id and its pack, or [`PackTag::NONE`] for an id without a copy.
pub type Copied = (ChunkId, PackTag);

/// A sorted run of marks of one domain, over borrowed, mapped or owned bytes.
#[derive(Clone, Debug)]
pub struct OverlayRun<B> {
    bytes: B,
    domain: DomainId,
}

impl<B: AsRef<[u8]>> OverlayRun<B> {
    /// Checks the header and the length. Takes constant time.
    pub fn parse(bytes: B) -> Result<Self, DecodeError> {
        let all = bytes.as_ref();
        let head = Head::parse(all)?;
        if head.kind != RunKind::Overlay {
            return Err(DecodeError::new(8, "a run of the state instead of one of the overlay"));
        }
        if head.records.checked_mul(RECORD as u64) != Some((all.len() - HEAD) as u64) {
            return Err(DecodeError::new(all.len(), "a run's length does not fit its number of records"));
        }
        Ok(Self { domain: head.domain, bytes })
    }

    /// Checks everything else that the format requires of the run.
    pub fn verify(&self) -> Result<(), DecodeError> {
        let mut before: Option<&[u8]> = None;
        for (at, record) in self.bytes.as_ref()[HEAD..].chunks_exact(RECORD).enumerate() {
            let error = |what| DecodeError::new(HEAD + at * RECORD, what);
            if before.is_some_and(|before| before[..KEY] >= record[..KEY]) {
                return Err(error("a run's keys do not ascend"));
            }
            if read(record).is_some_and(|(_, mark)| !ALL.contains(mark.bits)) || record[44..] != [0; 4] {
                return Err(error("a mark has bits this program does not know"));
            }
            before = Some(record);
        }
        Ok(())
    }

    /// The domain of all marks.
    pub fn domain(&self) -> DomainId {
        self.domain
    }

    /// The number of marks, including empty ones.
    pub fn len(&self) -> usize {
        self.records().len()
    }

    /// Whether the run has no marks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The run's mark of a copy; none if the run does not mention the copy.
    pub fn find(&self, id: &ChunkId, pack: PackTag) -> Option<Mark> {
        let mut key = [0; KEY];
        key[..ChunkId::LEN].copy_from_slice(id.as_bytes());
        key[ChunkId::LEN..].copy_from_slice(&pack.0);
        let record = self.records().get(self.records().lower_bound(&key, 0))?;
        read(record).filter(|_| record[..KEY] == key).map(|(_, mark)| mark)
    }

    /// All marks of an id, including empty ones.
    pub fn of(&self, id: &ChunkId) -> impl Iterator<Item = (PackTag, Mark)> + '_ {
        let (id, first) = (*id, self.records().lower_bound(id.as_bytes(), 0));
        let records = (first..).map_while(|at| read(self.records().get(at)?));
        records.take_while(move |((of, _), _)| *of == id).map(|((_, pack), mark)| (pack, mark))
    }

    /// All marks in order, including empty ones.
    pub fn iter(&self) -> impl Iterator<Item = (Copied, Mark)> + '_ {
        self.bytes.as_ref()[HEAD..].chunks_exact(RECORD).filter_map(read)
    }

    fn records(&self) -> Records<'_> {
        Records::new(&self.bytes.as_ref()[HEAD..], RECORD)
    }
}

/// Writes a run of marks; an empty mark hides an older one.
pub fn write_overlay(domain: DomainId, random: [u8; 16], marks: &BTreeMap<Copied, Mark>) -> Run {
    let mut bytes = Vec::with_capacity(HEAD + marks.len() * RECORD);
    put_head(&mut bytes, RunKind::Overlay, domain, random, marks.len() as u64);
    marks.iter().for_each(|(copy, mark)| bytes.extend_from_slice(&record_of(*copy, *mark)));
    Run::seal(RunKind::Overlay, marks.len() as u64, bytes)
}

/// The marks of one domain, from a stack of runs.
#[derive(Clone, Debug)]
pub struct Overlay<B> {
    runs: Vec<OverlayRun<B>>,
}

impl<B> Default for Overlay<B> {
    fn default() -> Self {
        Self { runs: Vec::new() }
    }
}

impl<B: AsRef<[u8]>> Overlay<B> {
    /// Makes an overlay of these runs, newest first.
    pub fn new(runs: Vec<OverlayRun<B>>) -> Self {
        Self { runs }
    }

    /// The runs, newest first.
    pub fn runs(&self) -> &[OverlayRun<B>] {
        &self.runs
    }

    /// The mark of a copy. With [`PackTag::NONE`], the mark of an id without a copy.
    pub fn mark(&self, id: &ChunkId, pack: PackTag) -> Mark {
        self.runs.iter().find_map(|run| run.find(id, pack)).unwrap_or_default()
    }

    /// The bits of a copy's mark.
    pub fn bits(&self, id: &ChunkId, pack: PackTag) -> Bits {
        self.mark(id, pack).bits
    }

    /// All current marks that are not empty, in order.
    pub fn marks(&self) -> impl Iterator<Item = (Copied, Mark)> + '_ {
        let mut sources: Vec<_> = self.runs.iter().map(|run| run.iter().peekable()).collect();
        core::iter::from_fn(move || next_newest(&mut sources)).filter(|(_, mark)| !mark.bits.is_empty())
    }
}

/// The next copy that any run mentions, with the mark of the newest such run.
pub(super) fn next_newest<I: Iterator<Item = (Copied, Mark)>>(runs: &mut [Peekable<I>]) -> Option<(Copied, Mark)> {
    let copy = runs.iter_mut().filter_map(|run| Some(run.peek()?.0)).min()?;
    let mut newest = None;
    for run in runs {
        while let Some((_, mark)) = run.next_if(|next| next.0 == copy) {
            newest = newest.or(Some(mark));
        }
    }
    Some((copy, newest?))
}

pub(super) fn record_of((id, pack): Copied, mark: Mark) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..ChunkId::LEN].copy_from_slice(id.as_bytes());
    record[ChunkId::LEN..KEY].copy_from_slice(&pack.0);
    record[KEY..40].copy_from_slice(&mark.time.0.to_le_bytes());
    record[40..44].copy_from_slice(&mark.bits.0.to_le_bytes());
    record
}

/// Decodes a mark; none if it has bits that this program does not know.
pub(super) fn read_mark(record: &[u8]) -> Option<(Copied, Mark)> {
    let is_known = record.get(44..RECORD) == Some(&[0; 4]);
    read(record).filter(|(_, mark)| is_known && ALL.contains(mark.bits))
}

pub(super) fn read(record: &[u8]) -> Option<(Copied, Mark)> {
    let record = record.first_chunk::<RECORD>()?;
    let id = ChunkId::from_slice(&record[..ChunkId::LEN])?;
    let pack = PackTag(record[ChunkId::LEN..KEY].try_into().ok()?);
    let time = Time(i64::from_le_bytes(record[KEY..40].try_into().ok()?));
    let bits = Bits(u32::from_le_bytes(record[40..44].try_into().ok()?));
    Some(((id, pack), Mark { bits, time }))
}

const ALL: Bits = Bits(7);
/// The lengths of a record and of its key, in bytes.
pub(super) const RECORD: usize = 48;
const KEY: usize = 32;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in crate::index) const DOMAIN: DomainId = DomainId([4; 16]);

    pub(in crate::index) type Marks = BTreeMap<Copied, Mark>;

    pub(in crate::index) fn marks() -> impl Strategy<Value = Marks> {
        let copy = (0u8..12, 0u8..3).prop_map(|(id, pack)| (ChunkId([id * 20; 24]), PackTag([pack; 8])));
        let mark = (0u32..8, any::<i64>()).prop_map(|(bits, time)| Mark { bits: Bits(bits), time: Time(time) });
        prop::collection::btree_map(copy, mark, 0..20)
    }

    fn stack(deltas: &[Marks]) -> Vec<OverlayRun<Vec<u8>>> {
        let run = |delta| OverlayRun::parse(write_overlay(DOMAIN, [1; 16], delta).bytes).unwrap();
        deltas.iter().rev().map(run).collect()
    }

    pub(in crate::index) fn model(deltas: &[Marks]) -> Marks {
        let mut model = Marks::new();
        deltas.iter().for_each(|delta| model.extend(delta));
        model.retain(|_, mark| !mark.bits.is_empty());
        model
    }

    proptest! {
        #[test]
        fn a_stack_of_runs_answers_as_a_map_would(deltas in prop::collection::vec(marks(), 0..5)) {
            let overlay = Overlay::new(stack(&deltas));
            let model = model(&deltas);
            for id in 0..12 {
                for pack in 0..3 {
                    let copy = (ChunkId([id * 20; 24]), PackTag([pack; 8]));
                    let expected = model.get(&copy).map_or(Bits::NONE, |mark| mark.bits);
                    prop_assert_eq!(overlay.bits(&copy.0, copy.1), expected);
                }
            }
            prop_assert_eq!(overlay.marks().collect::<Marks>(), model);
        }
    }

    #[test]
    fn bits_this_program_does_not_know_and_disorder_are_refused() {
        let copy = |id| (ChunkId([id; 24]), PackTag::NONE);
        let mark = Mark { bits: Bits::LOST | Bits::WANTED, time: Time(5) };
        let bytes = write_overlay(DOMAIN, [1; 16], &[(copy(1), mark), (copy(2), mark)].into()).bytes;
        let verify = |bytes: &[u8]| OverlayRun::parse(bytes.to_vec()).and_then(|run| run.verify());
        assert_eq!(verify(&bytes), Ok(()));
        for (at, value) in [(HEAD + 40, 8), (HEAD + 47, 1), (HEAD, 3), (HEAD + RECORD, 0)] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            assert!(verify(&bytes).is_err(), "byte {at}");
        }
    }
}
