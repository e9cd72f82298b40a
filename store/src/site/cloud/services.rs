//! The services, and where each finds its credentials: the variables of its own tools, never the address.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderValue;
use opendal::services::{Azblob, Gcs, Webdav};
use opendal::{Builder, HttpTransporter, OperationContext, Operator};

use super::transport::{Root, Shared, Transport};
use super::tree::Tree;
use super::{Bucket, CloudStore};
use crate::clock::Clock;
use crate::key;
use crate::site::{BadSite, Site, Variables};
use crate::worker::Worker;

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
    open(format!("azblob://{rest}"), service.container(container).root(prefix))
}

/// Credentials: `GOOGLE_APPLICATION_CREDENTIALS`, else those of `gcloud auth`, else the machine's. `STORAGE_EMULATOR_HOST`
/// names a server that asks for none.
pub(in crate::site) fn open_gcs(rest: &str, variables: &Variables<'_>) -> Result<Arc<dyn Site>, BadSite> {
    let (bucket, prefix) = parts(rest);
    let mut service = Gcs::default().bucket(bucket).root(prefix);
    if let Some(host) = variables("STORAGE_EMULATOR_HOST").filter(|host| !host.is_empty()) {
        let endpoint = if host.contains("://") { host } else { format!("http://{host}") };
        service = service.endpoint(&endpoint).skip_signature();
    }
    open(format!("gcs://{rest}"), service)
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
    let mut service = Webdav::default().endpoint(&endpoint).root(path);
    let mut authorization = None;
    if let (Some(user), Some(password)) = (variables("COPAL_WEBDAV_USER"), variables("COPAL_WEBDAV_PASSWORD")) {
        let basic = format!("Basic {}", BASE64.encode(format!("{user}:{password}")));
        let value = HeaderValue::from_str(&basic).map_err(|_| BadSite::Setting("COPAL_WEBDAV_USER is no name"))?;
        authorization = Some(value);
        service = service.username(&user).password(&password);
    }
    let (worker, clock) = (Worker::new()?, Clock::default());
    let transport = Arc::new(Transport::new(clock.clone())?);
    let root = Root { transport: transport.clone(), url: format!("{endpoint}/{path}/"), authorization };
    assembled(format!("webdav://{rest}"), service, worker, clock, transport, Some(Tree(root)))
}

fn is_this_machine(host: &str) -> bool {
    let name = host.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let name = name.unwrap_or_else(|| host.split(':').next().unwrap_or_default());
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn open(name: String, service: impl Builder) -> Result<Arc<dyn Site>, BadSite> {
    let (worker, clock) = (Worker::new()?, Clock::default());
    let transport = Arc::new(Transport::new(clock.clone())?);
    assembled(name, service, worker, clock, transport, None)
}

fn assembled(
    name: String,
    service: impl Builder,
    worker: Worker,
    clock: Clock,
    transport: Arc<Transport>,
    tree: Option<Tree>,
) -> Result<Arc<dyn Site>, BadSite> {
    let operator = Operator::new(service).map_err(|error| BadSite::Service(error.message().to_owned()))?;
    let context = OperationContext::new().with_http_transport(HttpTransporter::new(Shared(transport)));
    let operator = operator.with_context(context);
    let bucket = Bucket { name, operator, clock, listings: Default::default(), tree };
    Ok(Arc::new(CloudStore { bucket: Arc::new(bucket), worker }))
}

fn parts(rest: &str) -> (&str, &str) {
    rest.split_once('/').unwrap_or((rest, ""))
}
