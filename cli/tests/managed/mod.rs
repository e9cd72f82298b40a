//! Managed repositories: somebody else accepts what clients save. Machines join by enrollment, write-only ones save and
//! can do nothing else, and `copal ingest` plays the service.

mod clients;
mod flooded;
mod gateway;
mod long;
mod nothing_opens;
mod older;
mod policy;
mod service;
mod status;
mod write_only;
pub(crate) mod world;
