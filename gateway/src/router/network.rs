//! Network: which addresses count as one.

use std::net::{IpAddr, Ipv6Addr};

/// The network of an address. All addresses of one network share what a stranger may use: an IPv4 address is a network
/// of its own, IPv6 addresses share their /64. `None` for this machine, where a proxy may pass on the requests of many.
pub(crate) fn network(peer: IpAddr) -> Option<IpAddr> {
    match peer.to_canonical() {
        own if own.is_loopback() => None,
        IpAddr::V6(six) => Some(Ipv6Addr::from_bits(six.to_bits() & !(u128::MAX >> 64)).into()),
        four => Some(four),
    }
}
