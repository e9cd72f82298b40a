//! Keys: the owner's secret, what derives from it, and the slots that wrap it.

pub mod domain;
pub mod secret;
