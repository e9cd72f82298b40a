//! The services, and where each finds its credentials: the variables of its own tools, never the address.

use std::sync::Arc;

use opendal::services::{Azblob, Gcs};
use opendal::{Builder, HttpTransporter, OperationContext, Operator};

use super::transport::Transport;
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

fn open(name: String, service: impl Builder) -> Result<Arc<dyn Site>, BadSite> {
    let (worker, clock) = (Worker::new()?, Clock::default());
    let transport = HttpTransporter::new(Transport::new(clock.clone())?);
    let operator = Operator::new(service).map_err(|error| BadSite::Service(error.message().to_owned()))?;
    let operator = operator.with_context(OperationContext::new().with_http_transport(transport));
    let bucket = Bucket { name, operator, clock, listings: Default::default() };
    Ok(Arc::new(CloudStore { bucket: Arc::new(bucket), worker }))
}

fn parts(rest: &str) -> (&str, &str) {
    rest.split_once('/').unwrap_or((rest, ""))
}
