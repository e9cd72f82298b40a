//! restore
