//! Bounds: a share gives out what its terms say, as often as they say, and only while its maker counts.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::ConnectInfo;
use axum::response::Response;
use bytes::Bytes;
use copal_format::client::{ClientRecord, Role};
use copal_format::layout;
use copal_jobs::shares::TAKEN;
use copal_store::{Created, ListPage, Store, StoreError, pass_on};
use tokio::sync::Barrier;
use tokio::time::timeout;

use super::*;
use crate::router::Presigner;

/// A store whose first answer is lost when an opening is taken, so that it is asked again.
struct Again {
    inner: Arc<dyn Store>,
}

#[async_trait]
impl Store for Again {
    pass_on!(inner: read, read_range, stat, list, delete, now);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        if key.as_str().starts_with(TAKEN) {
            self.inner.create(key, bytes.clone()).await?;
        }
        self.inner.create(key, bytes).await
    }
}

#[tokio::test]
async fn an_opening_is_given_also_if_the_first_answer_of_the_store_is_lost() {
    let world = world(|settings| settings.store = Arc::new(Again { inner: settings.store.clone() })).await;
    let share = world.share('a', 1).await;
    let opened = world.open(&share).await;
    assert_eq!((opened.status.as_u16(), &opened.json()["left"]), (200, &json!(0)));
    assert_eq!(world.part(&share, &ticket_of(&opened), Some(1)).await.bytes, SEALED);
    assert_eq!(world.open(&share).await.problem(), problem(404, "no-share"));
}

/// A store in which everybody who opens a share has listed its openings before anybody takes one.
struct Together {
    inner: Arc<dyn Store>,
    all: Barrier,
}

#[async_trait]
impl Store for Together {
    pass_on!(inner: create, read, read_range, stat, delete, now);

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let page = self.inner.list(prefix, after, limit).await;
        if prefix.starts_with(TAKEN) {
            self.all.wait().await;
        }
        page
    }
}

#[tokio::test]
async fn of_many_who_open_the_last_one_at_once_one_gets_it() {
    let world = world(|settings| {
        settings.store = Arc::new(Together { inner: settings.store.clone(), all: Barrier::new(20) });
    });
    let world = world.await;
    let share = world.share('a', 3).await;
    let answers = futures::future::join_all((0..20).map(|_| world.open(&share))).await;
    let tickets: std::collections::BTreeSet<String> =
        answers.iter().filter(|answer| answer.status == 200).map(ticket_of).collect();
    assert_eq!(tickets.len(), 3);
    assert_eq!(answers.iter().filter(|answer| answer.status == 404).count(), 17);
}

/// A share with an object of 1 MiB, which takes as much memory until its reader takes it, and a ticket.
async fn large_share(world: &World) -> (ShareId, String) {
    let (share, sealed) = (id('a'), vec![7; 1 << 20]);
    world.put(share.list().to_string(), LIST.to_vec()).await;
    let mut large = terms(5);
    large["length"] = json!(sealed.len());
    world.put(share.data(1).to_string(), sealed).await;
    assert_eq!(world.make(FULL_SIGNS, &share, &large).await.status, 201);
    let ticket = ticket_of(&world.open(&share).await);
    (share, ticket)
}

/// An answer that has not been read, to somebody of this network.
async fn part_for(last: u8, world: &World, (share, ticket): &(ShareId, String)) -> Response {
    let body = json!({ "ticket": ticket, "object": 1 }).to_string();
    let request = HttpRequest::post(format!("/v1/shares/{}/parts", share.as_str())).header("host", "gateway.example");
    let mut request = request.body(Body::from(body)).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([192, 0, 2, last], 40_000))));
    world.answer(request).await
}

#[tokio::test]
async fn parts_that_one_network_does_not_take_leave_room_for_others() {
    // With TLS of its own and an address that it was told: no proxy has to be before it.
    let world = world(|settings| settings.origin = Some(ORIGIN.to_owned())).await;
    let share = large_share(&world).await;
    let ask = async |last| part_for(last, &world, &share).await;
    let mut untaken = Vec::new();
    for _ in 0..16 {
        untaken.push(ask(1).await);
    }
    assert!(untaken.iter().all(|answer| answer.status() == 200));
    assert!(timeout(Duration::from_millis(200), ask(1)).await.is_err(), "the next one waits");
    assert_eq!(ask(2).await.status(), 200);
    let (next, ()) = tokio::join!(ask(1), async { drop(untaken.pop()) });
    assert_eq!(next.status(), 200);
    assert_eq!(ask(1).await.status(), 429, "it does not wait for long");
}

#[tokio::test]
async fn visitors_behind_a_proxy_do_not_count_as_one_network() {
    let behind = |settings: &mut Settings| (settings.origin, settings.scheme) = (Some(ORIGIN.to_owned()), "http");
    let world = world(behind).await;
    let share = large_share(&world).await;
    let mut untaken = Vec::new();
    for _ in 0..100 {
        untaken.push(part_for(1, &world, &share).await);
    }
    assert!(untaken.iter().all(|answer| answer.status() == 200));
}

