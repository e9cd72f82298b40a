//! Verify: whether the repository restores. The service checks what needs no key; with keys, blocks are opened, trees are
//! walked, and damage is told as what it hits: snapshots and paths.

mod fates;
mod findings;
mod hits;
mod noted;
mod packs;
mod proof;
mod trees;
mod turn;

use copal_engine::id::PackId;
use copal_engine::state::PackRecord;
use copal_engine::time::Time;
use copal_service::check::{self, Depth, Harm, Needed, Order, Share, due, inspect};
use copal_service::error::JobError;
use copal_service::view::{self, View};
use copal_service::witness::Witnessed;
use copal_store::StoreError;

use crate::args::check::ReadData;
use crate::history::History;
use crate::report::Failure;
use crate::report::progress::Progress;
use crate::report::summary::{Damage, DamageKind};
use crate::repository::Repository;
use crate::wait::wait;
pub use fates::Fates;
use findings::Findings;
pub use hits::{Hit, Hits, Impact};
pub use noted::noted;
pub use packs::genuine;
pub use proof::{Proved, prove, unproven, vouch};
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

/// Why a check ended early.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A job failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The snapshots could not be read.
    #[error(transparent)]
    History(#[from] Failure),
}

impl From<StoreError> for VerifyError {
    fn from(error: StoreError) -> Self {
        Self::Job(error.into())
    }
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
    /// Packs that were opened, hold what they say, and are not proven yet.
    pub unproven: Vec<PackId>,
    /// How many packs the service was asked to look at, because it alone notes what is so.
    pub asked: u64,
    /// Whether the newest state could not be read, so that only records were checked.
    pub is_state_lost: bool,
}

impl Outcome {
    /// Takes over the report of a keyless check that ran on another machine.
    pub fn of_service(found: check::Report) -> Self {
        let mut findings = Findings::default();
        found.findings.into_iter().for_each(|finding| findings.add(finding, None));
        let (packs_read, bytes_read) = (found.packs_read, found.bytes_read);
        Self { damage: findings.finish(), packs_read, bytes_read, ..Self::default() }
    }
}

/// Checks the repository. What was learned about packs is noted in the state, so that backups heal it. Where the newest
/// state cannot be read, records alone are checked.
pub fn verify(repository: &Repository, options: &Options, progress: &Progress) -> Result<Outcome, VerifyError> {
    let store = repository.store().as_ref();
    let before = match wait(view::read(&Witnessed::new(store))) {
        Ok(view) => Some(view),
        // The service says so, too.
        Err(JobError::StateLost { .. }) => None,
        Err(error) => error.blame().map(|_| None)?,
    };
    // Behind a gateway the service alone notes when packs were read.
    let turn = repository.site().is_behind_gateway().then(|| turn::last(repository.state_dir()));
    let depth = match options.read {
        ReadData::All if !options.is_full => Depth::Data { part: 1, parts: 1 },
        // Whichever part is asked for: those not read for longest come first, so that all are read in turn.
        ReadData::Share(share) if !options.is_full => match turn {
            None => Depth::Data { part: 1, parts: share.parts() },
            Some(last) => Depth::Behind { last, parts: share.parts() },
        },
        _ => Depth::Structure,
    };
    let (found, harm) = wait(inspect(&repository.host(), depth))?;
    let mut outcome = Outcome { packs_read: found.packs_read, bytes_read: found.bytes_read, ..Outcome::default() };
    let mut last = found.last_read;
    let mut findings = Findings::default();
    found.findings.into_iter().for_each(|finding| findings.add(finding, before.as_ref()));
    if let (Some(before), Some(harm)) = (before, harm) {
        let (opens, share) = match options.is_full {
            true => chosen(&before, options.read, turn, &harm, wait(repository.host().now_to_note())?),
            false => (Vec::new(), 0),
        };
        last = opens[..share].last().map_or(last, |(pack, _)| Some(*pack));
        dig(repository, options, progress, (&before, &opens), harm, &mut findings, &mut outcome)?;
    } else {
        outcome.is_state_lost = true;
    }
    if let (ReadData::Share(_), Some(_), Some(last)) = (options.read, turn, last) {
        turn::note(repository.state_dir(), last);
    }
    outcome.damage = findings.finish();
    Ok(outcome)
}

