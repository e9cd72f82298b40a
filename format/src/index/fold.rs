//! Fold: collects new marks of a domain and merges them with older runs, in scratch storage of the host, because there
//! may be a mark for every entry of the index.

use super::overlay::{Copied, Mark, OverlayRun, RECORD, next_newest, read, record_of};
use crate::id::{ChunkId, DomainId, ObjectHash, PackTag};
use crate::room::{List, Room, Row, Scratch};
use crate::state::run::{HEAD, Older, RunKind, RunRef, put_head};

/// New marks of one domain.
pub struct NewMarks<'a> {
    scratch: &'a dyn Scratch,
    rows: List<NewMark>,
    last: Option<Copied>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct NewMark(Copied, Mark);

impl Row for NewMark {
    const LEN: usize = RECORD;

    fn read(bytes: &[u8]) -> Self {
        let (copy, mark) = read(bytes).unwrap_or(((ChunkId([0; ChunkId::LEN]), PackTag::NONE), Mark::default()));
        Self(copy, mark)
    }

    fn write(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&record_of(self.0, self.1));
    }
}

impl<'a> NewMarks<'a> {
    /// Starts without marks.
    pub fn new(scratch: &'a dyn Scratch) -> Self {
        Self { scratch, rows: List::default(), last: None }
    }

    /// Adds a mark; an empty mark hides an older one.
    ///
    /// # Panics
    /// If the copy does not come after the previous one.
    pub fn push(&mut self, copy: Copied, mark: Mark) {
        assert!(self.last.is_none_or(|last| last < copy), "marks ascend by what they are about");
        self.last = Some(copy);
        self.rows.push(self.scratch, NewMark(copy, mark));
    }

    /// The number of marks.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no marks.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All marks, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Copied, Mark)> + '_ {
        self.rows.iter().map(|NewMark(copy, mark)| (copy, mark))
    }

    /// Merges these marks and older runs, newest first, into one run; none if no mark is left. Drops empty marks if no
    /// older run is left for them to hide.
    ///
    /// # Panics
    /// If a run is of another domain.
    pub fn fold<B: AsRef<[u8]>>(
        &self,
        domain: DomainId,
        random: [u8; 16],
        runs: &[OverlayRun<B>],
        older: Older,
    ) -> Option<FoldedRun> {
        assert!(runs.iter().all(|run| run.domain() == domain), "overlays of different domains are never merged");
        let most = self.len() + runs.iter().map(OverlayRun::len).sum::<usize>();
        let mut room = self.scratch.room(HEAD + most * RECORD);
        let mut records = room.bytes_mut()[HEAD..].chunks_exact_mut(RECORD);
        let mut sources: Vec<_> = vec![(Box::new(self.iter()) as Box<dyn Iterator<Item = _>>).peekable()];
        sources.extend(runs.iter().map(|run| (Box::new(run.iter()) as Box<dyn Iterator<Item = _>>).peekable()));
        let mut count = 0;
        while let Some((copy, mark)) = next_newest(&mut sources) {
            if older == Older::Runs || !mark.bits.is_empty() {
                records.next()?.copy_from_slice(&record_of(copy, mark));
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let mut head = Vec::with_capacity(HEAD);
        put_head(&mut head, RunKind::Overlay, domain, random, count);
        room.bytes_mut()[..HEAD].copy_from_slice(&head);
        let length = HEAD + count as usize * RECORD;
        let hash = ObjectHash::of(&room.as_ref()[..length]);
        let reference = RunRef { kind: RunKind::Overlay, hash, length: length as u64, records: count };
        Some(FoldedRun { reference, room })
    }
}

/// A newly merged run. Its object is at the start of `room`, as long as `reference` says.
#[derive(Debug)]
pub struct FoldedRun {
    /// The name and size of the run.
    pub reference: RunRef,
    /// The storage that holds it.
    pub room: Room,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::overlay::tests::{DOMAIN, Marks, marks, model};
    use crate::index::{Overlay, write_overlay};
    use crate::room::Memory;
    use proptest::prelude::*;

    fn fold(new: &Marks, runs: &[OverlayRun<Vec<u8>>], older: Older) -> Option<Vec<u8>> {
        let mut marks = NewMarks::new(&Memory);
        new.iter().for_each(|(copy, mark)| marks.push(*copy, *mark));
        let run = marks.fold(DOMAIN, [2; 16], runs, older)?;
        let bytes = run.room.as_ref()[..run.reference.length as usize].to_vec();
        assert_eq!(ObjectHash::of(&bytes), run.reference.hash);
        Some(bytes)
    }

    fn parse(bytes: Vec<u8>) -> OverlayRun<Vec<u8>> {
        let run = OverlayRun::parse(bytes).unwrap();
        run.verify().unwrap();
        run
    }

    proptest! {
        #[test]
        fn new_marks_with_the_newest_runs_say_what_all_runs_said(
            new in marks(),
            deltas in prop::collection::vec(marks(), 0..5),
            split: prop::sample::Index,
        ) {
            let run = |delta| parse(write_overlay(DOMAIN, [1; 16], delta).bytes);
            let runs: Vec<_> = deltas.iter().rev().map(run).collect();
            let expected = model(&deltas.iter().chain([&new]).cloned().collect::<Vec<_>>());

            let (newer, rest) = runs.split_at(split.index(runs.len() + 1));
            let older = if rest.is_empty() { Older::Nothing } else { Older::Runs };
            let folded = fold(&new, newer, older).map(parse);
            let stack = Overlay::new(folded.into_iter().chain(rest.iter().cloned()).collect());
            prop_assert_eq!(stack.marks().collect::<Marks>(), expected.clone());

            let all = fold(&new, &runs, Older::Nothing).map(parse);
            let all: Marks = all.iter().flat_map(|run| run.iter()).collect();
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn marks_alone_become_the_run_that_is_written_of_them(new in marks()) {
            let expected = write_overlay(DOMAIN, [2; 16], &new).bytes;
            prop_assert_eq!(fold(&new, &[], Older::Runs), Some(expected).filter(|_| !new.is_empty()));
        }
    }
}