#[tokio::test]
async fn revoking_a_share_frees_nothing_that_may_still_come_to_an_address_of_the_bucket() {
    let world = world(|settings| {
        settings.quota = Quota { stored: Some(100), daily: None };
        settings.presigner = Some(Arc::new(Elsewhere));
    });
    let world = world.await;
    let ask = async |share: ShareId| {
        let key = share.data(1);
        let body = json!({ "objects": [{ "key": key.as_str(), "length": 60, "sha256": "07".repeat(32) }] });
        world.signed(FULL_SIGNS, "POST", "/v1/uploads", body.to_string().as_bytes()).await
    };
    assert_eq!(ask(id('b')).await.status, 200);
    let path = format!("/v1/shares/{}", id('b').as_str());
    assert_eq!(world.signed(FULL_SIGNS, "DELETE", &path, b"").await.status, 200);
    assert_eq!(ask(id('c')).await.problem(), problem(403, "quota"));
}

#[tokio::test]
async fn what_was_uploaded_after_the_terms_is_not_handed_out() {
    for is_elsewhere in [false, true] {
        let world =
            world(|settings| settings.presigner = is_elsewhere.then(|| Arc::new(Elsewhere) as Arc<dyn Presigner>))
                .await;
        let share = world.share('a', 5).await;
        for number in [2, 200] {
            assert_eq!(world.upload(FULL_SIGNS, &share.data(number), b"anything").await.status, 201);
        }
        let ticket = ticket_of(&world.open(&share).await);
        for number in [0, 2, 200, u64::MAX] {
            let refused = world.part(&share, &ticket, Some(number)).await;
            assert_eq!(refused.problem(), problem(404, "not-found"), "{number}, {is_elsewhere}");
        }
        for (object, length) in [(Some(1), SEALED.len()), (None, LIST.len())] {
            let beyond = json!({ "ticket": ticket, "object": object, "range": [0, length] });
            let refused = world.ask(&format!("{}/parts", share.as_str()), beyond).await;
            assert_eq!((refused.problem(), &refused.json()["length"]), (problem(416, "out-of-range"), &json!(length)));
            assert_eq!(world.part(&share, &ticket, object).await.status, 200);
        }
    }
}

#[tokio::test]
async fn a_share_ends_when_the_client_that_made_it_is_revoked() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let revoked = ClientRecord { revoked: Some((0, ObjectHash::NONE)), ..record(FULL, Role::Full, 2) };
    let revoked = revoked.sign(owner().repository(), &owner().signing_key());
    for (what, version) in [("revoked", revoked), ("a record that might be the revocation", b"junk".to_vec())] {
        CLOCK.store(NOW, Ordering::Relaxed);
        let world = world(|settings| settings.clock = || CLOCK.load(Ordering::Relaxed)).await;
        let of_client = world.share('a', 5).await;
        let of_owner = id('b');
        world.upload(Signatory::Owner, &of_owner.data(1), SEALED).await;
        world.upload(Signatory::Owner, &of_owner.list(), LIST).await;
        assert_eq!(world.make(Signatory::Owner, &of_owner, &terms(5)).await.status, 201);
        let tickets = [ticket_of(&world.open(&of_client).await), ticket_of(&world.open(&of_owner).await)];
        assert_eq!(world.part(&of_client, &tickets[0], Some(1)).await.bytes, SEALED);
        world.put(layout::client(FULL, 2), version).await;
        CLOCK.store(NOW + 10, Ordering::Relaxed);
        for refused in [
            world.open(&of_client).await,
            world.part(&of_client, &tickets[0], Some(1)).await,
            world.part(&of_client, &tickets[0], None).await,
        ] {
            assert_eq!(refused.problem(), problem(404, "no-share"), "{what}");
            assert_eq!(refused.bytes, world.open(&id('d')).await.bytes, "{what}");
        }
        assert_eq!(world.part(&of_owner, &tickets[1], Some(1)).await.bytes, SEALED, "{what}");
    }
}

#[tokio::test]
async fn nobody_else_finishes_a_share_that_a_client_has_begun() {
    let world = world(|_| {}).await;
    let share = world.share('a', 5).await;
    world.store.delete(&share.terms()).await.unwrap();
    assert_eq!(world.make(Signatory::Owner, &share, &terms(5)).await.problem(), problem(412, "exists"));
    assert_eq!(world.make(FULL_SIGNS, &share, &terms(5)).await.status, 201);
    // Without the note the gateway does not know who made the share.
    world.store.delete(&share.taken(0)).await.unwrap();
    assert_eq!(world.open(&share).await.problem(), problem(404, "no-share"));
}
