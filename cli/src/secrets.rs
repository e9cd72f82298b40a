//! Secrets: finds the passphrase or key that opens a repository.
//!
//! The command line comes before the environment, and a key file before a passphrase. The last resort is a prompt,
//! which needs a terminal. Nothing here is ever printed.

mod names;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use copal_format::keys::slot::SlotKind;
use copal_format::keys::text::decode_recovery;
use zeroize::Zeroizing;

use crate::keychain::{self, KeychainError};
use crate::system::{SHELL, has_terminal};
use copal_client::words::bytes_of;

pub use names::{Names, OF_EXPORT, OF_REPOSITORY, OF_RESTIC, OF_TARGET};

/// A secret that may open a repository; wiped when dropped.
pub struct Credential {
    kind: SlotKind,
    text: Zeroizing<String>,
}

impl Credential {
    pub fn kind(&self) -> SlotKind {
        self.kind
    }

    /// The secret itself, without the line end of its file.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Reads the output of a file, variable, command or person. `kind` applies unless the text has a known prefix.
    fn read(bytes: &[u8], kind: SlotKind, origin: &str) -> Result<Self, SecretError> {
        let origin = || origin.to_owned();
        if bytes.len() > SECRET_MAX {
            return Err(SecretError::Long { origin: origin() });
        }
        let text = core::str::from_utf8(bytes).map_err(|_| SecretError::NotText { origin: origin() })?;
        let text = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
        if text.is_empty() {
            return Err(SecretError::Empty { origin: origin() });
        }
        let begins =
            |prefix: &str| text.trim_start().get(..prefix.len()).is_some_and(|s| s.eq_ignore_ascii_case(prefix));
        // People may type a code without the prefix, or with other signs in it. No passphrase has its checksum.
        let typed = Zeroizing::new(format!("copal-recovery-1 {text}"));
        let of_code = [text, &typed].into_iter().find(|text| decode_recovery(text).is_ok());
        let (kind, text) = match (kind, of_code) {
            (_, Some(code)) => (SlotKind::RecoveryCode, code),
            _ if begins("copal-recovery-") => (SlotKind::RecoveryCode, text),
            _ if begins("copal-key-") => (SlotKind::KeyFile, text),
            (kind, None) => (kind, text),
        };
        Ok(Self { kind, text: Zeroizing::new(text.to_owned()) })
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({:?}, ..)", self.kind)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("no passphrase is given, and there is no terminal to ask for one")]
    Missing,
    #[error("no new passphrase is given, and there is no terminal to ask for one")]
    MissingNew,
    #[error("no passphrase of the repository to copy to is given, and there is no terminal to ask for one")]
    MissingThere,
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot run {0}")]
    NotRun(&'static str, #[source] io::Error),
    /// The command failed; what it printed is not used.
    #[error("{0} failed: {1}")]
    CommandFailed(&'static str, ExitStatus),
    #[error(transparent)]
    Keychain(#[from] KeychainError),
    #[error("the keychain holds nothing for {0}, and there is no terminal to ask for a passphrase")]
    NotInKeychain(String),
    #[error("{origin} is empty")]
    Empty { origin: String },
    #[error("{origin} is not text in UTF-8")]
    NotText { origin: String },
    #[error("{origin} is longer than 64 KiB")]
    Long { origin: String },
    #[error("no passphrase for the export is given, and there is no terminal to ask for one")]
    MissingOfExport,
    #[error("no password of the restic repository is given, and there is no terminal to ask for one")]
    MissingOfRestic,
    #[error("the two passphrases differ")]
    Differ,
    #[error("cannot ask for the passphrase")]
    Terminal(#[source] io::Error),
}

/// A person who can be asked for a secret, without echo.
pub trait Person {
    /// Asks for a secret; `None` if there is no terminal.
    fn ask(&mut self, prompt: &str) -> io::Result<Option<Zeroizing<String>>>;
}

/// The controlling terminal of this process.
#[derive(Debug, Default)]
pub struct Terminal;

impl Person for Terminal {
    fn ask(&mut self, prompt: &str) -> io::Result<Option<Zeroizing<String>>> {
        if !has_terminal() {
            return Ok(None);
        }
        rpassword::prompt_password(prompt).map(|text| Some(Zeroizing::new(text)))
    }
}

/// Every option and variable that may name a secret.
pub struct Sources {
    pub names: &'static Names,
    /// `--key-file`.
    pub key_file: Option<PathBuf>,
    /// `--password-file`.
    pub password_file: Option<PathBuf>,
    /// `--password-command`.
    pub command: Option<OsString>,
    /// `COPAL_KEY_FILE`.
    pub key_file_variable: Option<PathBuf>,
    /// `COPAL_PASSWORD`.
    pub password: Option<Zeroizing<Vec<u8>>>,
    /// `COPAL_PASSWORD_FILE`.
    pub password_file_variable: Option<PathBuf>,
    /// `COPAL_PASSWORD_COMMAND`.
    pub password_command: Option<OsString>,
    /// With `--keychain` the address of the repository, by which the keychain names its secret.
    pub keychain: Option<String>,
}

impl Default for Sources {
    fn default() -> Self {
        Self::new(&OF_REPOSITORY, None, None, |_| None)
    }
}

impl Sources {
    /// Joins the command line's options with the environment; an empty variable counts as absent.
    pub fn new(
        names: &'static Names,
        key_file: Option<PathBuf>,
        password_file: Option<PathBuf>,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let variable = |name| environment(name).filter(|value| !value.is_empty());
        Self {
            names,
            key_file,
            password_file,
            command: None,
            key_file_variable: variable(names.key_file).map(PathBuf::from),
            password: variable(names.password).map(|text| Zeroizing::new(bytes_of(&text).into_owned())),
            password_file_variable: variable(names.password_file).map(PathBuf::from),
            password_command: variable(names.password_command),
            keychain: None,
        }
    }

    /// The same without what may ask a person: commands and the keychain.
    pub fn without_questions(self) -> Self {
        Self { command: None, password_command: None, keychain: None, ..self }
    }

    /// The secret that opens an existing repository. At the prompt, a recovery code works too.
    pub fn existing(&self, person: &mut impl Person) -> Result<Credential, SecretError> {
        if let Some(path) = &self.key_file {
            return from_file(path, SlotKind::KeyFile);
        }
        if let Some(path) = &self.password_file {
            return from_file(path, SlotKind::Passphrase);
        }
        if let Some(command) = &self.command {
            return from_command(command, COMMAND_OPTION);
        }
        if let Some(path) = &self.key_file_variable {
            return from_file(path, SlotKind::KeyFile);
        }
        if let Some(credential) = self.of_environment()? {
            return Ok(credential);
        }
        if let Some(address) = &self.keychain {
            if let Some(secret) = keychain::find(address)? {
                return Credential::read(&secret, SlotKind::Passphrase, "what the keychain holds");
            }
            return asked(person, self.names.prompt, SecretError::NotInKeychain(address.clone()));
        }
        asked(person, self.names.prompt, (self.names.missing)())
    }

    /// The passphrase for a new repository. Ignores key files.
    pub fn first(&self, person: &mut impl Person) -> Result<Credential, SecretError> {
        if let Some(path) = &self.password_file {
            return from_file(path, SlotKind::Passphrase);
        }
        if let Some(command) = &self.command {
            return from_command(command, COMMAND_OPTION);
        }
        match self.of_environment()? {
            Some(credential) => Ok(credential),
            None => asked_twice(person, (self.names.missing)()),
        }
    }

    /// Whether an option or a variable names a secret, so that no prompt is needed.
    pub fn is_given(&self) -> bool {
        self.key_file.is_some()
            || self.password_file.is_some()
            || self.command.is_some()
            || self.key_file_variable.is_some()
            || self.password.is_some()
            || self.password_file_variable.is_some()
            || self.password_command.is_some()
            || self.keychain.is_some()
    }

    fn of_environment(&self) -> Result<Option<Credential>, SecretError> {
        if let Some(bytes) = &self.password {
            return Credential::read(bytes, SlotKind::Passphrase, self.names.password).map(Some);
        }
        if let Some(path) = &self.password_file_variable {
            return from_file(path, SlotKind::Passphrase).map(Some);
        }
        self.password_command.as_ref().map(|command| from_command(command, self.names.password_command)).transpose()
    }
}

/// A passphrase to add: from the file if one is named, else typed twice.
pub fn added(file: Option<&Path>, person: &mut impl Person) -> Result<Credential, SecretError> {
    file.map_or_else(|| asked_twice(person, SecretError::MissingNew), |path| from_file(path, SlotKind::Passphrase))
}

fn from_file(path: &Path, kind: SlotKind) -> Result<Credential, SecretError> {
    let read = std::fs::File::open(path).and_then(bounded);
    let bytes = read.map_err(|cause| SecretError::Unreadable { path: path.to_owned(), cause })?;
    Credential::read(&bytes, kind, &path.display().to_string())
}

/// Takes secrets and `NOTIFY_SOCKET` out of the variables of a command that the user has named.
pub fn without_secrets(command: &mut Command) -> &mut Command {
    for name in ["COPAL_PASSWORD", "COPAL_TO_PASSWORD", "NOTIFY_SOCKET"] {
        command.env_remove(name);
    }
    command
}

fn from_command(command: &OsString, name: &'static str) -> Result<Credential, SecretError> {
    let not_run = |error| SecretError::NotRun(name, error);
    let mut shell = Command::new(SHELL[0]);
    shell.args(&SHELL[1..]).arg(command).stdout(Stdio::piped());
    let mut child = without_secrets(&mut shell).spawn().map_err(not_run)?;
    let output = child.stdout.take().map_or_else(|| Ok(Zeroizing::default()), bounded);
    let status = child.wait().map_err(not_run)?;
    let bytes = output.map_err(not_run)?;
    let origin = format!("the output of {name}");
    if bytes.len() > SECRET_MAX {
        return Err(SecretError::Long { origin });
    }
    if !status.success() {
        return Err(SecretError::CommandFailed(name, status));
    }
    Credential::read(&bytes, SlotKind::Passphrase, &origin)
}

/// Reads at most one byte more than a secret may have. The memory never moves and is wiped.
fn bounded(source: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(2 * SECRET_MAX));
    source.take(SECRET_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn asked(person: &mut impl Person, prompt: &str, missing: SecretError) -> Result<Credential, SecretError> {
    let text = person.ask(prompt).map_err(SecretError::Terminal)?.ok_or(missing)?;
    Credential::read(text.as_bytes(), SlotKind::Passphrase, "the passphrase")
}

fn asked_twice(person: &mut impl Person, missing: SecretError) -> Result<Credential, SecretError> {
    let first = asked(person, "New passphrase: ", missing)?;
    let second = asked(person, "The same again: ", SecretError::Missing)?;
    if *first.text == *second.text { Ok(first) } else { Err(SecretError::Differ) }
}

const COMMAND_OPTION: &str = "--password-command";
const SECRET_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests;
