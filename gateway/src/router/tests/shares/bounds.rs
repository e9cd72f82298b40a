//! Bounds: a share gives out what its terms say, and only while its maker counts.

use async_trait::async_trait;
use bytes::Bytes;
use copal_format::client::{ClientRecord, Role};
use copal_format::layout;
use copal_jobs::shares::TAKEN;
use copal_store::{Created, Store, StoreError, pass_on};

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
