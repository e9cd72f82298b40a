//! Trust: how far a pack's table is believed, by its proof and by the records of the client that claimed it.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::mark::Trust;
use copal_format::client::ClientRecord;
use copal_format::id::ClientId;
use copal_format::layout::Place;
use copal_format::state::{PackClaim, PackRecord};

use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects;

/// Which manifests of each client count.
#[derive(Default)]
pub(crate) struct Standings(BTreeMap<ClientId, Standing>);

#[derive(Copy, Clone)]
enum Standing {
    /// All manifests.
    Whole,
    /// Those up to this number, because the client was revoked.
    UpTo(u64),
    /// Unknown: the client's record cannot be read and might revoke it.
    Unknown,
}

impl Standings {
    /// Reads the records of the clients that have claimed these packs, unless they are known.
    pub(crate) async fn learn(
        &mut self,
        job: &JobContext<'_>,
        packs: impl Iterator<Item = &PackRecord>,
    ) -> Result<(), JobError> {
        let clients: BTreeSet<ClientId> = packs.filter_map(|record| Some(record.claim?.client)).collect();
        let unknown = clients.into_iter().filter(|client| !self.0.contains_key(client));
        let calls = unknown.map(|client| async move {
            let standing = match clients::read(job, client).await {
                Ok(Some(ClientRecord { revoked: Some((last, _)), .. })) => Standing::UpTo(last),
                Ok(Some(_)) => Standing::Whole,
                Ok(None) => Standing::Unknown,
                Err(error) => error.blame().map(|_| Standing::Unknown)?,
            };
            Ok((client, standing))
        });
        self.0.extend(objects::join(calls).await?);
        Ok(())
    }

    /// How far the table of a pack is believed.
    pub(crate) fn trust(&self, record: &PackRecord) -> Trust {
        if is_planted(Mistake::NewerCopyWins) {
            return Trust::Proven;
        }
        let Some(PackClaim { client, number, by_full_client }) = record.claim else {
            // Only prune writes below `moved/`, and it moves only blocks of proven packs.
            let is_proven = record.is_proven || record.place == Place::Moved;
            return if is_proven { Trust::Proven } else { Trust::Claimed };
        };
        let standing = self.0.get(&client).copied().unwrap_or(Standing::Unknown);
        match standing {
            Standing::UpTo(last) if number > last => Trust::Excluded,
            _ if by_full_client && !record.is_proven => Trust::Doubted,
            _ if !record.is_proven => Trust::Claimed,
            Standing::Unknown => Trust::Claimed,
            _ => Trust::Proven,
        }
    }
}
