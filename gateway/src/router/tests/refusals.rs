//! Every refusal, each with its stable name.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use copal_format::id::{ObjectHash, PackId};
use copal_format::layout::{self, Place};
use copal_format::receipt::IngestBy;
use copal_format::request::{Signatory, Terms};
use copal_store::record::Record;
use copal_store::{Key, Store};

use super::kit::*;
use crate::router::Problem;
use crate::router::facts::Known;
use crate::router::rights::FOLDERS;

#[tokio::test]
async fn what_nobody_has_signed_is_refused() {
    let world = World::new().await;
    for path in ["/v1/time", "/v1/index", "/v1/objects?prefix=packs/", "/v1/objects/roots/99999999999999999998"] {
        assert_eq!(world.unsigned("GET", path).await.problem(), problem(401, "signature-missing"), "{path}");
    }
    for path in ["/v1/quota", "/v1/jobs", "/v1/shares", &format!("/v1/receipts/{WRITER}/1")] {
        assert_eq!(world.unsigned("GET", path).await.problem(), problem(401, "signature-missing"), "{path}");
    }
    for path in ["/v1/uploads", "/v1/downloads", "/v1/suspects", &format!("/v1/shares/{}", "a".repeat(32))] {
        assert_eq!(world.unsigned("POST", path).await.problem(), problem(401, "signature-missing"), "{path}");
    }
}

#[tokio::test]
async fn nobody_reads_or_lists_any_folder_without_a_signature_but_the_descriptors() {
    for folder in FOLDERS.iter().chain(&["shares", "tmp", "work"]) {
        let world = World::new().await;
        world.put(format!("{folder}/secret"), b"secret".to_vec()).await;
        let object = format!("/v1/objects/{folder}/secret");
        assert_eq!(world.unsigned("GET", &object).await.problem(), problem(401, "signature-missing"), "{folder}");
        for method in ["HEAD", "DELETE"] {
            assert_eq!(world.unsigned(method, &object).await.status, 401, "{method} {folder}");
        }
        let listed = world.unsigned("GET", &format!("/v1/objects?prefix={folder}/")).await;
        assert_eq!(listed.status.as_u16(), if *folder == "copal" { 200 } else { 401 }, "{folder}");
    }
}

#[tokio::test]
async fn key_slots_are_for_signed_requests_unless_the_operator_opens_them() {
    let slot = "/v1/objects/keys/00000000000000000000000000000007/a";
    let closed = World::new().await;
    assert_eq!(closed.unsigned("GET", slot).await.problem(), problem(401, "signature-missing"));
    assert_eq!(closed.signed(WRITER_SIGNS, "GET", slot, b"").await.problem(), problem(403, "not-permitted"));
    assert_eq!(closed.signed(FULL_SIGNS, "GET", slot, b"").await.bytes, "slot");
    let open = World::with(IngestBy::Service, |settings| settings.open_slots = true).await;
    assert_eq!(open.unsigned("GET", slot).await.bytes, "slot");
}

#[tokio::test]
async fn a_replayed_request_is_refused() {
    let world = World::new().await;
    let terms = terms(FULL_SIGNS, [5; 16]);
    let again = || sign_with(&terms, &request_key(FULL), "GET", "/v1/time", b"");
    assert_eq!(world.send(again()).await.status, 200);
    assert_eq!(world.send(again()).await.problem(), problem(401, "replayed"));
}

#[tokio::test]
async fn a_wrong_clock_is_explained() {
    let world = World::new().await;
    for (created, ahead) in [(NOW + 3_600, 3_600), (NOW - 3_600, -3_600)] {
        let terms = Terms { created, expires: created + 60, ..terms(FULL_SIGNS, [6; 16]) };
        let answer = world.send(sign_with(&terms, &request_key(FULL), "GET", "/v1/time", b"")).await;
        assert_eq!(answer.problem(), problem(401, "clock"));
        assert_eq!((&answer.json()["ahead"], &answer.json()["time"]), (&ahead.into(), &NOW.into()));
    }
}

