//! bench
#![forbid(unsafe_code)]
