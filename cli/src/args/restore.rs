//! Restore: what to bring back, where to, and what may be replaced there.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::look::Narrow;
use super::spec::{self, SnapshotSpec};

#[derive(Args, Debug)]
pub struct Restore {
    /// The snapshot, "latest" or the first digits of an id, and maybe what in it.
    #[arg(value_name = "SNAPSHOT[:PATH]", value_parser = spec::spec())]
    pub snapshot: SnapshotSpec,
    /// Directory to restore into; created if it is not there.
    #[arg(short, long, value_name = "DIR")]
    pub target: PathBuf,
    /// Restore only paths that match the pattern; may be repeated.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Leave out paths that match the pattern; may be repeated.
    #[arg(short, long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Like --exclude, whatever the case of letters.
    #[arg(long, value_name = "GLOB")]
    pub iexclude: Vec<String>,
    /// Delete entries of restored directories that are not in the snapshot; on a terminal, list them and ask first.
    #[arg(long)]
    pub delete: bool,
    /// With --delete, also delete what --exclude names, and what the backup was told to leave out.
    #[arg(long, requires = "delete")]
    pub delete_excluded: bool,
    /// Delete without asking.
    #[arg(short, long)]
    pub yes: bool,
    /// Which files in the target may be replaced.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Overwrite::IfChanged)]
    pub overwrite: Overwrite,
    /// Read everything that was restored again and compare it.
    #[arg(long)]
    pub verify: bool,
    /// Do not set owners; leave out entries and attributes that could hand your rights to others (see --trust).
    #[arg(long)]
    pub no_owner: bool,
    /// Restore devices, set-user-id, set-group-id, security.* and trusted.* attributes also with --no-owner and of a write-only client.
    #[arg(long)]
    pub trust: bool,
    /// Set owners by number, not by name.
    #[arg(long, conflicts_with = "no_owner")]
    pub numeric_owner: bool,
    /// Do not set extended attributes and ACLs.
    #[arg(long)]
    pub no_xattrs: bool,
    /// Show what would be restored; write nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Everything, also what looks the same.
    Always,
    /// What differs from the snapshot in size or time.
    #[value(alias = "changed")]
    IfChanged,
    /// What is older than in the snapshot.
    IfNewer,
    /// Nothing that is there.
    Never,
}
