//! Presigned requests: one operation on one object, for a client without credentials.
//!
//! The SDK's presigner moves the checksum from the headers to the query, where servers check its signature but not the
//! bytes. So the signature is made here, over headers that the client must send unchanged.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_sdk_s3::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use aws_sigv4::http_request::{
    PercentEncodingMode, SignableBody, SignableRequest, SignatureLocation, SigningSettings, UriPathNormalizationMode,
    sign,
};
use aws_sigv4::sign::v4::SigningParams;
use base64::Engine;
use http::Uri;

use super::bucket::Bucket;
use super::trouble::Trouble;
use super::{BASE64, S3Store};
use crate::error::Causes;
use crate::{Cause, Key, Op, Presigned, StoreError};

impl S3Store {
    /// A request to create one object with exactly these bytes, if the name is free.
    pub async fn presign_put(
        &self,
        key: &Key,
        length: u64,
        sha256: [u8; 32],
        expires: Duration,
    ) -> Result<Presigned, StoreError> {
        let own = key.clone();
        self.worker
            .call(&self.bucket, (Op::Create, key.as_str()), move |bucket| async move {
                let mut headers = vec![
                    ("content-length", length.to_string()),
                    ("if-none-match", "*".to_owned()),
                    ("x-amz-checksum-sha256", BASE64.encode(sha256)),
                ];
                if let Some(class) = bucket.config.storage_class(own.as_str()) {
                    headers.push(("x-amz-storage-class", class.as_str().to_owned()));
                }
                if let Some(kms_key) = &bucket.config.kms_key {
                    headers.push(("x-amz-server-side-encryption", "aws:kms".to_owned()));
                    headers.push(("x-amz-server-side-encryption-aws-kms-key-id", kms_key.clone()));
                }
                let now = SystemTime::now();
                if let Some(retention) = bucket.config.retention(own.as_str()) {
                    headers.extend(retention.headers(now));
                }
                bucket.presign(Op::Create, "PUT", &own, headers, expires, now).await
            })
            .await
    }

    /// A request to read one object, or any range of it.
    pub async fn presign_get(&self, key: &Key, expires: Duration) -> Result<Presigned, StoreError> {
        let own = key.clone();
        self.worker
            .call(&self.bucket, (Op::Read, key.as_str()), move |bucket| async move {
                bucket.presign(Op::Read, "GET", &own, Vec::new(), expires, SystemTime::now()).await
            })
            .await
    }
}

impl Bucket {
    async fn presign(
        &self,
        op: Op,
        method: &'static str,
        key: &Key,
        headers: Vec<(&'static str, String)>,
        expires: Duration,
        now: SystemTime,
    ) -> Result<Presigned, StoreError> {
        let odd = |what| Trouble::Unsignable(what).lasting(op, key.as_str());
        if expires.as_secs() == 0 || expires > LONGEST {
            return Err(odd("it would be valid for less than a second or more than a week"));
        }
        let (url, host) = self.address(key).await.map_err(|_| odd("the server has no address"))?;
        let identity = self.credentials(op, key).await?.into();
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(Duration::from_secs(expires.as_secs()));
        // S3 encodes names once and does not normalise them.
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.connection.region)
            .name("s3")
            .time(now)
            .settings(settings)
            .build()
            .map_err(|_| odd("the request is not complete"))?
            .into();
        let signed = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let signed = std::iter::once(("host", host.as_str())).chain(signed);
        let request = SignableRequest::new(method, url.as_str(), signed, SignableBody::UnsignedPayload);
        let request = request.map_err(|_| odd("a header cannot be sent"))?;
        let signature = sign(request, &params).map_err(|_| odd("the address cannot be sent"))?;
        let (instructions, _) = signature.into_parts();
        let mut url = url;
        for (name, value) in instructions.params() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(name);
            url.push('=');
            url.push_str(&encoded(value));
        }
        Ok(Presigned { method, url, headers })
    }

    /// The URL of an object, and the host of its server.
    async fn address(&self, key: &Key) -> Result<(String, String), Cause> {
        let connection = &self.connection;
        let params = Params::builder()
            .bucket(&self.config.bucket)
            .region(&connection.region)
            .set_endpoint(connection.endpoint.clone())
            .force_path_style(connection.path_style)
            .build()?;
        let endpoint = DefaultResolver::new().resolve_endpoint(&params).await?;
        let url = format!("{}/{}", endpoint.url().trim_end_matches('/'), self.name(key));
        let address: Uri = url.parse()?;
        let host = address.authority().ok_or("no host")?;
        // Clients do not send a scheme's default port.
        let usual = if address.scheme_str() == Some("http") { 80 } else { 443 };
        let host = match host.port_u16() {
            Some(port) if port != usual => format!("{}:{port}", host.host()),
            _ => host.host().to_owned(),
        };
        Ok((url, host))
    }

    /// The credentials for signing; loaded again shortly before they expire.
    async fn credentials(&self, op: Op, key: &Key) -> Result<Credentials, StoreError> {
        let denied = |why: String| StoreError::Denied {
            op,
            key: key.as_str().to_owned(),
            source: Trouble::Credentials(why).into(),
        };
        let mut kept = self.signing.lock().await;
        let stays = |credentials: &Credentials| {
            credentials.expiry().is_none_or(|expiry| expiry > SystemTime::now() + RENEWED_BEFORE)
        };
        if let Some(credentials) = kept.as_ref().filter(|credentials| stays(credentials)) {
            return Ok(credentials.clone());
        }
        let provider = self.connection.credentials.as_ref().ok_or_else(|| denied("none are configured".to_owned()))?;
        let found = provider.provide_credentials().await.map_err(|error| denied(error.to_string()))?;
        Ok(kept.insert(found).clone())
    }
}

