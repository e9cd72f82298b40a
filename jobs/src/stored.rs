//! Stored: the objects below some prefixes, as one listing tells of them.

use std::collections::BTreeMap;

use copal_format::layout::Prunable;
use copal_store::Stat;

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// Packs, segments and runs in the store.
#[derive(Default)]
pub(crate) struct Stored {
    pub(crate) objects: BTreeMap<Prunable, Stat>,
}

impl Stored {
    /// Lists these prefixes. Ignores objects with names that no writer of this format gives.
    pub(crate) async fn list(job: &JobContext<'_>, prefixes: &[&str]) -> Result<Self, JobError> {
        let mut objects = BTreeMap::new();
        for prefix in prefixes {
            for listed in objects::list_wide(job.store, prefix).await? {
                objects.extend(Prunable::parse(listed.key.as_str()).map(|name| (name, listed.stat)));
            }
        }
        Ok(Self { objects })
    }

    /// The length of an object; none if it is not there.
    pub(crate) fn length(&self, name: &str) -> Option<u64> {
        self.objects.get(&Prunable::parse(name)?).map(|stat| stat.length)
    }
}

/// Where packs lie.
pub(crate) const PACKS: &[&str] = &["packs/", "moved/"];
/// Where everything lies that a prune removes.
pub(crate) const PRUNABLE: &[&str] = &["packs/", "moved/", "index/", "state/"];
