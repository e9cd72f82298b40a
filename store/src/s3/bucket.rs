//! The bucket: one request of each kind, except reading and listing.

use std::error::Error;
use std::future::Future;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{ChecksumMode, ChecksumType, Delete, ObjectIdentifier};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::body::SdkBody;
use base64::Engine;
use bytes::Bytes;
use tokio::sync::Mutex;

use super::BASE64;
use super::config::{Connection, S3Config};
use super::paced::Paced;
use super::retention::Retention;
use super::trouble::{Failed, Trouble};
use crate::clock::{Clock, Reading};
use crate::error::Causes;
use crate::limit::lasts;
use crate::under_way::UnderWay;
use crate::{Created, Key, Op, Stat, StoreError, StoreTime};

/// A bucket and the connection to it.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) config: S3Config,
    pub(super) connection: Connection,
    pub(super) clock: Clock,
    /// The server's continuation tokens.
    pub(super) tokens: UnderWay<String>,
    /// The credentials for presigned requests, once loaded.
    pub(super) signing: Mutex<Option<Credentials>>,
}

impl Bucket {
    pub(super) async fn create(&self, key: &Key, bytes: Bytes, sum: String) -> Result<Created, StoreError> {
        let length = bytes.len() as u64;
        let (body, pace) = match self.config.rates.upload {
            Some(rate) => (SdkBody::from_body_1_x(Paced::new(bytes, rate)), lasts(length, rate)),
            None => (SdkBody::from(bytes), Duration::ZERO),
        };
        let retention = self.config.retention(key.as_str());
        let request = self.connection.client.put_object();
        let request = request
            .bucket(&self.config.bucket)
            .key(self.name(key))
            .if_none_match("*")
            .checksum_sha256(sum)
            .content_length(length.cast_signed())
            .set_storage_class(self.config.storage_class(key.as_str()))
            .set_server_side_encryption(self.config.encryption())
            .set_ssekms_key_id(self.config.kms_key.clone())
            .set_object_lock_mode(retention.map(Retention::mode))
            .set_object_lock_retain_until_date(retention.map(|retention| retention.until(SystemTime::now())))
            .body(body.into())
            .customize()
            // The signed checksum binds the body already; a signed payload hash would add nothing.
            .disable_payload_signing();
        let time = self.config.patience + Duration::from_secs(length / SLOWEST) + pace;
        match self.answer(Op::Create, key.as_str(), time, request.send()).await? {
            Ok(_) => Ok(Created::New),
            Err(failed) if failed.status == Some(412) => Ok(Created::Exists),
            Err(failed) => Err(self.explain(failed, Op::Create, key.as_str())),
        }
    }

