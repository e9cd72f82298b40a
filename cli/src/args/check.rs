//! Check: how much of the repository is read to verify it.

use clap::Args;

use copal_client::verify::ReadData;

use super::values::Share;

/// Options of `check`.
#[derive(Args, Copy, Clone, Debug)]
pub struct Check {
    /// Read every pack and compare it with its name.
    #[arg(long, conflicts_with = "read_data_share")]
    pub read_data: bool,
    /// Read a part of the packs, those not read for longest first: 3/30 is the third of thirty runs that read all.
    #[arg(long, value_name = "PART/PARTS")]
    pub read_data_share: Option<Share>,
    /// Decrypt everything and walk every snapshot, as a restore would (with --read-data-share: that part).
    #[arg(long)]
    pub full: bool,
}

impl Check {
    /// Which packs are read; `--full` alone reads all.
    pub fn read_data(&self) -> ReadData {
        match self.read_data_share {
            Some(share) => ReadData::Share { parts: share.parts() },
            None if self.read_data || self.full => ReadData::All,
            None => ReadData::None,
        }
    }
}
