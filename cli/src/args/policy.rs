//! Policy: commands about what the service was told to follow.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::spec::{self, Which};

/// What to do with the policy.
#[derive(Subcommand, Debug)]
pub enum Policy {
    /// Sign what a file says as the policy that the service follows from now on.
    Set(Set),
    /// Show the policy in force, as a file for "policy set".
    Show,
    /// Say that snapshots may differ from those before them as they do, and end the hold they have raised.
    Release(Release),
}

/// Options of `policy release`.
#[derive(Args, Debug)]
pub struct Release {
    /// The snapshots, by the first digits of their ids, as "status" lists them.
    #[arg(value_name = "SNAPSHOT", required = true, value_parser = spec::which())]
    pub snapshots: Vec<Which>,
}

/// Options of `policy set`.
#[derive(Args, Debug)]
pub struct Set {
    /// TOML file with the policy; "-" is standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Say what would be forgotten under it today, and sign nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}
