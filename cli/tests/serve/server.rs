//! A process that serves, and requests to it by hand.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use copal_format::id::ClientId;
use copal_format::keys::client::ClientKeys;
use copal_format::request::{Request, Signatory, Terms, WINDOW};
use serde_json::Value;

use crate::kit::{Machine, Run, Running, text};

/// `copal serve` on a machine's repository.
pub(crate) struct Server {
    pub(crate) process: Running,
    pub(crate) url: String,
    pub(crate) metrics: Option<String>,
}

impl Server {
    pub(crate) fn start(machine: &Machine, options: &[&str]) -> Self {
        Self::run(machine.command(&[&["serve", "--json", "--listen", "127.0.0.1:0"], options].concat()))
    }

    /// Without passphrase or key file: whoever serves has none.
    pub(crate) fn run(mut command: Command) -> Self {
        let (process, line) = Running::announced(&mut command);
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let metrics = told["metrics"].as_str().map(str::to_owned);
        Self { process, url: text(&told["gateway"]), metrics }
    }
}

/// A command against a served repository.
pub(crate) trait At {
    fn at(&self, url: &str, arguments: &[&str]) -> crate::kit::Ran;
}

impl At for Machine {
    fn at(&self, url: &str, arguments: &[&str]) -> crate::kit::Ran {
        self.with_key(arguments).env("COPAL_REPOSITORY", url).ran()
    }
}

/// The keys of the client that a machine is.
pub(crate) fn client_of(machine: &Machine) -> (ClientId, ClientKeys) {
    let bytes = fs::read(machine.kept("client")).unwrap();
    let id = ClientId::from_slice(&bytes[1..17]).unwrap();
    (id, ClientKeys::from_bytes(bytes[17..81].try_into().unwrap()))
}

/// A signed GET, as text to send.
pub(crate) fn signed_get(machine: &Machine, url: &str, path: &str, created: u64) -> String {
    signed(machine, url, ("GET", path), (created, [7; 16]), b"")
}

/// Creates an object with a client's request key alone; gives the whole answer.
pub(crate) fn put(machine: &Machine, url: &str, name: &str, bytes: &[u8]) -> String {
    let nonce = *Request::digest(name.as_bytes()).first_chunk().unwrap();
    let head = signed(machine, url, ("PUT", &format!("/v1/objects/{name}")), (now(), nonce), bytes);
    let more = format!("if-none-match: *\r\ncontent-length: {}\r\n\r\n", bytes.len());
    send(url, [head.strip_suffix("\r\n").unwrap().as_bytes(), more.as_bytes(), bytes].concat())
}

/// The head of a request that is signed by the client that the machine is.
fn signed(
    machine: &Machine,
    url: &str,
    (method, path): (&str, &str),
    (created, nonce): (u64, [u8; 16]),
    body: &[u8],
) -> String {
    let (id, keys) = client_of(machine);
    let terms = Terms { created, expires: created + WINDOW, nonce, signatory: Signatory::Client(id) };
    let uri = format!("{url}{path}");
    let signed = Request { method, uri: &uri, digest: Request::digest(body) }.sign(&terms, &keys.request_key());
    let host = url.strip_prefix("http://").unwrap();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-digest: {}\r\n\
         signature-input: {}\r\nsignature: {}\r\n\r\n",
        signed.content_digest, signed.input, signed.signature
    )
}

/// Sends a request by hand; gives the whole answer.
pub(crate) fn send(url: &str, request: impl AsRef<[u8]>) -> String {
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_ref()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn get(url: &str) -> String {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    send(url, format!("GET /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"))
}

pub(crate) fn now() -> u64 {
    copal_client::clock::now().to_unix().0 as u64
}
