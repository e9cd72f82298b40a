//! A hostile server gets neither memory nor time without end. Nothing seems lost while a server's disk is away for a
//! moment.

use std::error::Error;

use futures::executor::block_on;

use super::*;
use crate::retry::Pause;
use crate::{Key, Store, list_all};

/// A store behind a server that answers each question about a directory with these names.
fn behind(names: &str) -> impl Site + use<> {
    speaking(&format!("{HEAD}{LISTING}"), names)
}

fn speaking(script: &str, argument: &str) -> impl Site + use<> {
    let (script, argument) = (script.to_owned(), argument.to_owned());
    let command = move || {
        let mut command = Command::new("python3");
        command.args(["-c", &script, &argument]);
        command
    };
    store("sftp://hostile/r".to_owned(), "/r".to_owned(), command).unwrap()
}

#[test]
fn a_listing_without_end_is_an_error_that_names_the_server() {
    // Objects, names that are none, answers without a name, and directories in directories.
    for names in ["f*100", "/*100", "f*0", "d*100"] {
        let error = block_on(behind(names).list("packs/", None, 1_000)).unwrap_err();
        let why = error.source().expect("a cause").to_string();
        assert_eq!(why, "sftp://hostile/r lists more names than 1 MiB hold", "{names}");
    }
}

/// A store with the object `packs/1`. The first requests for what lies below its root find nothing.
fn away(requests: &str) -> impl Site + use<> {
    speaking(&format!("{HEAD}{AWAY}"), requests)
}