/// Encodes a value for a query.
fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The limit of the protocol.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
const RENEWED_BEFORE: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use futures::executor::block_on;

    use super::*;
    use crate::s3::S3Config;

    fn store(endpoint: Option<&str>) -> S3Store {
        block_on(S3Store::open(config(endpoint))).expect("a bucket")
    }

    fn config(endpoint: Option<&str>) -> S3Config {
        let mut config = S3Config::new("bucket", "a/b");
        config.endpoint = endpoint.map(str::to_owned);
        config.region = Some("eu-west-1".to_owned());
        config.credentials = Some(Credentials::new("name", "the-secret", Some("token/+".to_owned()), None, "test"));
        config
    }

    fn key() -> Key {
        Key::new("packs/ab/cd").expect("a key")
    }

    fn presign(store: &S3Store) -> Presigned {
        block_on(store.presign_put(&key(), 5, [7; 32], Duration::from_secs(60))).expect("signed")
    }

    #[test]
    fn the_signature_covers_host_length_checksum_and_create_only() {
        let presigned = presign(&store(None));
        let signed = "X-Amz-SignedHeaders=content-length%3Bhost%3Bif-none-match%3Bx-amz-checksum-sha256";
        assert!(presigned.url.contains(signed), "{}", presigned.url);
        assert!(!presigned.url.to_lowercase().contains("checksum-sha256="), "nothing is moved into the query");
        let names: Vec<&str> = presigned.headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["content-length", "if-none-match", "x-amz-checksum-sha256"]);
    }

    #[test]
    fn the_signature_covers_the_lock_of_packs_and_manifests() {
        let mut config = config(None);
        config.lock = Some("GOVERNANCE:30".parse().expect("a retention"));
        let store = block_on(S3Store::open(config)).expect("a bucket");
        let locked = presign(&store);
        let names: Vec<&str> = locked.headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names[3..], ["x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date"]);
        assert!(locked.url.contains("x-amz-object-lock-mode%3Bx-amz-object-lock-retain-until-date"), "{}", locked.url);
        let change = Key::new("changes/1").expect("a key");
        let free = block_on(store.presign_put(&change, 5, [7; 32], Duration::from_secs(60))).expect("signed");
        assert_eq!(free.headers.len(), 3, "{:?}", free.headers);
    }

    #[test]
    fn the_signature_covers_the_kms_key() {
        let mut config = config(None);
        config.kms_key = Some("alias/copal".to_owned());
        let sealed = presign(&block_on(S3Store::open(config)).expect("a bucket"));
        let headers: Vec<(&str, &str)> = sealed.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let wanted = [
            ("x-amz-server-side-encryption", "aws:kms"),
            ("x-amz-server-side-encryption-aws-kms-key-id", "alias/copal"),
        ];
        assert_eq!(headers[3..], wanted);
        let signed = "%3Bx-amz-server-side-encryption%3Bx-amz-server-side-encryption-aws-kms-key-id";
        assert!(sealed.url.contains(signed), "{}", sealed.url);
    }

    #[test]
    fn objects_are_addressed_as_the_server_wants() {
        let url = |endpoint| presign(&store(endpoint)).url;
        assert!(url(None).starts_with("https://bucket.s3.eu-west-1.amazonaws.com/a/b/packs/ab/cd?"));
        assert!(url(Some("http://127.0.0.1:9000")).starts_with("http://127.0.0.1:9000/bucket/a/b/packs/ab/cd?"));
    }

    #[test]
    fn neither_the_secret_nor_the_signature_is_shown() {
        let presigned = presign(&store(None));
        assert!(!presigned.url.contains("the-secret"));
        assert!(!format!("{presigned:?}").contains("Signature"), "{presigned:?}");
    }

    #[test]
    fn nothing_is_signed_for_longer_than_a_week() {
        let store = store(None);
        for expires in [Duration::ZERO, Duration::from_secs(8 * 24 * 3600)] {
            assert!(block_on(store.presign_get(&key(), expires)).is_err());
        }
    }

    #[test]
    fn the_same_request_at_the_same_time_has_the_same_signature() {
        let store = store(None);
        let at = |seconds| {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            let bucket = store.bucket.clone();
            let signing =
                async move { bucket.presign(Op::Read, "GET", &key(), Vec::new(), Duration::from_secs(9), time).await };
            block_on(signing).expect("signed").url
        };
        assert_eq!(at(1_700_000_000), at(1_700_000_000));
        assert_ne!(at(1_700_000_000), at(1_700_000_001));
    }
}