#[tokio::test]
async fn signatures_of_other_keys_requests_and_bodies_are_refused() {
    let world = World::new().await;
    let wrong = problem(401, "signature-wrong");
    let other_key = sign_with(&terms(FULL_SIGNS, [1; 16]), &request_key(WRITER), "GET", "/v1/time", b"");
    assert_eq!(world.send(other_key).await.problem(), wrong);
    let client_as_owner = sign_with(&terms(Signatory::Owner, [2; 16]), &request_key(FULL), "GET", "/v1/time", b"");
    assert_eq!(world.send(client_as_owner).await.problem(), wrong);
    let mut other_path = sign(FULL_SIGNS, "GET", "/v1/time", b"");
    *other_path.uri_mut() = "/v1/index".parse().unwrap();
    assert_eq!(world.send(other_path).await.problem(), wrong);
    let mut other_method = sign(FULL_SIGNS, "GET", "/v1/objects/keys/00000000000000000000000000000007/a", b"");
    *other_method.method_mut() = "DELETE".parse().unwrap();
    assert_eq!(world.send(other_method).await.problem(), wrong);
    let mut other_body = sign(FULL_SIGNS, "POST", "/v1/downloads", b"{\"objects\":[]}");
    *other_body.body_mut() = Body::from("{\"objects\":[ ]}");
    other_body.headers_mut().remove("content-length");
    assert_eq!(world.send(other_body).await.problem(), problem(400, "body-altered"));
    let mut malformed = sign(FULL_SIGNS, "GET", "/v1/time", b"");
    malformed.headers_mut().insert("signature-input", "sig1=()".parse().unwrap());
    assert_eq!(world.send(malformed).await.problem(), problem(400, "signature-malformed"));
    let long = Terms { expires: NOW + 61, ..terms(FULL_SIGNS, [3; 16]) };
    let long = sign_with(&long, &request_key(FULL), "GET", "/v1/time", b"");
    assert_eq!(world.send(long).await.problem(), problem(401, "signature-long"));
}

#[tokio::test]
async fn unknown_and_revoked_clients_are_refused() {
    let world = World::new().await;
    let stranger = Signatory::Client(copal_format::id::ClientId([9; 16]));
    assert_eq!(world.signed(stranger, "GET", "/v1/time", b"").await.problem(), problem(401, "client-unknown"));
    let revoked = Signatory::Client(REVOKED);
    assert_eq!(world.signed(revoked, "GET", "/v1/time", b"").await.problem(), problem(403, "client-revoked"));
}

#[tokio::test]
async fn a_client_whose_record_cannot_be_believed_is_refused() {
    let world = World::new().await;
    world.put(layout::client(FULL, 2), b"forged".to_vec()).await;
    assert_eq!(world.signed(FULL_SIGNS, "GET", "/v1/time", b"").await.problem(), problem(403, "client-unsound"));
}

#[tokio::test]
async fn clients_create_packs_and_what_is_their_own_and_nothing_else() {
    let world = World::new().await;
    let bytes = PACK;
    let put = async |signs, path: &str| world.signed(signs, "PUT", path, bytes).await;
    let hash = ObjectHash::of(bytes);
    let refused = problem(403, "not-permitted");
    let not_for_writers = [
        layout::manifest(FULL, 1),
        layout::change(1),
        layout::pack(Place::Moved, PackId(hash.0)),
        layout::pack(Place::Packs, PackId([1; 32])),
        layout::segment(hash),
        layout::state(hash),
        layout::root(1),
        layout::receipt(WRITER, 1),
        layout::expiry(1),
        layout::deletion(1, &[0; 16]),
        layout::client(WRITER, 2),
        layout::descriptor(2),
        "keys/00000000000000000000000000000008/a".to_owned(),
        "reports/prune/1".to_owned(),
        "work/prune/1".to_owned(),
        "tmp/x".to_owned(),
        "other".to_owned(),
    ];
    for name in not_for_writers {
        let path = format!("/v1/objects/{name}");
        assert_eq!(put(WRITER_SIGNS, &path).await.problem(), refused, "{name}");
        if name != layout::change(1) && name != layout::manifest(FULL, 1) {
            assert_eq!(put(FULL_SIGNS, &path).await.problem(), refused, "{name}");
        }
    }
    for path in [pack_path(bytes), format!("/v1/objects/{}", layout::manifest(WRITER, 1))] {
        assert_eq!(put(WRITER_SIGNS, &path).await.status, 201, "{path}");
    }
    let change = format!("/v1/objects/{}", layout::change(1));
    assert_eq!(world.signed(FULL_SIGNS, "PUT", &change, &signed_change(FULL, 1)).await.status, 201);
}

