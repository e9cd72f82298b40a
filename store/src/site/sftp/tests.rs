//! What a hostile server cannot do.

use std::error::Error;

use futures::executor::block_on;

use super::*;

/// A store behind a server that answers each question about a directory with these names.
fn behind(names: &str) -> SftpStore {
    let names = names.to_owned();
    let command = move || {
        let mut command = Command::new("python3");
        command.args(["-c", SERVER, &names]);
        command
    };
    SftpStore::new("sftp://hostile/r".to_owned(), "/r".to_owned(), command).unwrap()
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

/// Names of one kind for ever; a directory among them ends its own listing after one answer, so that others follow.
const SERVER: &str = r#"
import struct, sys
kind, count = sys.argv[1].split("*")
text = lambda text: struct.pack(">I", len(text)) + text
def send(kind, body):
    sys.stdout.buffer.write(struct.pack(">IB", 1 + len(body), kind) + body)
    sys.stdout.buffer.flush()
mode = 0o040700 if kind == "d" else 0o100600
attributes = lambda mode: struct.pack(">IQIII", 13, 1, mode, 0, 0)
asked = 0
while head := sys.stdin.buffer.read(5):
    length, request = struct.unpack(">IB", head)
    body = sys.stdin.buffer.read(length - 1)
    if request == 1:
        send(2, struct.pack(">I", 3) + b"".join(text(t) for t in (b"hardlink@openssh.com", b"1", b"fsync@openssh.com", b"1")))
    elif request in (7, 17):
        send(105, body[:4] + attributes(0o040700))
    elif request == 11:
        send(102, body[:4] + text(b"h"))
    elif request == 12:
        asked += 1
        if kind == "d" and asked % 2 == 0:
            send(101, body[:4] + struct.pack(">I", 1) + text(b"") + text(b""))
            continue
        names = (text(b"%s%d" % (kind.encode(), asked * 1000 + i)) + text(b"") + attributes(mode) for i in range(int(count)))
        send(104, body[:4] + struct.pack(">I", int(count)) + b"".join(names))
    else:
        send(101, body[:4] + struct.pack(">I", 0) + text(b"") + text(b""))
"#;
