//! The services, and where each finds its credentials: the variables of its own tools, never the address.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderValue;
use opendal::services::{Azblob, Gcs, Webdav};
use opendal::{Builder, HttpTransporter, OperationContext, Operator};

use super::Bucket;
use super::transport::{Shared, Transport};
use super::tree::Tree;
use crate::clock::Clock;
use crate::key;
use crate::site::hosted::Hosted;
use crate::site::{BadSite, Site, Variables};
use crate::under_way::UnderWay;

/// Whether `BUCKET[/PREFIX]` is complete.
pub(in crate::site) fn is_complete(rest: &str) -> bool {
    let (bucket, prefix) = parts(rest);
    key::is_segment(bucket) && (prefix.is_empty() || prefix.split('/').all(key::is_segment))
}

/// Credentials: `AZURE_STORAGE_CONNECTION_STRING`; or `AZURE_STORAGE_ACCOUNT` with `AZURE_STORAGE_KEY` or
/// `AZURE_STORAGE_SAS_TOKEN`; else the machine's identity.
pub(in crate::site) fn open_azblob(rest: &str, variables: &Variables<'_>) -> Result<Arc<dyn Site>, BadSite> {
    let (container, prefix) = parts(rest);
    let variable = |name| variables(name).filter(|value| !value.is_empty());
    let mut service = match (variable("AZURE_STORAGE_CONNECTION_STRING"), variable("AZURE_STORAGE_ACCOUNT")) {
        (Some(text), _) => Azblob::from_connection_string(&text)
            .map_err(|_| BadSite::Setting("AZURE_STORAGE_CONNECTION_STRING is no connection string"))?,
        (None, Some(account)) => {
            Azblob::default().endpoint(&format!("https://{account}.blob.core.windows.net")).account_name(&account)
        }
        (None, None) => {
            return Err(BadSite::Setting("set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT and its key"));
        }
    };
    if let Some(account_key) = variable("AZURE_STORAGE_KEY") {
        service = service.account_key(&account_key);
    }
    if let Some(token) = variable("AZURE_STORAGE_SAS_TOKEN") {
        service = service.sas_token(token.trim_start_matches('?'));
    }
    open(format!("azblob://{rest}"), prefix, service.container(container), |_| None)
}

/// Credentials: `GOOGLE_APPLICATION_CREDENTIALS`, else those of `gcloud auth`, else the machine's. `STORAGE_EMULATOR_HOST`
/// names a server that asks for none.
pub(in crate::site) fn open_gcs(rest: &str, variables: &Variables<'_>) -> Result<Arc<dyn Site>, BadSite> {
    let (bucket, prefix) = parts(rest);
    let mut service = Gcs::default().bucket(bucket);
    if let Some(host) = variables("STORAGE_EMULATOR_HOST").filter(|host| !host.is_empty()) {
        let endpoint = if host.contains("://") { host } else { format!("http://{host}") };
        service = service.endpoint(&endpoint).skip_signature();
    }
    open(format!("gcs://{rest}"), prefix, service, |_| None)
}

/// Whether `HOST[:PORT]/PATH` is complete.
pub(in crate::site) fn is_folder(rest: &str) -> bool {
    let (host, path) = parts(rest);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    !host.is_empty() && host.bytes().all(is_host) && path.split('/').all(key::is_segment)
}

/// Credentials: `COPAL_WEBDAV_USER` and `COPAL_WEBDAV_PASSWORD`. TLS, except on this machine.
pub(in crate::site) fn open_webdav(rest: &str, variables: &Variables<'_>) -> Result<Arc<dyn Site>, BadSite> {
    let (host, path) = parts(rest);
    let scheme = if is_this_machine(host) { "http" } else { "https" };
    let endpoint = format!("{scheme}://{host}");
    let mut service = Webdav::default().endpoint(&endpoint);
    let mut authorization = None;
    if let (Some(user), Some(password)) = (variables("COPAL_WEBDAV_USER"), variables("COPAL_WEBDAV_PASSWORD")) {
        let basic = format!("Basic {}", BASE64.encode(format!("{user}:{password}")));
        let value = HeaderValue::from_str(&basic).map_err(|_| BadSite::Setting("COPAL_WEBDAV_USER is no name"))?;
        authorization = Some(value);
        service = service.username(&user).password(&password);
    }
    let url = format!("{endpoint}/{path}/");
    open(format!("webdav://{rest}"), path, service, |transport| Some(Tree::new(transport, url, authorization)))
}

fn is_this_machine(host: &str) -> bool {
    let name = host.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let name = name.unwrap_or_else(|| host.split(':').next().unwrap_or_default());
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn open(
    name: String,
    folder: &str,
    service: impl Builder,
    tree: impl FnOnce(Arc<Transport>) -> Option<Tree>,
) -> Result<Arc<dyn Site>, BadSite> {
    let clock = Clock::default();
    let transport = Arc::new(Transport::new(clock.clone())?);
    let operator = Operator::new(service).map_err(|error| BadSite::Service(error.message().to_owned()))?;
    let context = OperationContext::new().with_http_transport(HttpTransporter::new(Shared(transport.clone())));
    let operator = operator.with_context(context);
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let listings = UnderWay::new(LISTINGS_MAX);
    let bucket = Bucket { name, operator, folder, clock, listings, tree: tree(transport) };
    Ok(Arc::new(Hosted::new(bucket)?))
}

/// Listings that are kept.
const LISTINGS_MAX: usize = 16;

fn parts(rest: &str) -> (&str, &str) {
    rest.split_once('/').unwrap_or((rest, ""))
}
