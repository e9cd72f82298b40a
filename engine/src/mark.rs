//! mark
