//! Lost: finds the lost copies of a domain by folding the runs of its overlay, whose bytes may come in pieces. Keeps
//! only marks of lost copies in memory.

use std::collections::BTreeMap;

use super::overlay::{Bits, Copied, Mark, RECORD, read_mark};
use crate::id::DomainId;
use crate::state::OverlayRecord;
use crate::state::run::{HEAD, Head, RunKind};
use crate::wire::DecodeError;

/// The lost copies, according to the runs folded in so far.
#[derive(Clone, Debug, Default)]
pub struct LostCopies(BTreeMap<Copied, Mark>);

impl LostCopies {
    /// Begins to fold in a run of this record. Runs come oldest first.
    pub fn begin<'l>(&'l mut self, domain: DomainId, record: &'l OverlayRecord) -> RunFold<'l> {
        RunFold { lost: &mut self.0, domain, record, rest: Vec::new(), at: 0, records: 0, last: None }
    }

    /// The lost copies, ascending, with their marks.
    pub fn finish(self) -> Vec<(Copied, Mark)> {
        self.0.into_iter().collect()
    }
}

/// A run being folded in.
#[derive(Debug)]
pub struct RunFold<'l> {
    lost: &'l mut BTreeMap<Copied, Mark>,
    domain: DomainId,
    record: &'l OverlayRecord,
    /// The incomplete header or record at the end of the bytes so far.
    rest: Vec<u8>,
    /// The offset of `rest`.
    at: usize,
    records: u64,
    last: Option<Copied>,
}

impl RunFold<'_> {
    /// Takes the next bytes, in pieces of any length.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), DecodeError> {
        while !piece.is_empty() {
            let width = if self.at == 0 { HEAD } else { RECORD };
            if self.rest.is_empty() && self.at > 0 && piece.len() >= width {
                let (records, left) = piece.split_at(piece.len() / width * width);
                records.chunks_exact(width).try_for_each(|record| self.take(record))?;
                piece = left;
                continue;
            }
            let (missing, left) = piece.split_at(piece.len().min(width - self.rest.len()));
            self.rest.extend_from_slice(missing);
            piece = left;
            if self.rest.len() == width {
                let whole = core::mem::take(&mut self.rest);
                self.take(&whole)?;
            }
        }
        Ok(())
    }

    /// Ends the run; fails if it is incomplete.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() && self.at > 0 && self.records == self.record.records {
            return Ok(());
        }
        Err(DecodeError::new(self.at + self.rest.len(), "a run has other records than the state has of it"))
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        if self.at == 0 {
            self.take_head(bytes)?
        } else {
            self.take_record(bytes)?
        }
        self.at += bytes.len();
        Ok(())
    }

    fn take_head(&self, bytes: &[u8]) -> Result<(), DecodeError> {
        let head = Head::parse(bytes)?;
        if head.kind != RunKind::Overlay {
            return Err(DecodeError::new(8, "a run of the state instead of one of the overlay"));
        }
        if head.domain != self.domain {
            return Err(DecodeError::new(16, "a run of another domain than the state says"));
        }
        let is_known = head.records == self.record.records;
        is_known.then_some(()).ok_or(DecodeError::new(48, "a run's numbers are not those that the state has of it"))
    }

    fn take_record(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let error = |what| DecodeError::new(self.at, what);
        let (copy, mark) = read_mark(bytes).ok_or_else(|| error("a mark has bits this program does not know"))?;
        if self.last.is_some_and(|last| last >= copy) {
            return Err(error("a run's keys do not ascend"));
        }
        self.last = Some(copy);
        self.records += 1;
        // A newer run overrides older ones.
        match mark.bits.contains(Bits::LOST) {
            true => drop(self.lost.insert(copy, mark)),
            false => drop(self.lost.remove(&copy)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::{ChunkId, PackTag};
    use crate::index::overlay::tests::{DOMAIN, marks};
    use crate::index::{Overlay, OverlayRun, write_overlay};
    use crate::state::Run;
    use crate::time::Time;

    fn record(run: &Run) -> OverlayRecord {
        OverlayRecord { root: 1, length: run.reference.length, records: run.reference.records }
    }

    fn fold(runs: &[Run], piece: usize) -> Result<Vec<(Copied, Mark)>, DecodeError> {
        let mut lost = LostCopies::default();
        for run in runs {
            let record = record(run);
            let mut fold = lost.begin(DOMAIN, &record);
            run.bytes.chunks(piece).try_for_each(|piece| fold.push(piece))?;
            fold.finish()?;
        }
        Ok(lost.finish())
    }

    proptest! {
        #[test]
        fn what_is_lost_is_what_the_overlay_says_however_its_bytes_come(
            deltas in prop::collection::vec(marks(), 0..5), piece in 1usize..200,
        ) {
            let runs: Vec<Run> = deltas.iter().map(|marks| write_overlay(DOMAIN, [1; 16], marks)).collect();
            let newest_first = runs.iter().rev().map(|run| OverlayRun::parse(run.bytes.clone()).unwrap());
            let overlay = Overlay::new(newest_first.collect());
            let expected = overlay.marks().filter(|(_, mark)| mark.bits.contains(Bits::LOST));
            prop_assert_eq!(fold(&runs, piece).unwrap(), expected.collect::<Vec<_>>());
        }

        #[test]
        fn a_damaged_run_is_folded_or_refused_without_panic(
            marks in marks(), at: prop::sample::Index, value: u8, cut in 0usize..60, piece in 1usize..200,
        ) {
            let mut run = write_overlay(DOMAIN, [1; 16], &marks);
            let at = at.index(run.bytes.len());
            run.bytes[at] = value;
            run.bytes.truncate(run.bytes.len().saturating_sub(cut));
            let _ = fold(&[run], piece);
        }
    }

    #[test]
    fn a_run_of_another_domain_kind_number_or_order_is_refused() {
        let copy = |id| (ChunkId([id; 24]), PackTag::NONE);
        let mark = Mark { bits: Bits::LOST, time: Time(5) };
        let run = write_overlay(DOMAIN, [1; 16], &[(copy(1), mark), (copy(2), mark)].into());
        assert!(fold(std::slice::from_ref(&run), 100).is_ok());
        for (at, value) in [(8, 4), (16, 5), (48, 3), (HEAD + 40, 12), (HEAD + 47, 1), (HEAD, 3), (HEAD + RECORD, 0)] {
            let mut other = run.clone();
            other.bytes[at] = value;
            assert!(fold(&[other], 100).is_err(), "byte {at}");
        }
        for length in [0, 10, HEAD, HEAD + RECORD, run.bytes.len() - 1] {
            let mut other = run.clone();
            other.bytes.truncate(length);
            assert!(fold(&[other], 100).is_err(), "{length} bytes");
        }
    }
}
