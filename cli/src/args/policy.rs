//! Policy: commands about what the service was told to follow.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::spec::{self, Which};

#[derive(Subcommand, Debug)]
pub enum Policy {
    /// Sign the policy in a file; the service follows it from now on.
    Set(Set),
    /// Show the policy in force, as a file for "policy set".
    Show,
    /// Accept suspicious snapshots as they are, and end the hold that they raised.
    Release(Release),
}

#[derive(Args, Debug)]
pub struct Release {
    /// The snapshots, by the first digits of their ids, as "status" lists them.
    #[arg(value_name = "SNAPSHOT", required = true, value_parser = spec::which())]
    pub snapshots: Vec<Which>,
}

#[derive(Args, Debug)]
pub struct Set {
    /// TOML file with the policy; "-" is standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show what would be forgotten under it today; sign nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}
