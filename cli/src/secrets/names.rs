//! Names: the variables that may name a secret, for each repository that a command reads or writes.

use super::SecretError;

/// The variables that may name the secret of a repository, and how a person is asked for it.
#[derive(Debug)]
pub struct Names {
    pub(super) key_file: &'static str,
    pub(super) password: &'static str,
    pub(super) password_file: &'static str,
    pub(super) password_command: &'static str,
    pub(super) prompt: &'static str,
    /// The failure if nothing names a secret, and nobody can be asked.
    pub(super) missing: fn() -> SecretError,
}

pub static OF_REPOSITORY: Names = Names {
    key_file: "COPAL_KEY_FILE",
    password: "COPAL_PASSWORD",
    password_file: "COPAL_PASSWORD_FILE",
    password_command: "COPAL_PASSWORD_COMMAND",
    prompt: "Passphrase (or recovery code): ",
    missing: || SecretError::Missing,
};

pub static OF_TARGET: Names = TARGET;

const TARGET: Names = Names {
    key_file: "COPAL_TO_KEY_FILE",
    password: "COPAL_TO_PASSWORD",
    password_file: "COPAL_TO_PASSWORD_FILE",
    password_command: "COPAL_TO_PASSWORD_COMMAND",
    prompt: "Passphrase (or recovery code) of the repository to copy to: ",
    missing: || SecretError::MissingThere,
};

pub static OF_EXPORT: Names = Names { missing: || SecretError::MissingOfExport, ..TARGET };

/// The names for a repository of restic, which are restic's.
pub static OF_RESTIC: Names = Names {
    key_file: "",
    password: "RESTIC_PASSWORD",
    password_file: "RESTIC_PASSWORD_FILE",
    password_command: "RESTIC_PASSWORD_COMMAND",
    prompt: "Password of the restic repository: ",
    missing: || SecretError::MissingOfRestic,
};
