//! Export: writes a snapshot into one file.

use std::path::PathBuf;

use clap::Args;

use super::look::Narrow;
use super::spec::{self, SnapshotSpec};
use super::values::Form;

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
