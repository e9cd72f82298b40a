//! Sealing: blocks on their way from the session into packs, with the host's cipher or the engine's.

use copal_engine::backup::session::Action as Step;
use copal_engine::block::PendingBlock;
use copal_engine::seal::{BlockKind, SealTerms};

use super::{Action, Backup};
use crate::fault::Fault;

impl Backup {
    /// What the host has to do next, if anything.
    pub fn poll(&mut self) -> Option<Action> {
        match self.queue.pop_front().or_else(|| self.session.poll())? {
            Step::Store(pack) => Some(Action::Store(pack)),
            Step::Seal(job) => {
                let (pending, raw) = job.part();
                let (counter, lengths) = (pending.counter(), pending.lengths());
                let is_tree = pending.kind() == BlockKind::Tree;
                self.pending.insert(counter, pending);
                Some(Action::Seal { counter, is_tree, lengths, raw })
            }
        }
    }

    /// What the host's cipher seals a block's plaintext with.
    pub fn sealing(&mut self, counter: u64, plaintext: &[u8]) -> Result<SealTerms, Fault> {
        let pending = self.pending.get_mut(&counter).ok_or_else(unknown)?;
        Ok(pending.terms(&self.cipher, plaintext))
    }

    /// Takes what the host's cipher made of a plaintext, and what it made of that when it opened it again.
    pub fn sealed(&mut self, counter: u64, ciphertext: &[u8], opened: &[u8], digest: &[u8; 32]) -> Result<(), Fault> {
        let block = self.take_pending(counter)?.sealed(&self.cipher, ciphertext, opened, digest)?;
        self.take_sealed(block)
    }

    /// Seals a plaintext with the engine's own cipher, and reads it back.
    pub fn seal(&mut self, counter: u64, plaintext: &[u8], digest: &[u8; 32]) -> Result<(), Fault> {
        let block = self.take_pending(counter)?.seal(&self.cipher, plaintext, digest)?;
        self.take_sealed(block)
    }

    /// Whether nothing is being sealed and every pack was given out, after a checkpoint or the end.
    pub fn is_idle(&mut self) -> bool {
        if !self.is_claiming() || !self.pending.is_empty() || !self.session.close_packs_if_idle() {
            return false;
        }
        self.queue.extend(self.session.poll());
        self.queue.is_empty()
    }

    fn take_pending(&mut self, counter: u64) -> Result<PendingBlock, Fault> {
        self.pending.remove(&counter).ok_or_else(unknown)
    }

    fn take_sealed(&mut self, block: copal_engine::block::SealedBlock) -> Result<(), Fault> {
        self.session.sealed(block)?;
        if self.is_claiming() && self.pending.is_empty() {
            self.session.close_packs_if_idle();
        }
        Ok(())
    }
}

fn unknown() -> Fault {
    Fault::misuse("no such block is being sealed")
}
