//! Slot input: a passphrase, recovery code or key file that opens a key slot.

use core::fmt;

use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use super::SlotKind;
use crate::keys::secret::Secret;
use crate::keys::text::{self, TextError};

/// A passphrase in Unicode's composed form (NFC), so that keyboards may encode an umlaut in different ways.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// The text as bytes, for stretching.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// The input that opens a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotInput {
    /// A passphrase.
    Passphrase(Passphrase),
    /// The bytes of a recovery code.
    RecoveryCode(Secret),
    /// The bytes of a key file.
    KeyFile(Secret),
}

impl SlotInput {
    /// Takes a passphrase as typed.
    pub fn passphrase(text: &str) -> Result<Self, BadPassphrase> {
        // NFC is at most three times as long. Growing the buffer would leave copies of the passphrase behind.
        let mut composed = Zeroizing::new(String::with_capacity(3 * text.len()));
        composed.extend(text.nfc());
        Self::composed(composed)
    }

    /// Takes a passphrase already in NFC. Browsers can compose text themselves and need not load the tables.
    pub fn composed(text: Zeroizing<String>) -> Result<Self, BadPassphrase> {
        if text.is_empty() { Err(BadPassphrase::Empty) } else { Ok(Self::Passphrase(Passphrase(text))) }
    }

    /// Takes a recovery code as typed.
    pub fn recovery_code(text: &str) -> Result<Self, TextError> {
        text::decode_recovery(text).map(Self::RecoveryCode)
    }

    /// Takes the content of a key file.
    pub fn key_file(text: &str) -> Result<Self, TextError> {
        text::decode_key_file(text).map(Self::KeyFile)
    }

    /// The kind of slot that this input may open.
    pub fn kind(&self) -> SlotKind {
        match self {
            Self::Passphrase(_) => SlotKind::Passphrase,
            Self::RecoveryCode(_) => SlotKind::RecoveryCode,
            Self::KeyFile(_) => SlotKind::KeyFile,
        }
    }
}

/// Why a text cannot be a passphrase.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPassphrase {
    /// It is empty.
    #[error("the passphrase is empty")]
    Empty,
}
