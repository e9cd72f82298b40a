//! Sealed: bytes that a host keeps and only the key's holder can open: `salt 16 ‖ a block`, with the salt as session
//! id.

use copal_format::id::{RepositoryId, SessionId};
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionKey;
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use zeroize::Zeroizing;

/// Seals bytes under a key that seals nothing else.
pub(crate) fn seal(key: &Secret, repository: RepositoryId, salt: [u8; SessionId::LEN], bytes: &[u8]) -> Vec<u8> {
    let counter = Counters::new().next().expect("a new session has numbers");
    let mut stored = salt.to_vec();
    stored.extend(cipher(key, repository, salt).seal(BlockKind::Info, counter, bytes));
    stored
}

/// Opens sealed bytes; `None` if they were changed or sealed with another key.
pub(crate) fn open(key: &Secret, repository: RepositoryId, stored: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (salt, block) = stored.split_first_chunk()?;
    let mut bytes = Zeroizing::new(Vec::new());
    cipher(key, repository, *salt).open(BlockKind::Info, 0, block, &mut bytes).ok()?;
    Some(bytes)
}

pub(crate) fn cipher(key: &Secret, repository: RepositoryId, salt: [u8; SessionId::LEN]) -> SessionCipher {
    SessionCipher::new(&SessionKey::new(key.clone()), repository, SessionId(salt))
}
