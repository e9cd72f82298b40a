//! Hosts: the host names that requests may use. A hostile web page can let its own name resolve to this address (DNS
//! rebinding), and would then use the visitor's browser to send requests that only this machine may send.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, PoisonError, RwLock};

use crate::router::Problem;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The names of this gateway.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// Those that the operator has set.
    named: Vec<String>,
    /// Those in the certificate; may have a wildcard.
    certified: RwLock<Vec<String>>,
}

impl Hosts {
    /// The names that the operator has set, and the one in the public URL.
    pub(super) fn new(named: &[String], public_url: Option<&str>) -> Self {
        let public = public_url.and_then(|url| url.split_once("://")?.1.split('/').next().map(bare));
        Self { named: named.iter().map(|name| bare(name)).chain(public).collect(), certified: RwLock::default() }
    }

    /// Sets the names in the certificate.
    pub(super) fn certified(&self, names: Vec<String>) {
        *self.certified.write().unwrap_or_else(PoisonError::into_inner) =
            names.into_iter().map(|name| name.to_ascii_lowercase()).collect();
    }

    /// Whether this name, with or without port, is one of them. IP addresses and `localhost` are accepted too: no other
    /// page can have them as its name.
    fn leads_here(&self, host: &str) -> bool {
        let host = bare(host);
        let is_address = host.parse::<Ipv4Addr>().is_ok()
            || host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok()).is_some();
        let certified = self.certified.read().unwrap_or_else(PoisonError::into_inner);
        let is_certified = |name: &String| match name.strip_prefix("*.") {
            Some(parent) => host.split_once('.').is_some_and(|(_, rest)| rest == parent),
            None => *name == host,
        };
        is_address || host == "localhost" || self.named.contains(&host) || certified.iter().any(is_certified)
    }
}

/// A name without port and final dot, in lower case.
fn bare(host: &str) -> String {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Refuses requests that use another name.
pub(super) async fn check(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    // HTTP/2 has the name in the URI. If the request has both, both must be right.
    let named = [request.uri().authority().map(|authority| authority.as_str()), header];
    if named.iter().all(Option::is_none) {
        return Problem::new("bad-request", StatusCode::BAD_REQUEST, "the header Host is missing").into_response();
    }
    let stranger = named.iter().flatten().find(|host| !hosts.leads_here(host));
    if let Some(host) = stranger {
        let host = host.chars().filter(char::is_ascii_graphic).take(100).collect::<String>();
        let detail = format!(
            "this gateway does not know the name {host}: its operator names it with \"--host-name\" or \"--public-url\""
        );
        return Problem::new("host", StatusCode::MISDIRECTED_REQUEST, detail).into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_here_are_numbers_localhost_the_certificates_and_what_the_operator_names() {
        let hosts = Hosts::new(&["nas".to_owned()], Some("https://Backup.example:8443/copal"));
        hosts.certified(vec!["gate.example".to_owned(), "*.Wild.example".to_owned()]);
        let known = ["127.0.0.1", "127.0.0.1:8321", "[::1]", "[fd00::7]:8321", "localhost:8321", "LOCALHOST", "nas:1"];
        let also = ["backup.example", "gate.example.:443", "one.wild.example"];
        for host in known.iter().chain(&also) {
            assert!(hosts.leads_here(host), "{host}");
        }
        for host in
            ["evil.example", "", "localhost.evil.example", "wild.example", "a.b.wild.example", "1.2.3", "nas.evil"]
        {
            assert!(!hosts.leads_here(host), "{host}");
        }
        hosts.certified(Vec::new());
        assert!(!hosts.leads_here("gate.example"));
    }
}
