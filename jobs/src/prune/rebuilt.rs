//! Rebuilt: the time of the last rebuild. No root names the packs that a rebuild left out, however old they are. A
//! person was told about them and needs time to act.

use core::time::Duration;
use std::collections::BTreeSet;

use copal_format::layout;
use copal_format::root::{Deletion, Root};
use copal_format::time::Time;
use copal_store::Listed;

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// The last rebuild, while what it left out or flagged must stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebuilt {
    /// When it was. Flags up to this time are its own or older.
    pub(super) time: Time,
    /// When the protection ends.
    pub(super) until: Time,
}

/// The last rebuild, if it is younger than `age`. Evidence is its root, or, once the root is deleted, the deletion
/// record without names that it left. An unreadable root or record counts as evidence.
pub(super) async fn within(job: &JobContext<'_>, now: Time, age: Duration) -> Result<Option<Rebuilt>, JobError> {
    let is_young = |listed: &&Listed| now.since(Time(listed.stat.created.0)) < age;
    let roots = objects::list(job.store, "roots/").await?;
    let numbers: BTreeSet<u64> = roots.iter().filter_map(|root| layout::root_number(root.key.as_str())).collect();
    // No root ever had the number before that of a rebuilt root.
    let is_first = |root: &&Listed| {
        let number = layout::root_number(root.key.as_str());
        number.is_some_and(|number| !numbers.contains(&number.wrapping_sub(1)))
    };
    let records = objects::list(job.store, "deletions/").await?;
    let is_short = |record: &&Listed| record.stat.length <= EMPTY_MOST;
    let roots = roots.iter().filter(is_young).filter(is_first).map(|root| (root, true));
    let told = roots.chain(records.iter().filter(is_young).filter(is_short).map(|record| (record, false)));
    let calls = told.map(|(listed, is_root)| time_of(job, listed, is_root));
    let last = objects::join(calls).await?.into_iter().flatten().max();
    let until = |time: Time| Time(time.0.saturating_add(i64::try_from(age.as_nanos()).unwrap_or(i64::MAX)));
    Ok(last.map(|time| Rebuilt { time, until: until(time) }).filter(|rebuilt| now < rebuilt.until))
}

/// The time of a rebuild, if this object is evidence of one.
async fn time_of(job: &JobContext<'_>, listed: &Listed, is_root: bool) -> Result<Option<Time>, JobError> {
    let created = Time(listed.stat.created.0);
    let name = listed.key.as_str();
    let bytes = match objects::read(job.store, name).await.map_err(JobError::from) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(error) => return error.blame().map(|_| Some(created)),
    };
    let is_told = match is_root {
        true => Root::decode(layout::root_number(name).unwrap_or(0), &bytes).map_or(true, |root| root.rebuilt),
        false => {
            Deletion::decode(&bytes).map_or(true, |deletion| deletion.names.is_empty() && deletion.baseline.is_none())
        }
    };
    Ok(is_told.then_some(created))
}

/// A record without names is no longer than this.
const EMPTY_MOST: u64 = 1024;
