//! Claim: manifests that name the stored packs; the last one also names the tree.

use copal_engine::backup::claim::Described;
use copal_engine::backup::kept::KeptSnapshot;
use copal_engine::backup::session::{FinishedTree, ListedPack};
use copal_format::block::SealTools;
use copal_format::id::{ObjectHash, PackId, SnapshotId};
use copal_format::layout;
use copal_format::limits::MANIFEST_PACKS;
use copal_format::manifest::{Manifest, SnapshotClaim};

use super::{Backup, Stage, files};
use crate::client::Signer;
use crate::fault::Fault;

/// A manifest to write, without its place in the chain.
pub(super) struct Draft {
    packs: Vec<(PackId, u64)>,
    snapshot: Option<SnapshotClaim>,
}

/// The next manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its number.
    pub number: u64,
    /// The bytes that the host must sign, if it holds the key.
    pub message: Option<Vec<u8>>,
    /// Whether no other manifest follows now.
    pub is_last: bool,
}

/// A signed manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Its object's name.
    pub key: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: ObjectHash,
    /// The snapshot or checkpoint that it claims.
    pub snapshot: Option<SnapshotId>,
    /// Whether it is a checkpoint.
    pub partial: bool,
}

impl Backup {
    /// The name of the next possible manifest in the client's chain; `None` once the end of the chain is found.
    pub fn next_manifest(&self) -> Option<String> {
        (!self.is_end_found).then(|| layout::manifest(self.client.id(), self.chain.due()))
    }

