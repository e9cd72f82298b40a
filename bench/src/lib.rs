//! Reproducible measurements. `src/bin/parameters.rs` measures what the format's parameters do to real data; the tables it
//! prints stand in `docs/decisions/`.
#![forbid(unsafe_code)]
