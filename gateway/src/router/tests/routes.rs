//! What is answered to those who may ask.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request as HttpRequest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use copal_format::client::{ClientRecord, Role};
use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::request::Signatory;
use copal_format::root::Root;
use copal_format::state::{RunKind, StateDelta, write_run};
use copal_store::fault::{Call, Fate, Fault};
use copal_store::record::Record;
use copal_store::{Key, Op, Presigned, Store, StoreError};
use serde_json::{Value, json};

use super::kit::*;
use crate::router::{Arrival, Presigner, Settings};

pub(super) struct Elsewhere;

#[async_trait]
impl Presigner for Elsewhere {
    async fn put(&self, key: &Key, length: u64, _: &[u8; 32], _: Duration) -> Result<Presigned, StoreError> {
        let headers = vec![("content-length", length.to_string())];
        Ok(Presigned { method: "PUT", url: format!("https://bucket.example/{key}?signed"), headers })
    }

    async fn get(&self, key: &Key, _: Duration) -> Result<Presigned, StoreError> {
        Ok(Presigned { method: "GET", url: format!("https://bucket.example/{key}?signed"), headers: Vec::new() })
    }
}

#[test]
fn an_address_is_shown_without_what_makes_it_count() {
    let url = "https://bucket.example/packs/1?X-Amz-Signature=the-secret".to_owned();
    let given = Presigned { method: "GET", url, headers: vec![("range", "bytes=0-1".to_owned())] };
    let shown = format!("{given:?}");
    assert!(shown.contains("bucket.example/packs/1") && !shown.contains("the-secret"), "{shown}");
}

