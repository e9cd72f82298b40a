//! Process: programs that a test starts: those of the workspace, and servers of others at a free address.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A program of the workspace, which lies beside the directory of the running test's program.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    let folders = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    folders.into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
        panic!("there is no program {name} beside {}: build it with `cargo build --workspace --bins`", own.display())
    })
}

/// An address on this machine that nobody listens at.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound socket has an address")
}

/// Starts a server at a free address, again if another process has taken the port meanwhile.
pub(crate) fn serve(launch: impl Fn(SocketAddr) -> Option<Child>) -> Option<(Child, SocketAddr)> {
    (0..5).find_map(|_| {
        let address = free_address();
        Some((launch(address)?, address))
    })
}

/// Starts a server, and waits until it answers; gives nothing if it ends, or does not within a minute.
pub(crate) fn started(command: &mut Command, answers: impl Fn() -> bool) -> Option<Child> {
    let program = command.get_program().to_owned();
    let mut process = command
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}: \"cargo xtask tools\" installs it", program.display()));
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if process.try_wait().expect("it is our process").is_some() {
            return None;
        }
        if answers() {
            return Some(process);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = process.kill();
    let _ = process.wait();
    None
}

/// The beginning of an answer to a request over HTTP.
pub(crate) fn asked(address: SocketAddr, request: &str) -> Option<[u8; 12]> {
    let mut connection = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    connection.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    connection.write_all(request.as_bytes()).ok()?;
    let mut answer = [0; 12];
    connection.read_exact(&mut answer).ok()?;
    Some(answer)
}

/// A request without a signature.
pub(crate) fn plain_request(address: SocketAddr) -> String {
    format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
}
