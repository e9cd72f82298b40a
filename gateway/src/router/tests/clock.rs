//! Clock: what was read or accepted before the clock was set back does not count for as long as that.

use copal_format::client::{ClientRecord, Role};
use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::request::{Signatory, Terms, WINDOW};
use copal_format::root::Root;
use copal_store::{Key, Store};

use super::kit::*;
use crate::router::Quota;
use crate::router::facts::{Known, job};

#[tokio::test]
async fn what_was_read_before_the_clock_was_set_back_is_read_again() {
    let world = World::new().await;
    world.put_root().await;
    let (store, known) = (&*world.store, Known::new(false));
    let facts = known.facts(store, None, 1_000).await.unwrap().unwrap();
    let job = job(store, &Zeros, &facts);
    let seen = async |now| {
        let facts = known.facts(store, None, now).await.unwrap().unwrap();
        let newest = known.newest.get(store, now, false).await.unwrap().unwrap();
        let client = known.acquaintance(&job, FULL, now).await.unwrap().unwrap();
        (facts.descriptor.version, newest.root.number, client.revoked.is_some())
    };
    known.client(&job, FULL, 1_000).await.unwrap();
    assert_eq!(seen(1_000).await, (1, 1, false));

    world.put(layout::descriptor(2), descriptor(2, IngestBy::Service)).await;
    let revoked = ClientRecord { revoked: Some((0, ObjectHash::NONE)), ..record(FULL, Role::Full, 2) };
    world.put(layout::client(FULL, 2), revoked.sign(owner().repository(), &owner().signing_key())).await;
    let bytes = world.store.read(&Key::new(layout::root(1)).unwrap()).await.unwrap();
    let next = Root { number: 2, ..Root::decode(1, &bytes).unwrap() };
    world.put(layout::root(2), next.encode().unwrap()).await;
    assert_eq!(seen(1_000).await, (1, 1, false), "it was read just now");
    assert_eq!(seen(500).await, (2, 2, true));
}

#[tokio::test]
async fn a_pack_that_a_clock_that_was_ahead_has_accepted_takes_nothing_of_todays_quota() {
    const EARLIER: u64 = NOW - 2 * 60 * 60;
    let world = World::with(IngestBy::Service, |settings| {
        settings.clock = || EARLIER;
        settings.quota = Quota { stored: Some(5_000), daily: Some(5_000) };
    });
    let world = world.await;
    world.put_root().await;
    let terms = Terms { created: EARLIER, expires: EARLIER + WINDOW, ..terms(Signatory::Client(WRITER), [1; 16]) };
    let told = world.send(sign_with(&terms, &request_key(WRITER), "GET", "/v1/quota", b"")).await.json();
    assert_eq!(["stored", "daily"].map(|quota| told[quota]["used"].as_u64()), [Some(1_000), Some(0)]);
}
