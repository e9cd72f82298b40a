//! Seal: a session's cipher for blocks. A sealed block is bound to its session, kind and number, but not to its pack.

use std::sync::Arc;

use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};

use crate::id::{RepositoryId, SessionId};
use crate::keys::secret::Secret;
use crate::keys::session::SessionKey;
use crate::limits::{BLOCK_BYTES, SESSION_BLOCKS};
use crate::wire::record::label;

/// What a block holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Chunks of files.
    Data = 0,
    /// Pages of trees and lists.
    Tree = 1,
    /// A snapshot's sealed description.
    Info = 2,
}

/// The number of a block in its session. Cannot be copied, so that no two blocks get the same number.
#[derive(Debug, PartialEq, Eq)]
pub struct Counter(u64);

impl Counter {
    /// The number.
    pub fn get(&self) -> u64 {
        self.0
    }
}

/// An iterator over the numbers of a session's blocks, each issued once. A session has exactly one.
#[derive(Debug, Default)]
pub struct Counters {
    issued: u64,
}

impl Counters {
    /// Starts at block 0.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Iterator for Counters {
    type Item = Counter;

    /// Returns `None` once the session has used all its numbers; the next block needs a new session.
    fn next(&mut self) -> Option<Counter> {
        let counter = Counter(self.issued);
        (counter.0 < SESSION_BLOCKS).then(|| {
            self.issued += 1;
            counter
        })
    }
}

/// Seals and opens the blocks of one session. Clones share the keys, for use on several threads.
#[derive(Clone)]
pub struct SessionCipher(Arc<Keys>);

struct Keys {
    gcm: Aes256Gcm,
    nonces: Nonces,
}

impl SessionCipher {
    /// Derives the session's block keys.
    pub fn new(key: &SessionKey, repository: RepositoryId, session: SessionId) -> Self {
        let gcm = Aes256Gcm::new(key.block_key().expose().into());
        Self(Arc::new(Keys { gcm, nonces: Nonces::new(key.nonce_key(), repository, session) }))
    }

    /// Seals a block's plaintext. The nonce is derived from everything sealed, so it repeats only for identical input.
    pub fn seal(&self, kind: BlockKind, counter: Counter, plaintext: &[u8]) -> Vec<u8> {
        self.seal_into(kind, counter, plaintext, Vec::new())
    }

    /// Like [`SessionCipher::seal`], but reuses a buffer and overwrites all its content.
    pub(crate) fn seal_into(
        &self,
        kind: BlockKind,
        counter: Counter,
        plaintext: &[u8],
        mut stored: Vec<u8>,
    ) -> Vec<u8> {
        let SealTerms { nonce, associated } = self.0.nonces.terms(kind, counter.0, plaintext);
        stored.resize(NONCE + plaintext.len() + TAG, 0);
        stored[..NONCE].copy_from_slice(&nonce);
        let (ciphertext, tag) = stored[NONCE..].split_at_mut(plaintext.len());
        let buffer = InOutBuf::new(plaintext, ciphertext).expect("both have the plaintext's length");
        let sealed = self.0.gcm.encrypt_inout_detached(&Nonce::from(nonce), &associated, buffer);
        tag.copy_from_slice(&sealed.expect("blocks are far below the AES-GCM length limit"));
        stored
    }

    /// Replaces `plaintext` by that of the stored block. Fails unless that block was sealed under this kind and number.
    pub fn open(&self, kind: BlockKind, counter: u64, stored: &[u8], plaintext: &mut Vec<u8>) -> Result<(), OpenError> {
        plaintext.clear();
        if !(NONCE + TAG..=BLOCK_BYTES as usize).contains(&stored.len()) {
            return Err(OpenError::Length { session: self.0.nonces.session, counter, actual: stored.len() });
        }
        let (head, tag) = stored.split_at(stored.len() - TAG);
        let (nonce, ciphertext) = head.split_at(NONCE);
        let nonce: [u8; NONCE] = nonce.try_into().expect("12 bytes");
        let tag: [u8; TAG] = tag.try_into().expect("16 bytes");
        plaintext.resize(ciphertext.len(), 0);
        let associated = self.0.nonces.associated(kind, counter);
        let buffer = InOutBuf::new(ciphertext, plaintext).expect("both have the ciphertext's length");
        let opened = self.0.gcm.decrypt_inout_detached(&Nonce::from(nonce), &associated, buffer, &Tag::from(tag));
        opened.map_err(|_| OpenError::Forged { session: self.0.nonces.session, counter })?;
        self.check(kind, counter, &nonce, plaintext)
    }

