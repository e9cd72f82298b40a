//! Check: how much of the repository is read to verify it.

use clap::Args;

use copal_client::verify::ReadData;

use super::look::Narrow;
use super::spec::{self, Which};
use super::values;

#[derive(Args, Clone, Debug)]
pub struct Check {
    /// Walk only these snapshots, and read only packs that they need: "latest" or the first digits of an id [default: all].
    #[arg(value_name = "SNAPSHOT", value_parser = spec::which(), conflicts_with = "read_data_share")]
    pub snapshots: Vec<Which>,
    /// Read every pack and compare it with its name.
    #[arg(long, conflicts_with = "read_data_share")]
    pub read_data: bool,
    /// Read a part of the packs, those not read for longest first: 3/30 is the third of thirty runs that read all.
    #[arg(long, value_name = "PART/PARTS", value_parser = values::parts)]
    pub read_data_share: Option<u32>,
    /// Decrypt everything and walk every snapshot, as a restore would (with --read-data-share: that part).
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Clone, Debug)]
pub struct Repair {
    /// Accept that manifests and changes which are missing or damaged stay lost: no check counts them as damage any more.
    #[arg(long)]
    pub accept_loss: bool,
}

impl Check {
    pub fn chooses(&self) -> bool {
        !self.snapshots.is_empty() || self.narrow.narrows()
    }

    /// Which packs are read; `--full` alone reads all.
    pub fn read_data(&self) -> ReadData {
        match self.read_data_share {
            Some(parts) => ReadData::Share { parts },
            None if self.read_data || self.full => ReadData::All,
            None => ReadData::None,
        }
    }
}
