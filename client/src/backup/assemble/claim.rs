//! Claim: flushes the session, claims what is stored in manifests, and takes the receipts.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use copal_engine::backup::claim::Described;
use copal_engine::backup::kept::KeptSnapshot;
use copal_engine::backup::session::{FinishedTree, ListedPack};
use copal_format::block::SealTools;
use copal_format::compress::Parameters;
use copal_format::id::ObjectHash;
use copal_format::limits::MANIFEST_PACKS;
use copal_format::manifest::SnapshotClaim;
use copal_format::pack::PackKind;
use copal_format::path::TreePath;
use copal_format::receipt::Receipt;
use copal_format::snapshot::Counts;
use copal_format::time::Time;
use copal_jobs::view::{self, Parts};

use super::super::manifest::{MANIFEST_EVERY, refusal};
use super::super::{BackupError, Carryover, Claim, Outcome, SkipKind, Trouble, TroubleKind};
use super::{Assembly, Known, noting};
use crate::clock::now;
use crate::reader::index_of;
use crate::scan::source_of;
use crate::wait::{Patience, wait};

impl Assembly<'_, '_> {
    /// Writes an intermediate manifest if enough is stored or enough time has passed. After an interruption the next
    /// run then need not upload it again, and each ingest stays small. Does not wait for the receipt; takes the
    /// receipts that have come since the last call.
    pub(super) fn claim_if_due(&mut self) -> Result<(), BackupError> {
        let packs = self.carried.packs.len() + self.session.packs_unlisted();
        let is_due = packs >= MANIFEST_PACKS || (packs > 0 && self.listed.elapsed() >= MANIFEST_EVERY);
        if !is_due || self.attempt.options.is_dry_run {
            return Ok(());
        }
        self.claim_so_far()?;
        // The claim keeps these ids until the index has them.
        self.session.forget_seen();
        let before = self.carried.accepted;
        if let Some(why) = self.settle(Patience::none())? {
            return Err(BackupError::Rejected(why));
        }
        // Replace remembered ids by the new index, to bound memory in a long run.
        if self.carried.accepted > before {
            let domain = self.attempt.client.domain;
            let view = wait(view::read_parts(self.attempt.access.store().as_ref(), &Parts::index_of(domain)))?;
            self.index = index_of(&view, domain);
        }
        Ok(())
    }

    /// Claims what is stored, and the tree so far as a checkpoint for the next run.
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

