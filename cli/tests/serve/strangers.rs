//! Strangers: who connects and says nothing, or what somebody else has said.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::machine;
use super::server::{At, Server, now, send, signed_get};

#[test]
fn whoever_connects_and_says_nothing_is_not_kept() {
    let machine = machine();
    let server = Server::start(&machine, &[]);
    let address = server.url.strip_prefix("http://").unwrap();
    // Nothing, what two protocols begin with, and a request that does not end.
    let silent = ["", "P", "GET /v1/repository HTTP/1.1\r\n"].map(|said| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream
    });
    for mut stream in silent {
        stream.set_read_timeout(Some(Duration::from_secs(240))).unwrap();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"), "{answer:?}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
}

#[test]
fn a_recorded_request_is_refused_after_a_restart_too() {
    let machine = machine();
    machine.backup(&[]);
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let serve = || Server::run(machine.command(&["serve", "--json", "--listen", &address]));
    let server = serve();
    std::thread::sleep(Duration::from_millis(1_100));
    let recorded = signed_get(&machine, &server.url, "/v1/index", now());
    assert!(send(&server.url, &recorded).starts_with("HTTP/1.1 200"));
    drop(server);
    let server = serve();
    let again = send(&server.url, &recorded);
    assert!(again.starts_with("HTTP/1.1 401") && again.contains("urn:copal:problem:replayed"), "{again}");
    machine.at(&server.url, &["snapshots"]).ok();
}

#[test]
fn who_asks_by_a_name_that_leads_elsewhere_is_refused_on_every_path() {
    let machine = machine();
    machine.backup(&[]);
    std::fs::create_dir(machine.path("web")).unwrap();
    std::fs::write(machine.path("web/index.html"), "a page").unwrap();
    let server = Server::start(&machine, &["--web", "web", "--host-name", "nas"]);
    let ask = |host: &str, path: &str| {
        send(&server.url, format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"))
    };
    let port = server.url.rsplit(':').next().unwrap();
    for path in ["/", "/v1/repository", "/v1/health"] {
        let refused = ask(&format!("rebound.example:{port}"), path);
        assert!(refused.starts_with("HTTP/1.1 421") && refused.contains("urn:copal:problem:host"), "{refused}");
        for host in ["nas", "localhost", "127.0.0.1"] {
            assert!(ask(&format!("{host}:{port}"), path).starts_with("HTTP/1.1 200"), "{host} {path}");
        }
    }
}

#[test]
fn whoever_answers_says_what_a_browser_must_not_do_and_asks_for_tls_only_where_it_is() {
    let machine = machine();
    machine.backup(&[]);
    std::fs::create_dir(machine.path("web")).unwrap();
    std::fs::write(machine.path("web/index.html"), "a page").unwrap();
    for (options, is_tls) in [(&[][..], false), (&["--public-url", "https://backup.example"], true)] {
        let server = Server::start(&machine, &[&["--web", "web"], options].concat());
        // The page, the gateway, a refusal of the gateway, one of what stands before it, and what is not there.
        for (host, path) in [
            ("127.0.0.1", "/"),
            ("127.0.0.1", "/v1/repository"),
            ("127.0.0.1", "/v1/index"),
            ("evil", "/"),
            ("127.0.0.1", "/x"),
        ] {
            let told = send(&server.url, format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"));
            assert_eq!(told.matches("x-content-type-options: nosniff\r\n").count(), 1, "{told}");
            let strict = told.matches("strict-transport-security: max-age=31536000\r\n").count();
            assert_eq!(strict, usize::from(is_tls), "{told}");
        }
    }
}