/// Opens packs if that is asked for, notes what was learned, and finds out whom it hits.
fn dig(
    repository: &Repository,
    options: &Options,
    progress: &Progress,
    (before, opens): (&View, &[(PackId, &PackRecord)]),
    mut harm: Harm,
    findings: &mut Findings,
    outcome: &mut Outcome,
) -> Result<(), VerifyError> {
    let mut opened = packs::Opened::default();
    if options.is_full {
        opened = packs::open(repository, opens, options.threads, progress)?;
        outcome.packs_read += opened.packs_read;
        outcome.bytes_read += opened.bytes_read;
        opened.tell(&mut harm);
        let is_unproven = |id: &PackId| before.state.packs.get(id).is_some_and(proof::is_unproven);
        outcome.unproven = opened.whole().filter(is_unproven).collect();
    }
    match noted(repository, before, &harm) {
        Ok(asked) => outcome.asked = asked,
        Err(error) => outcome.unnoted = Some(error),
    }
    let faults = std::mem::take(&mut opened.faults);
    let fates = Fates::new(harm, opened);
    for attempt in 1.. {
        let view = wait(view::read(repository.store().as_ref()))?;
        if !options.is_full && fates.are_all_good(&view) && !findings.has_unresolved() {
            return Ok(());
        }
        let history = History::read(repository, &view)?;
        let needed = wait(Needed::of(&repository.host(), &view))?;
        let hits = walk(repository, (&view, &needed), &history, &fates, progress)?;
        // A prune that runs at the same time deletes what an older root still names.
        let is_superseded =
            || Ok::<_, JobError>(wait(view::read(repository.store().as_ref()))?.number() > view.number());
        if attempt < ATTEMPTS && !hits.impacts.is_empty() && is_superseded()? {
            continue;
        }
        for (pack, fault) in faults.iter().filter(|(pack, _)| view.state.packs.contains_key(pack)) {
            findings.add_pack(&view, *pack, fault.kind, &fault.why);
        }
        for (object, why) in &history.problems {
            findings.add_object(object, DamageKind::Damaged, why);
        }
        outcome.replaced = findings.locate(before, &view, hits);
        return Ok(());
    }
    Ok(())
}

/// Opens the packs again that are known to be harmed, and notes what is so now.
pub fn look_again(repository: &Repository, before: &View) -> Result<Fates, JobError> {
    let harmed = before.state.packs.iter().filter(|(_, record)| record.is_missing || record.is_damaged);
    let harmed: Vec<(PackId, &PackRecord)> = harmed.map(|(id, record)| (*id, record)).collect();
    let opened = packs::open(repository, &harmed, 1, &Progress::default())?;
    let mut harm = Harm::default();
    opened.tell(&mut harm);
    noted(repository, before, &harm)?;
    Ok(Fates::new(harm, opened))
}

/// The packs that a full check reads: those that are there, or those of them that are due; and how many belong to the share.
fn chosen<'a>(
    view: &'a View,
    read: ReadData,
    turn: Option<Option<PackId>>,
    harm: &Harm,
    now: Time,
) -> (Vec<(PackId, &'a PackRecord)>, usize) {
    let there = view.state.packs.iter().filter(|(id, _)| !harm.missing.contains(id));
    match read {
        ReadData::Share(share) => {
            let order = turn.map_or(Order::Longest, Order::Behind);
            due(there, Share { part: 1, parts: share.parts(), order }, now)
        }
        _ => {
            let all: Vec<_> = there.map(|(id, record)| (*id, record)).collect();
            let share = all.len();
            (all, share)
        }
    }
}

/// So often trees are walked anew because the repository changed meanwhile; then the last walk stands.
const ATTEMPTS: u32 = 8;
