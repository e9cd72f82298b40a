//! Claim: what is stored is flushed, named by a manifest, and answered.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use copal_engine::backup::session::FinishedTree;
use copal_engine::block::{BlockBuilder, SealTools};
use copal_engine::compress::Parameters;
use copal_engine::manifest::SnapshotClaim;
use copal_engine::seal::BlockKind;

use super::super::BackupError;
use super::super::manifest::{Chain, refusal};
use super::{Answer, Assembly, Known};

impl Assembly<'_, '_> {
    /// Writes an intermediate manifest if enough is stored, or enough time has passed: so that what an interrupted run
    /// has uploaded is not uploaded again, and no ingest has too much to do.
    pub(super) fn claim_if_due(&mut self) -> Result<(), BackupError> {
        let packs = self.carried.packs.len();
        let is_due = packs >= MANIFEST_PACKS || (packs > 0 && self.listed.elapsed() >= MANIFEST_EVERY);
        if !is_due || self.attempt.options.is_dry_run {
            return Ok(());
        }
        self.flush()?;
        if self.claim_surplus()?.is_none() {
            self.claim(None)?;
        }
        Ok(())
    }

    /// Claims so many packs that the rest fits one manifest; gives why that was rejected, if it was.
    fn claim_surplus(&mut self) -> Result<Option<String>, BackupError> {
        while self.carried.packs.len() > MANIFEST_PACKS {
            let rest = self.carried.packs.split_off(MANIFEST_PACKS);
            let refused = self.claim(None)?;
            self.carried.packs.extend(rest);
            if refused.is_some() {
                return Ok(refused);
            }
        }
        Ok(None)
    }

    /// Seals and stores everything that is open.
    fn flush(&mut self) -> Result<(), BackupError> {
        self.session.flush()?;
        self.act()?;
        while !self.session.close_packs_if_idle() {
            let sealed = self.output.next_sealed()?;
            self.session.sealed(sealed)?;
            self.act()?;
        }
        self.act()?;
        self.output.settle()?;
        Ok(())
    }

    /// Claims what is stored; gives why it was rejected, if it was.
    fn claim(&mut self, snapshot: Option<SnapshotClaim>) -> Result<Option<String>, BackupError> {
        if self.chain.is_none() {
            let attempt = self.attempt;
            let ingest = attempt.descriptor.ingest;
            self.chain = Some(Chain::find(attempt.repository, attempt.client, ingest, &attempt.view)?);
        }
        let chain = self.chain.as_mut().expect("found above");
        self.session.take_listing();
        self.listed = Instant::now();
        let is_final = snapshot.is_some();
        let (hash, receipt) = chain.add(self.carried.packs.clone(), snapshot, &self.own)?;
        match refusal(&receipt) {
            None => {
                self.carried.packs.clear();
                if is_final {
                    self.outcome.snapshot = Some(hash.snapshot());
                }
                Ok(None)
            }
            Some(why) => {
                // What is doomed or missing is stored again by the next attempt; the rest may be named again.
                self.carried.packs.retain(|(id, _)| !receipt.packs.contains(id));
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

    pub(super) fn finish(mut self) -> Result<Answer, BackupError> {
        let is_interrupted = self.attempt.interrupted.load(Ordering::Relaxed);
        if is_interrupted {
            self.flush()?;
            if !self.carried.packs.is_empty() && !self.attempt.options.is_dry_run && self.claim_surplus()?.is_none() {
                self.claim(None)?;
            }
            return Err(BackupError::Interrupted);
        }
        let tree = {
            let known = Known::new(self.attempt, self.carried);
            self.session.finish_tree(|id| known.has(id))?
        };
        self.flush()?;
        self.outcome.tally = self.session.tally();
        let is_same = self.attempt.basis.snapshot.is_some_and(|basis| basis.root == tree.root);
        if self.attempt.options.is_dry_run || (is_same && self.attempt.options.skip_if_unchanged) {
            return Ok(Answer::Done(Box::new(self.outcome)));
        }
        if let Some(why) = self.claim_surplus()? {
            return Ok(Answer::Rejected(why));
        }
        let claim = self.snapshot_claim(&tree)?;
        match self.claim(Some(claim))? {
            None => Ok(Answer::Done(Box::new(self.outcome))),
            Some(why) => Ok(Answer::Rejected(why)),
        }
    }

    fn snapshot_claim(&mut self, tree: &FinishedTree) -> Result<SnapshotClaim, BackupError> {
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
            partial: false,
            client_time: options.time.unwrap_or(self.started),
            source: self.keys.source_id(&info.host, &info.paths, &info.label),
            tags,
            session_record: self.record.bytes().to_vec(),
            counter: number,
            info: sealed.bytes,
        })
    }
}

/// Packs one manifest names at most.
const MANIFEST_PACKS: usize = copal_engine::limits::MANIFEST_PACKS;
/// How long what is stored may wait for a manifest.
const MANIFEST_EVERY: Duration = Duration::from_secs(120);
