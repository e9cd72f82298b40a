//! Reproducible measurements. `src/bin/parameters.rs` measures what the format's parameters do to real data,
//! `src/bin/compression.rs` what Zstandard's do; the tables they print decided `docs/decisions/0002`. `peers.py` compares with
//! other tools, and `src/bin/statwalk.rs` is the least that any of them must do for an unchanged tree.
#![forbid(unsafe_code)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use copal_client::backend::Backend;
use copal_client::backup::{Options, Outcome, Source, backup};
use copal_client::repository::{Init, LocalClient, Repository, init};
use copal_client::scan::{Root, Scan, ScanOptions};
use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::receipt::IngestBy;
use copal_format::repository::Parameters;

/// Any error of a measurement.
pub type Failure = Box<dyn std::error::Error>;

/// Creates a repository with a cheap key derivation; returns its passphrase.
pub fn create(backend: &Backend, parameters: Parameters) -> Result<SlotInput, Failure> {
    let input = SlotInput::passphrase("measured")?;
    init(&Init {
        backend,
        inputs: std::slice::from_ref(&input),
        parameters,
        ingest: IngestBy::Client,
        argon2: Argon2Params { m_kib: 8 << 10, t: 1, p: 1 },
        reader: None,
    })?;
    Ok(input)
}

/// Saves a directory as a new snapshot.
pub fn back_up(repository: &Repository, client: &LocalClient, place: &Path) -> Result<Outcome, Failure> {
    let root = Root::new(place)?;
    let options = Options::plain("measured", &root, std::thread::available_parallelism().map_or(2, usize::from));
    let scan = Arc::new(Scan::new(ScanOptions { roots: vec![root], ..ScanOptions::default() })?);
    let mut source = Source::Tree { scan: &scan, ahead: None, changed: None };
    Ok(backup(repository, client, &mut source, &options, &Arc::default(), &AtomicBool::new(false))?)
}
