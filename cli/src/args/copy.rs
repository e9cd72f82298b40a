//! Copy: commands that make copies: of snapshots, in a repository or in a file, or of a whole repository.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use copal_client::compression::Compression;

use super::backup::Patterns;
use super::global::Global;
use super::look::Narrow;
use super::spec::{self, SnapshotSpec, Which};
use super::values::{self, Form, Span};

#[derive(Args, Clone, Debug)]
pub struct Copy {
    /// Snapshots to copy: "latest" or the first digits of an id [default: all].
    #[arg(value_name = "SNAPSHOT", value_parser = spec::which())]
    pub snapshots: Vec<Which>,
    #[command(flatten)]
    pub to: Target,
    #[command(flatten)]
    pub making: Making,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("patterns").required(true).multiple(true).args(["exclude", "iexclude", "exclude_file"]))]
pub struct Rewrite {
    /// Snapshots to rewrite: "latest" or the first digits of an id [default: all].
    #[arg(value_name = "SNAPSHOT", value_parser = spec::which())]
    pub snapshots: Vec<Which>,
    #[command(flatten)]
    pub patterns: Patterns,
    #[command(flatten)]
    pub making: Making,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Clone, Debug)]
pub struct Target {
    /// The repository to copy to; "init" has created it.
    #[arg(long, value_name = "REPOSITORY")]
    pub to: OsString,
    /// File that holds the passphrase of that repository [env: COPAL_TO_PASSWORD_FILE].
    ///
    /// The passphrase may also come from COPAL_TO_PASSWORD or from the output of COPAL_TO_PASSWORD_COMMAND; without any of
    /// these it is asked for.
    #[arg(long, value_name = "FILE")]
    pub to_password_file: Option<PathBuf>,
    /// Key file that opens that repository instead of a passphrase [env: COPAL_TO_KEY_FILE].
    #[arg(long, value_name = "FILE")]
    pub to_key_file: Option<PathBuf>,
}

#[derive(Args, Copy, Clone, Debug)]
pub struct Making {
    /// Show which snapshots would be made; make none.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Keep devices, set-user-id, set-group-id, security.* and trusted.* attributes also of a write-only client.
    #[arg(long)]
    pub trust: bool,
    /// How hard to compress: auto (as the repository says), fast, max, or a level from 0 (not at all) to 19.
    #[arg(long, value_name = "LEVEL", default_value = "auto", value_parser = values::compression)]
    pub compression: Compression,
    /// Wait at most this long for the service to accept each snapshot.
    #[arg(long, value_name = "SPAN", default_value = "15min")]
    pub wait: Span,
}

#[derive(Args, Debug)]
pub struct Export {
    /// The snapshot, "latest" or the first digits of an id; with --format also a directory in it.
    #[arg(value_name = "SNAPSHOT[:PATH]", value_parser = spec::spec())]
    pub snapshot: SnapshotSpec,
    /// The file to write; "-" is standard output.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Form of an export without encryption, which any program can unpack [default: an encrypted export].
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<Form>,
    /// Replace FILE if it is there.
    #[arg(long)]
    pub replace: bool,
    /// File that holds the passphrase of the export [env: COPAL_TO_PASSWORD_FILE].
    ///
    /// The passphrase may also come from COPAL_TO_PASSWORD or from the output of COPAL_TO_PASSWORD_COMMAND; without any of
    /// these it is asked for.
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    pub to_password_file: Option<PathBuf>,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("act").required(true).args(["to", "end"]))]
pub struct Sync {
    /// The replica; "init --copy-keys-from" has made it.
    #[arg(long, value_name = "REPOSITORY")]
    pub to: Option<OsString>,
    /// Go on until Ctrl-C: look for something new this often.
    #[arg(long, value_name = "SPAN", conflicts_with = "end")]
    pub every: Option<Span>,
    /// Show what the replica lacks; copy nothing.
    #[arg(short = 'n', long, conflicts_with_all = ["every", "end"])]
    pub dry_run: bool,
    /// Make this replica a repository of its own: from now on it takes backups, and no sync.
    #[arg(long)]
    pub end: bool,
}

impl Target {
    /// The global options for the other repository.
    pub fn global(&self, global: &Global) -> Global {
        Global {
            repository: Some(self.to.clone()),
            password_file: self.to_password_file.clone(),
            key_file: self.to_key_file.clone(),
            password_command: None,
            keychain: false,
            ..global.clone()
        }
    }
}
