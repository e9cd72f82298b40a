//! Shares: who may make, open and end them, and what everybody else is told.

mod bounds;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::http::Request as HttpRequest;
use copal_format::id::ObjectHash;
use copal_format::request::Signatory;
use copal_jobs::context::Entropy;
use copal_jobs::shares::{LONGEST, OBJECT_BYTES, ShareId};
use copal_store::Key;
use serde_json::{Value, json};

use super::kit::*;
use super::routes::Elsewhere;
use crate::router::{Quota, Settings};
use copal_format::receipt::IngestBy;

const TOKEN: &str = "5555555555555555555555555555555555555555555555555555555555555555";
const SEALED: &[u8] = b"sealed bytes of a share";
const LIST: &[u8] = b"a sealed list";

/// Different bytes each time.
struct Counting(AtomicU64);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
        bytes[..8].copy_from_slice(&self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    }
}

fn id(digit: char) -> ShareId {
    ShareId::parse(&digit.to_string().repeat(32)).unwrap()
}

async fn world(change: impl FnOnce(&mut Settings)) -> World {
    World::with(IngestBy::Service, |settings| {
        settings.entropy = Arc::new(Counting(AtomicU64::new(1)));
        change(settings);
    })
    .await
}

fn terms(count: u32) -> Value {
    let token = ObjectHash::of(ObjectHash::from_hex(TOKEN).unwrap().as_bytes()).to_string();
    json!({ "token": token, "ends": NOW + 3600, "count": count, "length": SEALED.len(), "list": LIST.len(), "label": "c2VhbGVk" })
}

impl World {
    async fn upload(&self, by: Signatory, key: &Key, bytes: &[u8]) -> Answer {
        self.signed(by, "PUT", &format!("/v1/objects/{key}"), bytes).await
    }

    async fn make(&self, by: Signatory, id: &ShareId, terms: &Value) -> Answer {
        self.signed(by, "POST", &format!("/v1/shares/{}", id.as_str()), terms.to_string().as_bytes()).await
    }

    /// A share that a full client has made.
    async fn share(&self, digit: char, count: u32) -> ShareId {
        let id = id(digit);
        assert_eq!(self.upload(FULL_SIGNS, &id.data(1), SEALED).await.status, 201);
        assert_eq!(self.upload(FULL_SIGNS, &id.list(), LIST).await.status, 201);
        assert_eq!(self.make(FULL_SIGNS, &id, &terms(count)).await.status, 201);
        id
    }

