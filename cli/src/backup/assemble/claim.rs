//! Claim: what is stored is flushed, named by a manifest, and answered.

use std::sync::atomic::Ordering;
use std::time::Instant;

use copal_engine::backup::session::FinishedTree;
use copal_engine::block::{BlockBuilder, SealTools};
use copal_engine::compress::Parameters;
use copal_engine::limits::MANIFEST_PACKS;
use copal_engine::manifest::SnapshotClaim;
use copal_engine::seal::BlockKind;
use copal_service::view;

use super::super::basis::index_of;
use super::super::manifest::{Chain, MANIFEST_EVERY, refusal};
use super::super::{BackupError, Outcome};
use super::{Assembly, Known};
use crate::wait::wait;

impl Assembly<'_, '_> {
    /// Writes an intermediate manifest if enough is stored, or enough time has passed: so that what an interrupted run
    /// has uploaded is not uploaded again, and no ingest has too much to do.
    pub(super) fn claim_if_due(&mut self) -> Result<(), BackupError> {
        let packs = self.carried.packs.len();
        let is_due = packs >= MANIFEST_PACKS || (packs > 0 && self.listed.elapsed() >= MANIFEST_EVERY);
        if is_due && !self.attempt.options.is_dry_run {
            if let Some(why) = self.claim_so_far()? {
                return Err(BackupError::Rejected(why));
            }
            // What is in the index need not be remembered, however long the run.
            let view = wait(view::read(self.attempt.repository.store().as_ref()))?;
            self.index = index_of(&view, self.attempt.client.domain);
            self.session.forget_seen();
            self.carried.ids.clear();
        }
        Ok(())
    }

    /// Claims what is stored, and the tree as far as it has come as a checkpoint for the next run; gives why that was
    /// rejected, if it was.
    fn claim_so_far(&mut self) -> Result<Option<String>, BackupError> {
        let known = Known::new(&self.index, self.carried);
        let tree = self.session.checkpoint(|id| known.has(id))?;
        self.flush()?;
        let checkpoint = tree.map(|tree| self.snapshot_claim(&tree, true)).transpose()?;
        self.claim(checkpoint)
    }

    fn has_new(&self) -> bool {
        let tally = self.session.tally();
        tally.chunks_new + tally.pages_new > 0
    }

    /// Claims what is stored, in as many manifests as that takes; gives why one was rejected, if it was.
    fn claim(&mut self, snapshot: Option<SnapshotClaim>) -> Result<Option<String>, BackupError> {
        // Pages refer to data: wherever the list is cut, what comes first stands by itself.
        self.carried.packs.sort_by_key(|(kind, ..)| *kind);
        while self.carried.packs.len() > MANIFEST_PACKS {
            let rest = self.carried.packs.split_off(MANIFEST_PACKS);
            let refused = self.claim_at_once(None)?;
            if refused.is_none() || !self.carried.packs.is_empty() {
                self.carried.packs.extend(rest);
            }
            if refused.is_some() {
                return Ok(refused);
            }
        }
        self.claim_at_once(snapshot)
    }

    /// Claims what is stored in one manifest; gives why it was rejected, if it was.
    fn claim_at_once(&mut self, snapshot: Option<SnapshotClaim>) -> Result<Option<String>, BackupError> {
        if self.chain.is_none() {
            let attempt = self.attempt;
            let ingest = attempt.descriptor.ingest;
            self.chain = Some(Chain::find(attempt.repository, attempt.client, ingest, &attempt.view)?);
        }
        let chain = self.chain.as_mut().expect("found above");
        self.session.take_listing();
        self.listed = Instant::now();
        let is_final = snapshot.as_ref().is_some_and(|claim| !claim.partial);
        let packs = self.carried.packs.iter().map(|(_, id, length)| (*id, *length)).collect();
        let (hash, receipt) = chain.add(packs, snapshot, &self.own)?;
        match refusal(&receipt) {
            None => {
                self.carried.accepted += 1;
                self.carried.packs.clear();
                if is_final {
                    self.outcome.snapshot = Some(hash.snapshot());
                }
                Ok(None)
            }
            Some(why) => {
                // What is doomed or missing is stored again by the next attempt; the rest may be named again.
                self.carried.packs.retain(|(_, id, _)| !receipt.packs.contains(id));
                receipt.missing.iter().for_each(|id| {
                    self.carried.ids.remove(id);
                });
                if !receipt.packs.is_empty() {
                    self.carried.ids.clear();
                    self.carried.packs.clear();
                }
                Ok(Some(why))
            }
        }
    }

    pub(super) fn finish(mut self) -> Result<Outcome, BackupError> {
        let is_interrupted = self.attempt.interrupted.load(Ordering::Relaxed);
        if is_interrupted {
            if !self.attempt.options.is_dry_run && self.has_new() {
                self.claim_so_far()?;
            }
            return Err(BackupError::Interrupted);
        }
        let tree = {
            let known = Known::new(&self.index, self.carried);
            self.session.finish_tree(|id| known.has(id))?
        };
        self.flush()?;
        self.outcome.tally = self.session.tally();
        let is_same = self.attempt.basis.snapshot.is_some_and(|basis| basis.root == tree.root);
        if self.attempt.options.is_dry_run || (is_same && self.attempt.options.skip_if_unchanged) {
            return Ok(self.outcome);
        }
        let claim = self.snapshot_claim(&tree, false)?;
        match self.claim(Some(claim))? {
            None => Ok(self.outcome),
            Some(why) => Err(BackupError::Rejected(why)),
        }
    }

    fn snapshot_claim(&mut self, tree: &FinishedTree, partial: bool) -> Result<SnapshotClaim, BackupError> {
        let options = self.attempt.options;
        let info = self.outcome.info(options, self.started);
        info.check()?;
        let bytes = info.encode();
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
        Ok(SnapshotClaim {
            root: tree.root,
            partial,
            client_time: options.time.unwrap_or(self.started),
            source: self.keys.source_id(&info.host, &info.paths, &info.label),
            tags,
            session_record: self.record.bytes().to_vec(),
            counter: number,
            info: sealed.bytes,
        })
    }
}