    /// Takes that manifest; `None` if it does not exist, which ends the chain.
    pub fn manifest(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            _ if self.is_end_found => {}
            Some(bytes) => self.chain.advance(ObjectHash::of(bytes)),
            None => self.is_end_found = true,
        }
    }

    /// The client's manifests that are not decided in the view.
    pub fn undecided(&self) -> core::ops::RangeInclusive<u64> {
        self.decided + 1..=self.chain.number()
    }

    /// How many packs are not in a manifest yet.
    pub fn unlisted(&self) -> usize {
        self.session.packs_unlisted()
    }

    /// Closes everything taken so far, to claim it as a checkpoint: if this run fails, the next one finds it.
    pub fn checkpoint(&mut self) -> Result<(), Fault> {
        self.begin_claim(false)
    }

    /// Closes the tree, to claim it as a snapshot.
    pub fn finish(&mut self) -> Result<(), Fault> {
        if !self.compared.is_empty() {
            return Err(Fault::misuse("files were compared and not taken"));
        }
        self.begin_claim(true)
    }

    /// Claims the data packs that are stored, without a tree and without waiting for packs under way; returns their
    /// bytes. Even if this run fails, the next one need not upload them again.
    pub fn claim_stored(&mut self) -> Result<u64, Fault> {
        if !self.is_end_found {
            return Err(Fault::misuse("the end of the chain of manifests is to be found first"));
        }
        let packs = self.session.take_stored();
        let bytes = packs.iter().map(|pack| pack.length).sum();
        if !packs.is_empty() {
            self.list(packs);
        }
        Ok(bytes)
    }

    pub(super) fn is_claiming(&self) -> bool {
        matches!(self.stage, Stage::Claiming { .. })
    }

    fn begin_claim(&mut self, is_final: bool) -> Result<(), Fault> {
        if self.stage != Stage::Taking || (is_final && self.open.is_some()) {
            return Err(Fault::misuse("a file is being taken, or something is being claimed"));
        }
        if !self.is_end_found {
            return Err(Fault::misuse("the end of the chain of manifests is to be found first"));
        }
        let known = self.known();
        let open = self.open.as_ref().map(files::Open::so_far);
        let tree =
            if is_final { Some(self.session.finish_tree(known)?) } else { self.session.checkpoint(open, known)? };
        self.keep_pages()?;
        self.session.flush()?;
        self.stage = Stage::Claiming { tree, is_final };
        Ok(())
    }

    /// The next manifest to write; `None` once everything is claimed. All packs that it names must be stored: after
    /// [`Backup::checkpoint`] and [`Backup::finish`] all that were given out.
    pub fn next_claim(&mut self) -> Result<Option<Claim>, Fault> {
        if let Stage::Claiming { tree, is_final } = self.stage
            && self.claims.is_empty()
        {
            if !self.is_idle() {
                return Err(Fault::misuse("blocks are still being sealed"));
            }
            self.stage = if is_final { Stage::Done } else { Stage::Taking };
            self.draft(tree, is_final)?;
        }
        let Some(draft) = self.claims.front() else { return Ok(None) };
        let manifest = self.manifest_of(draft);
        let message = match &self.client.manifest {
            Signer::Engine(_) => None,
            Signer::Host(_) => Some(manifest.unsigned(self.client.repository()).message),
        };
        Ok(Some(Claim { number: manifest.number, message, is_last: self.claims.len() == 1 }))
    }

    /// Signs the manifest that [`Backup::next_claim`] returned.
    pub fn claimed(&mut self, signature: Option<&[u8; 64]>) -> Result<Claimed, Fault> {
        let draft = self.claims.front().ok_or_else(|| Fault::misuse("nothing is to be claimed"))?;
        let manifest = self.manifest_of(draft);
        let bytes = self.client.sign_manifest(&manifest, signature)?;
        self.claims.pop_front();
        let (number, hash) = (manifest.number, ObjectHash::of(&bytes));
        self.chain.advance(hash);
        let partial = manifest.snapshot.as_ref().is_some_and(|claim| claim.partial);
        let snapshot = manifest.snapshot.map(|_| hash.snapshot());
        let key = layout::manifest(self.client.id(), number);
        Ok(Claimed { key, bytes, number, hash, snapshot, partial })
    }

    fn manifest_of(&self, draft: &Draft) -> Manifest {
        let mut manifest = Manifest {
            root_seen: self.view.borrow().base(),
            packs: draft.packs.clone(),
            snapshot: draft.snapshot.clone(),
            ..Manifest::new(self.client.id(), self.chain.due(), self.chain.hash(), self.domain())
        };
        // This run made all packs and read each block back.
        if let Some(owner) = self.client.owner_secret() {
            manifest.prove(owner, |_| true);
        }
        manifest
    }

    fn draft(&mut self, tree: Option<FinishedTree>, is_final: bool) -> Result<(), Fault> {
        let packs = self.session.take_listing();
        if packs.is_empty() && !is_final {
            return Ok(());
        }
        self.list(packs);
        let snapshot = tree.map(|tree| self.snapshot_claim(&tree, !is_final)).transpose()?;
        self.claims.back_mut().expect("it was just added").snapshot = snapshot;
        if let Some(tree) = tree {
            self.kept.end(KeptSnapshot { id: None, root: tree.root, begun: self.now, bytes: tree.bytes })?;
        }
        Ok(())
    }

    /// Adds manifests for these packs.
    fn list(&mut self, packs: Vec<ListedPack>) {
        let mut packs: Vec<_> = packs.into_iter().map(ListedPack::named).collect();
        self.claimed_bytes += packs.iter().map(|(_, length)| length).sum::<u64>();
        while packs.len() > MANIFEST_PACKS {
            let rest = packs.split_off(MANIFEST_PACKS);
            self.claims.push_back(Draft { packs, snapshot: None });
            packs = rest;
        }
        self.claims.push_back(Draft { packs, snapshot: None });
    }

    fn snapshot_claim(&mut self, tree: &FinishedTree, partial: bool) -> Result<SnapshotClaim, Fault> {
        let mut info = self.info.clone();
        info.started = self.now;
        (info.counts, info.summary) = (self.tally.counts, self.tally.summary);
        let stored = core::mem::take(&mut self.claimed_bytes);
        let described = Described { info: &info, root: tree.root, is_partial: partial, time: self.now, stored };
        let mut tools = SealTools::with((self.compressor_of)(self.parameters.zstd_level));
        Ok(self.session.claim(&described, &self.keys, (&self.record, &self.cipher), &mut tools)?)
    }
}