    async fn ask(&self, path: &str, body: Value) -> Answer {
        let request = HttpRequest::post(format!("/v1/shares/{path}")).header("host", "gateway.example");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    async fn open(&self, id: &ShareId) -> Answer {
        self.ask(&format!("{}/openings", id.as_str()), json!({ "token": TOKEN })).await
    }

    async fn part(&self, id: &ShareId, ticket: &str, object: Option<u64>) -> Answer {
        self.ask(&format!("{}/parts", id.as_str()), json!({ "ticket": ticket, "object": object })).await
    }
}

fn ticket_of(answer: &Answer) -> String {
    answer.json()["ticket"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_opens_as_often_as_was_said_and_its_tickets_read_its_bytes_only() {
    let world = world(|_| {}).await;
    let share = world.share('a', 2).await;
    let opened = world.open(&share).await;
    assert_eq!((opened.status.as_u16(), &opened.json()["left"]), (200, &json!(1)));
    let ticket = ticket_of(&opened);
    let read = world.part(&share, &ticket, Some(1)).await;
    assert_eq!(
        (&read.bytes[..], &read.headers["content-type"]),
        (SEALED, &"application/octet-stream".parse().unwrap())
    );
    assert_eq!(world.part(&share, &ticket, None).await.bytes, LIST);
    let ranged = json!({ "ticket": ticket, "object": 1, "range": [7, 11] });
    assert_eq!(world.ask(&format!("{}/parts", share.as_str()), ranged).await.bytes, "bytes");
    for range in [[5, 4], [0, 4_000]] {
        let ranged = json!({ "ticket": ticket, "object": 1, "range": range });
        assert!(world.ask(&format!("{}/parts", share.as_str()), ranged).await.status.is_client_error());
    }
    assert_eq!(world.open(&share).await.status, 200);
    assert_eq!(world.open(&share).await.problem(), problem(404, "no-share"));
    // What was opened goes on.
    assert_eq!(world.part(&share, &ticket, Some(1)).await.bytes, SEALED);
}

#[tokio::test]
async fn what_never_was_has_ended_was_revoked_or_taken_up_is_answered_alike() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let world = world(|settings| settings.clock = || CLOCK.load(Ordering::Relaxed)).await;
    let (ending, revoked, taken) = (world.share('a', 5).await, world.share('b', 5).await, world.share('c', 1).await);
    let [first, second, _] = [&ending, &revoked, &taken].map(|id| id.clone());
    let tickets = [
        ticket_of(&world.open(&first).await),
        ticket_of(&world.open(&second).await),
        ticket_of(&world.open(&taken).await),
    ];
    let path = format!("/v1/shares/{}", revoked.as_str());
    assert_eq!(world.signed(FULL_SIGNS, "DELETE", &path, b"").await.status, 200);
    let left = copal_jobs::objects::list(world.store.as_ref(), "shares/").await.unwrap();
    assert!(left.iter().all(|listed| !listed.key.as_str().contains(revoked.as_str())), "nothing of it is left");
    let wrong = world.ask(&format!("{}/openings", ending.as_str()), json!({ "token": "66".repeat(32) })).await;
    CLOCK.store(NOW + 3600, Ordering::Relaxed);
    let never = world.open(&id('d')).await;
    let odd = world.ask("..%2Fterms/openings", json!({ "token": TOKEN })).await;
    for answer in [
        wrong,
        odd,
        world.open(&ending).await,
        world.open(&revoked).await,
        world.open(&taken).await,
        world.part(&ending, &tickets[0], Some(1)).await,
        world.part(&revoked, &tickets[1], Some(1)).await,
        world.part(&id('d'), &tickets[2], Some(1)).await,
    ] {
        assert_eq!((answer.status, &answer.bytes), (never.status, &never.bytes));
        assert_eq!(answer.problem(), problem(404, "no-share"));
    }
}

#[tokio::test]
async fn a_ticket_counts_for_its_share_and_its_time_and_is_not_to_be_guessed() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let world = world(|settings| settings.clock = || CLOCK.load(Ordering::Relaxed)).await;
    let (one, other) = (world.share('a', 5).await, world.share('b', 5).await);
    let ticket = ticket_of(&world.open(&one).await);
    world.open(&other).await;
    let secret = ticket.split_once('-').unwrap().1;
    for (id, ticket) in [
        (&other, ticket.clone()),
        (&one, format!("2-{secret}")),
        (&one, format!("1-{}", "00".repeat(32))),
        (&one, "1".to_owned()),
        (&one, format!("../1-{secret}")),
        // Each other way to write the ticket would take memory of its own.
        (&one, format!("01-{secret}")),
        (&one, format!("+1-{secret}")),
        (&one, String::new()),
    ] {
        assert_eq!(world.part(id, &ticket, Some(1)).await.problem(), problem(404, "no-share"), "{ticket}");
    }
    // A share of 30 days: its tickets end after one.
    let long = id('c');
    world.upload(FULL_SIGNS, &long.data(1), SEALED).await;
    world.upload(FULL_SIGNS, &long.list(), LIST).await;
    let mut month = terms(5);
    month["ends"] = json!(NOW + 30 * 24 * 3600);
    assert_eq!(world.make(FULL_SIGNS, &long, &month).await.status, 201);
    let ticket = ticket_of(&world.open(&long).await);
    CLOCK.store(NOW + 24 * 3600 - 1, Ordering::Relaxed);
    assert_eq!(world.part(&long, &ticket, Some(1)).await.status, 200);
    CLOCK.store(NOW + 24 * 3600, Ordering::Relaxed);
    assert_eq!(world.part(&long, &ticket, Some(1)).await.problem(), problem(404, "no-share"));
    assert_eq!(world.open(&long).await.status, 200);
}

#[tokio::test]
async fn only_full_clients_make_list_and_revoke_shares() {
    let world = world(|_| {}).await;
    let share = world.share('a', 5).await;
    let path = format!("/v1/shares/{}", share.as_str());
    for by in [Signatory::Client(WRITER), Signatory::Client(JOINING)] {
        for key in [id('b').data(1), id('b').list(), id('b').terms(), id('b').taken(1)] {
            assert_eq!(world.upload(by, &key, SEALED).await.problem(), problem(403, "not-permitted"), "{key}");
        }
        assert_eq!(world.make(by, &id('b'), &terms(1)).await.problem(), problem(403, "not-permitted"));
        assert_eq!(world.signed(by, "DELETE", &path, b"").await.problem(), problem(403, "not-permitted"));
        assert_eq!(world.signed(by, "GET", "/v1/shares", b"").await.problem(), problem(403, "not-permitted"));
    }
    let nobody = problem(401, "signature-missing");
    assert_eq!(world.unsigned("GET", "/v1/shares").await.problem(), nobody);
    assert_eq!(world.unsigned("DELETE", &path).await.problem(), nobody);
    assert_eq!(world.ask(share.as_str(), terms(1)).await.problem(), nobody);
    let revoked = Signatory::Client(REVOKED);
    assert_eq!(world.signed(revoked, "GET", "/v1/shares", b"").await.problem(), problem(403, "client-revoked"));
    // The owner has a passphrase and perhaps no client yet.
    assert_eq!(
        world.signed(Signatory::Owner, "GET", "/v1/shares", b"").await.json()["shares"][0]["id"],
        share.as_str()
    );
    assert_eq!(world.signed(Signatory::Owner, "DELETE", &path, b"").await.status, 200);
}

#[tokio::test]
async fn the_list_says_how_often_each_was_opened() {
    let world = world(|_| {}).await;
    let (one, other) = (world.share('a', 5).await, world.share('b', 7).await);
    world.open(&one).await;
    world.open(&one).await;
    let listed = world.signed(FULL_SIGNS, "GET", "/v1/shares", b"").await.json();
    let facts: std::collections::BTreeMap<_, _> = listed["shares"]
        .as_array()
        .unwrap()
        .iter()
        .map(|share| (share["id"].as_str().unwrap().to_owned(), (share["taken"].clone(), share["count"].clone())))
        .collect();
    assert_eq!(facts[one.as_str()], (json!(2), json!(5)));
    assert_eq!(facts[other.as_str()], (json!(0), json!(7)));
    assert_eq!((&listed["shares"][0]["label"], &listed["shares"][0]["ends"]), (&json!("c2VhbGVk"), &json!(NOW + 3600)));
    assert!(!listed.to_string().contains("token"));
}

#[tokio::test]
async fn nobody_reads_or_changes_shares_past_their_own_requests() {
    let world = world(|_| {}).await;
    let share = world.share('a', 5).await;
    world.open(&share).await;
    for by in [FULL_SIGNS, Signatory::Owner] {
        for key in [share.terms(), share.list(), share.data(1), share.taken(1)] {
            let path = format!("/v1/objects/{key}");
            assert_eq!(world.signed(by, "GET", &path, b"").await.status, 403, "{key}");
            assert_eq!(world.signed(by, "HEAD", &path, b"").await.status, 403, "{key}");
            assert_eq!(world.signed(by, "DELETE", &path, b"").await.status, 403, "{key}");
        }
        for key in [id('b').terms(), id('b').taken(1)] {
            assert_eq!(world.upload(by, &key, SEALED).await.status, 403, "{key}");
        }
        for name in ["shares/x", "shares/data/../../packs/x", "shares/data/AA/1"] {
            assert!(world.signed(by, "PUT", &format!("/v1/objects/{name}"), SEALED).await.status.is_client_error());
        }
        assert_eq!(world.signed(by, "GET", "/v1/objects?prefix=shares/", b"").await.status, 403);
    }
    // What is there stays as it is.
    assert_eq!(world.upload(FULL_SIGNS, &share.data(1), b"other bytes").await.problem(), problem(412, "exists"));
    assert_eq!(world.make(FULL_SIGNS, &share, &terms(5)).await.status, 201, "the same terms again are an answer lost");
    assert_eq!(world.make(FULL_SIGNS, &share, &terms(6)).await.problem(), problem(412, "exists"));
}

#[tokio::test]
async fn terms_are_within_limits_and_of_a_share_that_is_whole() {
    let world = world(|_| {}).await;
    let bad = problem(400, "bad-request");
    let share = id('a');
    assert_eq!(world.make(FULL_SIGNS, &share, &terms(5)).await.problem(), bad, "nothing is there");
    world.upload(FULL_SIGNS, &share.data(1), SEALED).await;
    assert_eq!(world.make(FULL_SIGNS, &share, &terms(5)).await.problem(), bad, "the list is missing");
    world.upload(FULL_SIGNS, &share.list(), LIST).await;
    let with = |field: &str, value: Value| {
        let mut terms = terms(5);
        terms[field] = value;
        terms
    };
    for wrong in [
        with("ends", json!(NOW)),
        with("ends", json!(NOW + LONGEST + 1)),
        with("count", json!(0)),
        with("count", json!(1001)),
        with("length", json!(SEALED.len() + 1)),
        with("length", json!(OBJECT_BYTES + 1)),
        with("list", json!(LIST.len() + 1)),
        with("token", json!("x")),
        with("more", json!(1)),
    ] {
        assert_eq!(world.make(FULL_SIGNS, &share, &wrong).await.problem(), bad, "{wrong}");
    }
    let longest = with("ends", json!(NOW + LONGEST));
    assert_eq!(world.make(FULL_SIGNS, &share, &longest).await.status, 201);
}

#[tokio::test]
async fn what_is_shared_counts_towards_the_quota() {
    let most = SEALED.len() as u64 + LIST.len() as u64;
    let world = world(|settings| settings.quota = Quota { stored: Some(most), daily: None }).await;
    world.share('a', 5).await;
    assert_eq!(world.upload(FULL_SIGNS, &id('b').data(1), SEALED).await.problem(), problem(403, "quota"));
    let full = world.signed(FULL_SIGNS, "PUT", &pack_path(PACK), PACK).await;
    assert_eq!(full.problem(), problem(403, "quota"));
    let path = format!("/v1/shares/{}", id('a').as_str());
    assert_eq!(world.signed(FULL_SIGNS, "DELETE", &path, b"").await.status, 200);
    assert_eq!(world.upload(FULL_SIGNS, &id('b').data(1), SEALED).await.status, 201);
}

#[tokio::test]
async fn with_presigned_addresses_a_ticket_gives_one_and_nothing_else_does() {
    let world = world(|settings| settings.presigner = Some(Arc::new(Elsewhere))).await;
    let share = world.share('a', 5).await;
    assert_eq!(world.part(&share, "1-00", Some(1)).await.problem(), problem(404, "no-share"));
    let ticket = ticket_of(&world.open(&share).await);
    let asked = json!({ "ticket": ticket, "object": 1, "range": [0, 4] });
    let given = world.ask(&format!("{}/parts", share.as_str()), asked).await;
    assert_eq!(given.headers["cache-control"], "no-store");
    let expected = format!("https://bucket.example/{}?signed", share.data(1));
    assert_eq!(given.json(), json!({ "url": expected, "headers": { "range": "bytes=0-4" } }));
    // Clients upload there too.
    let body = json!({ "objects": [{ "key": id('b').data(1).as_str(), "length": 10, "sha256": "07".repeat(32) }] });
    let uploads = world.signed(FULL_SIGNS, "POST", "/v1/uploads", body.to_string().as_bytes()).await;
    assert_eq!(uploads.json()["objects"][0]["signed"], false);
    let large = json!({ "objects": [{ "key": id('b').data(1).as_str(), "length": OBJECT_BYTES + 1, "sha256": "07".repeat(32) }] });
    assert_eq!(world.signed(FULL_SIGNS, "POST", "/v1/uploads", large.to_string().as_bytes()).await.status, 403);
}

#[tokio::test]
async fn whoever_has_a_ticket_is_not_held_up_by_the_limit_for_strangers() {
    let world = world(|_| {}).await;
    let share = world.share('a', 1).await;
    let ticket = ticket_of(&world.open(&share).await);
    for _ in 0..100 {
        assert_eq!(world.part(&share, &ticket, Some(1)).await.status, 200);
    }
    let refused = futures::future::join_all((0..100).map(|_| world.open(&share))).await;
    assert!(refused.iter().any(|answer| answer.status == 429), "strangers are few");
}

#[tokio::test]
async fn whoever_has_used_a_ticket_is_served_while_strangers_are_too_many() {
    let world = world(|_| {}).await;
    let share = world.share('a', 1).await;
    let ticket = ticket_of(&world.open(&share).await);
    assert_eq!(world.part(&share, &ticket, Some(1)).await.status, 200);
    let flood = futures::future::join_all((0..100).map(|_| world.open(&share))).await;
    assert!(flood.iter().any(|answer| answer.status == 429));
    assert_eq!(world.part(&share, &ticket, Some(1)).await.status, 200);
    assert_eq!(world.part(&share, "1-00", Some(1)).await.status, 429, "no ticket");
    let path = format!("/v1/shares/{}", share.as_str());
    assert_eq!(world.signed(FULL_SIGNS, "DELETE", &path, b"").await.status, 200);
    assert_eq!(world.part(&share, &ticket, Some(1)).await.problem(), problem(404, "no-share"));
}

#[tokio::test]
async fn addresses_that_were_given_for_shares_count_before_anything_comes() {
    let quota = Quota { stored: Some(100), daily: None };
    let world = world(|settings| {
        settings.quota = quota;
        settings.presigner = Some(Arc::new(Elsewhere));
    });
    let world = world.await;
    let ask = async |number: u64| {
        let key = id('b').data(number);
        let body = json!({ "objects": [{ "key": key.as_str(), "length": 60, "sha256": "07".repeat(32) }] });
        world.signed(FULL_SIGNS, "POST", "/v1/uploads", body.to_string().as_bytes()).await.status.as_u16()
    };
    assert_eq!([ask(1).await, ask(1).await, ask(2).await], [200, 200, 403]);
}

#[tokio::test]
async fn lists_of_shares_count_towards_the_quota() {
    let world = world(|settings| settings.quota = Quota { stored: Some(25), daily: None }).await;
    assert_eq!(world.upload(FULL_SIGNS, &id('a').list(), &[7; 20]).await.status, 201);
    assert_eq!(world.upload(FULL_SIGNS, &id('b').list(), &[7; 20]).await.problem(), problem(403, "quota"));
}
