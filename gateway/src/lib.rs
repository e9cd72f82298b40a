//! The gateway of a Copal repository: what clients without rights on the store talk to (`docs/gateway.md`).
//!
//! Without features, only what both sides agree on: [`orders`] and [`protocol`]. The feature `router` adds the HTTP interface
//! as a router that any host can serve, such as a Lambda function; `serve` adds a host for one machine: sockets or a pipe, the
//! web page, metrics, and the jobs beside the store.
#![forbid(unsafe_code)]

pub mod orders;
pub mod protocol;
#[cfg(feature = "router")]
pub mod router;
#[cfg(feature = "serve")]
pub mod serve;
