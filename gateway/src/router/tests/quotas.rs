//! Quotas: everything that a client may create counts, once.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use copal_format::client::Role;
use copal_format::id::{ClientId, ObjectHash, PackId};
use copal_format::layout::{self, Place};
use copal_format::receipt::IngestBy;
use copal_format::request::Signatory;

use super::kit::*;
use crate::router::Quota;

/// Another full client, which shares its domain with the first.
const SECOND: ClientId = ClientId([5; 16]);
const SECOND_SIGNS: Signatory = Signatory::Client(SECOND);

/// A repository with two full clients, which together may store so many bytes.
async fn with_two(stored: u64, clock: fn() -> u64) -> World {
    let world = World::with(IngestBy::Service, |settings| {
        settings.quota = Quota { stored: Some(stored), daily: None };
        settings.clock = clock;
    });
    let world = world.await;
    let second = record(SECOND, Role::Full, 1).sign(owner().repository(), &owner().signing_key());
    world.put(layout::client(SECOND, 1), second).await;
    world
}

#[tokio::test]
async fn quotas_hold_for_what_is_stored_and_for_what_was_added_today() {
    for quota in [Quota { stored: Some(1_040), daily: None }, Quota { stored: None, daily: Some(1_040) }] {
        let world = World::with(IngestBy::Service, |settings| settings.quota = quota).await;
        world.put_root().await;
        let put = async |bytes: &[u8]| world.signed(WRITER_SIGNS, "PUT", &pack_path(bytes), bytes).await;
        let refused = put(&[1; 41]).await;
        assert_eq!(refused.problem(), problem(403, "quota"), "{quota:?}");
        assert_eq!(refused.json()["used"], 1_000);
        assert_eq!(put(&[1; 40]).await.status, 201, "{quota:?}");
    }
}

#[tokio::test]
async fn what_no_root_knows_yet_counts_too() {
    for quota in [Quota { stored: None, daily: Some(60) }, Quota { stored: Some(60), daily: None }] {
        let world = World::with(IngestBy::Service, |settings| settings.quota = quota).await;
        let put = async |bytes: &[u8]| world.signed(WRITER_SIGNS, "PUT", &pack_path(bytes), bytes).await;
        assert_eq!(put(&[1; 40]).await.status, 201);
        assert_eq!(put(&[1; 40]).await.problem(), problem(412, "exists"), "the same object counts once");
        let refused = put(&[2; 40]).await;
        assert_eq!(refused.problem(), problem(403, "quota"), "{quota:?}");
        assert_eq!(refused.json()["used"], 40, "{quota:?}");
    }
}

#[tokio::test]
async fn a_quota_is_not_escaped_by_naming_a_pack_twice_or_shorter_than_it_is() {
    let quota = Quota { stored: Some(1_040), daily: None };
    let world = World::with(IngestBy::Service, |settings| settings.quota = quota).await;
    world.put_root().await;
    let asked = async |packs: &[(u8, u64)]| {
        let named = packs.iter().map(|(byte, length)| {
            let id = PackId([*byte; 32]);
            serde_json::json!({ "key": layout::pack(Place::Packs, id), "length": length, "sha256": id.to_string() })
        });
        let body = serde_json::json!({ "objects": named.collect::<Vec<_>>() }).to_string();
        world.signed(WRITER_SIGNS, "POST", "/v1/uploads", body.as_bytes()).await
    };
    assert_eq!(asked(&[(9, 32), (1, 41)]).await.problem(), problem(403, "quota"), "9 has 1,000 bytes");
    assert_eq!(asked(&[(9, 1_000), (1, 40), (1, 40)]).await.status, 200, "what is there takes no more room");
    for _ in 0..2 {
        assert_eq!(asked(&[(1, 32), (1, 32), (2, 32)]).await.problem(), problem(403, "quota"), "1 has 40 bytes");
    }
}

#[tokio::test]
async fn manifests_and_changes_count_towards_a_quota_whoever_decides_them() {
    for quota in [Quota { stored: Some(100), daily: None }, Quota { stored: None, daily: Some(100) }] {
        let world = World::with(IngestBy::Service, |settings| settings.quota = quota).await;
        let put = async |name: String, length: usize| {
            world.signed(WRITER_SIGNS, "PUT", &format!("/v1/objects/{name}"), &vec![1; length]).await
        };
        assert_eq!(put(layout::manifest(WRITER, 1), 60).await.status, 201);
        let refused = put(layout::manifest(WRITER, 2), 41).await;
        assert_eq!(
            (refused.problem(), refused.json()["used"].as_u64()),
            (problem(403, "quota"), Some(60)),
            "{quota:?}"
        );
        let used = world.signed(WRITER_SIGNS, "GET", "/v1/quota", b"").await.json();
        let used = [&used["stored"], &used["daily"]].map(|of| of["used"].as_u64());
        assert!(used.contains(&Some(60)), "{used:?}");
        assert_eq!(put(layout::manifest(WRITER, 2), 10).await.status, 201);
        let pack = [1; 40];
        assert_eq!(world.signed(WRITER_SIGNS, "PUT", &pack_path(&pack), &pack).await.problem(), problem(403, "quota"));
        let change = signed_change(FULL, 1);
        let most = change.len() + 40;
        let of_full = |set: Option<u64>| set.map(|_| most as u64);
        let quota = Quota { stored: of_full(quota.stored), daily: of_full(quota.daily) };
        let world = World::with(IngestBy::Service, |settings| settings.quota = quota).await;
        let path = format!("/v1/objects/{}", layout::change(1));
        assert_eq!(world.signed(FULL_SIGNS, "PUT", &path, &vec![1; most + 1]).await.problem(), problem(403, "quota"));
        assert_eq!(world.signed(FULL_SIGNS, "PUT", &path, &change).await.status, 201);
        let named = |number| {
            let name = layout::change(number);
            serde_json::json!({ "key": name, "length": 20, "sha256": ObjectHash([1; 32]).to_string() })
        };
        // Addresses count before anything comes.
        let both = serde_json::json!({ "objects": [named(2), named(3)] }).to_string();
        assert_eq!(world.signed(FULL_SIGNS, "POST", "/v1/uploads", both.as_bytes()).await.status, 200);
        let more = serde_json::json!({ "objects": [named(4)] }).to_string();
        let more = world.signed(FULL_SIGNS, "POST", "/v1/uploads", more.as_bytes()).await;
        assert_eq!(more.problem(), problem(403, "quota"));
    }
}

