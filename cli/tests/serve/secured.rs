//! A connection over TLS that stays open for several requests.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::kit::Machine;

pub(crate) struct Secured(StreamOwned<ClientConnection, TcpStream>);

impl Secured {
    /// Connects, and trusts the one certificate in a file of the machine's.
    pub(crate) fn connect(machine: &Machine, url: &str, trusted: &str) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(machine.path(trusted)).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let mut session = ClientConnection::new(config, ServerName::try_from("127.0.0.1").unwrap()).unwrap();
        let mut stream = TcpStream::connect(url.strip_prefix("https://").unwrap())?;
        while session.is_handshaking() {
            session.complete_io(&mut stream)?;
        }
        Ok(Self(StreamOwned::new(session, stream)))
    }

    /// Whether the server answers one more request.
    pub(crate) fn is_healthy(&mut self) -> bool {
        self.health("127.0.0.1").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    /// The answer to one more request, which names this host.
    pub(crate) fn health(&mut self, host: &str) -> io::Result<String> {
        let mut answer = [0; 4_096];
        self.0.write_all(format!("GET /v1/health HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes())?;
        self.0.flush()?;
        let length = self.0.read(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
    }
}
