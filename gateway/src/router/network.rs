//! Network: which addresses count as one.

use std::net::{IpAddr, Ipv6Addr};

/// What counts as one address: for IPv6 the /64 network. `None` for this machine, where a proxy may run.
pub(crate) fn network(peer: IpAddr) -> Option<IpAddr> {
    match peer.to_canonical() {
        own if own.is_loopback() => None,
        IpAddr::V6(six) => Some(Ipv6Addr::from_bits(six.to_bits() & !(u128::MAX >> 64)).into()),
        four => Some(four),
    }
}
