//! Import: makes snapshots of what other programs have written.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use copal_client::compression::Compression;

use super::backup::Naming;
use super::values::{self, Span};

#[derive(Subcommand, Debug)]
pub enum Import {
    /// Save the content of a tar archive as a new snapshot.
    ///
    /// Reads the POSIX (pax), GNU, ustar and older forms. A restore gives what "tar -x" would give. An archive that is cut off
    /// makes no snapshot, nor does one without members.
    Tar(Tar),
    /// Copy the snapshots of a restic repository, with their time, host, paths and tags.
    ///
    /// Reads repositories of version 1 and 2, and changes nothing there. A restore of a copy gives what "restic restore" gives. Run it
    /// again after an interruption, or regularly, while you still use restic: it copies only what is missing.
    Restic(Restic),
}

#[derive(Args, Debug)]
pub struct Restic {
    /// The restic repository: a directory, or an address like sftp://host/path or s3://bucket/prefix.
    #[arg(value_name = "REPOSITORY")]
    pub from: OsString,
    /// Snapshots to copy, by the first digits of their restic ids [default: all].
    #[arg(value_name = "SNAPSHOT")]
    pub snapshots: Vec<String>,
    /// File that holds the password of the restic repository [env: RESTIC_PASSWORD_FILE].
    ///
    /// The password may also come from RESTIC_PASSWORD or from the output of RESTIC_PASSWORD_COMMAND; without any of these it
    /// is asked for.
    #[arg(long, value_name = "FILE")]
    pub from_password_file: Option<PathBuf>,
    /// Give the copies a label, which keeps them apart from other snapshots of the same host and paths.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub label: String,
    /// Show which snapshots would be made; make none.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How hard to compress: auto (as the repository says), fast, max, or a level from 0 (not at all) to 19.
    #[arg(long, value_name = "LEVEL", default_value = "auto", value_parser = values::compression)]
    pub compression: Compression,
    /// Wait at most this long for the service to accept each snapshot.
    #[arg(long, value_name = "SPAN", default_value = "15min")]
    pub wait: Span,
}

#[derive(Args, Debug)]
pub struct Tar {
    /// The archive, not compressed; "-" is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Save the members in this absolute path, such as the one that was archived by "tar -C PATH -c ." [default: /].
    #[arg(long, value_name = "PATH")]
    pub as_path: Option<PathBuf>,
    #[command(flatten)]
    pub naming: Naming,
    /// Read the archive; save nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Save the archive also if it has no members, which otherwise fails.
    #[arg(long)]
    pub allow_empty: bool,
    /// How hard to compress: auto (as the repository says), fast, max, or a level from 0 (not at all) to 19.
    #[arg(long, value_name = "LEVEL", default_value = "auto", value_parser = values::compression)]
    pub compression: Compression,
    /// Wait at most this long for the service to accept the snapshot.
    #[arg(long, value_name = "SPAN", default_value = "15min")]
    pub wait: Span,
}
