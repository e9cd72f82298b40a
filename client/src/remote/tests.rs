//! What answers of a gateway, of a store behind it, and of anybody else are to who uses the store.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::IntoResponse;

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

/// A gateway to an object of so many bytes, of which one cannot be read. An answer has begun by the time it comes there,
/// unless it lies in the first piece.
fn unreadable(length: u64, bad: Option<u64>) -> Arc<GatewayStore> {
    const PIECE: u64 = 256 << 10;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = move |method: Method, uri: Uri, headers: HeaderMap| async move {
        if uri.path() == "/v1/repository" {
            return ABOUT.into_response();
        }
        if method == Method::HEAD {
            let told = [("copal-created", "0"), ("content-length", &length.to_string()[..])];
            return (told, Body::empty()).into_response();
        }
        let range =
            headers.get(header::RANGE).and_then(|range| range.to_str().ok()?.strip_prefix("bytes=")?.split_once('-'));
        let number = |text: &str| text.parse::<u64>().unwrap();
        let (status, start, end) = match range {
            Some((first, last)) => (206, number(first), number(last) + 1),
            None => (200, 0, length),
        };
        let of = |range: std::ops::Range<u64>| Bytes::from_iter(range.map(|at| at as u8));
        let status = StatusCode::from_u16(status).unwrap();
        match bad.filter(|bad| (start..end).contains(bad)) {
            None => (status, of(start..end)).into_response(),
            Some(bad) if bad < start + PIECE => {
                (StatusCode::INTERNAL_SERVER_ERROR, [("copal-problem", "store-failed")]).into_response()
            }
            Some(_) => {
                let pieces = [Ok(of(start..start + PIECE)), Err(std::io::Error::other("a bad sector"))];
                (status, Body::from_stream(futures::stream::iter(pieces))).into_response()
            }
        }
    };
    runtime::handle().spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, Router::new().fallback(answer)).await
    });
    GatewayStore::web(&address)
}

#[test]
fn what_a_gateway_cannot_read_is_known_from_an_answer_that_breaks_off() {
    let length = 1_000_000;
    let expected = |range: std::ops::Range<u64>| Bytes::from_iter(range.map(|at| at as u8));
    let sound = unreadable(length, None);
    assert_eq!(wait(sound.read(&key())).unwrap(), expected(0..length));
    assert_eq!(wait(sound.read_range(&key(), 5..900_000)).unwrap(), expected(5..900_000));
    for bad in [10, 300_000, length - 1] {
        let store = unreadable(length, Some(bad));
        for read in [wait(store.read(&key())), wait(store.read_range(&key(), 0..length))] {
            assert!(matches!(read, Err(StoreError::Io { .. })), "{bad}: {read:?}");
        }
    }
    // What is read in parts is what was asked for.
    let store = unreadable(length, Some(length - 1));
    assert_eq!(wait(store.read_range(&key(), 7..length - 1)).unwrap(), expected(7..length - 1));
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

/// A listener that is bound, and a gateway at its address that notes requests and says yes to all.
fn noting(listener: std::net::TcpListener, transfers: &'static str) -> Arc<Mutex<Vec<String>>> {
    listener.set_nonblocking(true).unwrap();
    let noted = Arc::new(Mutex::new(Vec::new()));
    let asked = noted.clone();
    let answer = move |method: Method, uri: Uri| async move {
        asked.lock().unwrap().push(format!("{method} {}", uri.path()));
        match uri.path() {
            "/v1/repository" => ABOUT.replace("direct", transfers).into_response(),
            _ => (StatusCode::CREATED, Body::empty()).into_response(),
        }
    };
    runtime::handle().spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, Router::new().fallback(answer)).await
    });
    noted
}

#[test]
fn the_first_request_is_made_again_where_nobody_listens_yet() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        noting(std::net::TcpListener::bind(address).unwrap(), "direct")
    });
    let store = GatewayStore::web(&format!("http://{address}")).patient();
    assert_eq!(wait(store.create(&key(), Bytes::from_static(b"pack"))).unwrap(), Created::New);
    assert_eq!(*late.join().unwrap().lock().unwrap(), ["GET /v1/repository", "PUT /v1/objects/packs/ab/1"]);
}

#[test]
fn a_change_goes_through_the_gateway_also_where_the_store_takes_objects_itself() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let store = GatewayStore::web(&format!("http://{}", listener.local_addr().unwrap()));
    let noted = noting(listener, "presigned");
    let change = Key::new("changes/00000000000000000001").unwrap();
    assert_eq!(wait(store.create(&change, Bytes::from_static(b"change"))).unwrap(), Created::New);
    // The store that hands out no address here is asked for one.
    assert!(wait(store.create(&key(), Bytes::from_static(b"pack"))).is_err());
    let expected = ["GET /v1/repository", &format!("PUT /v1/objects/{change}"), "POST /v1/uploads"];
    assert_eq!(*noted.lock().unwrap(), expected);
}

#[test]
fn a_gateway_reached_by_tls_leads_nobody_to_an_address_without_it() {
    let asked = Asked { op: Op::Read, key: "packs/ab/1" };
    for (gateway, led, is_followed) in [
        ("https://backup.example", "https://bucket.example/1", true),
        ("https://backup.example", "http://127.0.0.1:9200/index", false),
        ("https://backup.example", "file:///etc/passwd", false),
        ("http://127.0.0.1:8080", "http://127.0.0.1:9000/1", true),
    ] {
        assert_eq!(GatewayStore::web(gateway).refuse_less_safe(&asked, led).is_ok(), is_followed, "{gateway} to {led}");
    }
}
