//! Session: the key and the cipher of a session that sealed blocks.

use copal_format::id::DomainId;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::session::{SessionError, SessionKey, SessionRecord, UnwrapError};
use copal_format::seal::SessionCipher;

/// A session whose key was unwrapped. Unwrapping takes a key agreement, so a reader keeps the session.
pub struct Session {
    /// The session's key.
    pub key: SessionKey,
    /// The cipher of its blocks.
    pub cipher: SessionCipher,
}

/// Why a session's blocks cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    /// The bytes are not a session record.
    #[error(transparent)]
    Record(#[from] SessionError),
    /// A client put blocks of one domain into a pack or manifest of another.
    #[error("its session is of another domain")]
    OtherDomain,
    /// The owner cannot unwrap the key.
    #[error(transparent)]
    Key(#[from] UnwrapError),
}

impl Session {
    /// Unwraps the key in a session's record, which lies in a pack or manifest of a domain.
    pub fn open(owner: &OwnerSecret, domain: DomainId, record: &[u8]) -> Result<Self, SessionFault> {
        let record = SessionRecord::parse(record)?;
        if record.domain() != domain {
            return Err(SessionFault::OtherDomain);
        }
        let key = record.unwrap(owner)?;
        let repository = owner.repository();
        let cipher = SessionCipher::new(&key, repository, record.id(repository));
        Ok(Self { key, cipher })
    }
}