#[tokio::test]
async fn whoever_the_descriptor_lets_ingest_the_service_alone_writes_roots_state_index_and_receipts() {
    for ingest in [IngestBy::Client, IngestBy::Service] {
        let world = World::with(ingest, |_| {}).await;
        let bytes = b"a run";
        let hash = ObjectHash::of(bytes);
        for name in [layout::segment(hash), layout::state(hash), layout::root(1), layout::receipt(FULL, 1)] {
            let path = format!("/v1/objects/{name}");
            let upload =
                serde_json::json!({ "objects": [{ "key": name, "length": bytes.len(), "sha256": hash.to_string() }] });
            for signs in [WRITER_SIGNS, FULL_SIGNS, Signatory::Owner] {
                let refused = problem(403, "not-permitted");
                assert_eq!(world.signed(signs, "PUT", &path, bytes).await.problem(), refused, "{name}");
                let presigned = world.signed(signs, "POST", "/v1/uploads", upload.to_string().as_bytes()).await;
                assert_eq!(presigned.problem(), refused, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn deleting_is_for_prune_but_for_key_slots_which_are_the_owners() {
    let world = World::new().await;
    let slot = "/v1/objects/keys/00000000000000000000000000000007/a";
    let root = format!("/v1/objects/{}", layout::root(1));
    for (signs, path) in [(FULL_SIGNS, slot), (FULL_SIGNS, &root), (Signatory::Owner, &root)] {
        assert_eq!(world.signed(signs, "DELETE", path, b"").await.problem(), problem(403, "not-permitted"), "{path}");
    }
    assert_eq!(world.signed(Signatory::Owner, "DELETE", slot, b"").await.status, 204);
}

#[tokio::test]
async fn who_joins_creates_its_second_record_and_nothing_else() {
    let world = World::new().await;
    let joins = Signatory::Client(JOINING);
    let refused = problem(403, "not-permitted");
    for path in [pack_path(b"x"), format!("/v1/objects/{}", layout::client(JOINING, 3))] {
        assert_eq!(world.signed(joins, "PUT", &path, b"x").await.problem(), refused, "{path}");
    }
    let slot = "/v1/objects/keys/00000000000000000000000000000007/a";
    assert_eq!(world.signed(joins, "GET", slot, b"").await.problem(), refused, "a write-only client has no passphrase");
    let path = format!("/v1/objects/{}", layout::client(JOINING, 2));
    let bytes = joined().sign(owner().repository(), &enrollment_key());
    assert_eq!(world.signed(joins, "PUT", &path, &bytes).await.status, 201);
}

#[tokio::test]
async fn only_create_only_uploads_of_the_signed_bytes_are_taken() {
    let world = World::new().await;
    let path = pack_path(PACK);
    let mut replacing = sign(FULL_SIGNS, "PUT", &path, PACK);
    replacing.headers_mut().remove("if-none-match");
    assert_eq!(world.send(replacing).await.problem(), problem(428, "not-create-only"));
    let mut without_length = sign(FULL_SIGNS, "PUT", &path, PACK);
    without_length.headers_mut().remove("content-length");
    assert_eq!(world.send(without_length).await.problem(), problem(411, "length-missing"));
    let mut cut = sign(FULL_SIGNS, "PUT", &path, PACK);
    *cut.body_mut() = Body::from(&PACK[1..]);
    assert_eq!(world.send(cut).await.problem(), problem(400, "body-altered"));
    let mut longer = sign(FULL_SIGNS, "PUT", &path, PACK);
    *longer.body_mut() = Body::from([PACK, b"!"].concat());
    assert_eq!(world.send(longer).await.problem(), problem(413, "too-large"));
    assert_eq!(world.store.stat(&copal_store::Key::new(&path["/v1/objects/".len()..]).unwrap()).await.unwrap(), None);
    assert_eq!(world.signed(FULL_SIGNS, "PUT", &path, PACK).await.status, 201);
    assert_eq!(world.signed(FULL_SIGNS, "PUT", &path, PACK).await.problem(), problem(412, "exists"));
}

#[tokio::test]
async fn clients_that_send_slowly_do_not_hold_up_others() {
    let world = World::new().await;
    let slow = |byte: u8| {
        let mut pack = sign(WRITER_SIGNS, "PUT", &pack_path(&[byte]), &[byte]);
        pack.headers_mut().insert("content-length", "268435456".parse().unwrap());
        *pack.body_mut() = Body::from_stream(futures::stream::pending::<Result<&[u8], std::io::Error>>());
        world.send(pack)
    };
    let slow = futures::future::join_all([slow(1), slow(2), slow(3)]);
    let manifest = format!("/v1/objects/{}", layout::manifest(FULL, 1));
    let others = async {
        // Those that are slow have begun.
        tokio::task::yield_now().await;
        world.signed(FULL_SIGNS, "PUT", &manifest, b"manifest").await.status.as_u16()
    };
    let soon = tokio::time::timeout(std::time::Duration::from_secs(10), others);
    tokio::select! {
        created = soon => assert_eq!(created, Ok(201)),
        _ = slow => panic!("they are not slow"),
    }
}

#[tokio::test]
async fn oversize_objects_and_batches_are_refused() {
    let world = World::new().await;
    let mut huge = sign(FULL_SIGNS, "PUT", &pack_path(b"pack"), b"pack");
    huge.headers_mut().insert("content-length", "268435457".parse().unwrap());
    assert_eq!(world.send(huge).await.problem(), problem(403, "not-permitted"));
    let many = format!("{{\"objects\":[{}]}}", vec!["{\"key\":\"copal/1\"}"; 257].join(","));
    assert_eq!(
        world.signed(FULL_SIGNS, "POST", "/v1/downloads", many.as_bytes()).await.problem(),
        problem(413, "too-large")
    );
    let long = vec![b' '; 300 << 10];
    assert_eq!(world.signed(FULL_SIGNS, "POST", "/v1/uploads", &long).await.problem(), problem(413, "too-large"));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let world = World::new().await;
    let bad = problem(400, "bad-request");
    assert_eq!(world.signed(FULL_SIGNS, "GET", "/v1/objects/a%20b", b"").await.problem(), bad);
    assert_eq!(world.signed(FULL_SIGNS, "POST", "/v1/uploads", b"no JSON").await.problem(), bad);
    assert_eq!(world.signed(FULL_SIGNS, "GET", "/v1/receipts/x/1", b"").await.problem(), bad);
    assert_eq!(world.signed(FULL_SIGNS, "GET", "/v1/nothing", b"").await.problem(), problem(404, "not-found"));
    assert_eq!(world.signed(FULL_SIGNS, "PATCH", "/v1/time", b"").await.problem(), problem(405, "method"));
    for unlisted in ["work/", "shares/", "s", ""] {
        let answer = world.signed(FULL_SIGNS, "GET", &format!("/v1/objects?prefix={unlisted}"), b"").await;
        assert_eq!(answer.problem(), problem(403, "not-permitted"), "{unlisted}");
    }
}

#[tokio::test]
async fn requests_that_nobody_signed_are_answered_slowly() {
    // Also where whoever came first was let make the repository.
    for accept_init in [false, true] {
        let world = World::with(IngestBy::Service, |settings| settings.accept_init = accept_init).await;
        let mut answers = Vec::new();
        let descriptor = format!("/v1/objects/{}", copal_format::layout::descriptor(1));
        for _ in 0..100 {
            answers.push(world.unsigned("GET", &descriptor).await.status.as_u16());
        }
        assert_eq!(answers.iter().filter(|status| **status == 200).count(), 60, "{accept_init}");
        assert_eq!(answers.last(), Some(&429));
        assert_eq!(world.unsigned("GET", "/v1/repository").await.status, 200, "known clients ask for it first");
    }
    let unmade = World::bare(|settings| settings.accept_init = true);
    for _ in 0..100 {
        assert_eq!(unmade.unsigned("GET", "/v1/repository").await.problem(), problem(404, "no-repository"));
    }
}

#[tokio::test]
async fn false_signatures_are_answered_slowly_and_cost_the_store_little() {
    let invented = |at: u8| Signatory::Client(copal_format::id::ClientId([at.max(10); 16]));
    let known = |_| WRITER_SIGNS;
    for named in [&invented as &dyn Fn(u8) -> Signatory, &known] {
        let (world, record) = World::before(Record::new).await;
        assert_eq!(world.signed(WRITER_SIGNS, "GET", "/v1/time", b"").await.status, 200);
        record.take();
        let mut answers = Vec::new();
        for at in 0..100 {
            let (named, mut nonce) = (named(at), [0xee; 16]);
            nonce[0] = at;
            let wrong = sign_with(&terms(named, nonce), &request_key(REVOKED), "GET", "/v1/time", b"");
            answers.push(world.send(wrong).await.problem());
        }
        assert_eq!(answers.iter().filter(|answer| answer.0 == 401).count(), 60, "{answers:?}");
        assert_eq!(answers.last(), Some(&problem(429, "busy")));
        assert!(record.events().len() <= 60, "{} calls", record.events().len());
        assert_eq!(world.signed(WRITER_SIGNS, "GET", "/v1/time", b"").await.status, 200, "who is known is not held up");
    }
}

#[tokio::test]
async fn a_descriptor_of_another_owner_than_the_pinned_one_is_refused() {
    let pinned = Some(copal_format::id::OwnerFingerprint([1; 32]));
    let world = World::with(IngestBy::Service, |settings| settings.owner = pinned).await;
    assert_eq!(world.unsigned("GET", "/v1/repository").await.problem(), problem(500, "damaged"));
    assert_eq!(world.unsigned("GET", "/v1/health").await.problem(), problem(500, "damaged"));
}

#[tokio::test]
async fn a_descriptor_that_was_superseded_does_not_come_back() {
    let world = World::new().await;
    let known = Known::new(false);
    let seen = async |now| {
        let facts = known.facts(world.store.as_ref(), None, now).await?;
        Ok::<_, Problem>(facts.expect("there is one").descriptor.version)
    };
    world.put(layout::descriptor(2), descriptor(2, IngestBy::Service)).await;
    assert_eq!(seen(0).await, Ok(2));
    world.store.delete(&Key::new(layout::descriptor(2)).unwrap()).await.unwrap();
    let refused = seen(1_000).await.unwrap_err();
    assert!(refused.detail.contains("version 2 was seen before"), "{}", refused.detail);
    world.put(layout::descriptor(3), descriptor(3, IngestBy::Service)).await;
    assert_eq!(seen(1_000).await, Ok(3));
    for version in [1, 3] {
        world.store.delete(&Key::new(layout::descriptor(version)).unwrap()).await.unwrap();
    }
    let refused = seen(2_000).await.unwrap_err();
    assert!(refused.detail.contains("the descriptor is gone"), "{}", refused.detail);
}

#[tokio::test]
async fn a_place_whose_descriptor_is_gone_is_not_taken_for_a_free_one() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let world = World::with(IngestBy::Service, |settings| {
        settings.accept_init = true;
        settings.clock = || CLOCK.load(Ordering::Relaxed);
    });
    let world = world.await;
    let slot = "/v1/objects/keys/00000000000000000000000000000007/a";
    assert_eq!(world.unsigned("GET", slot).await.problem(), problem(401, "signature-missing"));
    world.store.delete(&Key::new(layout::descriptor(1)).unwrap()).await.unwrap();
    CLOCK.fetch_add(3_600, Ordering::Relaxed);
    assert_eq!(world.unsigned("GET", slot).await.problem(), problem(500, "damaged"));
}
