//! Receipts: the answers that roots owe.

use bytes::Bytes;
use copal_engine::id::ClientId;
use copal_engine::layout;
use copal_engine::receipt::Receipt;
use copal_engine::repository::IngestBy;
use copal_engine::state::{ClientHead, Decision};
use copal_engine::time::Time;

use super::Pass;
use crate::error::JobError;
use crate::host::Host;
use crate::objects;

impl Pass<'_> {
    /// Writes the answers to what the base has decided and nobody was told.
    pub(super) async fn write_missing_receipts(&self, client: ClientId, head: &ClientHead) -> Result<(), JobError> {
        let root = self.view.number();
        for decision in &head.decisions {
            let name = objects::key(layout::receipt(client, decision.number));
            if self.host.store.stat(&name).await?.is_none() {
                write_receipt(self.host, &receipt(client, decision, root, head.time, self.by)).await?;
            }
        }
        Ok(())
    }
}

/// The answer to a decision, with the time at which it was decided.
pub(crate) fn receipt(client: ClientId, decision: &Decision, root: u64, time: Time, by: IngestBy) -> Receipt {
    Receipt {
        client,
        number: decision.number,
        manifest: decision.hash,
        outcome: decision.outcome,
        root,
        time,
        by,
        reasons: decision.reasons.clone(),
        missing: decision.missing.clone(),
        packs: decision.packs.clone(),
    }
}

/// Two ingests may answer the same decision at once; the first answer stands, they say the same.
pub(crate) async fn write_receipt(host: &Host<'_>, receipt: &Receipt) -> Result<(), JobError> {
    let name = layout::receipt(receipt.client, receipt.number);
    host.store.create(&objects::key(name), Bytes::from(receipt.encode())).await?;
    Ok(())
}
