//! Import: what other programs have written, as snapshots.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use copal_format::time::Time;

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
    /// Give the snapshot a tag; may be repeated.
    #[arg(long = "tag", value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub tags: Vec<String>,
    /// Give the series a label: snapshots of the same host with different labels are kept apart.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub label: String,
    /// Host name of the snapshot [default: the name of this machine].
    #[arg(long, value_name = "HOST", env = "COPAL_HOST", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub host: Option<String>,
    /// Time of the snapshot instead of now, like "2026-01-31 17:05:00".
    #[arg(long, value_name = "TIME", value_parser = values::instant)]
    pub time: Option<Time>,
    /// Read the archive; save nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Wait at most this long for the service to accept the snapshot.
    #[arg(long, value_name = "SPAN", default_value = "15min")]
    pub wait: Span,
}
