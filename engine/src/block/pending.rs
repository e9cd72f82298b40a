//! Pending block: one that a host seals with a cipher of its own, such as a browser's. It gives the bytes that
//! [`super::SealJob::run`] gives, and is read back as that does.

use super::{BlockItem, SealFault, SealedBlock};
use crate::seal::{BlockKind, Counter, NONCE, SealTerms, SessionCipher, TAG};

/// A block whose bytes are being compressed and sealed elsewhere. Its number was fixed when it was made.
#[derive(Debug)]
pub struct PendingBlock {
    kind: BlockKind,
    items: Vec<BlockItem>,
    counter: Counter,
    raw_length: u64,
    /// The nonce that the host was told.
    nonce: Option<[u8; NONCE]>,
}

impl PendingBlock {
    pub(super) fn new(kind: BlockKind, items: Vec<BlockItem>, counter: Counter, raw_length: u64) -> Self {
        Self { kind, items, counter, raw_length, nonce: None }
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

    /// What the host's cipher seals this plaintext with.
    pub fn terms(&mut self, cipher: &SessionCipher, plaintext: &[u8]) -> SealTerms {
        let terms = cipher.terms(self.kind, &self.counter, plaintext);
        self.nonce = Some(terms.nonce);
        terms
    }

    /// The digest of a plaintext, taken where it was compressed and compared: what is sealed must have it when it is
    /// opened again.
    pub fn digest(plaintext: &[u8]) -> [u8; 32] {
        *blake3::hash(plaintext).as_bytes()
    }

    /// Takes what the host's cipher made, and what that cipher made of it when it opened it again.
    pub fn sealed(
        self,
        cipher: &SessionCipher,
        ciphertext: &[u8],
        opened: &[u8],
        digest: &[u8; 32],
    ) -> Result<SealedBlock, SealFault> {
        let counter = self.counter.get();
        if Self::digest(opened) != *digest || ciphertext.len() != opened.len() + TAG {
            return Err(SealFault::Differs { counter });
        }
        let nonce = cipher.terms(self.kind, &self.counter, opened).nonce;
        if self.nonce != Some(nonce) {
            return Err(SealFault::Differs { counter });
        }
        let bytes = [&nonce, ciphertext].concat();
        Ok(SealedBlock { kind: self.kind, counter, items: self.items, bytes, raw_length: self.raw_length })
    }

    /// Seals a plaintext with the engine's own cipher, and reads it back.
    pub fn seal(self, cipher: &SessionCipher, plaintext: &[u8], digest: &[u8; 32]) -> Result<SealedBlock, SealFault> {
        let counter = self.counter.get();
        let bytes = cipher.seal(self.kind, self.counter, plaintext);
        let mut opened = Vec::new();
        let read = cipher.open(self.kind, counter, &bytes, &mut opened);
        read.map_err(|error| SealFault::Unreadable { counter, source: error.into() })?;
        if Self::digest(&opened) != *digest {
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
    use crate::id::{ChunkId, RepositoryId, SessionId};
    use crate::keys::secret::Secret;
    use crate::keys::session::SessionKey;
    use crate::seal::Counters;

    fn key() -> SessionKey {
        SessionKey::new(Secret::new([3; 32]))
    }

    fn cipher() -> SessionCipher {
        SessionCipher::new(&key(), RepositoryId([1; 16]), SessionId([2; 16]))
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
    fn a_host_and_the_engine_seal_the_same_bytes() {
        for content in contents() {
            let whole = job(&content).run(&mut tools(), &cipher()).unwrap();
            let (mut pending, raw) = job(&content).part();
            let plaintext = tools().plaintext(0, &pending.lengths(), &raw).unwrap();
            let digest = PendingBlock::digest(&plaintext);
            let ciphertext = by_host(&pending.terms(&cipher(), &plaintext), &plaintext);
            assert_eq!(pending.sealed(&cipher(), &ciphertext, &plaintext, &digest).as_ref(), Ok(&whole));
            let (pending, _) = job(&content).part();
            assert_eq!(pending.seal(&cipher(), &plaintext, &digest).as_ref(), Ok(&whole));
        }
    }

    #[test]
    fn what_does_not_open_to_what_was_compressed_is_refused() {
        let [content, _] = contents();
        let (mut pending, raw) = job(&content).part();
        let mut plaintext = tools().plaintext(0, &pending.lengths(), &raw).unwrap();
        let digest = PendingBlock::digest(&plaintext);
        let ciphertext = by_host(&pending.terms(&cipher(), &plaintext), &plaintext);
        plaintext[20] ^= 1;
        let differs = Err(SealFault::Differs { counter: 0 });
        assert_eq!(pending.sealed(&cipher(), &ciphertext, &plaintext, &digest), differs);
        let (pending, _) = job(&content).part();
        assert_eq!(pending.seal(&cipher(), &plaintext, &digest), differs);
        plaintext[20] ^= 1;
        let (mut pending, _) = job(&content).part();
        pending.terms(&cipher(), &plaintext);
        assert_eq!(pending.sealed(&cipher(), &ciphertext[1..], &plaintext, &digest), differs);
    }

    #[test]
    fn a_nonce_that_was_told_for_other_bytes_is_refused() {
        let [content, _] = contents();
        let (mut pending, raw) = job(&content).part();
        let plaintext = tools().plaintext(0, &pending.lengths(), &raw).unwrap();
        let digest = PendingBlock::digest(&plaintext);
        let mut altered = plaintext.clone();
        altered[20] ^= 1;
        let ciphertext = by_host(&pending.terms(&cipher(), &altered), &plaintext);
        let sealed = pending.sealed(&cipher(), &ciphertext, &plaintext, &digest);
        assert_eq!(sealed, Err(SealFault::Differs { counter: 0 }));
    }
}