    /// Before the backup ends without a snapshot: claims the data packs that are stored, so that the next run need not
    /// upload them again. Tree packs are left out, because their pages may refer to chunks that are not stored.
    pub(super) fn claim_stored(&mut self) -> Result<(), BackupError> {
        self.output.take_stored(&mut self.session, &mut noting(&mut self.own, self.carried));
        let packs = std::mem::take(&mut self.carried.packs).into_iter().chain(self.session.take_stored());
        let stored: Vec<_> = packs.filter(|pack| pack.kind == PackKind::Data).collect();
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

    /// Claims what is stored, in as many manifests as that takes; returns the hash of the last.
    fn claim(&mut self, snapshot: Option<SnapshotClaim>) -> Result<ObjectHash, BackupError> {
        self.listed = Instant::now();
        let mut packs = std::mem::take(&mut self.carried.packs);
        // Pages refer to data, so data packs come first, even before tree packs of a rejected claim. Then each manifest
        // is complete together with those before it.
        packs.sort_by_key(|pack| pack.kind);
        while packs.len() > MANIFEST_PACKS {
            let rest = packs.split_off(MANIFEST_PACKS);
            if let Err(error) = self.claim_at_once(packs, None) {
                self.carried.packs.extend(rest);
                return Err(error);
            }
            packs = rest;
        }
        let hash = self.claim_at_once(packs, snapshot)?;
        let last = self.carried.claims.back_mut().expect("it was just added");
        last.ids = std::mem::take(&mut self.carried.ids);
        Ok(hash)
    }

    fn claim_at_once(
        &mut self,
        packs: Vec<ListedPack>,
        snapshot: Option<SnapshotClaim>,
    ) -> Result<ObjectHash, BackupError> {
        let is_final = snapshot.as_ref().is_some_and(|claim| !claim.partial);
        let bytes = packs.iter().map(|pack| pack.length).sum();
        let named = packs.iter().copied().map(ListedPack::named).collect();
        let chain = self.chain.as_mut().expect("nothing is claimed in a dry run");
        let claimed = match chain.add(named, snapshot, &self.own) {
            Ok(claimed) => claimed,
            Err(error) => {
                self.carried.packs.extend(packs);
                return Err(error.into());
            }
        };
        self.attempt.progress.add_claimed(bytes, is_final);
        self.carried.claims.push_back(Claim { claimed, packs, ids: Default::default(), is_final });
        Ok(claimed.hash)
    }

    /// Takes receipts in order, as long as patience lasts; returns why a manifest was rejected, if one was. Packs of a
    /// rejected manifest that may be claimed again return to `carried`.
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

    /// Waits for all receipts, as long as the options say; returns why a manifest was rejected, if one was.
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
        self.count_narrowed(&tree)?;
        self.refuse_empty()?;
        self.note_bare()?;
        self.outcome.tally = self.session.tally();
        self.outcome.root = Some(tree.root);
        let is_same = self.attempt.parent.snapshot.is_some_and(|parent| parent.root == tree.root && parent.is_kept);
        if self.attempt.options.is_dry_run {
            return Ok(std::mem::take(&mut self.outcome));
        }
        let is_settled =
            !self.attempt.options.may_be_empty || !self.attempt.parent.is_unread(&self.attempt.options.paths);
        if is_same && is_settled && self.attempt.options.skip_if_unchanged {
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

    /// Fails if the snapshot would hold only directories, and something could not be read or is excluded, or the parent
    /// snapshot has more: an unmounted disk leaves an empty directory. Such a snapshot would be the newest, and rules
    /// would forget those with files.
    fn refuse_empty(&self) -> Result<(), BackupError> {
        let options = self.attempt.options;
        let is_empty = |counts: Counts| (counts.files, counts.others, counts.bytes) == (0, 0, 0);
        if options.inherited.is_some() || options.may_be_empty || !is_empty(self.outcome.counts) {
            return Ok(());
        }
        let is_why = |kind| matches!(kind, TroubleKind::Unreadable | TroubleKind::Skipped(SkipKind::Excluded));
        if let Some(Trouble { path, why, .. }) = self.outcome.troubles.iter().find(|trouble| is_why(trouble.kind)) {
            return Err(BackupError::Unsaved { path: path.clone(), why: why.clone() });
        }
        match self.attempt.parent.snapshot.filter(|parent| !is_empty(parent.counts)) {
            Some(parent) => Err(BackupError::Emptied { parent: parent.id }),
            None => Ok(()),
        }
    }

    /// Notes the paths of which only directories were saved, if something could not be read or the parent snapshot has
    /// more. In the second case the snapshot records the path as unreadable, so that each backup notes it again until
    /// it has files, or until the user permits it to be empty.
    fn note_bare(&mut self) -> Result<(), BackupError> {
        // A narrowed backup sees only what has changed. A copy inherits the troubles of its original.
        if self.base.is_some() || self.attempt.options.inherited.is_some() {
            return Ok(());
        }
        let attempt = self.attempt;
        for path in std::mem::take(&mut self.bare) {
            let is_in = |trouble: &Trouble| {
                trouble.kind == TroubleKind::Unreadable
                    && TreePath::new(trouble.tree_bytes()).is_ok_and(|of| of.is_within(&path))
            };
            let troubles = &self.outcome.troubles;
            let is_unread = troubles.iter().any(is_in);
            let is_meant = attempt.options.may_be_empty
                || troubles.iter().any(|trouble| {
                    trouble.kind == TroubleKind::Skipped(SkipKind::Excluded) && trouble.path == source_of(&path)
                });
            if !is_unread && (is_meant || !attempt.parent.has_more_than_directories(&path)?) {
                continue;
            }
            if !is_unread {
                let why = "it has only directories, and the last snapshot has more, or could not read it";
                let why = why.to_owned();
                self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
                // A snapshot records the first names only.
                self.outcome.troubles.rotate_right(1);
                // A write-only client has no troubles of its last snapshot. Its old tree still has the files.
                self.kept = None;
            }
            self.outcome.unsaved.push(source_of(&path));
        }
        Ok(())
    }

    /// Measures how far this machine's clock is off. If the store does not tell its time, there is no measurement.
    fn compare_clocks(&mut self) {
        let Ok(there) = wait(self.attempt.access.store().now()) else { return };
        let ahead = now().0.saturating_sub(there.0);
        self.outcome.clock_ahead = Some(ahead).filter(|ahead| ahead.unsigned_abs() > CLOCK_OFF.as_nanos() as u64);
    }

    /// Ends without a snapshot because the tree equals that of the parent snapshot. Chunks stored anyway (the repository
    /// lost or wants them) count only once they are claimed, so claim them.
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

    /// Finishes a write-only client's kept tree before the receipt: the next backup asks the index what it can reuse.
    fn keep_tree(&mut self, tree: &FinishedTree, hash: ObjectHash) {
        let Some(kept) = self.kept.take() else { return };
        let (begun, bytes) = (self.clock.begun(self.started), self.outcome.counts.bytes);
        let kept = kept.finish(KeptSnapshot { id: Some(hash.snapshot()), root: tree.root, begun, bytes });
        self.outcome.not_kept = kept.err().or(self.outcome.not_kept.take());
    }

    fn snapshot_claim(&mut self, tree: &FinishedTree, partial: bool) -> Result<SnapshotClaim, BackupError> {
        let options = self.attempt.options;
        // A clock that is far behind must not make the newest snapshot look old.
        let corrected = Time(self.started.0.saturating_sub(self.outcome.clock_ahead.unwrap_or(0)));
        let described = Described {
            info: &self.outcome.info(options, self.clock.begun(self.started)),
            root: tree.root,
            is_partial: partial,
            time: options.time.unwrap_or(corrected),
            stored: self.carried.packs.iter().map(|pack| pack.length).sum(),
        };
        let level = self.attempt.descriptor.parameters.zstd_level;
        let mut tools = SealTools::new(Parameters::of_level(level));
        Ok(self.session.claim(&described, self.keys, (&self.record, &self.cipher), &mut tools)?)
    }
}

/// Returns to `carried` the part of a rejected claim that may be claimed again: all but missing ids, or nothing if
/// packs are unusable. The next attempt stores the rest again.
fn carry(carried: &mut Carryover, claim: Claim, receipt: &Receipt) {
    if !receipt.packs.is_empty() {
        return;
    }
    carried.packs.extend(claim.packs);
    carried.ids.extend(claim.ids);
    receipt.missing.iter().for_each(|id| {
        carried.ids.remove(id);
    });
}

/// A clock that is off by more than this is reported and corrected.
const CLOCK_OFF: Duration = Duration::from_secs(300);
/// Patience of a client that ingests itself: its receipt is there at once.
const ONCE: Duration = Duration::ZERO;
