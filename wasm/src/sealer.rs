//! Sealer: a worker's part of sealing. It checks the ids of a block's chunks, compresses, decompresses and compares;
//! returns the terms for the host's cipher; and compares what that cipher opens from its own output.

use std::collections::BTreeMap;

use copal_format::block::SealTools;
use copal_format::compress::{Compress, Compressor, Parameters};
use copal_format::id::{ChunkId, RepositoryId, SessionId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::limits::{BLOCK_BYTES, BLOCK_ENTRIES, CHUNK_BYTES};
use copal_format::seal::{BlockKind, Nonces, SealTerms};

use crate::fault::{Code, Fault};

/// The content of a block to be compressed and sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFacts {
    /// Its counter in the session.
    pub counter: u64,
    /// Whether it holds pages.
    pub is_tree: bool,
    /// The ids of its entries.
    pub ids: Vec<ChunkId>,
    /// The lengths of its entries.
    pub lengths: Vec<u32>,
}

/// Prepares block after block. Has the keys that name chunks and make nonces; neither opens anything.
pub struct Sealer {
    keys: DomainKeys,
    nonces: Nonces,
    tools: SealTools,
    /// Plaintexts that the host's cipher is sealing.
    out: BTreeMap<u64, Vec<u8>>,
}

impl Sealer {
    /// The length of [`super::backup::Backup::sealer_key`].
    pub const KEY: usize = Secret::LEN + RepositoryId::LEN + SessionId::LEN;

    /// A sealer with this compression level, or the nearest one available.
    pub fn new(keys: DomainKeys, key: &[u8; Sealer::KEY], level: i32) -> Self {
        let (secret, rest) = key.split_at(Secret::LEN);
        let (repository, session) = rest.split_at(RepositoryId::LEN);
        let secret = Secret::new(secret.try_into().expect("32 bytes"));
        let repository = RepositoryId(repository.try_into().expect("as many as it has"));
        let session = SessionId(session.try_into().expect("as many as it has"));
        let nonces = Nonces::new(secret, repository, session);
        Self { keys, nonces, tools: SealTools::new(parameters(level)), out: BTreeMap::new() }
    }

    /// The plaintext of a block, if its bytes still have the ids that the naming worker computed.
    pub fn plaintext(&mut self, block: &BlockFacts, raw: &[u8]) -> Result<Vec<u8>, Fault> {
        let BlockFacts { counter, is_tree, ids, lengths } = block;
        let sum: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        let fits = (1..=BLOCK_ENTRIES as usize).contains(&lengths.len())
            && lengths.iter().all(|&length| length <= CHUNK_BYTES)
            && raw.len() <= BLOCK_BYTES as usize
            && ids.len() == lengths.len();
        if sum != raw.len() as u64 || !fits {
            return Err(Fault::misuse("ids and lengths are not those of a block's bytes"));
        }
        // Pages come directly from the session, and their ids depend on more than their bytes.
        if !is_tree {
            let mut rest = raw;
            for (id, &length) in ids.iter().zip(lengths) {
                let (chunk, behind) = rest.split_at(length as usize);
                if self.keys.chunk_id(chunk) != *id {
                    return Err(Fault::new(Code::SealFailed, "a chunk's bytes are not those that were named"));
                }
                rest = behind;
            }
        }
        Ok(self.tools.plaintext(*counter, lengths, raw)?)
    }

    /// The plaintext of a block, and the terms for the host's cipher. The plaintext is kept until [`Sealer::opened`].
    pub fn prepare(&mut self, block: &BlockFacts, raw: &[u8]) -> Result<(&[u8], SealTerms), Fault> {
        let plaintext = self.plaintext(block, raw)?;
        let kind = if block.is_tree { BlockKind::Tree } else { BlockKind::Data };
        let terms = self.nonces.terms(kind, block.counter, &plaintext);
        let kept = self.out.entry(block.counter).insert_entry(plaintext).into_mut();
        Ok((kept, terms))
    }

    /// Takes the bytes that the host's cipher opened from its own output. If they differ, the block must not be stored.
    pub fn opened(&mut self, counter: u64, opened: &[u8]) -> Result<(), Fault> {
        let plaintext = self.out.remove(&counter).ok_or_else(|| Fault::misuse("no such block is being sealed"))?;
        if plaintext != opened {
            let words = format!("block {counter} reads back as other bytes than were sealed");
            return Err(Fault::new(Code::SealFailed, words));
        }
        Ok(())
    }
}

/// A compressor of this level, or of the nearest one available. For a [`super::backup::Backup`] in the same program.
pub fn compressor(level: i32) -> Box<dyn Compress> {
    Box::new(Compressor::new(parameters(level)))
}

/// A compression level for browsers: the module does not include levels above 3.
fn parameters(level: i32) -> Parameters {
    Parameters::of_level(level.clamp(-7, 3))
}

#[cfg(test)]
mod tests {
    use copal_format::keys::domain::DomainKey;

    use super::*;

    fn sealer() -> (Sealer, BlockFacts, Vec<u8>) {
        let keys = DomainKeys::new(&DomainKey::from_secret(Secret::new([1; 32])));
        let raw = b"the same words over and over. ".repeat(300);
        let ids = vec![keys.chunk_id(&raw[..5_000]), keys.chunk_id(&raw[5_000..])];
        let block = BlockFacts { counter: 7, is_tree: false, ids, lengths: vec![5_000, 4_000] };
        (Sealer::new(keys, &[2; Sealer::KEY], 3), block, raw)
    }

    #[test]
    fn bytes_that_were_altered_since_they_were_named_are_not_sealed() {
        let (mut sealer, block, raw) = sealer();
        for at in [0, 4_999, 5_000, 8_999] {
            let mut altered = raw.clone();
            altered[at] ^= 1;
            let told = sealer.prepare(&block, &altered).map(drop).map_err(|fault| fault.code);
            assert_eq!(told, Err(Code::SealFailed), "byte {at}");
        }
        assert!(sealer.prepare(&block, &raw).is_ok());
    }

    #[test]
    fn what_does_not_open_to_what_was_compressed_is_refused() {
        let (mut sealer, block, raw) = sealer();
        let plaintext = sealer.prepare(&block, &raw).unwrap().0.to_vec();
        let mut altered = plaintext.clone();
        altered[20] ^= 1;
        for opened in [&altered[..], &plaintext[1..], &[]] {
            sealer.prepare(&block, &raw).unwrap();
            assert_eq!(sealer.opened(7, opened).map_err(|fault| fault.code), Err(Code::SealFailed));
            let again = sealer.opened(7, &plaintext).map_err(|fault| fault.code);
            assert_eq!(again, Err(Code::Misuse), "it was judged");
        }
        sealer.prepare(&block, &raw).unwrap();
        assert_eq!(sealer.opened(7, &plaintext), Ok(()));
    }

    #[test]
    fn other_bytes_under_one_number_have_another_nonce() {
        let (mut sealer, block, raw) = sealer();
        let first = sealer.prepare(&block, &raw).unwrap().1;
        let other = b"other words of as many letters".repeat(300);
        let ids = vec![sealer.keys.chunk_id(&other[..5_000]), sealer.keys.chunk_id(&other[5_000..])];
        let second = sealer.prepare(&BlockFacts { ids, ..block }, &other).unwrap().1;
        assert_eq!(first.associated, second.associated);
        assert_ne!(first.nonce, second.nonce);
    }
}
