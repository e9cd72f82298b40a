//! Accepted: the losses that the owner has accepted. A check names them, and does not count them as damage.

use std::collections::BTreeSet;

use copal_format::change::Operation;
use copal_format::layout;

use super::{Kind, Report};
use crate::changes::verify_change;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// Marks the findings about manifests and changes whose loss the owner has accepted. Reads changes only if there are
/// such findings.
pub(super) async fn mark(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    if !report.findings.iter().any(super::Finding::is_acceptable) {
        return Ok(());
    }
    let accepted = names(job).await?;
    for finding in report.findings.iter_mut().filter(|finding| finding.is_acceptable()) {
        if accepted.contains(&finding.object) {
            finding.kind = Kind::Accepted;
        }
    }
    Ok(())
}

/// The names of manifests and changes whose loss the owner has accepted.
pub(crate) async fn names(job: &JobContext<'_>) -> Result<BTreeSet<String>, JobError> {
    let mut accepted = BTreeSet::new();
    for listed in objects::list(job.store, "changes/").await? {
        let name = listed.key.as_str();
        let Some(number) = layout::trailing_number(name) else { continue };
        // An unreadable change was reported before.
        let Some(bytes) = Report::default().given(objects::read(job.store, name).await)? else { continue };
        // The owner's signature names the change before, so the chain need not be followed from its beginning.
        let verified = match verify_change(job, number, None, &bytes).await {
            Err(error) => error.blame().map(|_| None)?,
            Ok(verified) => verified,
        };
        for operation in verified.iter().flat_map(|verified| &verified.change.operations) {
            if let Operation::AcceptLoss { manifests, changes, .. } = operation {
                accepted.extend(manifests.iter().map(|(client, number)| layout::manifest(*client, *number)));
                accepted.extend(changes.iter().map(|number| layout::change(*number)));
            }
        }
    }
    Ok(accepted)
}
