//! Content: junk in the place of client records and changes, and too many manifests and changes.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use copal_format::change::{Change, Operation, OwnerSignature};
use copal_format::client::{ClientRecord, Role, SignedBy};
use copal_format::id::{ClientId, ObjectHash, PackId, RepositoryId, SnapshotId};
use copal_format::layout::{self, Place};
use copal_format::receipt::IngestBy;
use copal_format::request::Signatory;
use copal_format::time::Time;
use copal_store::{Key, Store};
use serde_json::json;

use super::kit::*;
use super::routes::Elsewhere;

impl World {
    /// Puts an object as this signatory.
    async fn create(&self, by: Signatory, name: &str, bytes: &[u8]) -> Answer {
        self.signed(by, "PUT", &format!("/v1/objects/{name}"), bytes).await
    }

    async fn holds(&self, name: &str) -> bool {
        self.store.stat(&Key::new(name).unwrap()).await.unwrap().is_some()
    }
}

#[tokio::test]
async fn an_enrollment_stores_nothing_but_the_record_that_it_joins_its_client_by() {
    let world = World::new().await;
    let (joins, name) = (Signatory::Client(JOINING), layout::client(JOINING, 2));
    let repository = owner().repository();
    let forged = |record: ClientRecord| record.sign(repository, &enrollment_key());
    for (what, bytes) in [
        ("junk", vec![b'J'; 200]),
        ("nothing", Vec::new()),
        ("a change", signed_change(FULL, 2)),
        ("another client's", forged(ClientRecord { client: FULL, ..joined() })),
        ("of another version", forged(ClientRecord { version: 3, ..joined() })),
        ("of another role", forged(ClientRecord { role: Role::Full, ..joined() })),
        ("of another domain", forged(ClientRecord { domain: SHARED, ..joined() })),
        ("of another name", forged(ClientRecord { sealed_name: b"other".to_vec(), ..joined() })),
        ("in the owner's name", forged(ClientRecord { signed_by: SignedBy::Owner, ..joined() })),
        ("by another key", joined().sign(repository, &request_key(WRITER))),
        ("of another repository", joined().sign(RepositoryId([1; 16]), &enrollment_key())),
        ("cut", forged(joined())[1..].to_vec()),
    ] {
        let refused = world.create(joins, &name, &bytes).await;
        assert_eq!(refused.problem(), problem(400, "bad-request"), "{what}");
        assert!(!world.holds(&name).await, "{what}");
    }
    assert_eq!(world.create(joins, &name, &forged(joined())).await.status, 201);
}

#[tokio::test]
async fn the_owners_request_stores_no_client_record_that_could_not_count() {
    let world = World::new().await;
    let signed = |record: ClientRecord| record.sign(owner().repository(), &owner().signing_key());
    let (next, copy) = (layout::client(WRITER, 2), layout::client_copy(WRITER, 1));
    let second = record(WRITER, Role::WriteOnly, 1).revoked((0, ObjectHash::NONE), None, Time(0));
    for (name, what, bytes) in [
        (&next, "junk", b"junk".to_vec()),
        (&next, "another client's", signed(ClientRecord { client: FULL, ..second.clone() })),
        (&next, "of another version", signed(record(WRITER, Role::WriteOnly, 1))),
        (&next, "by another key", second.sign(owner().repository(), &request_key(WRITER))),
        (&copy, "junk", b"junk".to_vec()),
        (&copy, "of another version", signed(second.clone())),
    ] {
        let refused = world.create(Signatory::Owner, name, &bytes).await;
        assert_eq!(refused.problem(), problem(400, "bad-request"), "{name}: {what}");
        assert!(!world.holds(name).await, "{name}: {what}");
    }
    let first = signed(record(WRITER, Role::WriteOnly, 1));
    assert_eq!(world.create(Signatory::Owner, &copy, &first).await.status, 201);
    assert_eq!(world.create(Signatory::Owner, &next, &signed(second)).await.status, 201);
    let revoked = world.signed(Signatory::Client(WRITER), "GET", "/v1/time", b"").await;
    assert_eq!(revoked.problem(), problem(403, "client-revoked"));
}

#[tokio::test]
async fn a_request_key_stores_no_change_that_its_client_has_not_signed() {
    let world = World::new().await;
    let name = layout::change(1);
    let repository = owner().repository();
    let release = Operation::Release { snapshots: vec![SnapshotId([1; 16])], signature: OwnerSignature::NONE };
    let release = Change { operations: vec![release], ..change(FULL, 1) };
    let mut by_owner = release.clone();
    by_owner.sign_as_owner(repository, &owner().signing_key());
    for (what, bytes) in [
        ("junk", vec![b'J'; 8]),
        ("nothing", Vec::new()),
        ("a client record", joined().sign(repository, &enrollment_key())),
        ("of another number", signed_change(FULL, 2)),
        ("by the request key", change(FULL, 1).sign(repository, &request_key(FULL))),
        ("of another repository", change(FULL, 1).sign(RepositoryId([1; 16]), &manifest_key(FULL))),
        ("a write-only client's", signed_change(WRITER, 1)),
        ("a revoked client's", signed_change(REVOKED, 1)),
        ("an unknown client's", signed_change(ClientId([9; 16]), 1)),
        ("without the owner's signature", release.sign(repository, &manifest_key(FULL))),
        ("cut", signed_change(FULL, 1)[1..].to_vec()),
    ] {
        for by in [FULL_SIGNS, Signatory::Owner] {
            let refused = world.create(by, &name, &bytes).await;
            assert_eq!(refused.problem(), problem(400, "bad-request"), "{what} {by:?}");
            assert!(!world.holds(&name).await, "{what} {by:?}");
        }
    }
    assert_eq!(world.create(FULL_SIGNS, &name, &by_owner.sign(repository, &manifest_key(FULL))).await.status, 201);
    // A machine that has just got the passphrase signs its requests with the owner's key.
    assert_eq!(world.create(Signatory::Owner, &layout::change(2), &signed_change(FULL, 2)).await.status, 201);
}

