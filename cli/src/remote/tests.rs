//! What answers of a gateway, of a store behind it, and of anybody else are to who uses the store.

use axum::Router;
use axum::http::{HeaderMap, Uri};

use super::*;
use crate::wait::wait;

/// What is answered: a status, the name of a problem, a body.
type Said = (u16, Option<&'static str>, &'static str);

/// A gateway that says the same of every object, or that the store says it.
fn gateway(from: Answerer, said: Said) -> Arc<GatewayStore> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let store = format!("{address}/store");
    let answer = move |uri: Uri| async move {
        let (status, problem, body) = match (uri.path(), from) {
            ("/v1/repository", _) => (200, None, ABOUT),
            ("/store", _) | (_, Answerer::Gateway) => said,
            _ => (307, None, ""),
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, store.parse().unwrap());
        if let Some(problem) = problem {
            headers.insert("copal-problem", problem.parse().unwrap());
        }
        (StatusCode::from_u16(status).unwrap(), headers, body)
    };
    runtime::handle().spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, Router::new().fallback(answer)).await
    });
    GatewayStore::web(&address)
}

const ABOUT: &str = r#"{"repository": "abababababababababababababababab", "transfers": "direct"}"#;

fn key() -> Key {
    Key::new("packs/ab/1").unwrap()
}

fn read(from: Answerer, said: Said) -> StoreError {
    wait(gateway(from, said).read(&key())).unwrap_err()
}

#[test]
fn an_object_is_missing_if_the_gateway_says_so() {
    let said = (404, Some("not-found"), "");
    let store = gateway(Answerer::Gateway, said);
    assert!(matches!(wait(store.read(&key())), Err(StoreError::NotFound { .. })));
    assert!(matches!(wait(store.read_range(&key(), 0..4)), Err(StoreError::NotFound { .. })));
    assert_eq!(wait(store.stat(&key())).unwrap(), None);
    let in_body = r#"{"type": "urn:copal:problem:not-found", "detail": "no object"}"#;
    assert!(matches!(read(Answerer::Gateway, (404, None, in_body)), StoreError::NotFound { .. }));
}

#[test]
fn the_404_of_somebody_else_says_nothing_about_an_object() {
    for said in [(404, None, ""), (404, None, "<html>404 Not Found</html>"), (404, None, "{}")] {
        let store = gateway(Answerer::Gateway, said);
        assert!(wait(store.read(&key())).unwrap_err().is_transient(), "{said:?}");
        assert!(wait(store.read_range(&key(), 0..4)).unwrap_err().is_transient(), "{said:?}");
        assert!(wait(store.stat(&key())).unwrap_err().is_transient(), "{said:?}");
    }
    let nowhere = (404, Some("no-repository"), "");
    assert!(matches!(read(Answerer::Gateway, nowhere), StoreError::Io { .. }));
}

#[test]
fn of_a_store_only_its_word_for_a_missing_object_is_one() {
    let missing = "<Error><Code>NoSuchKey</Code></Error>";
    assert!(matches!(read(Answerer::Store, (404, None, missing)), StoreError::NotFound { .. }));
    let no_bucket = "<Error><Code>NoSuchBucket</Code></Error>";
    assert!(matches!(read(Answerer::Store, (404, None, no_bucket)), StoreError::Gone { .. }));
    assert!(read(Answerer::Store, (404, Some("not-found"), "a proxy's")).is_transient());
}

#[test]
fn what_answers_anything_else_is_no_gateway() {
    let store = GatewayStore::web(&format!("{}/elsewhere", gateway(Answerer::Gateway, (404, None, "")).address));
    assert!(matches!(wait(store.read(&key())), Err(StoreError::Io { .. })));
}
