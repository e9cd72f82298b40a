//! Pending block: a block that the host compresses and seals itself, for instance with a browser's cipher. The result
//! is the same bytes as from [`super::SealJob::run`], and the host reads it back as that function does.

use super::{BlockItem, SealFault, SealedBlock};
use crate::id::ChunkId;
use crate::limits::BLOCK_BYTES;
use crate::seal::{BlockKind, Counter, NONCE, SessionCipher, TAG};

/// A block whose bytes the host compresses and seals. Its number is already fixed and used up.
#[derive(Debug)]
pub struct PendingBlock {
    kind: BlockKind,
    items: Vec<BlockItem>,
    counter: Counter,
    raw_length: u64,
}

impl PendingBlock {
    pub(super) fn new(kind: BlockKind, items: Vec<BlockItem>, counter: Counter, raw_length: u64) -> Self {
        Self { kind, items, counter, raw_length }
    }

    /// What it holds.
    pub fn kind(&self) -> BlockKind {
        self.kind
    }

    /// The number of the block in its session.
    pub fn counter(&self) -> u64 {
        self.counter.get()
    }

    /// The lengths of its items, in order.
    pub fn lengths(&self) -> Vec<u32> {
        self.items.iter().map(|item| item.length).collect()
    }

    /// The ids of its items, in order.
    pub fn ids(&self) -> Vec<ChunkId> {
        self.items.iter().map(|item| item.id).collect()
    }

    /// Accepts the bytes that the host sealed under this number and has already read back. Checks only their length.
    pub fn sealed(self, bytes: Vec<u8>) -> Result<SealedBlock, SealFault> {
        let counter = self.counter.get();
        if !(NONCE + TAG + 1..=BLOCK_BYTES as usize).contains(&bytes.len()) {
            return Err(SealFault::Differs { counter });
        }
        Ok(SealedBlock { kind: self.kind, counter, items: self.items, bytes, raw_length: self.raw_length })
    }

    /// Seals the plaintext with this crate's own cipher, and reads it back.
    pub fn seal(self, cipher: &SessionCipher, plaintext: &[u8]) -> Result<SealedBlock, SealFault> {
        let counter = self.counter.get();
        let bytes = cipher.seal(self.kind, self.counter, plaintext);
        let mut opened = Vec::new();
        let read = cipher.open(self.kind, counter, &bytes, &mut opened);
        read.map_err(|error| SealFault::Unreadable { counter, source: error.into() })?;
        if opened != plaintext {
            return Err(SealFault::Differs { counter });
        }
        Ok(SealedBlock { kind: self.kind, counter, items: self.items, bytes, raw_length: self.raw_length })
    }
}

#[cfg(test)]
mod tests {
    use aes_gcm::aead::{AeadInOut, KeyInit};
    use aes_gcm::{Aes256Gcm, Nonce};

    use super::*;
    use crate::block::{BlockBuilder, SealJob, SealTools};
    use crate::compress::Parameters;
    use crate::id::{RepositoryId, SessionId};
    use crate::keys::secret::Secret;
    use crate::keys::session::SessionKey;
    use crate::seal::{Counters, Nonces, SealTerms};

    const REPOSITORY: RepositoryId = RepositoryId([1; 16]);
    const SESSION: SessionId = SessionId([2; 16]);

    fn key() -> SessionKey {
        SessionKey::new(Secret::new([3; 32]))
    }

    fn cipher() -> SessionCipher {
        SessionCipher::new(&key(), REPOSITORY, SESSION)
    }

    fn job(content: &[u8]) -> SealJob {
        let mut builder = BlockBuilder::new(BlockKind::Data, 1 << 20);
        let half = content.len() / 2;
        builder.push(ChunkId([1; 24]), &content[..half], None);
        builder.push(ChunkId([2; 24]), &content[half..], None);
        builder.take(Counters::new().next().unwrap()).unwrap()
    }

    fn contents() -> [Vec<u8>; 2] {
        let noise = (0..5_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        [b"the same words over and over. ".repeat(300), noise]
    }

    fn tools() -> SealTools {
        SealTools::new(Parameters::of_level(3))
    }

    /// Seals as a browser does: with the key alone, and what it is told.
    fn by_host(terms: &SealTerms, plaintext: &[u8]) -> Vec<u8> {
        let mut text = plaintext.to_vec();
        let gcm = Aes256Gcm::new(key().block_key().expose().into());
        gcm.encrypt_in_place(&Nonce::from(terms.nonce), &terms.associated, &mut text).unwrap();
        text
    }

    #[test]
    fn a_host_and_this_crate_seal_the_same_bytes() {
        let nonces = Nonces::new(key().nonce_key(), REPOSITORY, SESSION);
        for content in contents() {
            let whole = job(&content).run(&mut tools(), &cipher()).unwrap();
            let (pending, raw) = job(&content).part();
            let plaintext = tools().plaintext(0, &pending.lengths(), &raw).unwrap();
            let terms = nonces.terms(pending.kind(), pending.counter(), &plaintext);
            let stored = [&terms.nonce, by_host(&terms, &plaintext).as_slice()].concat();
            assert_eq!(pending.sealed(stored).as_ref(), Ok(&whole));
            let (pending, _) = job(&content).part();
            assert_eq!(pending.seal(&cipher(), &plaintext).as_ref(), Ok(&whole));
        }
    }

    #[test]
    fn a_block_whose_bytes_the_host_keeps_is_the_same_block() {
        let [content, _] = contents();
        let half = content.len() / 2;
        let mut builder = BlockBuilder::new(BlockKind::Data, 1 << 20);
        builder.push_elsewhere(ChunkId([1; 24]), half as u32);
        builder.push_elsewhere(ChunkId([2; 24]), (content.len() - half) as u32);
        let (kept, none) = builder.take(Counters::new().next().unwrap()).unwrap().part();
        let (pending, raw) = job(&content).part();
        assert_eq!((none.len(), kept.lengths(), kept.ids()), (0, pending.lengths(), pending.ids()));
        let plaintext = tools().plaintext(0, &pending.lengths(), &raw).unwrap();
        assert_eq!(kept.seal(&cipher(), &plaintext), pending.seal(&cipher(), &plaintext));
    }

    #[test]
    fn a_block_whose_bytes_the_host_keeps_cannot_be_sealed_without_them() {
        let mut builder = BlockBuilder::new(BlockKind::Data, 1 << 20);
        builder.push_elsewhere(ChunkId([1; 24]), 5_000);
        let job = builder.take(Counters::new().next().unwrap()).unwrap();
        assert!(matches!(job.run(&mut tools(), &cipher()), Err(SealFault::Unreadable { counter: 0, .. })));
    }

    #[test]
    fn what_no_block_can_be_is_not_taken_for_one() {
        for stored in [vec![], vec![0; NONCE + TAG], vec![0; BLOCK_BYTES as usize + 1]] {
            let (pending, _) = job(&contents()[0]).part();
            assert_eq!(pending.sealed(stored), Err(SealFault::Differs { counter: 0 }));
        }
    }
}