#[tokio::test]
async fn a_client_that_floods_the_changes_leaves_numbers_to_others() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let world = World::with(IngestBy::Service, |settings| settings.clock = || CLOCK.load(Ordering::Relaxed)).await;
    let put = async |by: Signatory, number: u64| {
        world.create(by, &layout::change(number), &signed_change(FULL, number)).await
    };
    for number in 1..=30 {
        assert_eq!(put(FULL_SIGNS, number).await.status, 201, "{number}");
    }
    let refused = put(FULL_SIGNS, 31).await;
    assert_eq!((refused.problem(), &refused.json()["seconds"]), (problem(429, "busy"), &json!(2)));
    assert_eq!(refused.headers["retry-after"], "2");
    assert_eq!(put(Signatory::Owner, 31).await.status, 201);
    CLOCK.store(NOW + 2, Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(
            put(FULL_SIGNS, 31).await.problem(),
            problem(412, "exists"),
            "whoever comes late tries the next one"
        );
    }
    assert_eq!(put(FULL_SIGNS, 32).await.status, 201);
    assert_eq!(put(FULL_SIGNS, 33).await.problem(), problem(429, "busy"));
}

#[tokio::test]
async fn a_client_that_floods_the_manifests_waits_and_others_do_not() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let world = World::with(IngestBy::Service, |settings| settings.clock = || CLOCK.load(Ordering::Relaxed)).await;
    let put = async |client: ClientId, number: u64| {
        world.create(Signatory::Client(client), &layout::manifest(client, number), b"x").await
    };
    for number in 1..=600 {
        assert_eq!(put(WRITER, number).await.status, 201, "{number}");
    }
    let refused = put(WRITER, 601).await;
    assert_eq!((refused.problem(), &refused.json()["seconds"]), (problem(429, "busy"), &json!(2)));
    assert_eq!(refused.headers["retry-after"], "2");
    assert_eq!(put(FULL, 1).await.status, 201);
    CLOCK.store(NOW + 2, Ordering::Relaxed);
    assert_eq!(put(WRITER, 600).await.problem(), problem(412, "exists"), "what is there already does not count");
    assert_eq!(put(WRITER, 601).await.status, 201);
    assert_eq!(put(WRITER, 602).await.problem(), problem(429, "busy"));
}

#[tokio::test]
async fn addresses_of_the_store_for_manifests_count_as_manifests_do() {
    let world = World::with(IngestBy::Service, |settings| settings.presigner = Some(Arc::new(Elsewhere))).await;
    let asked = async |names: Vec<String>| {
        let objects = names.iter().map(|name| json!({ "key": name, "length": 40, "sha256": "07".repeat(32) }));
        let body = json!({ "objects": objects.collect::<Vec<_>>() }).to_string();
        world.signed(Signatory::Client(WRITER), "POST", "/v1/uploads", body.as_bytes()).await
    };
    let manifests =
        |numbers: RangeInclusive<u64>| numbers.map(|number| layout::manifest(WRITER, number)).collect::<Vec<_>>();
    for numbers in [1..=200, 201..=400] {
        assert_eq!(asked(manifests(numbers)).await.status, 200);
    }
    assert_eq!(asked(manifests(401..=601)).await.problem(), problem(429, "busy"));
    assert_eq!(asked(manifests(401..=600)).await.status, 200, "what was refused does not count");
    assert_eq!(asked(manifests(601..=601)).await.problem(), problem(429, "busy"));
    let pack = layout::pack(Place::Packs, PackId([7; 32]));
    assert_eq!(asked(vec![pack]).await.status, 200);
}

#[tokio::test]
async fn no_address_of_the_store_is_given_for_what_the_gateway_verifies() {
    let world = World::with(IngestBy::Service, |settings| settings.presigner = Some(Arc::new(Elsewhere))).await;
    let asked = async |client, name: String| {
        let object = json!({ "key": name, "length": 200, "sha256": "07".repeat(32) });
        let body = json!({ "objects": [object] }).to_string();
        let answer = world.signed(Signatory::Client(client), "POST", "/v1/uploads", body.as_bytes()).await.json();
        (answer["objects"][0]["url"].as_str().unwrap().to_owned(), answer["objects"][0]["signed"] == true)
    };
    for (client, name) in [(FULL, layout::change(1)), (JOINING, layout::client(JOINING, 2))] {
        assert_eq!(asked(client, name.clone()).await, (format!("{ORIGIN}/v1/objects/{name}"), true));
    }
    let manifest = layout::manifest(FULL, 1);
    let address = format!("https://bucket.example/{manifest}?signed");
    assert_eq!(asked(FULL, manifest).await, (address, false));
}