fn keys(answer: &Value, field: &str) -> Vec<String> {
    answer[field].as_array().unwrap().iter().map(|of| of["key"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_answer_forbids_guessing_at_types_and_over_tls_asks_for_tls_from_then_on() {
    let asked = [
        ("GET", "/v1/repository", 200),
        ("GET", "/v1/index", 401),
        ("DELETE", "/v1/health", 405),
        ("OPTIONS", "/v1/health", 204),
        ("GET", "/nothing", 404),
    ];
    type Change = fn(&mut Settings);
    let behind = |settings: &mut Settings| settings.scheme = "http";
    let plain = |settings: &mut Settings| (settings.origin, settings.scheme) = (None, "http");
    let own = |settings: &mut Settings| settings.origin = None;
    for (change, host, is_strict) in [
        (behind as Change, "backup.example", true),
        (own, "backup.example:8321", true),
        (own, "localhost:8321", false),
        (own, "LOCALHOST.", false),
        (plain, "backup.example", false),
        (plain, "localhost:8321", false),
    ] {
        let page = "https://page.example";
        let world = World::with(IngestBy::Service, |settings| {
            settings.cors = Some(page.to_owned());
            change(settings);
        });
        let world = world.await;
        for (method, path, status) in asked {
            let request = HttpRequest::builder().method(method).uri(path).header("host", host).header("origin", page);
            let answer = world.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(
                (answer.status.as_u16(), &answer.headers["x-content-type-options"]),
                (status, &"nosniff".parse().unwrap())
            );
            let told = answer.headers.get("strict-transport-security").map(|value| value.to_str().unwrap());
            assert_eq!(told, is_strict.then_some("max-age=31536000"), "{method} {path} of {host}");
        }
    }
}

#[tokio::test]
async fn anybody_learns_whose_repository_it_is_and_nothing_more() {
    let world = World::new().await;
    let answer = world.unsigned("GET", "/v1/repository").await.json();
    let told: BTreeSet<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    let all = ["descriptor", "owner", "repository", "slots", "time", "transfers", "version"];
    assert_eq!(told, BTreeSet::from(all));
    assert_eq!(answer["descriptor"], STANDARD.encode(descriptor(1, IngestBy::Service)));
    assert_eq!((&answer["repository"], &answer["version"]), (&json!(owner().repository().to_string()), &json!(1)));
    assert_eq!(answer["owner"], owner().fingerprint().to_string());
    assert_eq!(answer["transfers"], "direct");
    assert_eq!((&answer["slots"], &answer["time"]), (&json!("signed"), &json!(NOW)));
    assert_eq!(world.unsigned("GET", "/v1/health").await.json(), json!({ "status": "ok" }));
}

#[tokio::test]
async fn objects_are_created_read_in_parts_and_listed() {
    let world = World::new().await;
    let pack = b"0123456789".repeat(4);
    let path = pack_path(&pack);
    assert_eq!(world.signed(FULL_SIGNS, "PUT", &path, &pack).await.status, 201);
    assert_eq!(world.signed(FULL_SIGNS, "GET", &path, b"").await.bytes, pack);
    let ranged = async |range: &str| {
        let mut request = sign(FULL_SIGNS, "GET", &path, b"");
        request.headers_mut().insert("range", range.parse().unwrap());
        world.send(request).await
    };
    let part = ranged("bytes=2-4").await;
    assert_eq!(
        (part.status.as_u16(), &part.bytes[..], &part.headers["content-range"]),
        (206, &b"234"[..], &"bytes 2-4/*".parse().unwrap())
    );
    let beyond = ranged("bytes=38-40").await;
    assert_eq!((beyond.problem(), &beyond.json()["length"]), ((416, "out-of-range".into()), &json!(40)));
    assert_eq!(ranged("bytes=4-2").await.problem(), (400, "bad-request".into()));
    let head = world.signed(WRITER_SIGNS, "HEAD", &path, b"").await;
    assert_eq!((head.status.as_u16(), &head.headers["content-length"]), (200, &"40".parse().unwrap()));
    assert!(head.headers.contains_key("copal-created") && head.bytes.is_empty());
    let listed = world.signed(FULL_SIGNS, "GET", "/v1/objects?prefix=packs/&limit=5", b"").await.json();
    assert_eq!(keys(&listed, "objects"), [path.strip_prefix("/v1/objects/").unwrap()]);
    assert_eq!((&listed["more"], &listed["objects"][0]["length"]), (&json!(false), &json!(40)));
}

#[tokio::test]
async fn a_part_of_an_object_is_mapped_and_not_gathered_in_memory() {
    let (world, record) = World::before(Record::new).await;
    world.put(layout::manifest(WRITER, 1), vec![7; 100]).await;
    let mut request = sign(WRITER_SIGNS, "GET", &format!("/v1/objects/{}", layout::manifest(WRITER, 1)), b"");
    request.headers_mut().insert("range", "bytes=0-98".parse().unwrap());
    record.take();
    assert_eq!(world.send(request).await.bytes, vec![7; 99]);
    let ops: Vec<_> = record.take().into_iter().filter(|event| event.key.starts_with("manifests/")).collect();
    assert_eq!(ops.iter().map(|event| event.op).collect::<Vec<_>>(), [Op::Map]);
}

#[tokio::test]
async fn a_pack_is_handed_on_in_pieces_and_the_answer_ends_where_it_cannot_be_read() {
    let failing = Arc::new(AtomicU64::new(u64::MAX));
    let left = failing.clone();
    let fails = move |call: &Call<'_>| {
        let is_piece = call.op == Op::ReadRange && call.key.starts_with("packs/");
        is_piece && left.fetch_sub(1, Ordering::Relaxed) == 0
    };
    let (world, record) = World::before(|inner| Record::new(Fault::at(inner, fails, Fate::broken))).await;
    let pack: Vec<u8> = (0..700_000u32).map(|at| (at % 251) as u8).collect();
    let path = pack_path(&pack);
    world.put(path.strip_prefix("/v1/objects/").unwrap().to_owned(), pack.clone()).await;
    let asked = |range: Option<&str>| {
        let mut request = sign(FULL_SIGNS, "GET", &path, b"");
        if let Some(range) = range {
            request.headers_mut().insert("range", range.parse().unwrap());
        }
        request
    };
    record.take();
    let whole = world.send(asked(None)).await;
    assert!(whole.bytes == pack && whole.headers["content-length"] == "700000");
    let part = world.send(asked(Some("bytes=1000-600999"))).await;
    assert!(part.bytes == pack[1_000..601_000] && part.headers["content-length"] == "600000");
    let small = world.send(asked(Some("bytes=5-9"))).await;
    assert_eq!(small.bytes, pack[5..10]);
    let pieces = record.take().into_iter().filter(|event| event.key.starts_with("packs/") && event.op != Op::Stat);
    let pieces: Vec<_> = pieces.map(|event| (event.op, event.length <= 256 << 10)).collect();
    assert_eq!(pieces, [(Op::ReadRange, true); 7]);
    let beyond = world.send(asked(Some("bytes=1-700000"))).await;
    assert_eq!((beyond.problem().0, &beyond.json()["length"]), (416, &json!(700_000)));

    failing.store(0, Ordering::Relaxed);
    assert_eq!(world.send(asked(None)).await.problem(), (500, "store-failed".into()));
    failing.store(2, Ordering::Relaxed);
    let (parts, body) = world.answer(asked(None)).await.into_parts();
    assert_eq!((parts.status.as_u16(), &parts.headers["content-length"]), (200, &"700000".parse().unwrap()));
    assert!(axum::body::to_bytes(body, 1 << 20).await.is_err());
}

#[tokio::test]
async fn a_write_only_client_lists_its_own_only() {
    let world = World::new().await;
    world.put(layout::manifest(FULL, 1), b"m".to_vec()).await;
    world.put(layout::manifest(WRITER, 1), b"m".to_vec()).await;
    let list = async |path: &str| world.signed(WRITER_SIGNS, "GET", path, b"").await;
    let own = list("/v1/objects?prefix=manifests/").await.json();
    assert_eq!(keys(&own, "objects"), [layout::manifest(WRITER, 1)]);
    for refused in ["packs/", "keys/", "", &format!("manifests/{FULL}/")] {
        let answer = list(&format!("/v1/objects?prefix={refused}")).await;
        assert_eq!(answer.problem(), (403, "not-permitted".into()), "{refused}");
    }
}

#[tokio::test]
async fn a_write_only_client_sees_the_segments_of_its_own_domain_only() {
    let world = World::new().await;
    world.put_root().await;
    let [own, shared] = [&b"its own"[..], b"shared!"].map(|bytes| layout::segment(ObjectHash::of(bytes)));
    let index = world.signed(WRITER_SIGNS, "GET", "/v1/index", b"").await.json();
    assert_eq!(keys(&index, "segments"), std::slice::from_ref(&own));
    assert_eq!((index["root"]["number"].as_u64(), keys(&index, "runs").len()), (Some(1), 2));
    let all = world.signed(FULL_SIGNS, "GET", "/v1/index", b"").await.json();
    assert_eq!(keys(&all, "segments").len(), 2);
    // A root that came since then is known by whoever asks for what it names.
    let bytes = world.store.read(&Key::new(layout::root(1)).unwrap()).await.unwrap();
    let mut next = Root::decode(1, &bytes).unwrap();
    let run = write_run(RunKind::Segments, [8; 16], &StateDelta::default().records(RunKind::Segments));
    world.put(layout::state(run.reference.hash), run.bytes).await;
    next.number = 2;
    next.runs.insert(0, run.reference.clone());
    world.put(layout::root(2), next.encode().unwrap()).await;
    let path = format!("/v1/objects/{}", layout::state(run.reference.hash));
    assert_eq!(world.signed(WRITER_SIGNS, "GET", &path, b"").await.status, 200);
    let read = async |key: &str| world.signed(WRITER_SIGNS, "GET", &format!("/v1/objects/{key}"), b"").await;
    assert_eq!(read(&own).await.bytes, "its own");
    assert_eq!(read(&shared).await.problem(), (404, "not-found".into()));
    assert_eq!(read(&keys(&index, "runs")[0]).await.status, 200);
}

#[tokio::test]
async fn manifests_changes_and_whoever_waits_for_a_receipt_hasten_ingest() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = told.clone();
    let arrived = Arc::new(move |arrival| noted.lock().unwrap().push(arrival));
    let world = World::with(IngestBy::Service, |settings| settings.arrived = Some(arrived)).await;
    let path = format!("/v1/receipts/{WRITER}/1");
    assert_eq!(world.signed(WRITER_SIGNS, "GET", &path, b"").await.problem(), (404, "undecided".into()));
    assert_eq!(*told.lock().unwrap(), [Arrival::Manifest(WRITER)]);
    world.put(layout::receipt(WRITER, 1), b"answer".to_vec()).await;
    assert_eq!(world.signed(WRITER_SIGNS, "GET", &path, b"").await.bytes, "answer");
    let others = format!("/v1/receipts/{FULL}/1");
    assert_eq!(world.signed(WRITER_SIGNS, "GET", &others, b"").await.problem(), (403, "not-permitted".into()));
    let manifest = format!("/v1/objects/{}", layout::manifest(WRITER, 1));
    assert_eq!(world.signed(WRITER_SIGNS, "PUT", &manifest, b"m").await.status, 201);
    assert_eq!(*told.lock().unwrap(), [Arrival::Manifest(WRITER); 2]);
    let change = format!("/v1/objects/{}", layout::change(1));
    assert_eq!(world.signed(FULL_SIGNS, "PUT", &change, &signed_change(FULL, 1)).await.status, 201);
    assert_eq!(told.lock().unwrap()[2..], [Arrival::Change], "a change is taken up as soon as a manifest");
}

#[tokio::test]
async fn batches_give_the_addresses_of_the_gateway_where_nothing_is_presigned() {
    let world = World::new().await;
    let hash = ObjectHash::of(PACK);
    let path = pack_path(PACK);
    let key = path.strip_prefix("/v1/objects/").unwrap();
    let body = json!({ "objects": [{ "key": key, "length": PACK.len(), "sha256": hash.to_string() }] }).to_string();
    let answer = world.signed(WRITER_SIGNS, "POST", "/v1/uploads", body.as_bytes()).await.json();
    let upload = &answer["objects"][0];
    assert_eq!((&upload["method"], &upload["url"]), (&json!("PUT"), &json!(format!("{ORIGIN}{path}"))));
    assert_eq!((&upload["signed"], &upload["headers"]["if-none-match"]), (&json!(true), &json!("*")));
    let body = json!({ "objects": [{ "key": "copal/00000000000000000001", "range": [0, 9] }] }).to_string();
    let answer = world.signed(WRITER_SIGNS, "POST", "/v1/downloads", body.as_bytes()).await.json();
    assert_eq!(answer["objects"][0]["headers"]["range"], "bytes=0-9");
}

#[tokio::test]
async fn batches_and_reads_lead_to_the_store_where_it_presigns() {
    let world = World::with(IngestBy::Service, |settings| settings.presigner = Some(Arc::new(Elsewhere))).await;
    let path = pack_path(PACK);
    let key = path.strip_prefix("/v1/objects/").unwrap();
    let hash = ObjectHash::of(PACK);
    let body = json!({ "objects": [{ "key": key, "length": PACK.len(), "sha256": hash.to_string() }] }).to_string();
    let answer = world.signed(WRITER_SIGNS, "POST", "/v1/uploads", body.as_bytes()).await.json();
    let url = json!(format!("https://bucket.example/{key}?signed"));
    assert_eq!((&answer["objects"][0]["url"], &answer["objects"][0]["signed"]), (&url, &json!(false)));
    let read = world.signed(FULL_SIGNS, "GET", &path, b"").await;
    assert_eq!((read.status.as_u16(), &read.headers["location"]), (307, &url.as_str().unwrap().parse().unwrap()));
    let first = world.unsigned("GET", "/v1/objects/copal/00000000000000000001").await;
    assert_eq!(first.status.as_u16(), 200, "what is read before anybody can sign comes from the gateway itself");
    let wrong = json!({ "objects": [{ "key": key, "length": PACK.len(), "sha256": "00".repeat(32) }] }).to_string();
    let refused = world.signed(WRITER_SIGNS, "POST", "/v1/uploads", wrong.as_bytes()).await;
    assert_eq!(refused.problem(), (403, "not-permitted".into()), "a pack is named by its hash");
}

#[tokio::test]
async fn a_client_may_have_met_the_gateway_by_any_of_its_addresses() {
    let other = "https://later.example";
    for (others, status) in [(vec![], 401), (vec![ORIGIN.to_owned()], 200)] {
        let world = World::with(IngestBy::Service, |settings| {
            settings.origin = Some(other.to_owned());
            settings.other_origins = others;
        });
        let answer = world.await.signed(Signatory::Client(FULL), "GET", "/v1/index", b"").await;
        assert_eq!(answer.status.as_u16(), status);
    }
}

#[tokio::test]
async fn pages_of_one_origin_may_use_the_gateway() {
    let page = "https://page.example";
    let world = World::with(IngestBy::Service, |settings| settings.cors = Some(page.to_owned())).await;
    let ask = async |origin: &str| {
        let request = HttpRequest::options("/v1/uploads").header("origin", origin);
        world.send(request.body(Body::empty()).unwrap()).await
    };
    let answer = ask(page).await;
    assert_eq!((answer.status.as_u16(), &answer.headers["access-control-allow-origin"]), (204, &page.parse().unwrap()));
    assert!(answer.headers["access-control-allow-headers"].to_str().unwrap().contains("signature-input"));
    assert!(!ask("https://other.example").await.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn a_client_that_has_just_joined_is_known_at_once() {
    let world = World::new().await;
    let joins = Signatory::Client(JOINING);
    let bytes = joined().sign(owner().repository(), &enrollment_key());
    let path = format!("/v1/objects/{}", layout::client(JOINING, 2));
    assert_eq!(world.signed(joins, "PUT", &path, &bytes).await.status, 201);
    let request = sign_with(&terms(joins, [0x77; 16]), &request_key(JOINING), "GET", "/v1/time", b"");
    assert_eq!(world.send(request).await.status, 200);
    let again = world.signed(joins, "PUT", &path, &bytes).await;
    assert_eq!(again.problem(), (403, "enrollment-used".into()));
}

#[tokio::test]
async fn an_enrollment_that_has_expired_by_the_gateways_clock_joins_nobody_and_reads_nothing() {
    let joins = Signatory::Client(JOINING);
    let expired = problem(403, "enrollment-expired");
    let world = World::with(IngestBy::Service, |settings| settings.clock = || NOW + 1).await;
    let (record, second) = (layout::client(JOINING, 1), layout::client(JOINING, 2));
    let uploads = json!({ "objects": [{ "key": second, "length": 6, "sha256": "07".repeat(32) }] }).to_string();
    let asked =
        [("PUT", format!("/v1/objects/{second}"), &b"joined"[..]), ("POST", "/v1/uploads".into(), uploads.as_bytes())];
    for (method, path, body) in asked {
        assert_eq!(world.signed(joins, method, &path, body).await.problem(), expired, "{method} {path}");
    }
    for path in [format!("/v1/objects/{record}"), "/v1/objects?prefix=clients/".into(), "/v1/time".into()] {
        assert_eq!(world.signed(joins, "GET", &path, b"").await.problem(), expired, "{path}");
    }
    assert_eq!(world.store.stat(&Key::new(second).unwrap()).await.unwrap(), None);
    // A full client's line reads key slots as long as it is open, and then no more.
    let full = ClientRecord { role: Role::Full, ..waiting() };
    let sign = |record: &ClientRecord| record.sign(owner().repository(), &owner().signing_key());
    let slot = "/v1/objects/keys/00000000000000000000000000000007/a";
    for (clock, told) in [((|| NOW) as fn() -> u64, Ok("slot")), (|| NOW + 1, Err(expired))] {
        let world = World::bare(|settings| settings.clock = clock);
        world.put(layout::descriptor(1), descriptor(1, IngestBy::Service)).await;
        world.put(layout::client(JOINING, 1), sign(&full)).await;
        world.put("keys/00000000000000000000000000000007/a".into(), b"slot".to_vec()).await;
        let answer = world.signed(joins, "GET", slot, b"").await;
        let read =
            if answer.status == 200 { Ok(str::from_utf8(&answer.bytes).unwrap()) } else { Err(answer.problem()) };
        assert_eq!(read, told);
    }
}
