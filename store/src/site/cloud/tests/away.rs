//! A folder that is away for a moment is not taken for an empty one, nor its objects for missing ones.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A folder with the object `packs/1`. The first requests for what lies in the folder find nothing.
fn away(requests: usize) -> Arc<dyn Site> {
    let left = AtomicUsize::new(requests);
    folder(move |request| {
        let is_below = !request.ends_with(" /bucket/p/");
        let is_away = || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if is_below && is_away() {
            return (404, String::new());
        }
        match request {
            "PROPFIND /bucket/p/" => (207, listing(&["/bucket/p/", "/bucket/p/packs/"])),
            "PROPFIND /bucket/p/packs/" => (207, listing(&["/bucket/p/packs/", "/bucket/p/packs/1"])),
            "PROPFIND /bucket/p/packs/1" => (207, listing(&["/bucket/p/packs/1"])),
            "GET /bucket/p/packs/1" => (200, "x".to_owned()),
            _ => (404, String::new()),
        }
    })
}

fn key() -> Key {
    Key::new("packs/1").unwrap()
}

fn names(site: &Arc<dyn Site>, prefix: &str) -> Result<Vec<String>, StoreError> {
    Ok(block_on(list_all(site, prefix))?.iter().map(|listed| listed.key.to_string()).collect())
}

#[test]
fn a_folder_that_was_just_named_is_listed_whole_or_not_at_all() {
    assert_eq!(names(&away(0), "").unwrap(), ["packs/1"]);
    assert_eq!(names(&away(1), "").unwrap(), ["packs/1"]);
    let vanished = names(&away(2), "").unwrap_err();
    assert!(vanished.is_transient(), "{vanished:?}");
}

#[test]
fn a_listing_asks_again_before_its_folder_counts_as_missing() {
    assert_eq!(names(&away(1), "packs/").unwrap(), ["packs/1"]);
    assert_eq!(names(&away(2), "packs/").unwrap(), [""; 0]);
}

#[test]
fn a_folder_whose_server_names_not_even_the_folder_itself_counts_as_missing() {
    let site = folder(|request| match request {
        "PROPFIND /bucket/p/" => (207, listing(&["/bucket/p/", "/bucket/p/packs/"])),
        _ => (207, listing(&[])),
    });
    let vanished = names(&site, "").unwrap_err();
    assert!(vanished.is_transient(), "{vanished:?}");
}

#[test]
fn a_root_that_goes_while_it_is_listed_is_gone() {
    let asked = AtomicUsize::new(0);
    let site = folder(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => (207, listing(&["/bucket/p/", "/bucket/p/packs/"])),
        _ => (404, String::new()),
    });
    let gone = names(&site, "").unwrap_err();
    assert!(matches!(gone, StoreError::Gone { .. }), "{gone:?}");
}

#[test]
fn an_object_counts_as_missing_only_if_it_is_not_found_twice() {
    assert!(block_on(away(1).stat(&key())).unwrap().is_some());
    assert!(block_on(away(2).stat(&key())).unwrap().is_none());
    let unread = block_on(away(1).read(&key())).unwrap_err();
    assert!(unread.is_transient(), "a retry reads it: {unread:?}");
    assert!(matches!(block_on(away(2).read(&key())), Err(StoreError::NotFound { .. })));
}