    /// The associated data of the block, for a host whose own cipher opens it.
    pub fn associated(&self, kind: BlockKind, counter: u64) -> Vec<u8> {
        self.0.nonces.associated(kind, counter)
    }

    /// Checks that the plaintext, opened by any cipher, is what was sealed under this kind, number and nonce.
    pub fn check(&self, kind: BlockKind, counter: u64, nonce: &[u8; NONCE], plaintext: &[u8]) -> Result<(), OpenError> {
        let nonces = &self.0.nonces;
        let is_it = nonces.nonce(&nonces.associated(kind, counter), plaintext) == *nonce;
        if is_it { Ok(()) } else { Err(OpenError::Nonce { session: nonces.session, counter }) }
    }
}

/// Computes nonces and associated data for a cipher of the host, such as a browser's; cannot seal or open blocks. A
/// nonce is derived from everything sealed, so asking twice under one number repeats it only for the same bytes.
#[derive(Clone)]
pub struct Nonces {
    key: Secret,
    repository: RepositoryId,
    session: SessionId,
}

impl Nonces {
    /// Takes the key from [`SessionKey::nonce_key`].
    pub fn new(key: Secret, repository: RepositoryId, session: SessionId) -> Self {
        Self { key, repository, session }
    }

    /// The nonce and associated data with which to seal the block of this kind and number.
    pub fn terms(&self, kind: BlockKind, counter: u64, plaintext: &[u8]) -> SealTerms {
        let associated = self.associated(kind, counter);
        SealTerms { nonce: self.nonce(&associated, plaintext), associated }
    }

    fn associated(&self, kind: BlockKind, counter: u64) -> Vec<u8> {
        let (repository, session) = (self.repository.as_bytes(), self.session.as_bytes());
        [&label("block"), repository, &[kind as u8], session, &counter.to_le_bytes()].concat()
    }

    fn nonce(&self, associated: &[u8], plaintext: &[u8]) -> [u8; NONCE] {
        let digest = self.key.digest(&[associated, plaintext]);
        digest[..NONCE].try_into().expect("12 of 32 bytes")
    }
}

impl core::fmt::Debug for Nonces {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Nonces({})", self.session)
    }
}

/// The inputs of AES-256-GCM for one block, apart from key and plaintext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealTerms {
    /// The nonce, derived from everything sealed.
    pub nonce: [u8; NONCE],
    /// The associated data.
    pub associated: Vec<u8>,
}

impl core::fmt::Debug for SessionCipher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SessionCipher({})", self.0.nonces.session)
    }
}

/// Why a stored block does not open.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum OpenError {
    /// Shorter or longer than any block.
    #[error("block {counter} of session {session} has {actual} bytes, which no block has")]
    Length { session: SessionId, counter: u64, actual: usize },
    /// The bytes were altered, or are those of another block.
    #[error("block {counter} of session {session} is forged")]
    Forged { session: SessionId, counter: u64 },
    /// A holder of the key sealed the block under a nonce that is not derived from its content.
    #[error("block {counter} of session {session} was sealed under a nonce that is not its own")]
    Nonce { session: SessionId, counter: u64 },
}

