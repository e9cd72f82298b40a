//! Global: the options that every command takes, before or after its name.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use copal_store::s3::Retention;

use super::values::Size;

#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The repository: a directory, s3://BUCKET/PREFIX, https://GATEWAY, ssh://HOST/PATH or sftp://HOST/PATH.
    #[arg(short, long, value_name = "REPOSITORY", env = "COPAL_REPOSITORY", global = true)]
    pub repository: Option<OsString>,
    /// File that holds the passphrase [env: COPAL_PASSWORD_FILE].
    ///
    /// One line feed at its end is dropped. The passphrase may also come from COPAL_PASSWORD or from the output of
    /// COPAL_PASSWORD_COMMAND; without any of these it is asked for.
    #[arg(short, long, value_name = "FILE", global = true)]
    pub password_file: Option<PathBuf>,
    /// Key file that opens the repository instead of a passphrase [env: COPAL_KEY_FILE].
    ///
    /// "init" writes a new key file there; "key add --new-key-file" adds one later.
    #[arg(long, value_name = "FILE", global = true)]
    pub key_file: Option<PathBuf>,
    /// Command that prints the passphrase, for sh [env: COPAL_PASSWORD_COMMAND].
    #[arg(long, value_name = "COMMAND", global = true)]
    pub password_command: Option<OsString>,
    /// Take the passphrase from the keychain of the user's session, where "key keychain" keeps it.
    #[arg(long, global = true)]
    pub keychain: bool,
    /// Memory that a key slot may take to open, asked about beyond 1G.
    ///
    /// A key slot says itself how much memory a passphrase takes. Copal tries the cheapest slots first, and asks before it
    /// tries one that takes more than 1 GiB, very many of them, or one of another repository. Without a terminal this
    /// option answers.
    #[arg(long, value_name = "SIZE", env = "COPAL_UNLOCK_MEMORY", global = true)]
    pub unlock_memory: Option<Size>,
    /// Directory of the cache; deleting it is harmless [default: $XDG_CACHE_HOME/copal].
    #[arg(long, value_name = "DIR", env = "COPAL_CACHE_DIR", global = true)]
    pub cache_dir: Option<PathBuf>,
    /// Directory of this machine's client keys [default: $XDG_STATE_HOME/copal].
    #[arg(long, value_name = "DIR", env = "COPAL_STATE_DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// File of certificates to trust besides the system's, for a gateway with its own authority.
    #[arg(long, value_name = "FILE", env = "COPAL_CA_FILE", global = true)]
    pub ca_file: Option<PathBuf>,
    /// Accept another repository where this machine has seen a different one, or an older state that was put back on purpose.
    #[arg(long, global = true)]
    pub another: bool,
    /// Most bytes to store each second, like 500k or 5M; 0: no limit.
    #[arg(long, value_name = "RATE", env = "COPAL_LIMIT_UPLOAD", global = true)]
    pub limit_upload: Option<Size>,
    /// Most bytes to read from the repository each second; 0: no limit.
    #[arg(long, value_name = "RATE", env = "COPAL_LIMIT_DOWNLOAD", global = true)]
    pub limit_download: Option<Size>,
    /// Storage class of new packs in S3 [default: the bucket's].
    ///
    /// Only classes that can be read at once, like STANDARD_IA, INTELLIGENT_TIERING or GLACIER_IR.
    #[arg(long, value_name = "CLASS", env = "COPAL_STORAGE_CLASS", global = true)]
    pub storage_class: Option<String>,
    /// KMS key that S3 seals new objects with, beside Copal's own encryption [default: what the bucket says].
    #[arg(long, value_name = "KEY", env = "COPAL_KMS_KEY", global = true)]
    pub kms_key: Option<String>,
    /// Mode and days for which new packs and manifests in S3 are locked, like GOVERNANCE:30 or COMPLIANCE:30.
    ///
    /// The bucket must have Object Lock. What is deleted is then hidden, and can be brought back while its lock lasts.
    #[arg(long, value_name = "MODE:DAYS", env = "COPAL_OBJECT_LOCK", global = true)]
    pub object_lock: Option<Retention>,
    #[command(flatten)]
    pub from: super::run::From,
    /// Write results and errors as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Form of what goes to standard error [default: json with --json, else text].
    #[arg(long, value_name = "FORM", value_enum, env = "COPAL_LOG_FORMAT", global = true)]
    pub log_format: Option<LogForm>,
    /// Write only what was asked for, warnings and errors: no notes, no progress, nothing about success.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice, much more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The form of warnings, errors and progress.
#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum LogForm {
    Text,
    Json,
}

impl Global {
    /// These options, and where one is not given that of `other`.
    pub fn or(&self, other: &Self) -> Self {
        // A literal names every field, so that a new option is not forgotten.
        macro_rules! joined {
            ($($option:ident)*) => {
                Self {
                    $($option: self.$option.clone().or_else(|| other.$option.clone()),)*
                    keychain: self.keychain || other.keychain,
                    another: self.another,
                    from: self.from.clone(),
                    json: self.json,
                    log_format: self.log_format,
                    quiet: self.quiet,
                    verbose: self.verbose,
                }
            };
        }
        joined!(repository password_file key_file password_command unlock_memory cache_dir state_dir ca_file limit_upload
            limit_download storage_class kms_key object_lock)
    }

    /// The same without what opens the repository.
    pub fn without_secret(&self) -> Self {
        Self { password_file: None, key_file: None, password_command: None, keychain: false, ..self.clone() }
    }
}