#[test]
fn a_directory_that_is_away_for_a_moment_is_listed_whole_or_not_at_all() {
    let names = |requests, prefix| {
        let listed = block_on(list_all(&away(requests), prefix))?;
        Ok::<_, StoreError>(listed.iter().map(|listed| listed.key.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(names("1", "").unwrap(), ["packs/1"]);
    assert_eq!(names("1", "packs/").unwrap(), ["packs/1"]);
    assert!(names("2", "").unwrap_err().is_transient(), "its parent has just named it");
    assert_eq!(names("2", "packs/").unwrap(), [""; 0], "nobody says that there is one");
}

#[test]
fn an_object_counts_as_missing_only_if_it_is_not_found_twice() {
    let key = Key::new("packs/1").unwrap();
    assert!(block_on(away("1").stat(&key)).unwrap().is_some());
    assert!(block_on(away("2").stat(&key)).unwrap().is_none());
    assert_eq!(block_on(away("1").read(&key)).unwrap(), "x");
    assert!(matches!(block_on(away("2").read(&key)), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_deletion_that_is_tried_again_after_a_lost_connection_is_made_durable() {
    let place = tempfile::tempdir().unwrap();
    let notes = place.path().join("notes").display().to_string();
    let site = speaking(&format!("{HEAD}{DELETING}"), &notes);
    let key = Key::new("roots/1").unwrap();
    assert!(block_on(site.delete(&key)).unwrap_err().is_transient(), "the connection ends before the sync");
    block_on(site.delete(&key)).unwrap();
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "removed\nsynced\n");
}

#[test]
fn a_handle_that_nobody_waits_for_any_more_is_closed() {
    let place = tempfile::tempdir().unwrap();
    let notes = place.path().join("notes").display().to_string();
    let site = speaking(&format!("{HEAD}{OPENING}"), &notes);
    let key = Key::new("roots/1").unwrap();
    let given_up = async {
        let read = std::pin::pin!(site.read(&key));
        // The server notes that it was asked, and answers later.
        let asked = std::pin::pin!(async {
            while !std::path::Path::new(&notes).exists() {
                site.pause().sleep(std::time::Duration::from_millis(5)).await;
            }
        });
        futures::future::select(read, asked).await;
    };
    block_on(given_up);
    while std::fs::read_to_string(&notes).unwrap() != "asked\nclosed\n" {
        std::thread::yield_now();
    }
}

#[test]
fn a_server_that_keeps_silent_while_somebody_waits_is_given_up() {
    let worker = crate::worker::Worker::new().unwrap();
    let silence = std::time::Duration::from_millis(5);
    let ended = worker.run(async move {
        let pending = std::sync::Mutex::default();
        let nothing = std::pin::pin!(std::future::pending());
        let idle = super::session::heard(nothing, &pending, silence);
        assert!(tokio::time::timeout(silence * 20, idle).await.is_err(), "nobody waits");
        let (asked, _answer) = tokio::sync::oneshot::channel();
        super::session::wait_for(&pending, asked);
        super::session::heard(std::pin::pin!(std::future::pending()), &pending, silence).await.map(drop)
    });
    assert_eq!(block_on(ended), Some(Err(Trouble::Silent)));
}

/// What every server here begins with.
const HEAD: &str = r#"
import os, struct, sys, time
text = lambda text: struct.pack(">I", len(text)) + text
def send(kind, body):
    sys.stdout.buffer.write(struct.pack(">IB", 1 + len(body), kind) + body)
    sys.stdout.buffer.flush()
attributes = lambda mode: struct.pack(">IQIII", 13, 1, mode, 0, 0)
def status(body, code):
    send(101, body[:4] + struct.pack(">I", code) + text(b"") + text(b""))
def note(what):
    with open(sys.argv[1], "a") as notes:
        notes.write(what + "\n")
def requests():
    while head := sys.stdin.buffer.read(5):
        length, request = struct.unpack(">IB", head)
        body = sys.stdin.buffer.read(length - 1)
        if request == 1:
            send(2, struct.pack(">I", 3) + b"".join(text(t) for t in (b"hardlink@openssh.com", b"1", b"fsync@openssh.com", b"1")))
        else:
            yield request, body
"#;

/// Removes a file and ends; once that is noted, there is no file, and a sync is noted.
const DELETING: &str = r#"
for request, body in requests():
    if request == 13 and not os.path.exists(sys.argv[1]):
        note("removed")
        status(body, 0)
        sys.exit()
    elif request == 13:
        status(body, 2)
    elif request == 3:
        send(102, body[:4] + text(b"h"))
    else:
        if request == 200:
            note("synced")
        status(body, 0)
"#;

/// Opens a file late.
const OPENING: &str = r#"
for request, body in requests():
    if request == 3:
        note("asked")
        time.sleep(0.1)
        send(102, body[:4] + text(b"h"))
    elif request == 4:
        note("closed")
        status(body, 0)
    else:
        status(body, 4)
"#;

/// Holds `packs/1` with one byte. A handle is the path that was opened, and gives its one piece or name once.
const AWAY: &str = r#"
away, unread = int(sys.argv[1]), set()
for request, body in requests():
    length, = struct.unpack(">I", body[4:8])
    subject = body[8:8 + length]
    if request in (3, 7, 11) and subject.startswith(b"/r/") and away > 0:
        away -= 1
        status(body, 2)
    elif request in (3, 11):
        unread.add(subject)
        send(102, body[:4] + text(subject))
    elif request in (7, 8, 17):
        send(105, body[:4] + attributes(0o100600 if subject == b"/r/packs/1" else 0o040700))
    elif request in (5, 12) and subject not in unread:
        status(body, 1)
    elif request == 5:
        unread.remove(subject)
        send(103, body[:4] + text(b"x"))
    elif request == 12:
        unread.remove(subject)
        name, mode = (b"packs", 0o040700) if subject == b"/r" else (b"1", 0o100600)
        send(104, body[:4] + struct.pack(">I", 1) + text(name) + text(b"") + attributes(mode))
    else:
        status(body, 0)
"#;

/// Names of one kind for ever; a directory among them ends its own listing after one answer, so that others follow.
const LISTING: &str = r#"
kind, count = sys.argv[1].split("*")
mode = 0o040700 if kind == "d" else 0o100600
asked = 0
for request, body in requests():
    if request in (7, 17):
        send(105, body[:4] + attributes(0o040700))
    elif request == 11:
        send(102, body[:4] + text(b"h"))
    elif request == 12:
        asked += 1
        if kind == "d" and asked % 2 == 0:
            status(body, 1)
            continue
        names = (text(b"%s%d" % (kind.encode(), asked * 1000 + i)) + text(b"") + attributes(mode) for i in range(int(count)))
        send(104, body[:4] + struct.pack(">I", int(count)) + b"".join(names))
    else:
        status(body, 0)
"#;
