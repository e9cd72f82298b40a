//! Replay: one domain's part of a decision, kept so that it can be written for a newer root as well. It names entries
//! and not segments, because others merge segments meanwhile.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId, PackTag};
use copal_format::index::{Bits, Copied, NewMarks, NewSegment, Overlay, OverlayRun, Segment, merge};
use copal_format::layout::{self, Prunable};
use copal_format::pack::PackKind;
use copal_format::state::{Older, OverlayRecord, PackRecord, RunRef, SegmentRecord};
use copal_format::time::Time;

use super::leaving::Leaving;
use crate::commit::{Proposal, put, write_marks};
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects;
use crate::view::{View, overlay_run};

/// One domain's part of a decision.
pub(super) struct Replay<'s> {
    pub(super) domain: DomainId,
    /// Entries that leave the index.
    pub(super) leaving: Leaving,
    /// Packs of which no entry stays.
    pub(super) dead: BTreeSet<PackId>,
    /// The marks that change.
    pub(super) marks: NewMarks<'s>,
    /// The overlay on which this was decided.
    pub(super) overlay: Overlay<Bytes>,
    /// The entries of new packs, as a segment.
    pub(super) fresh: Option<NewSegment>,
    /// Segments that were written, with what they replace.
    pub(super) written: Vec<Written>,
    /// For each segment that is newer than the decision: the entries that stay.
    added: BTreeMap<ObjectHash, Segment<Bytes>>,
    /// For each tree pack that is newer than the decision: the ids that its pages refer to and that this decision ends.
    looked: BTreeMap<PackId, Vec<ChunkId>>,
    /// The time of the flags that this sets.
    flagged: Time,
    /// The marks as a run of their own.
    run: Option<OwnRun>,
}

/// The marks of a replay as a run of their own.
struct OwnRun {
    /// The time of its flags.
    flagged: Time,
    /// The marks that it leaves out.
    without: BTreeSet<Copied>,
    /// None if it leaves out all.
    reference: Option<RunRef>,
}

/// A segment that takes the place of others.
pub(super) struct Written {
    /// The replaced segments.
    pub(super) inputs: Vec<ObjectHash>,
    /// The new segment; none if no entry stays.
    pub(super) output: Option<(ObjectHash, SegmentRecord)>,
    /// Whether it also holds the entries of new packs.
    pub(super) has_fresh: bool,
}

impl<'s> Replay<'s> {
    /// A part that was decided at time `now`.
    pub(super) fn new(
        domain: DomainId,
        now: Time,
        leaving: Leaving,
        marks: NewMarks<'s>,
        overlay: Overlay<Bytes>,
    ) -> Self {
        let (dead, fresh, written) = Default::default();
        let (added, looked, run) = Default::default();
        Self { domain, leaving, dead, marks, overlay, fresh, written, added, looked, flagged: now, run }
    }

