//! Ending: a command that is asked to end does so soon, says what is kept of it, and the next run goes on from there.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::kit::{Machine, Running, assert_same, noise, number, until};
use crate::serve::server::{Server, get};

#[test]
fn a_backup_over_a_slow_line_ends_within_ten_seconds_and_keeps_what_was_stored() {
    let machine = Machine::with([("file", noise(1, 120_000_000))]);
    let child = Running::start(&mut machine.with_key(&["backup", "source", "--limit-upload", "12M"]));
    until("a pack is stored", || (!machine.packs(0).is_empty()).then_some(()));
    let ran = child.ends_at("TERM").exits(130);
    assert!(ran.err.contains("MiB of this run are kept"), "{ran}");
    let stored: u64 = machine.packs(0).iter().map(|pack| fs::metadata(machine.object(pack)).unwrap().len()).sum();
    assert!(stored > 10_000_000, "{stored}");
    let next = machine.run(&["backup", "source", "--json"]).ok();
    assert!(number(&next, "bytes_stored") < 120_000_000 - stored / 2, "{next}");
    machine.restore(&["--verify"]).ok();
}

#[test]
fn a_backup_that_only_waits_for_its_upload_ends_within_ten_seconds() {
    let machine = Machine::with([("file", noise(1, 4_000_000))]);
    let child = Running::start(&mut machine.with_key(&["backup", "source", "--limit-upload", "50k", "--json"]));
    // All is read long before; nothing is stored for more than a minute.
    thread::sleep(Duration::from_secs(3));
    let ran = child.ends_at("INT").exits(130);
    assert!(ran.err.contains("nothing new is kept") && ran.kind() == "interrupted", "{ran}");
    assert_eq!(machine.names("manifests/").len(), 0);
}

#[test]
fn a_backup_that_waits_for_the_service_ends_and_says_that_all_is_uploaded() {
    let machine = Machine::bare();
    machine.command(&["--key-file", "key", "init", "--ingest", "service"]).env("COPAL_PASSWORD", "x").output().unwrap();
    machine.write("file", "1");
    let child = Running::start(&mut machine.with_key(&["backup", "source"]));
    until("a manifest is there", || machine.names("manifests/").pop());
    thread::sleep(Duration::from_millis(500));
    let ran = child.ends_at("INT").exits(130);
    assert!(ran.err.contains("all of it is uploaded"), "{ran}");
    machine.ok(&["ingest"]);
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn a_restore_over_a_slow_line_ends_within_ten_seconds_and_the_next_one_completes_it() {
    let machine = Machine::saved([("a", noise(1, 8_000_000)), ("b", noise(2, 40_000_000))]);
    let slow = ["restore", "--json", &machine.whole(), "-t", "out", "--limit-download", "2M"];
    let child = Running::start(&mut machine.with_key(&slow));
    until("something is restored", || fs::read_dir(machine.path("out")).ok()?.next().map(drop));
    let ran = child.ends_at("TERM").exits(130);
    assert!(ran.out.is_empty() && ran.kind() == "interrupted", "{ran}");
    machine.restore(&[]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn a_prune_over_a_slow_line_ends_within_ten_seconds_and_the_next_one_does_its_work() {
    let machine = Machine::with([("large", noise(1, 8_000_000))]);
    // So many chunks that the index takes more than half a minute on this line.
    (2..2_000).for_each(|file| machine.write(&format!("{file}"), noise(file, 600)));
    let old = machine.backup(&[]);
    machine.remove("large");
    machine.backup(&[]);
    machine.ok(&["forget", &old]);
    let slow = ["prune", "--grace", "0s", "--json", "--limit-download", "2k", "--password-command"];
    let child = Running::start(&mut machine.command(&[&slow[..], &["touch begun; cat key"]].concat()));
    until("it has asked for the secret", || machine.path("begun").exists().then_some(()));
    thread::sleep(Duration::from_secs(5));
    let ran = child.ends_at("TERM").exits(130);
    assert!(ran.out.is_empty() && ran.kind() == "interrupted", "{ran}");
    machine.ok(&["prune", "--grace", "0s"]);
    let left: usize = machine.objects().values().map(Vec::len).sum();
    assert!(left < 8_000_000, "{left} bytes are left");
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn a_second_signal_ends_a_backup_at_once() {
    let machine = Machine::with([("file", noise(1, 4_000_000))]);
    let child = Running::start(&mut machine.with_key(&["backup", "source", "--limit-upload", "50k"]));
    // As above. After one signal it would wait six seconds for its upload.
    thread::sleep(Duration::from_secs(3));
    child.signal("TERM");
    thread::sleep(Duration::from_millis(500));
    let asked = Instant::now();
    child.ends_at("INT").exits(130);
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    machine.backup(&[]);
    machine.restore(&["--verify"]).ok();
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let machine = Machine::saved([("file", "1")]);
    let Server { mut process, url, .. } = Server::start(&machine, &[]);
    // After one signal it would wait ten seconds for the rest of this request.
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(b"GET /v1/health HTTP/1.1\r\n").unwrap();
    assert!(get(&format!("{url}/v1/health")).contains("\"ok\""));
    thread::sleep(Duration::from_millis(500));
    process.signal("TERM");
    thread::sleep(Duration::from_secs(1));
    assert!(!process.has_ended());
    let asked = Instant::now();
    process.ends_at("INT").exits(130);
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    machine.backup(&[]);
}
