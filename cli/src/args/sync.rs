//! Sync: bringing a replica up to date.

use std::ffi::OsString;

use clap::{ArgGroup, Args};

use super::values::Span;

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