    /// Whether this changes neither entries nor marks.
    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.written.is_empty()
    }

    /// Adds this to a proposal for the root after the one on which it was decided. Writes the marks together with
    /// smaller runs. False if one of these runs is gone.
    pub(super) async fn add_to(
        &self,
        job: &JobContext<'_>,
        view: &View,
        now: Time,
        proposal: &mut Proposal,
    ) -> Result<bool, JobError> {
        self.name_segments(view, now, proposal);
        let root = (view.next_number(), self.domain);
        write_marks(job, &view.state, root, &self.marks, &mut proposal.delta).await
    }

    /// Makes this fit a newer state. `roots` are the root pages that only the newer state needs. False if the newer
    /// state contradicts the decision, which then has to be made again.
    pub(super) async fn fit(
        &mut self,
        job: &JobContext<'_>,
        (base, newer): (&View, &View),
        roots: Vec<ChunkId>,
        now: Time,
    ) -> Result<bool, JobError> {
        Ok(self.rewrite(job, (base, newer)).await?
            && self.keeps_new(job, (base, newer), roots).await?
            && self.write_marks(job, (base, newer), now).await?)
    }

    /// Adds this to a proposal for the root after the newer state that it fits.
    pub(super) fn add_to_newer(&self, newer: &View, now: Time, proposal: &mut Proposal) {
        self.name_segments(newer, now, proposal);
        if let Some(OwnRun { reference: Some(run), .. }) = &self.run {
            let record = OverlayRecord { root: newer.next_number(), length: run.length, records: run.records };
            proposal.delta.overlays.insert((self.domain, run.hash), Some(record));
        }
    }

    fn name_segments(&self, view: &View, now: Time, proposal: &mut Proposal) {
        for written in &self.written {
            for hash in &written.inputs {
                proposal.delta.segments.insert((self.domain, *hash), None);
                proposal.doom(view, Prunable::Segment(*hash), now);
            }
            if let Some((hash, record)) = &written.output {
                proposal.delta.segments.insert((self.domain, *hash), Some(record.clone()));
            }
        }
    }

    fn segments<'a>(&self, view: &'a View) -> impl Iterator<Item = ObjectHash> + 'a {
        view.state.segments_of(self.domain).map(|(hash, _)| hash)
    }

    /// Removes the leaving entries from the segments that others wrote or merged meanwhile. False if one of these is
    /// gone, or holds an entry of a dead pack.
    async fn rewrite(&mut self, job: &JobContext<'_>, (base, newer): (&View, &View)) -> Result<bool, JobError> {
        let named: BTreeSet<ObjectHash> = self.segments(newer).collect();
        let before: BTreeSet<ObjectHash> = self.segments(base).collect();
        let mut open: BTreeSet<ObjectHash> = named.difference(&before).copied().collect();
        let (kept, broken): (Vec<Written>, Vec<Written>) = std::mem::take(&mut self.written)
            .into_iter()
            .partition(|written| written.inputs.iter().all(|hash| named.contains(hash)));
        self.written = kept;
        if broken.iter().any(|written| written.has_fresh)
            && let Some(fresh) = &self.fresh
        {
            put(job.store, layout::segment(fresh.hash), fresh.bytes.clone()).await?;
            let output = Some((fresh.hash, fresh.record.clone()));
            self.written.push(Written { inputs: Vec::new(), output, has_fresh: true });
        }
        open.extend(broken.iter().flat_map(|written| &written.inputs).filter(|hash| named.contains(hash)));
        self.added.retain(|hash, _| named.contains(hash));
        if is_planted(Mistake::RebaseSkips) {
            open.clear();
        }
        let is_done = |hash: &ObjectHash| self.written.iter().any(|written| written.inputs.contains(hash));
        open.retain(|hash| !self.added.contains_key(hash) && !is_done(hash));
        for hash in open {
            let name = layout::segment(hash);
            let Some(bytes) = objects::map_hashed(job.store, &name, hash).await? else { return Ok(false) };
            let damaged = |error| JobError::damaged(&name, error);
            let mut segment = Segment::parse(bytes).map_err(damaged)?;
            if segment.entries().any(|entry| self.leaving.has(&entry)) {
                let merged = merge(self.domain, job.random(), &[&segment], |entry| !self.leaving.has(entry))?;
                let mut output = None;
                if let Some(merged) = merged {
                    let bytes = Bytes::from(merged.bytes);
                    put(job.store, layout::segment(merged.hash), bytes.clone()).await?;
                    segment = Segment::parse(bytes).map_err(damaged)?;
                    output = Some((merged.hash, merged.record));
                }
                let is_all_gone = output.is_none();
                self.written.push(Written { inputs: vec![hash], output, has_fresh: false });
                if is_all_gone {
                    continue;
                }
            }
            self.added.insert(hash, segment);
        }
        let mut packs = self.added.values().flat_map(Segment::packs);
        Ok(!packs.any(|pack| self.dead.contains(&pack.id)))
    }

    /// Whether everything stays that new pages refer to, and that new root pages need.
    async fn keeps_new(
        &mut self,
        job: &JobContext<'_>,
        (base, newer): (&View, &View),
        roots: Vec<ChunkId>,
    ) -> Result<bool, JobError> {
        if self.leaving.is_empty() || is_planted(Mistake::RebaseBlind) {
            return Ok(true);
        }
        if roots.iter().any(|id| self.leaving.ends(id) && !self.is_added(newer, id)) {
            return Ok(false);
        }
        let new = newer.state.packs.iter().filter(|(id, _)| !base.state.packs.contains_key(id));
        let trees = new.filter(|(_, of)| (of.domain, of.kind) == (self.domain, PackKind::Tree));
        let calls = trees.filter(|(id, _)| !self.looked.contains_key(id)).map(|(id, record)| {
            // A lost reference would make garbage of what is needed, so the whole pack has to have its hash.
            async move { Ok((*id, objects::read_table_hashed(job.store, record.place, *id, record.length).await)) }
        });
        for (id, table) in objects::join(calls).await? {
            let table = match table {
                Ok(table) => table,
                Err(error) => return error.blame().map(|_| false),
            };
            let references = table.pages.iter().flat_map(|page| page.references);
            let ended = references.filter(|id| self.leaving.ends(id)).copied().collect();
            self.looked.insert(id, ended);
        }
        Ok(!self.looked.values().flatten().any(|id| !self.is_added(newer, id)))
    }

    /// Whether others have added a copy of an id, in a pack that is healthy and proven.
    fn is_added(&self, newer: &View, id: &ChunkId) -> bool {
        let is_good = |pack: &PackRecord| pack.is_proven && !pack.is_missing && !pack.is_damaged;
        let mut found = self.added.values().flat_map(|segment| segment.find(id));
        found.any(|place| newer.state.packs.get(&place.pack).is_some_and(is_good))
    }

    /// Writes the marks as a run of their own. What others marked meanwhile stays as they marked it.
    async fn write_marks(
        &mut self,
        job: &JobContext<'_>,
        (base, newer): (&View, &View),
        now: Time,
    ) -> Result<bool, JobError> {
        let Some(others) = self.marked_by_others(job, (base, newer)).await? else { return Ok(false) };
        let back = self
            .marks
            .iter()
            .filter(|((id, tag), mark)| *tag == PackTag::NONE && !mark.bits.is_empty() && self.is_added(newer, id));
        let mut left_out: BTreeSet<Copied> = back.map(|(copy, _)| copy).collect();
        for (id, tag) in others {
            // A copy was lost or came back: what becomes of it has to be decided again.
            if tag != PackTag::NONE && self.leaving.holds(&id) {
                return Ok(false);
            }
            left_out.insert((id, tag));
        }
        // No flag may seem older than it is, or its copy would leave too early.
        let last = self.run.as_ref().map_or(self.flagged, |run| run.flagged);
        let flagged = if now.since(last) >= EARLY { now } else { last };
        if self.run.as_ref().is_none_or(|run| run.without != left_out || run.flagged != flagged) {
            let mut marks = NewMarks::new(job.scratch);
            for (copy, mut mark) in self.marks.iter().filter(|(copy, _)| !left_out.contains(copy)) {
                if mark.bits.contains(Bits::FLAGGED) && mark.time == self.flagged {
                    mark.time = flagged;
                }
                marks.push(copy, mark);
            }
            let nothing: [OverlayRun<Bytes>; 0] = [];
            let mut reference = None;
            if let Some(run) = marks.fold(self.domain, job.random(), &nothing, Older::Runs) {
                let bytes = Bytes::from_owner(run.room).slice(..run.reference.length as usize);
                put(job.store, layout::state(run.reference.hash), bytes).await?;
                reference = Some(run.reference);
            }
            self.run = Some(OwnRun { flagged, without: left_out, reference });
        }
        Ok(true)
    }

    /// The copies whose marks others changed meanwhile. None if a run is gone.
    async fn marked_by_others(
        &self,
        job: &JobContext<'_>,
        (base, newer): (&View, &View),
    ) -> Result<Option<BTreeSet<Copied>>, JobError> {
        let old = base.state.overlays_of(self.domain).into_iter().map(|(hash, _)| hash).zip(self.overlay.runs());
        let old: BTreeMap<ObjectHash, &OverlayRun<Bytes>> = old.collect();
        let named: Vec<ObjectHash> = newer.state.overlays_of(self.domain).into_iter().map(|(hash, _)| hash).collect();
        if old.len() == named.len() && named.iter().all(|hash| old.contains_key(hash)) {
            return Ok(Some(BTreeSet::new()));
        }
        let mut runs = Vec::new();
        for hash in &named {
            if let Some(run) = old.get(hash) {
                runs.push((*run).clone());
                continue;
            }
            let Some(run) = overlay_run(job.store, *hash).await? else { return Ok(None) };
            runs.push(run);
        }
        let gone = old.iter().filter(|(hash, _)| !named.contains(hash)).map(|(_, run)| *run);
        let new = named.iter().zip(&runs).filter(|(hash, _)| !old.contains_key(hash)).map(|(_, run)| run);
        let now = Overlay::new(runs.clone());
        let is_other = |(id, tag): &Copied| self.overlay.mark(id, *tag) != now.mark(id, *tag);
        let marked = gone.chain(new).flat_map(|run| run.iter().map(|(copy, _)| copy));
        Ok(Some(marked.filter(is_other).collect()))
    }
}

/// How much older a flag may be than the root that sets it.
const EARLY: Duration = Duration::from_secs(3600);
