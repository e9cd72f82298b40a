//! Sealing: blocks on the way from the session into packs, sealed by the host's cipher or the engine's.

use copal_engine::backup::session::Action as Step;
use copal_format::block::{PendingBlock, SealedBlock};
use copal_format::id::PackId;
use copal_format::layout;
use copal_format::seal::BlockKind;

use super::{Action, Backup};
use crate::fault::Fault;
use crate::sealer::BlockFacts;

impl Backup {
    /// The next work for the host, if any.
    pub fn poll(&mut self) -> Option<Action> {
        Some(match self.session.poll()? {
            Step::Seal(job) => {
                let (pending, raw) = job.part();
                let (counter, ids, lengths) = (pending.counter(), pending.ids(), pending.lengths());
                let is_tree = pending.kind() == BlockKind::Tree;
                self.pending.insert(counter, pending);
                Action::Seal { block: BlockFacts { counter, is_tree, ids, lengths }, raw }
            }
            Step::Store(pack) => Action::Store(pack),
        })
    }

    /// Takes a block (nonce first) that the host's cipher sealed and a [`crate::sealer::Sealer`] prepared and compared.
    pub fn sealed(&mut self, counter: u64, stored: Vec<u8>) -> Result<(), Fault> {
        let block = self.take_pending(counter)?.sealed(stored)?;
        self.take_sealed(block)
    }

    /// Seals a plaintext with the engine's cipher, and reads it back.
    pub fn seal(&mut self, counter: u64, plaintext: &[u8]) -> Result<(), Fault> {
        let block = self.take_pending(counter)?.seal(&self.cipher, plaintext)?;
        self.take_sealed(block)
    }

    /// Takes the SHA-256 of a pack; returns the name to store it under.
    pub fn named(&mut self, number: u64, sha256: &[u8; 32]) -> Result<String, Fault> {
        let id = PackId(*sha256);
        if !self.session.named(number, id) {
            return Err(Fault::misuse("no such pack waits for its name"));
        }
        Ok(layout::pack(layout::Place::Packs, id))
    }

    /// Notes that a pack is stored, so that [`Backup::claim_stored`] may claim it.
    pub fn stored(&mut self, number: u64) -> Result<(), Fault> {
        if !self.session.stored(number) {
            return Err(Fault::misuse("no such pack waits to be claimed"));
        }
        Ok(())
    }

    /// Sets the target size of data packs from now on: on a slow line, small packs are safe sooner.
    pub fn aim(&mut self, pack_target: u32) {
        self.session.aim(pack_target.max(PACK_LEAST).min(self.parameters.pack_target));
    }

    /// Whether no block is being sealed and every pack was given out and named, after a checkpoint or the end.
    pub fn is_idle(&mut self) -> bool {
        self.is_claiming() && self.pending.is_empty() && self.session.close_packs_if_idle() && self.session.is_named()
    }

    fn take_pending(&mut self, counter: u64) -> Result<PendingBlock, Fault> {
        self.pending.remove(&counter).ok_or_else(|| Fault::misuse("no such block is being sealed"))
    }

    fn take_sealed(&mut self, block: SealedBlock) -> Result<(), Fault> {
        self.session.sealed(block)?;
        if self.is_claiming() && self.pending.is_empty() {
            self.session.close_packs_if_idle();
        }
        Ok(())
    }
}

/// The least target size of packs: each pack costs a request and a row in the index.
const PACK_LEAST: u32 = 256 << 10;
