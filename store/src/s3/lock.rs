//! Locks: renewing the lock of an object that was read.

use std::time::SystemTime;

use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::types::{ObjectLockMode, ObjectLockRetention, ObjectLockRetentionMode};
use aws_smithy_types::DateTime;

use super::bucket::Bucket;
use crate::{Key, Op, StoreError};

/// The lock of an existing version.
struct Lock {
    mode: Option<ObjectLockMode>,
    end: Option<DateTime>,
}

impl Bucket {
    /// Renews the lock of an object that was read, if this store does that.
    pub(super) async fn renew_lock(&self, op: Op, key: &Key, found: &GetObjectOutput) -> Result<(), StoreError> {
        let retention = self.config.retention(key.as_str()).filter(|_| self.config.renews_locks);
        let Some(retention) = retention else { return Ok(()) };
        // Renew the version that was read: the name may have been hidden meanwhile.
        let version = found.version_id().map(str::to_owned);
        let end = found.object_lock_retain_until_date().copied();
        let lock = match end {
            Some(_) => Some(Lock { mode: found.object_lock_mode().cloned(), end }),
            // Some servers tell the lock only in an answer to HEAD.
            None => self.lock(op, key, version.clone()).await?,
        };
        let now = SystemTime::now();
        let Some(Lock { mode, end }) = lock else { return Ok(()) };
        let Some(until) = retention.renewed(end.as_ref(), now) else { return Ok(()) };
        // A lock in force can be extended without special rights, but its mode cannot be changed.
        let lasts = end.is_some_and(|end| end > DateTime::from(now));
        let mode = mode.filter(|_| lasts).unwrap_or_else(|| retention.mode());
        let mode = ObjectLockRetentionMode::from(mode.as_str());
        let lock = ObjectLockRetention::builder().mode(mode).retain_until_date(until).build();
        let request = self.connection.client.put_object_retention().bucket(&self.config.bucket).key(self.name(key));
        let request = request.set_version_id(version).retention(lock);
        match self.answer(op, key.as_str(), self.config.patience, request.send()).await? {
            Ok(_) => Ok(()),
            Err(failed) if failed.status == Some(404) => Ok(()),
            Err(failed) => Err(self.explain(failed, op, key.as_str())),
        }
    }

    /// The lock of a version; `None` if it is gone.
    async fn lock(&self, op: Op, key: &Key, version: Option<String>) -> Result<Option<Lock>, StoreError> {
        let request = self.connection.client.head_object().bucket(&self.config.bucket).key(self.name(key));
        let request = request.set_version_id(version);
        match self.answer(op, key.as_str(), self.config.patience, request.send()).await? {
            Ok(found) => Ok(Some(Lock {
                mode: found.object_lock_mode().cloned(),
                end: found.object_lock_retain_until_date().copied(),
            })),
            Err(failed) if failed.status == Some(404) => Ok(None),
            Err(failed) => Err(self.explain(failed, op, key.as_str())),
        }
    }
}
