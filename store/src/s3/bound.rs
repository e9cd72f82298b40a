//! Bound: whether a server enforces the signed headers of a presigned request.
//!
//! A presigned request binds the headers that its signature covers. Amazon S3 rejects any other header that begins with
//! `x-amz-`. MinIO heeds it: with an added `x-amz-copy-source`, a PUT becomes a copy of any other object that the
//! signer may read, over any name that it may create, whatever the body and `If-None-Match` say.

use std::sync::Arc;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextMut;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use bytes::Bytes;

use super::S3Store;
use super::bucket::Bucket;
use super::probe::sum;
use crate::probe::new_key;
use crate::{Created, Key, Op, StoreError};

impl S3Store {
    /// Whether the server rejects a signed PUT after a copy-source header was added. Amazon's servers are known to and
    /// are not asked. Elsewhere this writes two small objects below `tmp/` and deletes them if permitted. Fails with
    /// [`StoreError::Denied`] without the right to write there.
    pub async fn binds_requests(&self) -> Result<bool, StoreError> {
        self.worker.call(&self.bucket, (Op::Create, PLACE), |bucket| async move { bucket.binds_requests().await }).await
    }
}

impl Bucket {
    async fn binds_requests(self: Arc<Self>) -> Result<bool, StoreError> {
        if self.connection.endpoint.as_deref().is_none_or(is_amazons) {
            return Ok(true);
        }
        let mut made = Vec::new();
        let found = self.try_to_copy(&mut made).await;
        for key in &made {
            // Without the right to delete they stay; nothing reads them.
            let _ = self.delete(key).await;
        }
        found
    }

    async fn try_to_copy(&self, made: &mut Vec<Key>) -> Result<bool, StoreError> {
        let (source, target) = (new_key()?, new_key()?);
        made.extend([source.clone(), target.clone()]);
        let other = Bytes::from_static(b"another object");
        let sum_of_other = sum(&other);
        if self.create(&source, other.clone(), sum_of_other).await? == Created::Exists
            || self.read(&source).await? != other
        {
            return Err(StoreError::Unfit { lack: "an object of a random name is not what was created" });
        }
        let request = self.connection.client.put_object();
        let request = request
            .bucket(&self.config.bucket)
            .key(self.name(&target))
            .if_none_match("*")
            .checksum_sha256(sum(SENT))
            .content_length(SENT.len() as i64)
            .set_storage_class(self.config.storage_class(target.as_str()))
            .set_server_side_encryption(self.config.encryption())
            .set_ssekms_key_id(self.config.kms_key.clone())
            .body(SdkBody::from(SENT).into())
            .customize()
            .disable_payload_signing()
            .interceptor(Unsigned(format!("/{}/{}", self.config.bucket, self.name(&source))));
        match self.answer(Op::Create, target.as_str(), self.config.patience, request.send()).await? {
            // The server may have ignored the header.
            Ok(_) => Ok(self.read(&target).await? == SENT),
            Err(failed) => match failed.status {
                // The request differs from the creation of the source only in the header.
                Some(403) => Ok(true),
                // The server accepted the header and failed for another reason; a better request may succeed.
                Some(400..500) => Ok(false),
                _ => Err(self.explain(failed, Op::Create, target.as_str())),
            },
        }
    }
}

/// Whether an endpoint is one of Amazon's, private endpoints included.
fn is_amazons(endpoint: &str) -> bool {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    [".amazonaws.com", ".amazonaws.com.cn"].iter().any(|end| host.ends_with(end))
}

/// Adds the copy source after the request was signed.
#[derive(Debug)]
struct Unsigned(String);

impl Intercept for Unsigned {
    fn name(&self) -> &'static str {
        "a header that is not signed"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        context.request_mut().headers_mut().insert("x-amz-copy-source", self.0.clone());
        Ok(())
    }
}

const PLACE: &str = "tmp/probe-";
const SENT: &[u8] = b"what is sent";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_amazons_own_hosts_are_not_asked() {
        for own in [
            "https://s3.eu-central-1.amazonaws.com",
            "https://vpce-1.s3.us-east-1.vpce.amazonaws.com:443/",
            "https://s3.cn-north-1.amazonaws.com.cn",
        ] {
            assert!(is_amazons(own), "{own}");
        }
        for other in [
            "http://127.0.0.1:9000",
            "https://minio.example/s3.amazonaws.com",
            "https://amazonaws.com.example",
            "https://notamazonaws.com",
        ] {
            assert!(!is_amazons(other), "{other}");
        }
    }
}
