//! Configuration: the bucket, its server, and time limits.

use std::fmt;
use std::time::Duration;

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{RequestChecksumCalculation, ResponseChecksumValidation};
use aws_sdk_s3::types::{ServerSideEncryption, StorageClass};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

use super::BadConfig;
use super::retention::Retention;
use crate::clock::Clock;
use crate::key;
use crate::limit::Rates;

/// The bucket, its server, and time limits.
#[derive(Clone, Debug)]
pub struct S3Config {
    /// The bucket's name.
    pub bucket: String,
    /// The prefix of all object names, without a final slash; empty for the whole bucket.
    pub prefix: String,
    /// The server's address, if not Amazon's; `None` uses `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile.
    pub endpoint: Option<String>,
    /// The bucket's region; `None` uses the environment, the profile or the machine's metadata.
    pub region: Option<String>,
    /// Whether the bucket's name is in the path instead of the host name; `None`: true with an own endpoint.
    pub path_style: Option<bool>,
    /// Access keys; `None` uses the SDK's chain: environment, profile, web identity, container, machine.
    pub credentials: Option<Credentials>,
    /// The storage class of new objects: the first whose key prefix matches, else the bucket's default.
    pub storage_classes: Vec<(String, String)>,
    /// The KMS key that Amazon encrypts new objects with, in addition to Copal's encryption.
    pub kms_key: Option<String>,
    /// The object lock of new packs and manifests; the bucket must have Object Lock.
    pub lock: Option<Retention>,
    /// Whether reading a pack or manifest renews its lock once less than half of the time is left.
    pub renews_locks: bool,
    /// The time limit for connecting, for the answer to a small request, and for the next piece of a body.
    pub patience: Duration,
    /// Rate limits within one object, in bytes per second.
    pub rates: Rates,
}

impl S3Config {
    /// A bucket with settings from the environment.
    pub fn new(bucket: impl Into<String>, prefix: impl Into<String>) -> S3Config {
        S3Config {
            bucket: bucket.into(),
            prefix: prefix.into(),
            endpoint: None,
            region: None,
            path_style: None,
            credentials: None,
            storage_classes: Vec::new(),
            kms_key: None,
            lock: None,
            renews_locks: false,
            patience: Duration::from_secs(60),
            rates: Rates::default(),
        }
    }

    /// Checks what needs no request.
    pub(super) fn check(&self) -> Result<(), BadConfig> {
        let named = |character: char| character.is_ascii_alphanumeric() || ".-_:/".contains(character);
        if self.bucket.is_empty() || !self.bucket.chars().all(named) {
            return Err(BadConfig::Bucket { bucket: self.bucket.clone() });
        }
        // Directory buckets list in no order, and every job needs ordered listings.
        if self.bucket.ends_with("--x-s3") {
            return Err(BadConfig::Directory { bucket: self.bucket.clone() });
        }
        // Keys have at most 512 bytes, names in S3 1,024.
        if !self.prefix.is_empty() && (!self.prefix.split('/').all(key::is_segment) || self.prefix.len() > 511) {
            return Err(BadConfig::Prefix { prefix: self.prefix.clone() });
        }
        Ok(())
    }

    /// The storage class for a new object.
    pub(super) fn storage_class(&self, key: &str) -> Option<StorageClass> {
        let found = self.storage_classes.iter().find(|(start, _)| key.starts_with(start.as_str()));
        found.map(|(_, class)| StorageClass::from(class.as_str()))
    }

    /// The lock for a new object.
    pub(super) fn retention(&self, key: &str) -> Option<Retention> {
        self.lock.filter(|_| Retention::is_of(key))
    }

    pub(super) fn encryption(&self) -> Option<ServerSideEncryption> {
        self.kms_key.as_ref().map(|_| ServerSideEncryption::AwsKms)
    }

    /// Makes the client. Sends no request, except to the machine's metadata service if nothing else names the region.
    pub(super) async fn connect(&self, clock: Clock) -> Connection {
        let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = self.endpoint.clone().or_else(|| variable("AWS_ENDPOINT_URL_S3"));
        let endpoint = endpoint.or_else(|| variable("AWS_ENDPOINT_URL"));
        let timeouts = TimeoutConfig::builder().connect_timeout(self.patience.min(CONNECTING)).build();
        // `retry` repeats failed requests for every kind of store. That is safe, because nothing is ever replaced.
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            .timeout_config(timeouts)
            .retry_config(RetryConfig::disabled());
        if let Some(region) = &self.region {
            loader = loader.region(Region::new(region.clone()));
        } else if endpoint.is_some() {
            // Other servers mostly ignore the region, so do not ask the machine's metadata service.
            let chain = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
                .or_else(ProfileFileRegionProvider::new())
                .or_else(Region::from_static(REGION));
            loader = loader.region(chain);
        }
        if let Some(credentials) = &self.credentials {
            loader = loader.credentials_provider(credentials.clone());
        }
        let shared = loader.load().await;
        let endpoint = endpoint.or_else(|| shared.endpoint_url().map(str::to_owned));
        let path_style = self.path_style.unwrap_or(endpoint.is_some());
        let region = shared.region().map_or(REGION, Region::as_ref).to_owned();
        let mut config = aws_sdk_s3::config::Builder::from(&shared)
            .force_path_style(path_style)
            // Every PUT has its SHA-256 already; a second checksum is not needed.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            // Callers must see damage at rest; here it would look like a transient error.
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .interceptor(clock);
        if shared.region().is_none() {
            config = config.region(Region::from_static(REGION));
        }
        if let Some(endpoint) = &endpoint {
            config = config.endpoint_url(endpoint);
        }
        let credentials = shared.credentials_provider();
        Connection { client: Client::from_conf(config.build()), credentials, region, endpoint, path_style }
    }
}

/// A client, and what is needed to presign without it.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) credentials: Option<SharedCredentialsProvider>,
    pub(super) region: String,
    pub(super) endpoint: Option<String>,
    pub(super) path_style: bool,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut connection = f.debug_struct("Connection");
        connection.field("region", &self.region).field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// The default region.
const REGION: &str = "us-east-1";
const CONNECTING: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        for prefix in ["/a", "a/", "a//b", "..", "a/../b", "a b", "ä"] {
            assert!(matches!(S3Config::new("b", prefix).check(), Err(BadConfig::Prefix { .. })), "{prefix}");
        }
        for bucket in ["", "a b", "a?b", "a#b", "a%2fb"] {
            assert!(matches!(S3Config::new(bucket, "").check(), Err(BadConfig::Bucket { .. })), "{bucket}");
        }
        assert_eq!(S3Config::new("bucket-1.x", "a/b-c").check(), Ok(()));
    }

    #[test]
    fn buckets_whose_listings_have_no_order_are_refused() {
        let result = S3Config::new("fast--use1-az4--x-s3", "").check();
        assert!(matches!(result, Err(BadConfig::Directory { .. })));
    }

    #[test]
    fn the_storage_class_follows_from_the_start_of_the_key() {
        let mut config = S3Config::new("b", "p");
        config.storage_classes = vec![("packs/".into(), "STANDARD_IA".into())];
        assert_eq!(config.storage_class("packs/ab/1"), Some(StorageClass::StandardIa));
        assert_eq!(config.storage_class("roots/1"), None);
    }

    #[test]
    fn access_keys_are_not_shown() {
        let mut config = S3Config::new("b", "");
        config.credentials = Some(Credentials::new("name", "the-secret", None, None, "test"));
        assert!(!format!("{config:?}").contains("the-secret"));
    }
}
