//! Late: whether a client joined after its enrollment had ended. The joining machine dates its record itself, so the
//! store's times of the two records decide: whoever finds an old line can create the record, but cannot date it back.

use core::time::Duration;
use std::collections::BTreeMap;

use copal_format::client::{ClientHistory, ClientRecord, SignedBy};
use copal_format::id::ClientId;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::time::Time;

use super::{Named, Refused, fetch};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// A client's records, as the store lists them.
pub(super) struct Records<'a> {
    pub(super) job: &'a JobContext<'a>,
    pub(super) client: ClientId,
    /// The names of the copies, with the store's times.
    pub(super) times: &'a BTreeMap<Named, Time>,
}

struct Version {
    record: ClientRecord,
    bytes: Vec<u8>,
    /// The store's time of its oldest sound copy.
    stored: Time,
}

impl Records<'_> {
    /// Whether the client joined late, and nothing of it was accepted yet. `sound` are copies that were read already,
    /// if they include every version.
    ///
    /// A repository may be moved to a store that dates its objects anew. Therefore only the time between the two
    /// records counts, and a client that was believed once stays believed.
    pub(super) async fn are_late(&self, sound: Option<&BTreeMap<Named, Vec<u8>>>) -> Result<bool, JobError> {
        if sound.is_some_and(|sound| !self.is_overdue(sound, &BTreeMap::new())) {
            return Ok(false);
        }
        // A copy that was lost and written again is younger than the record, so the others are read too.
        let all = fetch(self.job, self.times.keys().filter(|(version, _)| *version <= 2)).await?;
        Ok(self.is_overdue(&all.bytes, &all.refused) && !self.is_established().await?)
    }

    /// Whether version 2 joins the client, and was stored after the enrollment of version 1 had ended.
    fn is_overdue(&self, copies: &BTreeMap<Named, Vec<u8>>, refused: &Refused) -> bool {
        let times =
            |wanted| self.times.iter().filter(move |((version, _), _)| *version == wanted).map(|(_, time)| *time);
        let (Some(first), Some(last)) = (times(1).min(), times(2).max()) else { return false };
        // For most clients, no signatures need to be verified.
        if last.since(first) <= SLACK {
            return false;
        }
        let Some(invited) = self.version(1, (copies, refused), &[]) else { return false };
        let Some(expires) = invited.record.enrollment.and_then(|enrollment| enrollment.expires) else { return false };
        let open = expires.since(invited.record.created);
        let joined = self.version(2, (copies, refused), &[(1, invited.bytes)]);
        let joined = joined.filter(|joined| joined.record.signed_by == SignedBy::Enrollment);
        joined.is_some_and(|joined| joined.stored.since(invited.stored) > open + SLACK)
    }

    /// A version, by its sound copies; none without one. Unsound copies do not count: anybody may create them at any
    /// time. A copy that the store does not give may be the oldest one, so its time counts.
    fn version(
        &self,
        wanted: u64,
        (copies, refused): (&BTreeMap<Named, Vec<u8>>, &Refused),
        before: &[(u64, Vec<u8>)],
    ) -> Option<Version> {
        let of_wanted = copies.iter().filter(|((version, _), _)| *version == wanted);
        let sound = of_wanted.filter_map(|(name, bytes)| {
            let versions = [before, &[(wanted, bytes.clone())]].concat();
            let job = self.job;
            let newest = ClientHistory::read(job.repository, &job.owner_key, self.client, &versions).newest;
            let record = newest.filter(|newest| newest.version == wanted)?;
            Some(Version { record, bytes: bytes.clone(), stored: *self.times.get(name)? })
        });
        let oldest = sound.min_by_key(|version| version.stored)?;
        let of_refused = refused.keys().filter(|(version, _)| *version == wanted);
        let stored = of_refused.filter_map(|name| self.times.get(name)).copied().chain([oldest.stored]).min()?;
        Some(Version { stored, ..oldest })
    }

    /// Whether one of the client's first manifests was accepted.
    async fn is_established(&self) -> Result<bool, JobError> {
        let receipts = self.job.store.list(&format!("receipts/{}/", self.client), None, FIRST).await?;
        for (listed, number) in receipts.objects.iter().zip(1..) {
            let bytes = objects::read(self.job.store, listed.key.as_str()).await?;
            let receipt = bytes.and_then(|bytes| Receipt::decode(self.client, number, &bytes).ok());
            if receipt.is_some_and(|receipt| receipt.outcome == Outcome::Accepted) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// An upload whose address a gateway gave out in time may arrive later, and the clocks of gateway and store may differ.
const SLACK: Duration = Duration::from_secs(60 * 60);
/// Receipts that are looked at.
const FIRST: usize = 16;
