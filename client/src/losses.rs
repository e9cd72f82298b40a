//! Losses: manifests and changes that are gone for good, and how the owner accepts that.

use std::collections::BTreeSet;

use copal_format::change::{Operation, OwnerSignature};
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::limits::CHANGE_LOSSES;
use copal_jobs::check::{Depth, inspect};
use copal_jobs::error::JobError;
use copal_jobs::view::View;

use crate::repository::Repository;
use crate::wait::wait;

/// Manifests and changes that are missing or damaged, and whose loss nobody has accepted yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Clients, and the numbers of their manifests.
    pub manifests: BTreeSet<(ClientId, u64)>,
    /// Numbers of changes.
    pub changes: BTreeSet<u64>,
}

impl Losses {
    /// Looks for them, as a check does.
    pub fn find(repository: &Repository) -> Result<Self, JobError> {
        let (report, _) = wait(inspect(&repository.job(), Depth::Structure))?;
        let mut losses = Self::default();
        for finding in report.findings.iter().filter(|finding| finding.is_acceptable()) {
            match (layout::client_of(&finding.object), layout::trailing_number(&finding.object)) {
                (Some(client), Some(number)) => drop(losses.manifests.insert((client, number))),
                (None, Some(number)) => drop(losses.changes.insert(number)),
                // How many more there are.
                (_, None) => {}
            }
        }
        Ok(losses)
    }

    /// The manifests whose snapshots the index still lists. A rebuild removes them.
    pub fn listed(&self, view: &View) -> Vec<String> {
        let listed = self.manifests.iter().filter(|of| view.state.snapshots.contains_key(of));
        listed.map(|(client, number)| layout::manifest(*client, *number)).collect()
    }

    /// The names of the objects.
    pub fn names(&self) -> Vec<String> {
        let manifests = self.manifests.iter().map(|(client, number)| layout::manifest(*client, *number));
        manifests.chain(self.changes.iter().map(|number| layout::change(*number))).collect()
    }

    /// The operations by which the owner accepts these losses.
    pub fn accepted(&self) -> Vec<Operation> {
        let accept = |manifests, changes| Operation::AcceptLoss { manifests, changes, signature: OwnerSignature::NONE };
        let manifests: Vec<(ClientId, u64)> = self.manifests.iter().copied().collect();
        let changes: Vec<u64> = self.changes.iter().copied().collect();
        let mut operations: Vec<Operation> = Vec::new();
        operations.extend(manifests.chunks(CHANGE_LOSSES).map(|part| accept(part.to_vec(), Vec::new())));
        operations.extend(changes.chunks(CHANGE_LOSSES).map(|part| accept(Vec::new(), part.to_vec())));
        operations
    }
}
