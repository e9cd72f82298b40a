//! Supervisor: tells systemd how far a run is, for `systemctl status`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends a state, as sd_notify does, if a supervisor asks for it. A failure does not matter to the run.
pub(super) fn tell(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes() {
        [b'@', abstracted @ ..] => SocketAddr::from_abstract_name(abstracted),
        _ => SocketAddr::from_pathname(&name),
    };
    let _ = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
}
