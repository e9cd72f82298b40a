//! Claim: what is stored is flushed, named by a manifest, and answered.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use copal_engine::backup::session::FinishedTree;
use copal_engine::block::{BlockBuilder, SealTools};
use copal_engine::compress::Parameters;
use copal_engine::extent::Extent;
use copal_engine::id::{ObjectHash, PackId};
use copal_engine::limits::MANIFEST_PACKS;
use copal_engine::manifest::SnapshotClaim;
use copal_engine::pack::PackKind;
use copal_engine::receipt::Receipt;
use copal_engine::seal::BlockKind;
use copal_engine::time::Time;
use copal_service::view::{self, Parts};

use super::super::kept::KeptSnapshot;
use super::super::manifest::{MANIFEST_EVERY, refusal};
use super::super::{BackupError, Carried, Claim, Outcome};
use super::{Assembly, Known};
use crate::clock::now;
use crate::reader::index_of;
use crate::wait::{Patience, wait};

impl Assembly<'_, '_> {
    /// Writes an intermediate manifest if enough is stored, or enough time has passed: so that what an interrupted run
    /// has uploaded is not uploaded again, and no ingest has too much to do. Nobody waits for the answer here; what has
    /// come since the last time is taken.
    pub(super) fn claim_if_due(&mut self) -> Result<(), BackupError> {
        let packs = self.carried.packs.len();
        let is_due = packs >= MANIFEST_PACKS || (packs > 0 && self.listed.elapsed() >= MANIFEST_EVERY);
        if !is_due || self.attempt.options.is_dry_run {
            return Ok(());
        }
        self.claim_so_far()?;
        // All of it is noted with its claim, until that is in the index.
        self.session.forget_seen();
        let before = self.carried.accepted;
        if let Some(why) = self.settle(Patience::none())? {
            return Err(BackupError::Rejected(why));
        }
        // What is in the index need not be remembered, however long the run.
        if self.carried.accepted > before {
            let domain = self.attempt.client.domain;
            let view = wait(view::read_parts(self.attempt.access.store().as_ref(), &Parts::index_of(domain)))?;
            self.index = index_of(&view, domain);
        }
        Ok(())
    }

    /// Claims what is stored, and the tree as far as it has come as a checkpoint for the next run.
    fn claim_so_far(&mut self) -> Result<(), BackupError> {
        let known = Known::new(&self.index, self.carried);
        let open = self.open.as_ref().map(|(path, file)| (path, file));
        let tree = self.session.checkpoint(open, |id| known.has(id))?;
        self.keep_pages();
        self.flush()?;
        let checkpoint = tree.map(|tree| self.snapshot_claim(&tree, true)).transpose()?;
        self.claim(checkpoint)?;
        Ok(())
    }

    /// Claims the data that is stored, after a wish to end before all of it was: the next run need not upload it again.
    /// Pages wait: what they refer to may not be stored.
    pub(super) fn claim_stored(&mut self) -> Result<(), BackupError> {
        self.output.check()?;
        let packs = std::mem::take(&mut self.carried.packs).into_iter();
        let stored = packs.filter(|(kind, id, _)| *kind == PackKind::Data && self.output.has_stored(id));
        let stored: Vec<_> = stored.collect();
        if self.chain.is_none() || stored.is_empty() {
            return Ok(());
        }
        for packs in stored.chunks(MANIFEST_PACKS) {
            self.claim_at_once(packs.to_vec(), None)?;
        }
        self.decide()
    }

    fn decide(&mut self) -> Result<(), BackupError> {
        let Some(chain) = &mut self.chain else { return Ok(()) };
        Ok(chain.decide(&self.attempt.view, &self.own)?)
    }

    fn has_new(&self) -> bool {
        let tally = self.session.tally();
        tally.chunks_new + tally.pages_new > 0
    }

