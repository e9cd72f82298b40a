//! Serve: how a repository is offered to clients that have no rights on its store.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use copal_format::id::OwnerFingerprint;

use super::values::{Size, Span};

/// When the gateway presigns requests, so that clients use the bucket directly.
#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Presign {
    /// If the S3 server refuses headers that were not signed; else all data goes through the gateway.
    Safe,
    /// Always, even if the server accepts unsigned headers: clients can then read and replace any object.
    Always,
    /// Never: all data goes through the gateway.
    Never,
}

#[derive(Args, Debug, Clone)]
pub struct Serve {
    /// Address and port to listen on; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8321")]
    pub listen: SocketAddr,
    /// Serve one client on standard input and output, as ssh runs it for ssh:// repositories.
    #[arg(long, conflicts_with_all = ["listen", "tls_cert", "metrics_listen", "web", "public_url"])]
    pub stdio: bool,
    /// Also run the keyless jobs that this client orders: ingest, prune and check. Without it the client deletes nothing.
    #[arg(long, requires = "stdio")]
    pub jobs: bool,
    /// Certificate chain, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Address by which clients know the gateway, where a proxy stands before it.
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub public_url: Option<String>,
    /// Another host name of this gateway; IP addresses, localhost and the certificate's names are accepted anyway.
    #[arg(long, value_name = "NAME")]
    pub host_name: Vec<String>,
    /// Connections at once from one address, of IPv6 from one /64 network; this machine's own do not count.
    #[arg(long, value_name = "N", default_value = "256")]
    pub connections_per_address: usize,
    /// Address and port for Prometheus, at /metrics.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics_listen: Option<SocketAddr>,
    /// Directory of a web page to serve beside the gateway.
    #[arg(long, value_name = "DIR")]
    pub web: Option<PathBuf>,
    /// Web origin whose pages may use the gateway.
    #[arg(long, value_name = "ORIGIN")]
    pub cors: Option<String>,
    /// Whether clients use the bucket directly, with presigned requests.
    #[arg(long, value_name = "WHEN", default_value = "safe")]
    pub presign: Presign,
    /// Fingerprint of the owner [default: the one that was seen first].
    #[arg(long, value_name = "HEX", value_parser = fingerprint)]
    pub owner_fingerprint: Option<OwnerFingerprint>,
    /// Let anybody read key slots, so that a new machine needs only the passphrase. Anybody may then guess it, slowly.
    #[arg(long)]
    pub open_slots: bool,
    /// Let the first client create the repository if there is none.
    #[arg(long)]
    pub accept_init: bool,
    /// Bytes that a domain may hold [default: no limit].
    #[arg(long, value_name = "SIZE")]
    pub quota: Option<Size>,
    /// Bytes that a domain may add within 24 hours [default: no limit].
    #[arg(long, value_name = "SIZE")]
    pub daily_quota: Option<Size>,
    /// How often to look for manifests that were uploaded another way; 0s: never.
    #[arg(long, value_name = "SPAN", default_value = "1min")]
    pub ingest_every: Span,
    /// How often snapshots expire that the signed policy does not keep; 0s: never.
    #[arg(long, value_name = "SPAN", default_value = "1h")]
    pub expire_every: Span,
    /// How often the index is compacted; 0s: never.
    #[arg(long, value_name = "SPAN", default_value = "1h")]
    pub compact_every: Span,
    /// How often the repository is pruned; 0s: never.
    #[arg(long, value_name = "SPAN", default_value = "24h")]
    pub prune_every: Span,
    /// How often the repository is checked, and the part of its packs that the signed policy says is read (else a
    /// thirtieth); 0s: never.
    #[arg(long, value_name = "SPAN", default_value = "24h")]
    pub check_every: Span,
}

fn fingerprint(text: &str) -> Result<OwnerFingerprint, String> {
    OwnerFingerprint::from_hex(text).map_err(|error| error.to_string())
}

fn public_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err("it begins with https:// or http:// and names a host".to_owned()),
    }
}
