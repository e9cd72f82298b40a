//! Slot input: what a person types or a machine keeps to open a key slot.

use core::fmt;

use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use super::SlotKind;
use crate::keys::secret::Secret;
use crate::keys::text::{self, TextError};

/// A passphrase in Unicode's composed form (NFC), so that it does not matter how a keyboard writes an umlaut.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// The text, for stretching it.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// What a person or a file gives to open a slot.
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
        // Composing never makes a text more than three times as long; growing would leave copies behind.
        let mut composed = Zeroizing::new(String::with_capacity(3 * text.len()));
        composed.extend(text.nfc());
        Self::composed(composed)
    }

    /// Takes a passphrase that the host has composed (NFC): every browser can, and need not load the tables again.
    pub fn composed(text: Zeroizing<String>) -> Result<Self, BadPassphrase> {
        if text.is_empty() { Err(BadPassphrase::Empty) } else { Ok(Self::Passphrase(Passphrase(text))) }
    }

    /// Takes a passphrase from a file or a command's output; one line end at the end is not part of it.
    pub fn passphrase_from_bytes(bytes: &[u8]) -> Result<Self, BadPassphrase> {
        let line = bytes.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        Self::passphrase(core::str::from_utf8(line.unwrap_or(bytes)).map_err(|_| BadPassphrase::NotText)?)
    }

    /// Takes a recovery code as typed.
    pub fn recovery_code(text: &str) -> Result<Self, TextError> {
        text::decode_recovery(text).map(Self::RecoveryCode)
    }

    /// Takes the content of a key file.
    pub fn key_file(text: &str) -> Result<Self, TextError> {
        text::decode_key_file(text).map(Self::KeyFile)
    }

    /// The kind of slot this may open.
    pub fn kind(&self) -> SlotKind {
        match self {
            Self::Passphrase(_) => SlotKind::Passphrase,
            Self::RecoveryCode(_) => SlotKind::RecoveryCode,
            Self::KeyFile(_) => SlotKind::KeyFile,
        }
    }
}

/// A passphrase that cannot be one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPassphrase {
    /// Nothing was given.
    #[error("the passphrase is empty")]
    Empty,
    /// The bytes are not text.
    #[error("the passphrase is not UTF-8")]
    NotText,
}
