//! Keys: the results of `init`, `reader` and `key`. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_format::id::{ClientId, RepositoryId, SlotId};
use copal_format::keys::slot::SlotKind;
use serde::Serialize;

use super::Answer;
use super::human;

#[derive(Serialize, Clone, Debug)]
pub struct InitSummary {
    pub repository_id: RepositoryId,
    pub repository: String,
    pub client: ClientId,
    /// The recovery code; shown only this once.
    pub recovery_code: String,
    pub key_file: Option<String>,
    pub reader: Option<String>,
}

impl Answer for InitSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "repository {} created in {}\n", self.repository_id.short(), human::text(&self.repository))?;
        write_recovery_code(&self.recovery_code, out)?;
        writeln!(out)?;
        match &self.key_file {
            Some(path) => {
                writeln!(out, "Key file: {}. Whoever has it can read and change every backup.", human::text(path))?;
                writeln!(
                    out,
                    "If the passphrase, the recovery code and the key file are all lost, every backup is lost:"
                )?;
            }
            None => writeln!(out, "If the passphrase and the recovery code are both lost, every backup is lost:")?,
        }
        writeln!(out, "nobody can open the repository without one of them. Keep the code away from this machine.")
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct ReaderSummary {
    pub reader: String,
    /// The name of the text next to it.
    pub text: String,
    /// Whether either was stored now; false if both existed.
    pub stored: bool,
    pub descriptor: Option<String>,
}

impl Answer for ReaderSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        match (self.stored, &self.descriptor) {
            (false, None) => writeln!(out, "the repository carries this reader already: {}", self.reader),
            _ => writeln!(out, "the repository carries the reader {}", self.reader),
        }
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct RecoverySummary {
    pub slot: SlotId,
    /// The recovery code; shown only this once.
    pub recovery_code: String,
}

impl Answer for RecoverySummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        write_recovery_code(&self.recovery_code, out)?;
        writeln!(out, "Earlier codes stay valid until \"copal key remove\" removes them.")
    }
}

fn write_recovery_code(code: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{RECOVERY}\n\n    {code}\n")
}

/// What stands above a recovery code.
pub(super) const RECOVERY: &str = "Recovery code (shown this once; write it down on paper):";

#[derive(Serialize, Clone, Debug, Default)]
pub struct KeySummary {
    pub added: Option<SlotId>,
    pub removed: Option<SlotId>,
    pub kind: Option<SlotKind>,
}

impl Answer for KeySummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(slot) = &self.added {
            writeln!(out, "key {} added", slot.short())?;
        }
        self.removed.as_ref().map_or(Ok(()), |slot| writeln!(out, "key {} removed", slot.short()))
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct KeychainSummary {
    /// The address by which the keychain names the secret.
    pub repository: String,
    /// Whether the keychain holds it now.
    pub stored: bool,
    pub was_there: bool,
}

impl Answer for KeychainSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let repository = human::text(&self.repository);
        match (self.stored, self.was_there) {
            (true, _) => writeln!(out, "the keychain opens {repository} with --keychain"),
            (false, true) => writeln!(out, "the keychain holds nothing for {repository} any more"),
            (false, false) => writeln!(out, "the keychain holds nothing for {repository}"),
        }
    }
}
