//! Answers without end take no memory and no time without end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::tree::FOLDERS_AT_ONCE;
use super::*;

/// A folder with the object `x`. Its server answers some requests, told by their method, path and number, with a body
/// that comes in pieces and has no end.
fn endless(is_odd: fn(&str, usize) -> bool, piece: usize, pause: Duration) -> Arc<dyn Site> {
    let asked = AtomicUsize::new(0);
    at(&speaking(move |request, stream| {
        if !is_odd(request, asked.fetch_add(1, Ordering::SeqCst)) {
            let body = listing(&["/bucket/p/x"]);
            let length = body.len();
            let _ = write!(stream, "HTTP/1.1 207 x\r\n{HEAD}content-length: {length}\r\n\r\n{body}");
            return;
        }
        let _ = write!(stream, "HTTP/1.1 200 x\r\n{HEAD}\r\n");
        while stream.write_all(&vec![b' '; piece]).is_ok() {
            std::thread::sleep(pause);
        }
    }))
}

#[test]
fn a_listing_of_a_folder_that_has_no_end_is_an_error() {
    // The first request only asks whether the folder exists.
    let at_once = endless(|_, _| true, 64 << 10, Duration::ZERO);
    let later = endless(|_, number| number > 0, 64 << 10, Duration::ZERO);
    for site in [at_once, later] {
        let listed = block_on(list_all(&site, ""));
        assert!(matches!(listed, Err(StoreError::Io { .. })), "{listed:?}");
    }
}

#[test]
fn a_listing_of_a_folder_that_comes_byte_by_byte_is_given_up() {
    let site = endless(|_, number| number > 0, 1, Duration::from_millis(100));
    let listed = block_on(list_all(&site, ""));
    assert!(listed.as_ref().is_err_and(StoreError::is_transient), "{listed:?}");
}

#[test]
fn an_object_that_has_no_end_is_an_error() {
    let key = Key::new("x").unwrap();
    let site = endless(|request, _| request.starts_with("GET "), 64 << 10, Duration::ZERO);
    let read = block_on(site.read(&key));
    assert!(matches!(read, Err(StoreError::Io { .. })), "{:?}", read.map(|bytes| bytes.len()));
    let read = block_on(site.read_range(&key, 0..1));
    assert!(matches!(read, Err(StoreError::Io { .. })), "{:?}", read.map(|bytes| bytes.len()));
}

#[test]
fn a_refusal_may_be_longer_than_the_range_that_was_asked_for() {
    let site = folder(|request| match request.starts_with("GET ") {
        true => (403, "why ".repeat(100)),
        false => (207, listing(&["/bucket/p/x"])),
    });
    let read = block_on(site.read_range(&Key::new("x").unwrap(), 0..1));
    assert!(matches!(read, Err(StoreError::Denied { .. })), "{read:?}");
}

#[test]
fn the_listing_of_a_folder_may_be_longer_than_other_answers() {
    let names: Vec<String> = (0..5_000).map(|number| format!("/bucket/p/many/{number}")).collect();
    let hrefs: Vec<&str> = std::iter::once("/bucket/p/many/").chain(names.iter().map(String::as_str)).collect();
    let many = listing(&hrefs);
    assert!(many.len() > 1 << 20);
    let site = folder(move |request| match request {
        "PROPFIND /bucket/p/many/" => (207, many.clone()),
        _ => (207, listing(&["/bucket/p/", "/bucket/p/many/"])),
    });
    assert_eq!(block_on(list_all(&site, "")).unwrap().len(), 5_000);
}

#[test]
fn answers_about_few_folders_lie_in_memory_at_once() {
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let site = folder(move |request| {
        if request == "PROPFIND /bucket/p/" {
            let names: Vec<String> = (0..40).map(|number| format!("/bucket/p/{number}/")).collect();
            let names: Vec<&str> = std::iter::once("/bucket/p/").chain(names.iter().map(String::as_str)).collect();
            return (207, listing(&names));
        }
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(50));
        now.fetch_sub(1, Ordering::SeqCst);
        (207, listing(&[request.trim_start_matches("PROPFIND ")]))
    });
    assert_eq!(block_on(list_all(&site, "")).unwrap(), []);
    let most = most.load(Ordering::SeqCst);
    assert!(most <= FOLDERS_AT_ONCE, "{most}");
}
