//! Ingest: decides whether a manifest is accepted. A pure function of facts found in the store, so that an unreachable
//! store leads to another try and never to a rejection.

use std::collections::BTreeSet;

use copal_format::client::ClientRecord;
use copal_format::id::{ChunkId, PackId};
use copal_format::limits::RECEIPT_NAMES;
use copal_format::manifest::VerifiedManifest;
use copal_format::pack::{PackKind, PackTable};
use copal_format::receipt::Reason;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

/// The record of the snapshot that a manifest commits, if any. `accepted` and `now` are the store's times.
pub fn snapshot_of(
    verified: &VerifiedManifest,
    by_full_client: bool,
    accepted: Time,
    now: Time,
) -> Option<SnapshotRecord> {
    let manifest = &verified.manifest;
    let claim = manifest.snapshot.as_ref()?;
    Some(SnapshotRecord {
        id: verified.hash.snapshot(),
        domain: manifest.domain,
        root: claim.root,
        partial: claim.partial,
        client_time: claim.client_time,
        accepted,
        source: claim.source,
        tags: claim.tags.clone(),
        state: SnapshotState::Kept,
        pinned: false,
        state_time: now,
        by_full_client,
        extent: manifest.extent(),
        released: false,
    })
}

/// What the store has under the name of a claimed pack.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The object exists and has the claimed length and the SHA-256 of its name. Holds its table.
    Sound(PackTable),
    /// There is no such object.
    Missing,
    /// The object has another length than claimed.
    Length {
        /// The length of the object.
        actual: u64,
    },
    /// The object is longer than a pack may be; it was not read.
    Oversize {
        /// The length of the object.
        actual: u64,
    },
    /// Its bytes do not have the SHA-256 of its name.
    Hash,
    /// Its table is malformed; the text says why.
    Table(String),
    /// With this pack, the headers and tables of the manifest's packs exceed the limit; they were not read.
    Tables {
        /// Bytes of headers and tables up to and including this pack.
        sum: u64,
    },
    /// The pack is about to be deleted, or was deleted under this name.
    Doomed,
}

/// The decision about a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why it is rejected; empty if it is accepted.
    pub reasons: Vec<(Reason, String)>,
    /// Ids that are referenced and found nowhere.
    pub missing: Vec<ChunkId>,
    /// Packs that cannot be used.
    pub packs: Vec<PackId>,
}

impl Verdict {
    /// Whether the manifest is accepted.
    pub fn is_accepted(&self) -> bool {
        self.reasons.is_empty()
    }

    /// A rejection for one reason.
    pub fn rejected(reason: Reason, text: impl Into<String>) -> Self {
        Self { reasons: vec![(reason, text.into())], ..Self::default() }
    }

    fn add(&mut self, reason: Reason, text: impl Into<String>) {
        self.reasons.push((reason, text.into()));
    }
}

/// Whether the client may claim under this number and in this domain. Decided before the manifest's packs are read.
pub fn judge_client(manifest: &VerifiedManifest, client: &ClientRecord) -> Verdict {
    let claim = &manifest.manifest;
    let mut verdict = Verdict::default();
    if !client.accepts(claim.number, manifest.hash) {
        verdict.add(Reason::Revoked, "the client is revoked");
    }
    if claim.domain != client.domain {
        verdict.add(Reason::Domain, format!("the client may not write to domain {}", claim.domain));
    }
    verdict
}

/// Judges a manifest whose signature and place in the chain are already checked. `resolve` returns the height of an id
/// of the domain in the root that becomes the base: 0 for a chunk, `None` for an unknown id.
pub fn judge(
    manifest: &VerifiedManifest,
    client: &ClientRecord,
    packs: &[(PackId, Finding)],
    mut resolve: impl FnMut(&ChunkId) -> Option<u8>,
) -> Verdict {
    let claim = &manifest.manifest;
    let mut verdict = judge_client(manifest, client);
    let mut heights: Vec<(ChunkId, u8)> = Vec::new();
    for (id, finding) in packs {
        match judge_pack(*id, finding, manifest) {
            Ok(table) => heights.extend(table.ids.iter().enumerate().map(|(at, id)| (*id, table.height(at)))),
            Err((reason, text)) => {
                verdict.add(reason, text);
                verdict.packs.push(*id);
            }
        }
    }
    // If an id is claimed with several heights, the greatest counts.
    heights.sort_unstable();
    let own = |id: &ChunkId| {
        let end = heights.partition_point(|(of, _)| of <= id);
        heights[..end].last().filter(|(of, _)| of == id).map(|(_, height)| *height)
    };
    let (mut missing, mut is_cut) = (BTreeSet::new(), false);
    let mut height_of = |id: &ChunkId| {
        let height = own(id).or_else(|| resolve(id));
        if height.is_none() {
            missing.insert(*id);
            // A receipt names no more.
            is_cut |= missing.len() > RECEIPT_NAMES && missing.pop_last().is_some();
        }
        height
    };
    let sound = packs.iter().filter_map(|(_, finding)| match finding {
        Finding::Sound(table) if table.domain == claim.domain && table.kind == PackKind::Tree => Some(table),
        _ => None,
    });
    for table in sound {
        for (at, id) in table.ids.iter().enumerate() {
            let Some(page) = table.page(at) else { continue };
            // `max` looks up every reference, so that all missing ids are found; `any` would stop at the first one too
            // high.
            let highest = page.references.iter().filter_map(&mut height_of).max();
            if highest.is_some_and(|height| height >= page.height) {
                verdict.add(Reason::Height, format!("page {id} refers to one that is not lower"));
            }
        }
    }
    if let Some(snapshot) = &claim.snapshot
        && height_of(&snapshot.root) == Some(0)
    {
        verdict.add(Reason::Height, format!("the snapshot's root {} is not a page", snapshot.root));
    }
    if !missing.is_empty() {
        let more = if is_cut { "more than " } else { "" };
        verdict.add(Reason::Unresolved, format!("{more}{} references do not resolve", missing.len()));
    }
    verdict.missing = missing.into_iter().collect();
    verdict.packs.truncate(RECEIPT_NAMES);
    verdict.reasons.truncate(REASONS);
    verdict
}

fn judge_pack<'a>(
    id: PackId,
    finding: &'a Finding,
    manifest: &VerifiedManifest,
) -> Result<&'a PackTable, (Reason, String)> {
    match finding {
        Finding::Sound(table) if table.domain != manifest.manifest.domain => {
            Err((Reason::Domain, format!("pack {id} is of domain {}", table.domain)))
        }
        Finding::Sound(table) => Ok(table),
        Finding::Missing => Err((Reason::MissingPack, format!("pack {id} is not there"))),
        Finding::Length { actual } => Err((Reason::PackLength, format!("pack {id} has {actual} bytes"))),
        Finding::Oversize { actual } => Err((Reason::Oversize, format!("pack {id} has {actual} bytes"))),
        Finding::Hash => Err((Reason::PackHash, format!("pack {id} has other bytes than its name says"))),
        Finding::Table(why) => Err((Reason::PackTable, format!("pack {id}: {why}"))),
        Finding::Tables { sum } => Err((
            Reason::Oversize,
            format!("with those of pack {id} headers and tables of the manifest's packs have {sum} bytes"),
        )),
        Finding::Doomed => Err((Reason::Doomed, format!("pack {id} is about to be deleted, or was"))),
    }
}

const REASONS: usize = 64;

#[cfg(test)]
mod tests;
