//! Every local store, and every wrapper that programs put before one, keeps the promises of the seam.

use copal_store::cache::Cache;
use copal_store::conformance;
use copal_store::fs::FsStore;
use copal_store::limit::{Limit, Rates, Within};
use copal_store::memory::MemoryStore;
use copal_store::retry::{Backoff, Retry, ThreadPause};

#[test]
fn directory_conforms() {
    let place = tempfile::tempdir().expect("a temporary directory");
    conformance::run(|| {
        let path = tempfile::tempdir_in(&place).expect("a temporary directory").keep();
        FsStore::open(path).expect("the directory exists")
    });
}

#[test]
fn memory_conforms() {
    conformance::run(MemoryStore::new);
}

#[test]
fn retry_conforms() {
    conformance::run(|| Retry::new(MemoryStore::new(), Backoff::default(), ThreadPause));
}

#[test]
fn limit_conforms() {
    let rates = Rates { upload: Some(1 << 40), download: Some(1 << 40) };
    conformance::run(|| Limit::new(MemoryStore::new(), rates, Within::Nobody, ThreadPause));
}

#[test]
fn cache_conforms() {
    let place = tempfile::tempdir().expect("a temporary directory");
    conformance::run(|| {
        let path = tempfile::tempdir_in(&place).expect("a temporary directory").keep();
        Cache::open(MemoryStore::new(), &path, &["packs/", "a/"]).expect("a directory")
    });
}
