//! Mover: what a scheduler of a cluster calls around a volume.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand, Debug)]
pub enum Mover {
    /// Save a volume as the snapshot of this id, unless that is done.
    Backup(Saving),
    /// Bring a volume to what the snapshot of this id holds.
    Restore(Volume),
    /// Forget the snapshot of this id, unless that is done.
    Cleanup(Named),
}

#[derive(Args, Debug)]
pub struct Named {
    /// Name of the backup, which the caller chooses: the same for all calls about it.
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub id: String,
}

#[derive(Args, Debug)]
pub struct Saving {
    #[command(flatten)]
    pub volume: Volume,
    /// Save the volume also if it has no file any more, which otherwise fails.
    #[arg(long)]
    pub allow_empty: bool,
}

#[derive(Args, Debug)]
pub struct Volume {
    #[command(flatten)]
    pub named: Named,
    /// Where the volume is mounted.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