/// The length of the nonce, which precedes the ciphertext.
pub const NONCE: usize = 12;
/// The length of the tag, which follows the ciphertext.
pub const TAG: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REPOSITORY: RepositoryId = RepositoryId([1; 16]);
    const SESSION: SessionId = SessionId([2; 16]);

    fn cipher() -> SessionCipher {
        SessionCipher::new(&SessionKey::new(Secret::new([3; 32])), REPOSITORY, SESSION)
    }

    fn sealed_hello() -> Vec<u8> {
        cipher().seal(BlockKind::Data, Counter(7), b"hello")
    }

    fn open(cipher: &SessionCipher, kind: BlockKind, counter: u64, stored: &[u8]) -> Result<Vec<u8>, OpenError> {
        let mut plaintext = b"left over".to_vec();
        cipher.open(kind, counter, stored, &mut plaintext).map(|()| plaintext)
    }

    #[test]
    fn a_buffer_that_was_used_before_leaves_nothing_in_a_block() {
        for before in [vec![], vec![0xff; 7], vec![0xff; 4096]] {
            let counter = Counters::new().nth(7).unwrap();
            let sealed = cipher().seal_into(BlockKind::Data, counter, b"hello", before);
            assert_eq!(sealed, sealed_hello());
        }
    }

    #[test]
    fn a_block_opens_as_what_it_was_sealed() {
        assert_eq!(open(&cipher(), BlockKind::Data, 7, &sealed_hello()), Ok(b"hello".to_vec()));
    }

    #[test]
    fn altered_block_is_reported_as_forged() {
        for at in 0..sealed_hello().len() {
            let mut altered = sealed_hello();
            altered[at] ^= 1;
            let forged = OpenError::Forged { session: SESSION, counter: 7 };
            assert_eq!(open(&cipher(), BlockKind::Data, 7, &altered), Err(forged), "byte {at}");
        }
    }

    #[test]
    fn a_block_is_forged_as_another_kind_or_number_or_of_another_session_repository_or_key() {
        let forged = Err(OpenError::Forged { session: SESSION, counter: 7 });
        assert_eq!(open(&cipher(), BlockKind::Tree, 7, &sealed_hello()), forged);
        let other_number = OpenError::Forged { session: SESSION, counter: 8 };
        assert_eq!(open(&cipher(), BlockKind::Data, 8, &sealed_hello()), Err(other_number));
        let key = SessionKey::new(Secret::new([3; 32]));
        let elsewhere = SessionCipher::new(&key, RepositoryId([9; 16]), SESSION);
        assert_eq!(open(&elsewhere, BlockKind::Data, 7, &sealed_hello()), forged);
        let another = SessionCipher::new(&key, REPOSITORY, SessionId([9; 16]));
        assert!(open(&another, BlockKind::Data, 7, &sealed_hello()).is_err());
        let other_key = SessionCipher::new(&SessionKey::new(Secret::new([9; 32])), REPOSITORY, SESSION);
        assert_eq!(open(&other_key, BlockKind::Data, 7, &sealed_hello()), forged);
    }

    #[test]
    fn a_block_under_a_nonce_that_is_not_its_own_is_refused() {
        let cipher = cipher();
        let mut stored = vec![0; NONCE];
        let mut text = b"hello".to_vec();
        let associated = cipher.0.nonces.associated(BlockKind::Data, 7);
        cipher.0.gcm.encrypt_in_place(&Nonce::from([0; NONCE]), &associated, &mut text).unwrap();
        stored.extend(text);
        let nonce = OpenError::Nonce { session: SESSION, counter: 7 };
        assert_eq!(open(&cipher, BlockKind::Data, 7, &stored), Err(nonce));
    }

    #[test]
    fn what_another_cipher_has_opened_is_what_was_sealed_or_refused() {
        let cipher = cipher();
        let stored = sealed_hello();
        let nonce: [u8; NONCE] = stored[..NONCE].try_into().unwrap();
        let mut opened = stored[NONCE..].to_vec();
        let associated = cipher.associated(BlockKind::Data, 7);
        cipher.0.gcm.decrypt_in_place(&Nonce::from(nonce), &associated, &mut opened).unwrap();
        assert_eq!(cipher.check(BlockKind::Data, 7, &nonce, &opened), Ok(()));
        let refused = Err(OpenError::Nonce { session: SESSION, counter: 7 });
        assert_eq!(cipher.check(BlockKind::Data, 7, &[0; NONCE], &opened), refused);
        assert_eq!(cipher.check(BlockKind::Tree, 7, &nonce, &opened), refused);
        assert_eq!(cipher.check(BlockKind::Data, 7, &nonce, b"hellO"), refused);
        let other_number = Err(OpenError::Nonce { session: SESSION, counter: 8 });
        assert_eq!(cipher.check(BlockKind::Data, 8, &nonce, &opened), other_number);
    }

    #[test]
    fn lengths_that_no_block_has_are_refused() {
        assert!(matches!(open(&cipher(), BlockKind::Data, 7, &[0; 27]), Err(OpenError::Length { actual: 27, .. })));
        let long = vec![0; BLOCK_BYTES as usize + 1];
        assert!(matches!(open(&cipher(), BlockKind::Data, 7, &long), Err(OpenError::Length { .. })));
    }

    #[test]
    fn numbers_are_issued_once_and_come_to_an_end() {
        let mut counters = Counters::new();
        assert_eq!([counters.next(), counters.next()], [Some(Counter(0)), Some(Counter(1))]);
        let mut last = Counters { issued: SESSION_BLOCKS - 1 };
        assert_eq!(last.next(), Some(Counter(SESSION_BLOCKS - 1)));
        assert_eq!([last.next(), last.next()], [None, None]);
    }

    #[test]
    fn any_thread_may_seal() {
        fn is_shared<T: Send + Sync + Clone>(_: &T) {}
        is_shared(&cipher());
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_plaintext_or_an_error(stored: Vec<u8>, counter: u64) {
            prop_assert!(open(&cipher(), BlockKind::Info, counter, &stored).is_err());
        }
    }
}
