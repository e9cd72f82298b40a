//! Receipts: the answers to decided manifests.

use bytes::Bytes;
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::receipt::Receipt;
use copal_format::repository::IngestBy;
use copal_format::state::{ClientHead, Decision};
use copal_format::time::Time;

use super::Pass;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

impl Pass<'_> {
    /// Writes receipts of decisions in the base that these clients lack. They are written in order: the last implies
    /// all.
    pub(super) async fn write_missing_receipts(&self, clients: impl Iterator<Item = ClientId>) -> Result<(), JobError> {
        let heads = clients.filter_map(|client| Some((client, self.view.state.heads.get(&client)?)));
        let calls = heads.map(|(client, head)| self.write_missing_to(client, head));
        objects::join(calls).await.map(|_| ())
    }

    async fn write_missing_to(&self, client: ClientId, head: &ClientHead) -> Result<(), JobError> {
        let Some(last) = head.decisions.last() else { return Ok(()) };
        let name = objects::key(layout::receipt(client, last.number));
        if self.job.store.stat(&name).await?.is_none() {
            for decision in &head.decisions {
                write_receipt(self.job, &receipt(client, decision, self.view.number(), head.time, self.by)).await?;
            }
        }
        Ok(())
    }
}

/// Writes receipts; those of one client one after another.
pub(super) async fn write_receipts(job: &JobContext<'_>, answers: &[Receipt]) -> Result<(), JobError> {
    let of_client = answers.chunk_by(|a, b| a.client == b.client);
    let calls = of_client.map(|answers| async move {
        for answer in answers {
            write_receipt(job, answer).await?;
        }
        Ok(())
    });
    objects::join(calls).await.map(|_| ())
}

/// The receipt for a decision, with the time of the decision.
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

/// Writes a receipt. If two ingests answer the same decision, both receipts say the same and the first stays.
pub(crate) async fn write_receipt(job: &JobContext<'_>, receipt: &Receipt) -> Result<(), JobError> {
    let name = layout::receipt(receipt.client, receipt.number);
    job.store.create(&objects::key(name), Bytes::from(receipt.encode())).await?;
    Ok(())
}
