//! What servers answer that is wrong, or that OpenDAL has no word for.

mod away;
mod limits;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use bytes::Bytes;
use futures::executor::block_on;

use super::{open_azblob, open_webdav};
use crate::site::Site;
use crate::{Key, StoreError, list_all};

/// A server that has a thread for each request, which gets its method and path, and answers.
fn speaking(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            std::thread::spawn(move || {
                let request = request(&stream);
                answer(&request, &mut stream);
            });
        }
    });
    address
}

/// The method and the path of a request, which is read to its end.
fn request(stream: &TcpStream) -> String {
    let (mut reader, mut line, mut length) = (BufReader::new(stream), String::new(), 0);
    reader.read_line(&mut line).unwrap();
    let request = line.rsplit_once(' ').unwrap_or_default().0.to_owned();
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    request
}

/// A server that answers each request as its method and path say.
fn serving(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> String {
    speaking(move |request, stream| {
        let (status, body) = answer(request);
        let length = body.len();
        let answer = format!("HTTP/1.1 {status} x\r\n{HEAD}content-length: {length}\r\n\r\n{body}");
        let _ = stream.write_all(answer.as_bytes());
    })
}

const HEAD: &str = "date: Thu, 26 Nov 2026 10:00:00 GMT\r\nconnection: close\r\n";

/// The folder of a WebDAV server at an address.
fn at(address: &str) -> Arc<dyn Site> {
    open_webdav(&format!("{address}/bucket/p"), &|_| None).unwrap()
}

fn folder(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> Arc<dyn Site> {
    at(&serving(answer))
}

/// A server whose folder can be listed, and that answers all else with one status.
fn answering(status: u16) -> Arc<dyn Site> {
    folder(move |request| match request.starts_with("PROPFIND ") {
        true => (207, listing(&["/bucket/p/"])),
        false => (status, String::new()),
    })
}

/// What WebDAV says of these folders and files.
fn listing(hrefs: &[&str]) -> String {
    let response = |href: &&str| {
        let kind = if href.ends_with('/') { "<D:collection/>" } else { "" };
        format!(
            "<D:response><D:href>{href}</D:href><D:propstat><D:status>HTTP/1.1 200 OK</D:status><D:prop>\
             <D:getlastmodified>Thu, 26 Nov 2026 09:00:00 GMT</D:getlastmodified><D:getcontentlength>1</D:getcontentlength>\
             <D:resourcetype>{kind}</D:resourcetype></D:prop></D:propstat></D:response>"
        )
    };
    let responses: String = hrefs.iter().map(response).collect();
    format!("<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">{responses}</D:multistatus>")
}

fn create(site: &Arc<dyn Site>) -> StoreError {
    block_on(site.create(&Key::new("roots/1").unwrap(), Bytes::from_static(b"x"))).unwrap_err()
}

#[test]
fn a_folder_of_files_is_listed() {
    let site = folder(|_| (207, listing(&["/bucket/p/", "/bucket/p/a", "/bucket/p/b"])));
    let names: Vec<String> =
        block_on(list_all(&site, "")).unwrap().iter().map(|listed| listed.key.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn names_that_lie_elsewhere_are_an_error_and_not_skipped() {
    for href in ["http://127.0.0.1/bucket/p/roots/1", "/bucket/q/roots/1", "/roots/1", "/", "x"] {
        let site = folder(move |_| (207, listing(&["/bucket/p/", href])));
        let listed = block_on(list_all(&site, ""));
        assert!(matches!(listed, Err(StoreError::Io { .. })), "{href}: {listed:?}");
    }
}

#[test]
fn a_full_server_is_full_and_one_that_takes_nothing_is_read_only() {
    assert!(matches!(create(&answering(507)), StoreError::Full { .. }));
    assert!(matches!(create(&answering(405)), StoreError::ReadOnly { .. }));
    assert!(matches!(create(&answering(403)), StoreError::Denied { .. }));
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    for status in [408, 429, 503] {
        assert!(create(&answering(status)).is_transient(), "{status}");
    }
}

#[test]
fn a_condition_that_fails_elsewhere_than_at_the_name_creates_nothing() {
    assert!(matches!(create(&answering(412)), StoreError::Io { .. }));
}

#[test]
fn a_listing_out_of_order_is_an_error() {
    let blob = |name: &str| {
        format!(
            "<Blob><Name>p/{name}</Name><Properties><Last-Modified>Thu, 26 Nov 2026 09:00:00 GMT</Last-Modified>\
             <Content-Length>1</Content-Length></Properties></Blob>"
        )
    };
    let of = |names: &[&str]| {
        let blobs: String = names.iter().map(|name| blob(name)).collect();
        let body = format!(
            "<?xml version=\"1.0\"?><EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>"
        );
        let address = serving(move |_| (200, body.clone()));
        let setting =
            format!("DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=http://{address}/a;");
        let variables = |name: &str| (name == "AZURE_STORAGE_CONNECTION_STRING").then(|| setting.clone());
        block_on(list_all(&open_azblob("c/p", &variables).unwrap(), ""))
    };
    assert_eq!(of(&["a", "b", "c"]).unwrap().len(), 3);
    assert!(matches!(of(&["b", "a", "c"]), Err(StoreError::Io { .. })));
}
