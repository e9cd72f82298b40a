//! Real S3 servers keep the promises of the seam.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use copal_store::conformance;
use copal_tests::kit::s3::{Kind, Server};

#[test]
fn versitygw_conforms() {
    conforms(&Server::start(Kind::Versity));
}

#[test]
fn minio_conforms() {
    conforms(&Server::start(Kind::Minio));
}

fn conforms(server: &Server) {
    let bucket = server.bucket();
    conformance::run(|| server.store(&bucket, &prefix()));
    // Without a prefix the bucket is the store's own.
    conformance::listings_are_in_byte_order_of_key(&server.store(&server.bucket(), ""));
}

/// Each promise is tried below a prefix of its own, next to others that begin alike.
fn prefix() -> String {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(AtomicU64::default);
    format!("a/{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
