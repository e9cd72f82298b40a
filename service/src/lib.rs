//! service
#![forbid(unsafe_code)]