    /// Claims what is stored, in as many manifests as that takes; gives the hash of the last.
    fn claim(&mut self, snapshot: Option<SnapshotClaim>) -> Result<ObjectHash, BackupError> {
        self.session.take_listing();
        self.listed = Instant::now();
        let mut packs = std::mem::take(&mut self.carried.packs);
        // Pages refer to data: wherever the list is cut, what comes first stands by itself.
        packs.sort_by_key(|(kind, ..)| *kind);
        while packs.len() > MANIFEST_PACKS {
            let rest = packs.split_off(MANIFEST_PACKS);
            self.claim_at_once(packs, None)?;
            packs = rest;
        }
        let hash = self.claim_at_once(packs, snapshot)?;
        let last = self.carried.claims.back_mut().expect("it was just added");
        last.ids = std::mem::take(&mut self.carried.ids);
        Ok(hash)
    }

    /// Claims packs in one manifest.
    fn claim_at_once(
        &mut self,
        packs: Vec<(PackKind, PackId, u64)>,
        snapshot: Option<SnapshotClaim>,
    ) -> Result<ObjectHash, BackupError> {
        let is_final = snapshot.as_ref().is_some_and(|claim| !claim.partial);
        let bytes = packs.iter().map(|(_, _, length)| length).sum();
        let named = packs.iter().map(|(_, id, length)| (*id, *length)).collect();
        let chain = self.chain.as_mut().expect("nothing is claimed in a dry run");
        let claimed = chain.add(named, snapshot, &self.own)?;
        self.attempt.progress.add_claimed(bytes, is_final);
        self.carried.claims.push_back(Claim { claimed, packs, ids: Default::default(), is_final });
        Ok(claimed.hash)
    }

    /// Takes the answers to what was claimed, in order, as long as patience lasts; gives why one was rejected, if one
    /// was. What may be named again is carried on.
    fn settle(&mut self, mut patience: Patience) -> Result<Option<String>, BackupError> {
        self.decide()?;
        let Some(chain) = &self.chain else { return Ok(None) };
        let mut refused = None;
        while let Some(claim) = self.carried.claims.front() {
            let Some(receipt) = chain.answer(claim.claimed, &mut patience, self.attempt.interrupted)? else { break };
            patience.renew();
            let claim = self.carried.claims.pop_front().expect("it was just looked at");
            match refusal(&receipt)? {
                None => {
                    self.carried.accepted += 1;
                    if claim.is_final {
                        self.outcome.snapshot = Some(claim.claimed.hash.snapshot());
                        self.outcome.accepted_by = Some(receipt.by);
                    }
                }
                Some(why) => {
                    carry(self.carried, claim, &receipt);
                    refused.get_or_insert(why);
                }
            }
        }
        Ok(refused)
    }

    /// Waits for the answers to all that was claimed, as long as the options say.
    fn wait_for_all(&mut self) -> Result<Option<String>, BackupError> {
        let Some(most) = self.attempt.options.wait.or(self.attempt.access.decides().then_some(ONCE)) else {
            return Ok(None);
        };
        if !self.attempt.access.decides() {
            self.attempt.progress.now_at(b"(waiting for the service to verify it)");
        }
        let refused = self.settle(Patience::of(most))?;
        match self.carried.claims.front() {
            _ if refused.is_some() => Ok(refused),
            Some(claim) => Err(BackupError::Unanswered { number: claim.claimed.number }),
            None => Ok(None),
        }
    }

    pub(super) fn finish(&mut self) -> Result<Outcome, BackupError> {
        let is_interrupted = self.attempt.interrupted.load(Ordering::Relaxed);
        if is_interrupted {
            if !self.attempt.options.is_dry_run && self.has_new() {
                self.claim_so_far()?;
                self.decide()?;
            }
            return Err(BackupError::Interrupted);
        }
        let tree = {
            let known = Known::new(&self.index, self.carried);
            self.session.finish_tree(|id| known.has(id))?
        };
        self.keep_pages();
        self.flush()?;
        self.outcome.tally = self.session.tally();
        let is_same = self.attempt.basis.snapshot.is_some_and(|basis| basis.root == tree.root && basis.is_kept);
        if self.attempt.options.is_dry_run {
            return Ok(std::mem::take(&mut self.outcome));
        }
        if is_same && self.attempt.options.skip_if_unchanged {
            return self.finish_without();
        }
        self.compare_clocks();
        let claim = self.snapshot_claim(&tree, false)?;
        let hash = self.claim(Some(claim))?;
        self.keep_tree(&tree, hash);
        match self.wait_for_all()? {
            Some(why) => Err(BackupError::Rejected(why)),
            None => {
                self.outcome.snapshot = Some(hash.snapshot());
                Ok(std::mem::take(&mut self.outcome))
            }
        }
    }

