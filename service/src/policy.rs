//! Policy: what the service was told to follow, as the newest root names it.

use copal_engine::change::{Change, Operation};
use copal_engine::layout;
use copal_engine::retention::SignedPolicy;

use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view::View;

/// The policy in force and the number of the change that holds it; none if there never was one.
pub async fn current(host: &Host<'_>, view: &View) -> Result<Option<(u64, SignedPolicy)>, JobError> {
    let Some((number, hash)) = view.root.as_ref().and_then(|(root, _)| root.policy) else { return Ok(None) };
    let name = layout::change(number);
    let bytes = objects::read(host.store, &name).await?.ok_or_else(|| JobError::damaged(&name, "it is gone"))?;
    let change = Change::vouched(number, hash, &bytes).map_err(|error| JobError::damaged(&name, error))?;
    let policy = of(&change).ok_or_else(|| JobError::damaged(&name, "it holds no policy"))?;
    Ok(Some((number, policy)))
}

/// The policy that a change brings into force: its last one that can be read.
pub(crate) fn of(change: &Change) -> Option<SignedPolicy> {
    change.operations.iter().rev().find_map(|operation| match operation {
        Operation::Policy(bytes) => SignedPolicy::decode(bytes).ok(),
        _ => None,
    })
}