    pub(super) async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        for _ in 0..2 {
            let request = self.connection.client.head_object();
            let request = request.bucket(&self.config.bucket).key(self.name(key)).checksum_mode(ChecksumMode::Enabled);
            match self.answer(Op::Stat, key.as_str(), self.config.patience, request.send()).await? {
                Ok(found) => return self.stat_of(key, &found).map(Some),
                // An answer to HEAD does not say whether the object or the bucket is missing; an answer to GET does.
                Err(failed) if failed.status == Some(404) => {
                    if !self.exists(key).await? {
                        return Ok(None);
                    }
                }
                Err(failed) => return Err(self.explain(failed, Op::Stat, key.as_str())),
            }
        }
        Err(Trouble::Answer("an object that can be read has no head").passing(Op::Stat, key.as_str()))
    }

    fn stat_of(&self, key: &Key, found: &HeadObjectOutput) -> Result<Stat, StoreError> {
        let odd = |what| Trouble::Answer(what).lasting(Op::Stat, key.as_str());
        let length = found.content_length().and_then(|length| u64::try_from(length).ok());
        let created = found.last_modified().ok_or_else(|| odd("an object without a time"))?;
        // The checksum of a multipart upload is one of checksums, not the SHA-256 of the bytes.
        let is_whole = found.checksum_type().is_none_or(|kind| *kind == ChecksumType::FullObject);
        let sum = found.checksum_sha256().filter(|_| is_whole).and_then(|text| BASE64.decode(text).ok());
        Ok(Stat {
            length: length.ok_or_else(|| odd("an object without a length"))?,
            created: self.clock.object_time(created.secs()),
            sha256: sum.and_then(|sum| sum.try_into().ok()),
        })
    }

    pub(super) async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let request = self.connection.client.delete_object().bucket(&self.config.bucket).key(self.name(key));
        match self.answer(Op::Delete, key.as_str(), self.config.patience, request.send()).await? {
            Ok(_) => Ok(()),
            Err(failed) if failed.code.as_deref() == Some("NoSuchKey") => Ok(()),
            Err(failed) => Err(self.explain(failed, Op::Delete, key.as_str())),
        }
    }

    pub(super) async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        for some in keys.chunks(DELETED_AT_ONCE) {
            let first = some.first().map_or("", Key::as_str);
            let named = |key: &Key| ObjectIdentifier::builder().key(self.name(key)).build();
            let objects = some.iter().map(named).collect::<Result<Vec<_>, _>>();
            let names = objects.and_then(|objects| Delete::builder().set_objects(Some(objects)).quiet(true).build());
            let names = names.map_err(|_| Trouble::Answer("names cannot be told").lasting(Op::Delete, first))?;
            let request = self.connection.client.delete_objects().bucket(&self.config.bucket).delete(names);
            let answer = self.answer(Op::Delete, first, self.config.patience, request.send()).await?;
            let answer = answer.map_err(|failed| self.explain(failed, Op::Delete, first))?;
            let left = answer.errors().iter().find(|error| error.code() != Some("NoSuchKey"));
            if let Some(left) = left {
                let key = left.key().and_then(|name| self.key(name));
                let key = key.as_ref().map_or(first, Key::as_str);
                let failed = Failed::of_one(left.code(), left.message());
                return Err(self.explain(failed, Op::Delete, key));
            }
        }
        Ok(())
    }

    pub(super) async fn create_bucket(&self) -> Result<(), StoreError> {
        let request = self.connection.client.create_bucket().bucket(&self.config.bucket);
        match self.answer(Op::Create, "", self.config.patience, request.send()).await? {
            Ok(_) => Ok(()),
            Err(failed) if failed.code.as_deref() == Some("BucketAlreadyOwnedByYou") => Ok(()),
            Err(failed) => Err(self.explain(failed, Op::Create, "")),
        }
    }

    /// Requests only the date, until the answers agree on it.
    pub(super) async fn now(&self) -> Result<StoreTime, StoreError> {
        for _ in 0..DATES {
            let request = self.connection.client.head_bucket().bucket(&self.config.bucket);
            match self.answer(Op::Now, "", self.config.patience, request.send()).await? {
                Ok(_) => {}
                Err(failed) if failed.status == Some(404) => {
                    return Err(self.explain(Failed::no_bucket(), Op::Now, ""));
                }
                Err(failed) => return Err(self.explain(failed, Op::Now, "")),
            }
            match self.clock.read() {
                Reading::Time(time) => return Ok(time),
                Reading::Doubtful => {}
                Reading::None => return Err(Trouble::Answer("it has no date").lasting(Op::Now, "")),
            }
        }
        Err(Trouble::Answer("its dates contradict each other").passing(Op::Now, ""))
    }

    /// Waits for an answer, up to `time`.
    pub(super) async fn answer<T, E>(
        &self,
        op: Op,
        key: &str,
        time: Duration,
        call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Result<Result<T, Failed>, StoreError>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match tokio::time::timeout(time, call).await {
            Ok(answer) => Ok(answer.map_err(Failed::of)),
            Err(_) => Err(Trouble::Silence(time.as_secs()).passing(op, key)),
        }
    }

    pub(super) fn explain(&self, failed: Failed, op: Op, key: &str) -> StoreError {
        failed.explain(op, key, &self.config.bucket)
    }

    /// The object's name in the bucket.
    pub(super) fn name(&self, key: &Key) -> String {
        self.full(key.as_str())
    }

    /// The name in the bucket for a key, or for the start of one.
    pub(super) fn full(&self, name: &str) -> String {
        if self.config.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.config.prefix) }
    }

    /// The key of a name in the bucket; `None` if it is not one of this repository's.
    pub(super) fn key(&self, name: &str) -> Option<Key> {
        let rest = name.strip_prefix(&self.full(""))?;
        Key::new(rest).ok()
    }
}

/// Bytes per second below which an upload counts as stuck.
const SLOWEST: u64 = 16 << 10;
/// How often to ask for the date before it counts as unknown.
const DATES: u32 = 10;
/// The limit of the protocol.
const DELETED_AT_ONCE: usize = 1_000;
