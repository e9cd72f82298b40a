//! Tls: the certificate, reloaded when its files change.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum_server::tls_rustls::RustlsConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::JobNote;
use super::hosts::Hosts;
use super::system::Reload;

/// A certificate and the paths of its files.
pub(super) struct Tls {
    cert: PathBuf,
    key: PathBuf,
    pub(super) config: RustlsConfig,
    /// The time and length of the files when they were last read.
    seen: Option<[Stamp; 2]>,
}

/// Modification time and length: a change means another file.
type Stamp = (SystemTime, u64);

impl Tls {
    pub(super) async fn read(cert: PathBuf, key: PathBuf) -> io::Result<Self> {
        // Fails if another part of the program has already installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let seen = stamps(&cert, &key);
        let config = RustlsConfig::from_pem_file(&cert, &key).await?;
        Ok(Self { cert, key, config, seen })
    }

    /// The DNS names in the certificate.
    pub(super) fn names(&self) -> Vec<String> {
        let first = CertificateDer::pem_file_iter(&self.cert).ok().and_then(|mut all| all.next()?.ok());
        let Some(first) = first else { return Vec::new() };
        match webpki::EndEntityCert::try_from(&first) {
            Ok(cert) => cert.valid_dns_names().map(str::to_owned).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Reloads the files when they change or SIGHUP comes; open connections go on. If the new certificate cannot be
    /// used, reports that and keeps the old one.
    pub(super) async fn watch(mut self, hosts: Arc<Hosts>, note: Arc<dyn Fn(&JobNote) + Send + Sync>) {
        let Ok(mut asked) = Reload::watch() else { return };
        loop {
            let is_asked = tokio::select! {
                () = asked.asked() => true,
                () = tokio::time::sleep(LOOK) => false,
            };
            let now = stamps(&self.cert, &self.key);
            if now == self.seen && !is_asked {
                continue;
            }
            self.seen = now;
            let why = match self.config.reload_from_pem_file(&self.cert, &self.key).await {
                Ok(()) => {
                    hosts.certified(self.names());
                    None
                }
                Err(error) => Some(format!("{}: {error}", self.cert.display())),
            };
            note(&JobNote::Certificate { why });
        }
    }
}

/// `None` while one of the files is missing.
fn stamps(cert: &PathBuf, key: &PathBuf) -> Option<[Stamp; 2]> {
    let stamp = |path| fs::metadata(path).and_then(|found| Ok((found.modified()?, found.len()))).ok();
    Some([stamp(cert)?, stamp(key)?])
}

/// How often to check the files.
const LOOK: Duration = Duration::from_secs(10);
