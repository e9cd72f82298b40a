//! Verify: whether everything can be restored. The service's check does what needs no key. With keys, this opens
//! blocks, walks trees, and reports which snapshots and paths the damage affects.

mod fates;
mod findings;
mod hits;
mod noted;
mod packs;
mod proof;
mod trees;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use copal_format::id::{PackId, SnapshotId};
use copal_format::state::PackRecord;
use copal_format::time::Time;
use copal_jobs::check::{self, Depth, Harm, Lane, Needed, Order, Share, due, inspect};
use copal_jobs::error::JobError;
use copal_jobs::view::{self, View};
use copal_jobs::witness::Witnessed;

use crate::history::History;
use crate::places::{create_private_dir, private_text, write_private};
use crate::progress::Progress;
use crate::repository::Repository;
use crate::wait::wait;
pub use fates::Fates;
use findings::Findings;
pub use findings::{Damage, DamageKind};
pub use hits::{Hit, Hits, Impact};
pub use noted::noted;
pub use packs::genuine;
pub use proof::{Proved, prove, unproven, vouch};
pub use trees::walk;
use trees::walk_chosen;

/// Which packs are read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReadData {
    /// None: presence and size only.
    None,
    /// One of several equal parts: the packs that were not read for longest.
    Share {
        /// The number of parts.
        parts: u32,
    },
    /// All.
    All,
}

/// How thorough a check is.
pub struct Options {
    /// The kept snapshots whose trees are walked, and whose packs are opened if data is read; none for all snapshots.
    /// Structure, presence and lengths are always those of the whole repository.
    pub chosen: Option<BTreeSet<SnapshotId>>,
    /// Which packs are read.
    pub read: ReadData,
    /// Whether to open everything that is read, and to walk every tree.
    pub is_full: bool,
    /// How many packs are opened at once.
    pub threads: usize,
}

impl Options {
    /// Whether packs are opened. Those of chosen snapshots are, whenever they are read.
    fn opens(&self) -> bool {
        self.is_full || (self.chosen.is_some() && self.read != ReadData::None)
    }
}

/// The result of a check.
#[derive(Default)]
pub struct Outcome {
    /// All damage, by object.
    pub damage: Vec<Damage>,
    /// Packs read whole.
    pub packs_read: u64,
    /// Bytes of these packs.
    pub bytes_read: u64,
    /// Packs that were known to be damaged and that no kept snapshot needs any more.
    pub replaced: Vec<PackId>,
    /// Manifests and changes that are missing or damaged, and whose loss the owner has accepted.
    pub accepted: Vec<String>,
    /// Why the findings could not be recorded in the state.
    pub unnoted: Option<JobError>,
    /// Packs that were opened and are sound, and not proven yet.
    pub unproven: Vec<PackId>,
    /// How many packs the service was asked to check, because only it records findings.
    pub asked: u64,
    /// Whether the newest state could not be read, so that only records were checked.
    pub is_state_lost: bool,
}

impl Outcome {
    /// Converts the report of a keyless check on another machine.
    pub fn of_service(found: check::Report) -> Self {
        let mut findings = Findings::default();
        let accepted = accepted(&found);
        found.findings.into_iter().for_each(|finding| findings.add(finding, None));
        let (packs_read, bytes_read) = (found.packs_read, found.bytes_read);
        Self { damage: findings.finish(), accepted, packs_read, bytes_read, ..Self::default() }
    }
}

/// Checks the repository. Records findings about packs in the state, so that backups heal the damage. If the newest
/// state cannot be read, checks only the records.
pub fn verify(repository: &Repository, options: &Options, progress: &Progress) -> Result<Outcome, JobError> {
    let store = repository.store().as_ref();
    let before = match wait(view::read(&Witnessed::new(store))) {
        Ok(view) => Some(view),
        // The keyless check reports this too.
        Err(JobError::StateLost { .. }) => None,
        Err(error) => error.blame().map(|_| None)?,
    };
    // Behind a gateway only the service records when packs were read, so this machine keeps its own position.
    let turn = repository.backend().is_behind_gateway().then(|| last_turn(repository.state_dir()));
    let depth = match options.read {
        _ if options.chosen.is_some() => Depth::Structure,
        ReadData::All if !options.is_full => Depth::Data { part: 1, parts: 1 },
        // A share reads the packs not read for longest, whichever part was named: so repeated checks read all packs.
        ReadData::Share { parts } if !options.is_full => match turn {
            None => Depth::Data { part: 1, parts },
            Some(last) => Depth::Behind { last, parts },
        },
        _ => Depth::Structure,
    };
    let (found, harm) = wait(inspect(&repository.job(), depth))?;
    let mut outcome = Outcome { packs_read: found.packs_read, bytes_read: found.bytes_read, ..Outcome::default() };
    let mut last = found.last_read;
    let mut findings = Findings::default();
    outcome.accepted = accepted(&found);
    found.findings.into_iter().for_each(|finding| findings.add(finding, before.as_ref()));
    if let (Some(before), Some(harm)) = (before, harm) {
        let walked = match &options.chosen {
            Some(chosen) => {
                let history = History::renew(repository, &before, &[])?;
                let (hits, packs) = walk_chosen(repository, &before, &history, chosen, progress)?;
                // Where damage is found, the walk through all trees says what it hits.
                Some(Walked { is_sound: hits.impacts.is_empty(), packs })
            }
            None => None,
        };
        let of = walked.as_ref().map(|walked| &walked.packs);
        let (opens, share) = match options.opens() {
            true => due_packs(&before, options.read, (turn, of), &harm, wait(repository.job().now_to_note())?),
            false => (Vec::new(), 0),
        };
        last = opens[..share].last().map_or(last, |(pack, _)| Some(*pack));
        let is_walked = walked.is_some_and(|walked| walked.is_sound);
        dig(repository, (options, is_walked), progress, (&before, &opens), harm, &mut findings, &mut outcome)?;
    } else {
        outcome.is_state_lost = true;
    }
    if let (ReadData::Share { .. }, Some(_), Some(last)) = (options.read, turn, last) {
        // Ignores failures: the next check then begins at the same pack.
        let kept = create_private_dir(repository.state_dir());
        let _ = kept.and_then(|()| write_private(&repository.state_dir().join(TURN), format!("{last}\n").as_bytes()));
    }
    outcome.damage = findings.finish();
    Ok(outcome)
}

