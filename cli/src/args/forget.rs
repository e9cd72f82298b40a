//! Forget: commands that change what is kept.

use clap::{ArgGroup, Args};

use super::look::{Choice, Narrow};
use super::spec::{self, Which};
use super::values::{GroupBy, Size, Span};

/// Options of `forget`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("forgotten").required(true).multiple(true).args([
    "snapshots", "last", "hourly", "daily", "weekly", "monthly", "yearly", "within", "tags_kept",
]))]
#[command(override_usage = "copal forget [OPTIONS] SNAPSHOT...
       copal forget [OPTIONS] --keep-...")]
pub struct Forget {
    /// Snapshots to forget: "latest" or the first digits of an id.
    #[arg(value_name = "SNAPSHOT", value_parser = spec::which(), conflicts_with_all = [
        "last", "hourly", "daily", "weekly", "monthly", "yearly", "within", "tags_kept",
    ])]
    pub snapshots: Vec<Which>,
    /// Apply the rules to each group of snapshots with the same: host, paths, tags, label, or none.
    #[arg(long, value_name = "LIST", default_value = "host,paths,label")]
    pub group_by: GroupBy,
    /// Show what would be forgotten and why the rest is kept; forget nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Run prune afterwards.
    #[arg(long)]
    pub prune: bool,
    /// What to keep; everything else of each group is forgotten.
    #[command(flatten)]
    pub keep: Keep,
    /// Which snapshots are considered.
    #[command(flatten)]
    pub narrow: Narrow,
}

/// What to keep.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "What to keep")]
pub struct Keep {
    /// Keep the newest N snapshots.
    #[arg(id = "last", long = "keep-last", value_name = "N")]
    pub last: Option<u32>,
    /// Keep the newest snapshot of each of the last N hours that have one.
    #[arg(id = "hourly", long = "keep-hourly", value_name = "N")]
    pub hourly: Option<u32>,
    /// Keep the newest snapshot of each of the last N days that have one.
    #[arg(id = "daily", long = "keep-daily", value_name = "N")]
    pub daily: Option<u32>,
    /// Keep the newest snapshot of each of the last N weeks that have one.
    #[arg(id = "weekly", long = "keep-weekly", value_name = "N")]
    pub weekly: Option<u32>,
    /// Keep the newest snapshot of each of the last N months that have one.
    #[arg(id = "monthly", long = "keep-monthly", value_name = "N")]
    pub monthly: Option<u32>,
    /// Keep the newest snapshot of each of the last N years that have one.
    #[arg(id = "yearly", long = "keep-yearly", value_name = "N")]
    pub yearly: Option<u32>,
    /// Keep every snapshot not older than this, like 7d or 1y6mo.
    #[arg(id = "within", long = "keep-within", value_name = "SPAN")]
    pub within: Option<Span>,
    /// Keep every snapshot with this tag; may be repeated: any of them.
    #[arg(id = "tags_kept", long = "keep-tag", value_name = "TAG")]
    pub tags: Vec<String>,
}

/// Options of `prune`.
#[derive(Args, Copy, Clone, Debug)]
pub struct Prune {
    /// Free only what nothing has needed for this long. 0s frees all of it now: only while nobody backs up [default: as the
    /// policy says, else 24h].
    #[arg(long, value_name = "SPAN")]
    pub grace: Option<Span>,
    /// Show what would be freed; free nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Repack at most this many bytes [default: no limit].
    #[arg(long, value_name = "SIZE")]
    pub max_repack: Option<Size>,
    /// Free only what can be freed without a key, as a service does.
    #[arg(long)]
    pub keyless: bool,
}

/// Options of `tag`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("change").required(true).multiple(true).args(["add", "remove"]))]
pub struct Tag {
    /// Add this tag; may be repeated.
    #[arg(long, value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub add: Vec<String>,
    /// Remove this tag; may be repeated.
    #[arg(long, value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub remove: Vec<String>,
    /// The snapshots.
    #[command(flatten)]
    pub choice: Choice,
}

/// Options of `pin`, `unpin` and `undelete`.
#[derive(Args, Debug)]
pub struct Chosen {
    /// The snapshots.
    #[command(flatten)]
    pub choice: Choice,
}
