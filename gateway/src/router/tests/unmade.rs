//! Where there is no repository yet.

use axum::body::Body;
use axum::http::Request as HttpRequest;
use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use serde_json::json;

use super::kit::*;

#[tokio::test]
async fn nobody_makes_a_repository_unless_the_operator_lets_them() {
    let first = |name: String| {
        let body = b"first".to_vec();
        HttpRequest::put(format!("/v1/objects/{name}"))
            .header("content-length", body.len())
            .header("if-none-match", "*")
            .header("content-digest", copal_format::request::write_digest(&ObjectHash::of(&body).0))
            .header("host", "gateway.example")
            .body(Body::from(body))
            .unwrap()
    };
    let closed = World::bare(|_| {});
    assert_eq!(closed.unsigned("GET", "/v1/repository").await.problem(), problem(404, "no-repository"));
    assert_eq!(closed.send(first(layout::descriptor(1))).await.problem(), problem(403, "not-permitted"));
    let open = World::bare(|settings| settings.accept_init = true);
    assert_eq!(open.send(first(layout::root(1))).await.problem(), problem(403, "not-permitted"));
    assert_eq!(open.send(first("keys/00000000000000000000000000000007/a".into())).await.status, 201);
    open.put(layout::descriptor(1), descriptor(1, IngestBy::Service)).await;
    let late = open.send(first("keys/00000000000000000000000000000008/a".into())).await;
    assert_eq!(late.problem(), problem(401, "signature-missing"), "there is a repository now");
}

const FOREIGN: [&str; 3] = ["keys/id_ed25519", "reader/book.pdf", "photos/me.jpg"];

#[tokio::test]
async fn of_foreign_files_where_a_repository_is_to_be_made_nobody_learns_more_than_that_they_are_there() {
    let slot = "keys/00000000000000000000000000000007/a";
    let list = |prefix: &str| format!("/v1/objects?prefix={prefix}");
    for accept_init in [true, false] {
        let world = World::bare(|settings| settings.accept_init = accept_init);
        world.put(slot.to_owned(), b"slot".to_vec()).await;
        if accept_init {
            let begun = world.unsigned("GET", &list("")).await.json();
            assert_eq!(begun["objects"][0]["key"], slot, "{begun}");
        }
        for name in FOREIGN {
            world.put(name.to_owned(), b"private".to_vec()).await;
        }
        for prefix in ["", "photos/", "photo", "k"] {
            let answer = world.unsigned("GET", &list(prefix)).await;
            let shows = String::from_utf8_lossy(&answer.bytes).contains("me.jpg");
            assert!(answer.status == 403 && !shows, "{prefix:?}: {answer:?}");
        }
        for (prefix, seen) in [("copal/", json!([])), ("reader/", json!([])), ("keys/", json!([slot]))] {
            if !accept_init && prefix != "copal/" {
                continue;
            }
            let listed = world.unsigned("GET", &list(prefix)).await.json();
            let keys: Vec<_> =
                listed["objects"].as_array().unwrap().iter().map(|object| object["key"].clone()).collect();
            assert_eq!((json!(keys), &listed["more"]), (seen, &json!(false)), "{prefix}");
        }
        for name in FOREIGN {
            for method in ["GET", "HEAD"] {
                let answer = world.unsigned(method, &format!("/v1/objects/{name}")).await;
                assert_eq!(answer.status, 403, "{method} {name}");
            }
        }
        assert_eq!(world.unsigned("GET", &format!("/v1/objects/{slot}")).await.status, 200);
    }
}
