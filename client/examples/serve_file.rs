//! Serves one file of the newest snapshot by HTTP on this machine, as a video player asks for it: whole or by ranges.
//! `COPAL_PASSWORD=… serve_file REPOSITORY PATH`. Nothing is unpacked before: each block is read when it is asked for.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};

use copal_client::browse::SnapshotTree;
use copal_client::format::path::TreePath;
use copal_client::{Settings, SlotInput};

type Error = Box<dyn std::error::Error>;

/// Answers every connection on a thread of its own, until accepting fails.
pub(crate) fn serve(listener: &TcpListener, tree: &SnapshotTree, path: &TreePath) -> Result<(), Error> {
    for connection in listener.incoming() {
        let (connection, tree, path) = (connection?, tree.clone(), path.clone());
        // A player that goes away in the middle of an answer is no failure of the server.
        std::thread::spawn(move || answer(&connection, &tree, &path));
    }
    Ok(())
}

fn answer(mut connection: &TcpStream, tree: &SnapshotTree, path: &TreePath) -> io::Result<()> {
    let mut head = Vec::new();
    for line in BufReader::new(connection.take(8192)).lines() {
        match line? {
            line if line.is_empty() => break,
            line => head.push(line),
        }
    }
    let mut file = tree.open(path).map_err(io::Error::other)?;
    let size = file.size();
    let (status, start, end) = match head.iter().find_map(|line| range(line, size)) {
        None => ("200 OK", 0, size),
        Some((start, end)) if start < end => ("206 Partial Content", start, end),
        Some(_) => ("416 Range Not Satisfiable", 0, 0),
    };
    let place = if end > 0 { format!("{start}-{}", end - 1) } else { "*".to_owned() };
    let told =
        if status.starts_with("200") { String::new() } else { format!("Content-Range: bytes {place}/{size}\r\n") };
    let length = end - start;
    let head_only = !head.first().is_some_and(|line| line.starts_with("GET "));
    let told = format!("Accept-Ranges: bytes\r\nContent-Length: {length}\r\n{told}Connection: close\r\n\r\n");
    write!(connection, "HTTP/1.1 {status}\r\n{told}")?;
    file.seek(SeekFrom::Start(start))?;
    io::copy(&mut file.take(if head_only { 0 } else { length }), &mut connection)?;
    Ok(())
}

/// The bytes that a line `Range: bytes=2-5` asks for, where it is one.
fn range(line: &str, size: u64) -> Option<(u64, u64)> {
    let (_, value) = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("range"))?;
    let (first, last) = value.trim().strip_prefix("bytes=")?.split_once('-')?;
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(start), Ok(last)) => Some((start, last.saturating_add(1).min(size))),
        (Ok(start), Err(_)) => Some((start, size)),
        (Err(_), last) => last.ok().map(|last| (size.saturating_sub(last), size)),
    }
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [repository, path] = arguments.as_slice() else { return Err("usage: serve_file REPOSITORY PATH".into()) };
    let copal = Settings::at(repository).open(&SlotInput::passphrase(&std::env::var("COPAL_PASSWORD")?)?)?;
    let tree = copal.tree(&copal.snapshot("latest")?)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}/", listener.local_addr()?);
    serve(&listener, &tree, &TreePath::new(path.trim_start_matches('/'))?)
}