#[tokio::test]
async fn receipts_count_towards_the_quota_of_the_client_that_they_answer() {
    let quota = Quota { stored: Some(100), daily: None };
    let world = World::with(IngestBy::Service, |settings| settings.quota = quota).await;
    world.put(layout::receipt(WRITER, 1), vec![1; 60]).await;
    let put = async |signs, name: String| world.signed(signs, "PUT", &format!("/v1/objects/{name}"), &[1; 41]).await;
    assert_eq!(put(WRITER_SIGNS, layout::manifest(WRITER, 1)).await.problem(), problem(403, "quota"));
    assert_eq!(put(FULL_SIGNS, layout::manifest(FULL, 1)).await.status, 201);
}

#[tokio::test]
async fn numbers_of_manifests_and_changes_follow_others_closely() {
    let world = World::new().await;
    let put = async |name: String| {
        let change = layout::trailing_number(&name).filter(|_| name.starts_with("changes/"));
        let bytes = change.map_or(b"x".to_vec(), |number| signed_change(FULL, number));
        world.signed(FULL_SIGNS, "PUT", &format!("/v1/objects/{name}"), &bytes).await.status
    };
    for number in [1_025, 9_007_199_254_740_991] {
        assert_eq!(put(layout::manifest(FULL, number)).await, 403, "{number}");
        assert_eq!(put(layout::change(number)).await, 403, "{number}");
    }
    for number in [1, 2, 1_000, 2_000] {
        assert_eq!(put(layout::manifest(FULL, number)).await, 201, "{number}");
        assert_eq!(put(layout::change(number)).await, 201, "{number}");
    }
    assert_eq!(put(layout::manifest(FULL, 3_025)).await, 403);
    world.put(layout::receipt(FULL, 3_000), b"the manifests behind it are lost".to_vec()).await;
    assert_eq!(put(layout::manifest(FULL, 3_025)).await, 201);
    let far = serde_json::json!({ "key": layout::manifest(FULL, 9_000), "length": 1, "sha256": ObjectHash([1; 32]).to_string() });
    let far = serde_json::json!({ "objects": [far] }).to_string();
    assert_eq!(
        world.signed(FULL_SIGNS, "POST", "/v1/uploads", far.as_bytes()).await.problem(),
        problem(403, "not-permitted")
    );
}

#[tokio::test]
async fn a_client_that_sends_nothing_takes_no_room_from_others_after_20_minutes() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let world = with_two(1_000, || CLOCK.load(Ordering::Relaxed)).await;
    let asked = async |signs: Signatory, byte: u8, length: u64| {
        let id = PackId([byte; 32]);
        let named =
            serde_json::json!({ "key": layout::pack(Place::Packs, id), "length": length, "sha256": id.to_string() });
        let body = serde_json::json!({ "objects": [named] }).to_string();
        world.send(sign_at(CLOCK.load(Ordering::Relaxed), signs, "POST", "/v1/uploads", body.as_bytes())).await
    };
    assert_eq!(asked(FULL_SIGNS, 1, 1_000).await.status, 200);
    assert_eq!(asked(SECOND_SIGNS, 2, 40).await.problem(), problem(403, "quota"));
    CLOCK.store(NOW + 21 * 60, Ordering::Relaxed);
    assert_eq!(asked(FULL_SIGNS, 1, 1_000).await.status, 200, "asking for the same again gains no time");
    assert_eq!(asked(SECOND_SIGNS, 2, 40).await.status, 200);
    assert_eq!(asked(FULL_SIGNS, 3, 1_000).await.problem(), problem(403, "quota"), "it counts for its own client");
}

#[tokio::test]
async fn a_body_that_comes_slowly_is_stored_only_within_the_quota() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    for others_upload in [false, true] {
        CLOCK.store(NOW, Ordering::Relaxed);
        let world = with_two(1_000, || CLOCK.load(Ordering::Relaxed)).await;
        let (pack, others) = ([1; 1_000], [2; 40]);
        let (end, ended) = tokio::sync::oneshot::channel();
        let mut slow = sign(FULL_SIGNS, "PUT", &pack_path(&pack), &pack);
        *slow.body_mut() = Body::from_stream(futures::stream::once(async move { ended.await.map(|()| pack.to_vec()) }));
        let meanwhile = async {
            // The slow upload is allowed, and its body is waited for.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            CLOCK.store(NOW + 21 * 60, Ordering::Relaxed);
            if others_upload {
                let request = sign_at(NOW + 21 * 60, SECOND_SIGNS, "PUT", &pack_path(&others), &others);
                assert_eq!(world.send(request).await.status, 201);
            }
            end.send(()).unwrap();
        };
        let (answer, ()) = tokio::join!(world.send(slow), meanwhile);
        assert_eq!(answer.status, if others_upload { 403 } else { 201 });
    }
}
