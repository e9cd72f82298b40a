//! Import: makes snapshots of what other programs have written.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use copal_client::compression::Compression;

use super::backup::Naming;
use super::values::{self, Span};

/// What to import.
#[derive(Subcommand, Debug)]
pub enum Import {
    /// Save the content of a tar archive as a new snapshot.
    ///
    /// Reads the POSIX (pax), GNU, ustar and older forms. A restore gives what "tar -x" would give. An archive that is cut off
    /// makes no snapshot.
    Tar(Tar),
}

/// Options of `import tar`.
#[derive(Args, Debug)]
pub struct Tar {
    /// The archive, not compressed; "-" is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// What the snapshot says of itself.
    #[command(flatten)]
    pub naming: Naming,
    /// Read the archive; save nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How hard to compress: auto (as the repository says), fast, max, or a level from 0 (not at all) to 19.
    #[arg(long, value_name = "LEVEL", default_value = "auto", value_parser = values::compression)]
    pub compression: Compression,
    /// Wait at most this long for the service to accept the snapshot.
    #[arg(long, value_name = "SPAN", default_value = "15min")]
    pub wait: Span,
}
