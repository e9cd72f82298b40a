//! The requests that the store sends to an S3 server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

use futures::executor::block_on;

use super::*;

/// A server that answers each request, told by its head in small letters, with a status and a body.
struct Server {
    endpoint: String,
    /// The heads so far.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: fn(&str) -> (u16, &'static str)) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let noted = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, noted) = (stream.expect("a connection"), noted.clone());
                std::thread::spawn(move || {
                    let head = head(&stream);
                    let (status, body) = answer(&head);
                    noted.lock().expect("no panic here").push(head);
                    let length = body.len();
                    let told = "date: Thu, 26 Nov 2026 10:00:00 GMT\r\nconnection: close";
                    let _ = write!(stream, "HTTP/1.1 {status} x\r\n{told}\r\ncontent-length: {length}\r\n\r\n{body}");
                });
            }
        });
        Server { endpoint, heads }
    }

    fn store(&self, kms_key: Option<&str>) -> S3Store {
        let mut config = S3Config::new("bucket", "");
        config.endpoint = Some(self.endpoint.clone());
        config.region = Some("eu-west-1".to_owned());
        config.credentials = Some(Credentials::new("name", "secret", None, None, "test"));
        config.kms_key = kms_key.map(str::to_owned);
        config.storage_classes = vec![(String::new(), "STANDARD_IA".to_owned())];
        block_on(S3Store::open(config)).expect("a bucket")
    }

    /// The heads of the uploads so far.
    fn uploads(&self) -> Vec<String> {
        let heads = self.heads.lock().expect("no panic here");
        heads.iter().filter(|head| head.starts_with("put ")).cloned().collect()
    }
}

/// The head of a request, which is read to its end.
fn head(stream: &TcpStream) -> String {
    let (mut reader, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).expect("a line") > 0 {}
    let head = head.to_lowercase();
    let length = value(&head, "content-length").map_or(0, |length| length.parse().expect("a number"));
    reader.read_exact(&mut vec![0; length]).expect("a body");
    head
}

/// The value of a header.
fn value<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[test]
fn objects_are_sealed_with_the_kms_key_that_was_named_and_else_as_the_bucket_says() {
    let server = Server::start(|_| (200, ""));
    let key = Key::new("packs/1").expect("a key");
    for kms_key in [Some("alias/copal"), None] {
        let created = block_on(server.store(kms_key).create(&key, Bytes::from_static(b"x")));
        assert_eq!(created.expect("create"), Created::New);
    }
    let sealed = |head: &String| {
        ["", "-aws-kms-key-id"].map(|rest| {
            let name = format!("x-amz-server-side-encryption{rest}");
            value(head, &name).map(str::to_owned)
        })
    };
    let wanted = [["aws:kms", "alias/copal"].map(|text| Some(text.to_owned())), [None, None]];
    assert_eq!(server.uploads().iter().map(sealed).collect::<Vec<_>>(), wanted);
}

#[test]
fn the_upload_that_must_be_refused_differs_from_a_good_one_only_in_the_copied_object() {
    let server = Server::start(|head| match head.split(' ').next() {
        Some("put") if value(head, "x-amz-copy-source").is_some() => (403, "<Error><Code>AccessDenied</Code></Error>"),
        Some("get") => (200, "another object"),
        _ => (200, ""),
    });
    assert!(block_on(server.store(Some("alias/copal")).binds_requests()).expect("an answer"));
    let [good, refused]: [String; 2] = server.uploads().try_into().expect("two uploads");
    let names = |head: String| {
        let names = head.lines().filter_map(|line| line.split_once(": ").map(|(name, _)| name.to_owned()));
        names.filter(|name| name != "x-amz-copy-source").collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(good), names(refused));
}
