//! WebDAV: requests by hand to a tree that is served to this machine only.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::mounted::Mounted;
use super::{machine, noise};
use crate::kit::{Harm, Machine, signal, until, wait};

/// The status and the whole answer to a request.
fn ask(address: &str, request: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A connection that is cut short is an answer too.
    let _ = stream.read_to_end(&mut answer);
    let status = answer.get(9..12).map_or(0, |digits| String::from_utf8_lossy(digits).parse().unwrap());
    (status, answer)
}

struct Site {
    mounted: Mounted,
    address: String,
    prefix: String,
    source: String,
}

impl Site {
    fn of(machine: &Machine) -> Self {
        Self::at(machine, Mounted::serve(machine, &[]))
    }

    fn at(machine: &Machine, mounted: Mounted) -> Self {
        let (address, prefix) = mounted.at.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (address, prefix) = (address.to_owned(), format!("/{}", prefix.trim_end_matches('/')));
        let source = format!("{prefix}/snapshots/latest{}", machine.path("source").display());
        Self { mounted, address, prefix, source }
    }

    fn send(&self, method: &str, path: &str, more: &str) -> (u16, Vec<u8>) {
        let Self { address, .. } = self;
        ask(address, &format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{more}\r\n"))
    }

    fn text(&self, method: &str, path: &str, more: &str) -> String {
        String::from_utf8_lossy(&self.send(method, path, more).1).into_owned()
    }
}

fn body(answer: &[u8]) -> &[u8] {
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    &answer[at + 4..]
}

#[test]
fn files_and_parts_of_files_are_read_over_http() {
    let machine = machine();
    let site = Site::of(&machine);
    let file = format!("{}/deep/er/noise", site.source);
    let (status, whole) = site.send("GET", &file, "");
    assert_eq!((status, body(&whole)), (200, noise(1, 3_000_000).as_slice()));
    let (status, part) = site.send("GET", &file, "range: bytes=1000000-1000009\r\n");
    assert_eq!((status, body(&part)), (206, &noise(1, 3_000_000)[1_000_000..1_000_010]));
    assert_eq!(site.send("GET", &file, "range: bytes=3000000-\r\n").0, 416);
    for range in ["0-18446744073709551615", "0-,0-,0-"] {
        let (status, whole) = site.send("GET", &file, &format!("range: bytes={range}\r\n"));
        assert_eq!((status, body(&whole).len()), (200, 3_000_000), "{range}");
    }
    // A letter of 1969: HTTP has no such time.
    let head = site.text("HEAD", &format!("{}/letter", site.source), "").to_lowercase();
    assert!(head.contains("content-length: 11") && head.contains("thu, 01 jan 1970"), "{head}");
    for header in ["content-security-policy: sandbox", "x-content-type-options: nosniff"] {
        assert!(head.contains(header), "{head}");
    }
}

#[test]
fn a_directory_is_listed_one_level_deep() {
    let machine = machine();
    let site = Site::of(&machine);
    let listed = site.text("PROPFIND", &format!("{}/", site.source), "depth: 1\r\n");
    assert!(listed.starts_with("HTTP/1.1 207"), "{listed}");
    for (name, is_there) in [
        ("letter", true),
        ("deep/", true),
        ("not%20%FF%20text%0A", true),
        ("deep/er", false),
        ("dangling", false),
        ("pipe", false),
    ] {
        assert_eq!(listed.contains(&format!("/source/{name}<")), is_there, "{name}: {listed}");
    }
    let top = site.text("PROPFIND", &format!("{}/snapshots/", site.prefix), "depth: 1\r\n");
    assert!(top.contains("/snapshots/latest/<"), "a link to a snapshot is a folder here: {top}");
    for deep in ["depth: infinity\r\n", "depth: infinity\r\nx-litmus: 1\r\n"] {
        assert_eq!(site.send("PROPFIND", &format!("{}/", site.prefix), deep).0, 501);
    }
}

#[test]
fn a_browser_gets_a_page_with_a_link_to_every_name() {
    let machine = Machine::saved([(".hidden", "12345"), ("a <b> & \"c\"", ""), ("deep/er", ""), ("left\u{202e}", "")]);
    let site = Site::of(&machine);
    let page = site.text("GET", &format!("{}/", site.source), "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("content-security-policy: sandbox"), "{page}");
    for link in [
        "<a href=\"..\">..</a>",
        "<a href=\".hidden\">.hidden</a>",
        "<a href=\"a%20%3Cb%3E%20%26%20%22c%22\">a &lt;b&gt; &amp; \"c\"</a>",
        "<a href=\"deep/\">deep/</a>",
        "<a href=\"left%E2%80%AE\">left\\xe2\\x80\\xae</a>",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
    let (status, head) = site.send("HEAD", &format!("{}/", site.source), "");
    assert_eq!((status, body(&head)), (200, b"".as_slice()));
    assert_eq!(site.send("GET", &site.source, "").0, 302, "links are relative to the directory");
    assert_eq!(site.send("GET", &format!("{}/nothing/", site.source), "").0, 404);
    let top = site.text("GET", &format!("{}/", site.prefix), "");
    assert!(top.contains("<a href=\"snapshots/\">") && !top.contains("\"..\""), "{top}");
}

#[test]
fn nothing_is_changed_over_http() {
    let machine = machine();
    let site = Site::of(&machine);
    let file = format!("{}/letter", site.source);
    for method in ["PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK", "PATCH", "POST"] {
        let (status, _) = site.send(method, &file, "destination: /x\r\ncontent-length: 0\r\n");
        assert!([405, 501].contains(&status), "{method}: {status}");
    }
}

#[test]
fn only_those_who_know_the_address_are_answered() {
    let machine = machine();
    let site = Site::of(&machine);
    assert!(site.address.starts_with("127.0.0.1:"), "{}", site.address);
    let (address, prefix) = (&site.address, &site.prefix);
    for path in ["/", "/snapshots/", &prefix[..prefix.len() - 1], &format!("{prefix}x/"), "/../../etc/passwd"] {
        assert_eq!(site.send("GET", path, "").0, 404, "{path}");
    }
    // A web page whose name points to this machine.
    for host in ["evil.example", "127.0.0.1.evil.example"] {
        let request = format!("GET {prefix}/ HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        assert_eq!(ask(address, &request).0, 421, "{host}");
    }
    for path in ["/..", "/../..", "/%2e%2e/%2e%2e/etc/passwd", "/snapshots/..%2f..%2f..%2fetc/passwd", "/a%00b"] {
        let (status, answer) = site.send("GET", &format!("{prefix}{path}"), "");
        assert!(status >= 400 && body(&answer).is_empty(), "{path}: {status} {}", String::from_utf8_lossy(&answer));
    }
    for elsewhere in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
        let ran = machine.run(&["mount", "--webdav", elsewhere]).exits(2);
        assert!(ran.err.contains("this machine only"), "{ran}");
    }
}

#[test]
fn a_damaged_file_is_cut_short_and_named() {
    let machine = Machine::new();
    machine.write("hit", noise(2, 5_000_000));
    machine.write("small", "in the page");
    machine.backup(&[]);
    machine.damage(&machine.packs(0)[0], Harm::Flip);
    let mut site = Site::of(&machine);
    let (_, answer) = site.send("GET", &format!("{}/hit", site.source), "");
    assert!(body(&answer).len() < 5_000_000);
    assert_eq!(body(&site.send("GET", &format!("{}/small", site.source), "").1), b"in the page");
    assert_eq!(site.mounted.end("TERM"), 4);
    assert!(site.mounted.told().contains("/source/hit"));
}

#[test]
fn a_request_with_xml_that_nests_deeply_is_answered() {
    let machine = machine();
    let mut site = Site::of(&machine);
    for xml in ["<a>".repeat(2_000) + &"</a>".repeat(2_000), "<a>".repeat(5_000)] {
        let more = format!("depth: 0\r\ncontent-length: {}\r\n\r\n{xml}", xml.len());
        assert_eq!(site.send("PROPFIND", &format!("{}/letter", site.source), &more).0, 207);
    }
    assert_eq!(site.mounted.end("TERM"), 0);
}

#[test]
fn whoever_connects_too_often_makes_no_file_look_damaged() {
    let machine = machine();
    let mut site = Site::at(&machine, Mounted::serve_with_few_files(&machine, 128));
    let mut open = TcpStream::connect(&site.address).unwrap();
    open.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // Kept open by an answer that came.
    let head = |path: &str| format!("HEAD {path} HTTP/1.1\r\nhost: {}\r\n\r\n", site.address);
    open.write_all(head(&format!("{}/letter", site.source)).as_bytes()).unwrap();
    assert!(open.read(&mut [0; 4096]).unwrap() > 0);
    let strangers: Vec<_> = (0..300).filter_map(|_| TcpStream::connect(&site.address).ok()).collect();
    strangers.iter().for_each(|mut stranger| drop(stranger.write_all(b"GET / HT")));
    let file = format!("{}/deep/er/noise", site.source);
    let asked = format!("GET {file} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", site.address);
    open.write_all(asked.as_bytes()).unwrap();
    let mut answer = Vec::new();
    open.read_to_end(&mut answer).unwrap();
    assert_eq!(body(&answer), noise(1, 3_000_000).as_slice());
    assert_eq!(site.mounted.end("TERM"), 0);
}

#[test]
fn a_signal_ends_it_while_nothing_is_served_yet() {
    let machine = Machine::new();
    let mut command = machine.command(&["mount", "--webdav"]);
    let asked = machine.path("asked");
    let mut child = command.env("COPAL_PASSWORD_COMMAND", "echo > asked; exec sleep 30").spawn().unwrap();
    until("it asks", || asked.exists().then_some(()));
    let asked = Instant::now();
    signal(&child, "TERM");
    assert_eq!(wait(&mut child), 130);
    assert!(asked.elapsed() < Duration::from_secs(20), "it does not wait for the secret");
}
