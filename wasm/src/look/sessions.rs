//! Sessions: the sessions that sealed blocks. Each has a cipher of the engine, and a key for the host's cipher.

use std::collections::HashMap;

use copal_engine::read;
use copal_format::id::DomainId;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::seal::SessionCipher;

/// A session whose key was unwrapped.
#[derive(Clone)]
pub(super) struct Session {
    /// The host's number for it.
    pub(super) number: u32,
    /// The engine's own cipher.
    pub(super) cipher: SessionCipher,
}

/// The sessions of one repository, by their records.
#[derive(Default)]
pub(super) struct Sessions {
    known: HashMap<Vec<u8>, Session>,
    /// The keys of the sessions' blocks by number, until the host takes them.
    keys: Vec<Option<Secret>>,
}

impl Sessions {
    /// The session with this record. Unwrapping needs a key agreement, so it is done once.
    pub(super) fn of(&mut self, owner: &OwnerSecret, domain: DomainId, record: &[u8]) -> Result<Session, String> {
        if let Some(session) = self.known.get(record) {
            return Ok(session.clone());
        }
        let read::Session { key, cipher } =
            read::Session::open(owner, domain, record).map_err(|fault| fault.to_string())?;
        let session = Session { number: self.keys.len() as u32, cipher };
        self.keys.push(Some(key.block_key()));
        self.known.insert(record.to_vec(), session.clone());
        Ok(session)
    }

    /// The key of a session's blocks, only once: the host imports it as non-extractable.
    pub(super) fn take_key(&mut self, session: u32) -> Option<Secret> {
        self.keys.get_mut(session as usize)?.take()
    }
}
