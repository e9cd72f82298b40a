//! Reproducible measurements. `src/bin/parameters.rs` measures what the format's parameters do to real data,
//! `src/bin/compression.rs` what Zstandard's do; the tables they print decided `docs/decisions/0002`. `peers.py` compares with
//! other tools, and `src/bin/statwalk.rs` is the least that any of them must do for an unchanged tree.
#![forbid(unsafe_code)]
