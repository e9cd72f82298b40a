//! Verify: whether the repository restores. The service checks what needs no key; with keys, blocks are opened, trees are
//! walked, and damage is told as what it hits: snapshots and paths.

mod fates;
mod findings;
mod hits;
mod packs;
mod trees;

use copal_engine::id::PackId;
use copal_engine::state::PackRecord;
use copal_service::check::{Depth, Harm, inspect, note};
use copal_service::error::JobError;
use copal_service::view::View;

use crate::args::check::ReadData;
use crate::history::History;
use crate::report::progress::Progress;
use crate::report::summary::{Damage, DamageKind};
use crate::repository::Repository;
use crate::wait::wait;
pub use fates::Fates;
use findings::Findings;
pub use hits::{Hit, Hits, Impact};
pub use packs::read_again;
pub use trees::walk;

/// How thorough a check is.
pub struct Options {
    /// Which packs are read.
    pub read: ReadData,
    /// Whether everything read is opened, and every tree walked.
    pub is_full: bool,
    /// How many packs are opened at once.
    pub threads: usize,
}

/// The state and the snapshots, as they were before the check.
pub struct Known<'a> {
    /// The newest state.
    pub view: &'a View,
    /// The snapshots in it.
    pub history: &'a History,
}

/// What was found.
#[derive(Default)]
pub struct Outcome {
    /// All damage, by object.
    pub damage: Vec<Damage>,
    /// Packs read whole.
    pub packs_read: u64,
    /// Bytes of them.
    pub bytes_read: u64,
    /// Packs that are known to be harmed and that nothing kept needs any more.
    pub replaced: Vec<PackId>,
    /// Why what was found could not be noted in the state.
    pub unnoted: Option<JobError>,
}

/// Checks the repository. What was learned about packs is noted in the state, so that backups heal it. Nothing is known
/// where the newest state cannot be read; then records alone are checked.
pub fn verify(
    repository: &Repository,
    known: Option<Known<'_>>,
    options: &Options,
    progress: &Progress,
) -> Result<Outcome, JobError> {
    let depth = match options.read {
        ReadData::All if !options.is_full => Depth::Data { part: 1, parts: 1 },
        // Whichever part is asked for: those not read for longest come first, so that all are read in turn.
        ReadData::Share(share) if !options.is_full => Depth::Data { part: 1, parts: share.parts() },
        _ => Depth::Structure,
    };
    let (found, harm) = wait(inspect(&repository.host(), depth))?;
    let mut outcome = Outcome { packs_read: found.packs_read, bytes_read: found.bytes_read, ..Outcome::default() };
    let mut findings = Findings::default();
    found.findings.into_iter().for_each(|finding| findings.add(finding, known.as_ref().map(|known| known.view)));
    if let (Some(Known { view, history }), Some(mut harm)) = (known, harm) {
        let mut opened = packs::Opened::default();
        if options.is_full {
            let chosen = chosen(view, options.read, &harm);
            opened = packs::open(repository, &chosen, options.threads, progress)?;
            outcome.packs_read += opened.packs_read;
            outcome.bytes_read += opened.bytes_read;
            opened.faults.iter().for_each(|(pack, fault)| findings.add_pack(view, *pack, fault.kind, &fault.why));
            opened.tell(&mut harm);
        }
        outcome.unnoted = wait(note(&repository.host(), &harm)).err();
        for (object, why) in &history.problems {
            findings.add_object(object, DamageKind::Damaged, why);
        }
        let fates = Fates::new(view, &harm, opened);
        if options.is_full || !fates.are_all_good() || findings.has_unresolved() {
            let hits = walk(repository, view, history, &fates, progress)?;
            outcome.replaced = findings.locate(view, hits);
        }
    }
    outcome.damage = findings.finish();
    Ok(outcome)
}

/// The packs that a full check reads: those that are there, and of a share those not read for longest.
fn chosen<'a>(view: &'a View, read: ReadData, harm: &Harm) -> Vec<(PackId, &'a PackRecord)> {
    let there = view.state.packs.iter().filter(|(id, _)| !harm.missing.contains(id));
    let mut packs: Vec<(PackId, &PackRecord)> = there.map(|(id, record)| (*id, record)).collect();
    if let ReadData::Share(share) = read {
        packs.sort_by_key(|(id, record)| (record.read, *id));
        packs.truncate(packs.len().div_ceil(share.parts() as usize));
    }
    packs
}