    /// Finds out how far this machine's clock is off. A store that does not tell its time costs nothing but that.
    fn compare_clocks(&mut self) {
        let Ok(there) = wait(self.attempt.access.store().now()) else { return };
        let ahead = now().0.saturating_sub(there.0);
        self.outcome.clock_ahead = Some(ahead).filter(|ahead| ahead.unsigned_abs() > CLOCK_OFF.as_nanos() as u64);
    }

    /// Ends without a snapshot, the tree being that of the basis. What was stored all the same, because the repository has
    /// lost or wants it, counts once it is claimed.
    fn finish_without(&mut self) -> Result<Outcome, BackupError> {
        if !self.carried.packs.is_empty() {
            self.claim(None)?;
        }
        let refused = if self.carried.claims.is_empty() { None } else { self.wait_for_all()? };
        match refused {
            Some(why) => Err(BackupError::Rejected(why)),
            None => Ok(std::mem::take(&mut self.outcome)),
        }
    }

    /// Ends a write-only client's copy of the tree, whatever the answer: what the repository has is asked of its index.
    fn keep_tree(&mut self, tree: &FinishedTree, hash: ObjectHash) {
        let Some(kept) = self.kept.take() else { return };
        let (begun, bytes) = (self.started, self.outcome.counts.bytes);
        let kept = kept.finish(KeptSnapshot { id: hash.snapshot(), root: tree.root, begun, bytes });
        self.outcome.not_kept = kept.err().or(self.outcome.not_kept.take());
    }

    fn snapshot_claim(&mut self, tree: &FinishedTree, partial: bool) -> Result<SnapshotClaim, BackupError> {
        let options = self.attempt.options;
        let info = self.outcome.info(options, self.started);
        info.check()?;
        let bytes = info.encode();
        let started = self.started.0;
        let counter = self.session.take_counter()?;
        let number = counter.get();
        let mut block = BlockBuilder::new(BlockKind::Info, bytes.len().max(1));
        block.push(self.keys.chunk_id(&bytes), &bytes, None);
        let job = block.take(counter).expect("it holds the description");
        let mut tools = SealTools::new(Parameters::of_level(self.attempt.descriptor.parameters.zstd_level));
        let sealed = job.run(&mut tools, &self.cipher)?;
        let mut tags: Vec<_> = info.tags.iter().map(|tag| self.keys.tag_id(tag)).collect();
        tags.sort_unstable();
        tags.dedup();
        let counts = self.outcome.counts;
        let entries = counts.files + counts.directories + counts.others;
        let stored = self.carried.packs.iter().map(|(_, _, length)| length).sum();
        Ok(SnapshotClaim {
            root: tree.root,
            partial,
            // A clock that is far behind must not make the newest snapshot an old one.
            client_time: options.time.unwrap_or(Time(started.saturating_sub(self.outcome.clock_ahead.unwrap_or(0)))),
            source: self.keys.source_id(&info.host, &info.paths, &info.label),
            tags,
            session_record: self.record.bytes().to_vec(),
            counter: number,
            info: sealed.bytes,
            extent: Some(Extent::about(entries, counts.bytes, stored)),
        })
    }
}

/// What of a rejected claim may be named again: what is doomed or missing is stored again by the next attempt.
fn carry(carried: &mut Carried, claim: Claim, receipt: &Receipt) {
    if !receipt.packs.is_empty() {
        return;
    }
    carried.packs.extend(claim.packs);
    carried.ids.extend(claim.ids);
    receipt.missing.iter().for_each(|id| {
        carried.ids.remove(id);
    });
}

/// So much a clock may be off before it is told, and not believed.
const CLOCK_OFF: Duration = Duration::from_secs(300);
/// Where the client decides itself, the answer is there at once.
const ONCE: Duration = Duration::ZERO;
