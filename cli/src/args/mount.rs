//! Mount: where the snapshots are shown, and to whom.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::look::Narrow;
use super::spec::{self, Which};
use super::values::Size;

#[derive(Args, Debug)]
#[command(override_usage = "copal mount [OPTIONS] DIR
       copal mount [OPTIONS] --webdav [ADDRESS:PORT]")]
pub struct Mount {
    /// Directory that shows the snapshots until the command ends.
    #[arg(value_name = "DIR", required_unless_present = "webdav", conflicts_with = "webdav")]
    pub directory: Option<PathBuf>,
    /// Show them by WebDAV instead, to this machine only [default address: 127.0.0.1 and any free port].
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub webdav: Option<SocketAddr>,
    /// Memory for opened blocks.
    #[arg(long, value_name = "SIZE", default_value = "256M")]
    pub cache_memory: Size,
    /// Show owners by number, not by name.
    #[arg(long)]
    pub numeric_owner: bool,
    /// Let other users of this machine look too, each at what modes and owners permit.
    #[arg(long, conflicts_with = "webdav")]
    pub allow_other: bool,
    /// With --allow-other, let all of them read everything.
    #[arg(long, requires = "allow_other")]
    pub no_default_permissions: bool,
    /// Only this snapshot; may be repeated.
    #[arg(long = "snapshot", value_name = "SNAPSHOT", value_parser = spec::which())]
    pub snapshots: Vec<Which>,
    #[command(flatten)]
    pub narrow: Narrow,
}
