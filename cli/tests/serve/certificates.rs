//! Certificates: a client trusts the gateway by its certificate, and the gateway takes up a new one while it runs.

use std::fs;
use std::time::{Duration, Instant};

use super::machine;
use super::secured::Secured;
use super::server::{At, Server};
use crate::kit::Run;

#[test]
fn over_tls_a_gateway_is_trusted_by_its_certificate() {
    let machine = machine();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    fs::write(machine.path("cert.pem"), made.cert.pem()).unwrap();
    fs::write(machine.path("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let server = Server::start(&machine, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    assert!(server.url.starts_with("https://"));
    let mut by_name = Secured::connect(&machine, &server.url, "cert.pem").unwrap();
    let mut is_strict = |host: &str| by_name.health(host).unwrap().contains("strict-transport-security: max-age=");
    // A browser would ask for TLS of every other program on this machine too.
    assert!(is_strict("127.0.0.1") && !is_strict("localhost"));
    let started = Instant::now();
    let refused = machine.at(&server.url, &["snapshots"]);
    assert!(refused.code != 0 && refused.err.contains("certificate"), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(30), "a wrong certificate does not pass: it is not tried again");
    machine.at(&server.url, &["--ca-file", "cert.pem", "backup", "source"]).ok();
    let mut listed = machine.with_key(&["snapshots", "--json"]);
    let listed = listed.env("COPAL_REPOSITORY", &server.url).env("COPAL_CA_FILE", machine.path("cert.pem")).ran().ok();
    assert_eq!(listed.json().as_array().unwrap().len(), 1);
}

#[test]
fn a_new_certificate_is_taken_up_and_a_bad_one_is_not() {
    let machine = machine();
    let make = |name: &str| {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        fs::write(machine.path(name), made.cert.pem()).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    };
    let put = |(cert, key): &(String, String)| {
        fs::write(machine.path("cert.pem"), cert).unwrap();
        fs::write(machine.path("key.pem"), key).unwrap();
    };
    let (old, new) = (make("old.pem"), make("new.pem"));
    put(&old);
    let server = Server::start(&machine, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let lists = |ca: &str| machine.at(&server.url, &["--ca-file", ca, "snapshots"]).code == 0;
    assert!(lists("old.pem") && !lists("new.pem"));
    let mut open = Secured::connect(&machine, &server.url, "old.pem").unwrap();
    assert!(open.is_healthy());
    // The key of another certificate.
    put(&(new.0.clone(), old.1.clone()));
    server.process.signal("HUP");
    std::thread::sleep(Duration::from_secs(2));
    assert!(lists("old.pem") && !lists("new.pem"), "the certificate before stays");
    // Without a signal: the file has changed.
    put(&new);
    let deadline = Instant::now() + Duration::from_secs(240);
    let mut later = loop {
        assert!(open.is_healthy(), "an open connection goes on");
        match Secured::connect(&machine, &server.url, "new.pem") {
            Ok(later) => break later,
            Err(_) => assert!(Instant::now() < deadline, "it is not taken up"),
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    assert!(later.is_healthy() && open.is_healthy(), "both certificates' connections are open");
    assert!(Secured::connect(&machine, &server.url, "old.pem").is_err());
    assert!(lists("new.pem") && !lists("old.pem"));
}
