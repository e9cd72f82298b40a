//! Rebuilt: when the state was last folded anew. What a rebuild could not take is named by no root, however long it has been
//! there. It was told to a person, who needs time to do something about it.

use core::time::Duration;

use copal_engine::layout;
use copal_engine::root::{Deletion, Root};
use copal_engine::time::Time;
use copal_store::Listed;

use crate::error::JobError;
use crate::host::Host;
use crate::objects;

/// Whether the state was rebuilt less than so long ago. Its root tells, and once that is deleted the record without names
/// that was left with it. One that cannot be read may tell the same.
pub(super) async fn is_recent(host: &Host<'_>, now: Time, age: Duration) -> Result<bool, JobError> {
    let is_young = |listed: &Listed| now.since(Time(listed.stat.created.0)) < age;
    for listed in objects::list(host.store, "roots/").await?.into_iter().filter(is_young) {
        let Some(number) = layout::root_number(listed.key.as_str()) else { continue };
        if tells(host, &listed, |bytes| Root::decode(number, bytes).map_or(true, |root| root.rebuilt)).await? {
            return Ok(true);
        }
    }
    for listed in objects::list(host.store, "deletions/").await?.into_iter().filter(is_young) {
        let is_empty = |bytes: &[u8]| Deletion::decode(bytes).map_or(true, |deletion| deletion.names.is_empty());
        if tells(host, &listed, is_empty).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn tells(host: &Host<'_>, listed: &Listed, is_told: impl Fn(&[u8]) -> bool) -> Result<bool, JobError> {
    match objects::read(host.store, listed.key.as_str()).await.map_err(JobError::from) {
        Ok(bytes) => Ok(bytes.is_some_and(|bytes| is_told(&bytes))),
        Err(error) => error.blame().map(|_| true),
    }
}
