//! Proof: a server shows that it can hold a repository safely before this machine relies on it.

use std::path::PathBuf;

use copal_store::StoreError;

use super::{Backend, BackendKind, BackendOptions};
use crate::places::note_proof;
use crate::wait::wait;

/// The file that exists once a server has passed the probe, if there is a cache directory.
#[derive(Clone)]
pub(super) struct Proof(pub(super) Option<PathBuf>);

impl Backend {
    /// Checks whether the store can hold a repository safely.
    pub fn probe(&self) -> Result<(), StoreError> {
        match &self.kind {
            BackendKind::Directory(store) => store.probe().map(|_| ()),
            // The machine that serves the gateway has probed the store.
            BackendKind::Gateway(_) => Ok(()),
            BackendKind::Bucket(bucket, proof) => wait(bucket.probe()).map(|()| proof.note()),
            BackendKind::Site(site, proof) => wait(site.probe()).map(|()| proof.note()),
            BackendKind::Other => Ok(()),
        }
    }

    /// Probes a server that this machine meets for the first time. Passes if the credentials may not write:
    /// then nothing can be lost.
    pub fn prove(&self) -> Result<(), StoreError> {
        let (BackendKind::Bucket(_, Proof(proof)) | BackendKind::Site(_, Proof(proof))) = &self.kind else {
            return Ok(());
        };
        if proof.as_ref().is_some_and(|proof| proof.exists()) {
            return Ok(());
        }
        match self.probe() {
            Err(error) if error.refuses_writes() => Ok(()),
            probed => probed,
        }
    }
}

impl Proof {
    pub(super) fn new(backend_options: &BackendOptions, fingerprint: &str) -> Self {
        Self(backend_options.cache.as_ref().map(|cache| cache.join("probed").join(fingerprint)))
    }

    fn note(&self) {
        self.0.iter().for_each(|proof| note_proof(proof));
    }
}