fn accepted(found: &check::Report) -> Vec<String> {
    let accepted = found.findings.iter().filter(|finding| finding.kind == check::Kind::Accepted);
    accepted.map(|finding| finding.object.clone()).collect()
}

/// What a walk through the trees of the chosen snapshots found.
struct Walked {
    /// Whether nothing is missing, as far as the state tells.
    is_sound: bool,
    /// The packs that the snapshots need.
    packs: HashSet<PackId>,
}

/// Opens packs if the options say so, records findings, and determines what the damage affects. With `is_walked` the
/// chosen trees are known to be sound as long as their packs are.
fn dig(
    repository: &Repository,
    (options, is_walked): (&Options, bool),
    progress: &Progress,
    (before, opens): (&View, &[(PackId, &PackRecord)]),
    mut harm: Harm,
    findings: &mut Findings,
    outcome: &mut Outcome,
) -> Result<(), JobError> {
    let mut opened = packs::Opened::default();
    if options.opens() {
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
        let is_enough = is_walked || (options.chosen.is_none() && !options.is_full);
        if is_enough && fates.are_all_good(&view) && !findings.has_unresolved() {
            return Ok(());
        }
        let history = History::renew(repository, &view, &[])?;
        let needed = wait(Needed::of(&repository.job(), &view))?;
        let hits = walk(repository, (&view, &needed), &history, &fates, progress)?;
        // A prune at the same time deletes objects that an older root still names: try again with the newer root.
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

/// Opens packs that are recorded as missing or damaged, and records what is true now.
pub fn look_again(repository: &Repository, before: &View) -> Result<Fates, JobError> {
    let harmed = before.state.packs.iter().filter(|(_, record)| record.is_missing || record.is_damaged);
    let harmed: Vec<(PackId, &PackRecord)> = harmed.map(|(id, record)| (*id, record)).collect();
    let opened = packs::open(repository, &harmed, 1, &Progress::default())?;
    let mut harm = Harm::default();
    opened.tell(&mut harm);
    noted(repository, before, &harm)?;
    Ok(Fates::new(harm, opened))
}

/// The packs that are opened: all that exist and are asked for, or those due; and how many of them make up the share.
fn due_packs<'a>(
    view: &'a View,
    read: ReadData,
    (turn, of): (Option<Option<PackId>>, Option<&HashSet<PackId>>),
    harm: &Harm,
    now: Time,
) -> (Vec<(PackId, &'a PackRecord)>, usize) {
    let is_asked = |id: &PackId| of.is_none_or(|of| of.contains(id)) && !harm.missing.contains(id);
    let there = view.state.packs.iter().filter(|(id, _)| is_asked(id));
    match read {
        ReadData::Share { parts } => {
            let order = turn.map_or(Order::Longest, Order::Behind);
            due(there, Share { part: 1, parts, order, lane: Lane::ONLY }, now)
        }
        _ => {
            let all: Vec<_> = there.map(|(id, record)| (*id, record)).collect();
            let share = all.len();
            (all, share)
        }
    }
}

/// The last pack that a partial check of this machine has read; `None` if unknown.
fn last_turn(state_dir: &Path) -> Option<PackId> {
    let text = private_text(&state_dir.join(TURN))?;
    PackId::from_hex(text.trim_end()).ok()
}

/// The file with the last pack that was read.
const TURN: &str = "checked";
/// How often to walk the trees if the repository changes meanwhile; then the last walk counts.
const ATTEMPTS: u32 = 8;
