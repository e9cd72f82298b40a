//! Check: verifies that everything the repository needs exists and is whole, without a key. Damage does not stop the
//! check. It is located, reported, and noted in the state so that clients heal it.

mod accepted;
mod chains;
mod data;
mod harm;
mod locate;
mod lost;
mod manifests;
mod needed;
mod records;
mod report;
mod structure;

use std::collections::BTreeSet;

pub(crate) use accepted::names as accepted_losses;
pub use data::{Lane, Order, Share, due};
pub use harm::{Harm, note};
pub use needed::Needed;
pub use report::{Finding, Kind, Report};

use copal_format::id::{ObjectHash, PackId};
use copal_format::layout;

use crate::budget::Budget;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects::{self, Local, without_room};
use crate::progress::{self, Chains, Link, Progress};
use crate::view::{self, Parts, View};
use crate::witness::Witnessed;

/// How thorough a check is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The structure: roots, segments, tables, closure, presence and length of packs.
    Structure,
    /// The structure, and the bytes of `part` of `parts` shares of the packs, those not read for longest first.
    Data {
        /// How many shares are read.
        part: u32,
        /// Out of how many.
        parts: u32,
    },
    /// The structure, and the bytes of one of `parts` shares of the packs of a lane; [`scrub`] reads the other lanes.
    Lane {
        /// Which packs are divided into shares.
        lane: Lane,
        /// Out of how many shares one is read.
        parts: u32,
    },
    /// The structure, and the bytes of one of `parts` shares of the packs in the order of their names, after `last`.
    /// For callers that cannot note in the state which packs were read.
    Behind {
        /// The last pack that was read before.
        last: Option<PackId>,
        /// Out of how many shares one is read.
        parts: u32,
    },
}

/// Which data packs' tables the structure check reads. It always reads the tables of all tree packs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Tables {
    /// All of them, at the cost of a read for each pack.
    All,
    /// Those of the packs whose bytes are due.
    Share,
}

/// Checks the newest root and everything beside it. Notes in the state which packs were lost, healed or read.
pub async fn check(job: &JobContext<'_>, depth: Depth) -> Result<Report, JobError> {
    check_until(job, (depth, Tables::All), &Budget::unlimited()).await
}

/// Like [`check`], until the budget is over: manifests by clients, the structure by domains, the data by packs, and at
/// least some of each. Notes where the next check continues: read times of packs in the state, the last manifest and the
/// last domain in `work/check/`.
pub async fn check_until(job: &JobContext<'_>, how: (Depth, Tables), budget: &Budget) -> Result<Report, JobError> {
    let progress = if budget.is_limited() { progress::last(job, JOB).await? } else { Progress::default() };
    let mut inspected = inspect_from(job, how, budget, progress).await?;
    // Noted first: noting starts the healing, and locating the harm may take more time than is left.
    if let Some(harm) = inspected.to_note() {
        without_room(note(job, harm).await)?;
    }
    inspected.locate(job, budget).await?;
    // Noted last, so that no finding is skipped.
    if budget.is_limited() && inspected.next != progress {
        progress::note(job, JOB, &inspected.next).await?;
    }
    Ok(inspected.report)
}

/// Reads the bytes of one of `parts` shares of the packs of a lane, until the budget is over, and nothing else. For
/// repositories that are too large for the checks that also look at the structure. Notes in the state what it learned.
pub async fn scrub(job: &JobContext<'_>, lane: Lane, parts: u32, budget: &Budget) -> Result<Report, JobError> {
    let witnessed = Witnessed::new(job.store);
    let reading = &JobContext { store: &witnessed, ..*job };
    let view = view::read_parts(reading.store, &data::PACKS).await?;
    let (mut report, mut harm) = (Report { root: view.number(), ..Report::default() }, Harm::default());
    let share = Share { part: 1, parts, order: Order::Longest, lane };
    data::check(reading, &view, share, budget, &mut report, &mut harm).await?;
    witnessed.verdict().await?;
    if let Err(error) = without_room(note(job, &harm).await) {
        // An index that needs marks cannot be read. The findings are reported all the same, and whole packs are noted.
        match error {
            JobError::StateLost { evidence } => report.add(Kind::Missing, "index/", evidence),
            error => report.blame_once(error)?,
        }
        harm.missing.clear();
        harm.damaged.clear();
        without_room(note(job, &harm).await)?;
    }
    // Drops findings about packs that a prune has removed from the state since.
    let newest = view::read_parts(job.store, &data::PACKS).await?;
    report.findings.retain(|finding| finding.pack.is_none_or(|pack| newest.state.packs.contains_key(&pack)));
    Ok(report)
}

/// Reads packs that a client reports as harmed or whole again, and notes the result. Leaves out packs that were read
/// within the last day and found whole. Returns how many are not whole.
pub async fn look(job: &JobContext<'_>, packs: &BTreeSet<PackId>) -> Result<u64, JobError> {
    look_until(job, packs, &Budget::unlimited()).await
}

/// Like [`look`], until the budget is over. Nothing notes which packs were left: checks read all packs in turn.
pub async fn look_until(job: &JobContext<'_>, packs: &BTreeSet<PackId>, budget: &Budget) -> Result<u64, JobError> {
    let harm = data::look(job, packs, budget).await?;
    note(job, &harm).await?;
    Ok((harm.missing.len() + harm.damaged.len()) as u64)
}

/// Checks without noting anything. The caller may note the result later, with what else it has learned. The result is
/// none if the newest state cannot be read: then nothing may be noted.
pub async fn inspect(job: &JobContext<'_>, depth: Depth) -> Result<(Report, Option<Harm>), JobError> {
    inspect_until(job, depth, &Budget::unlimited()).await
}

/// Like [`inspect`], until the budget is over. The report says what was left; nothing notes where to continue.
pub async fn inspect_until(
    job: &JobContext<'_>,
    depth: Depth,
    budget: &Budget,
) -> Result<(Report, Option<Harm>), JobError> {
    let mut inspected = inspect_from(job, (depth, Tables::All), budget, Progress::default()).await?;
    inspected.locate(job, budget).await?;
    let harm = inspected.to_note().cloned();
    Ok((inspected.report, harm))
}

struct Inspected {
    report: Report,
    /// The examined state, and what was learned about packs; none if the newest state cannot be read.
    state: Option<(View, Harm)>,
    /// Whether the whole state was readable, so that the result may be noted.
    is_readable: bool,
    /// Where the next check continues.
    next: Progress,
}

impl Inspected {
    fn to_note(&self) -> Option<&Harm> {
        self.state.as_ref().filter(|_| self.is_readable).map(|(_, harm)| harm)
    }

    /// Adds the harmed snapshots to the findings, and drops findings that are no damage.
    async fn locate(&mut self, job: &JobContext<'_>, budget: &Budget) -> Result<(), JobError> {
        let report = &mut self.report;
        if let Some((view, harm)) = &mut self.state {
            let witnessed = Witnessed::new(job.store);
            let job = &JobContext { store: &witnessed, ..*job };
            if let Err(error) = locate::all(job, (view, budget), harm, report).await {
                let (kind, object, why) = match error {
                    JobError::StateLost { evidence } => (Kind::Missing, "roots/".to_owned(), evidence),
                    error => error.blame().map(|(object, why)| (Kind::Damaged, object, why))?,
                };
                report.add_once(kind, object, why);
                self.is_readable = false;
            }
            witnessed.verdict().await?;
        }
        // An object that is needed is not stale.
        let is_needed = |finding: &&Finding| finding.kind != Kind::Stale;
        let needed: BTreeSet<String> = report.findings.iter().filter(is_needed).map(|of| of.object.clone()).collect();
        report.findings.retain(|finding| finding.kind != Kind::Stale || !needed.contains(&finding.object));
        Ok(())
    }
}

fn inspect_from<'a>(
    job: &'a JobContext<'_>,
    how: (Depth, Tables),
    budget: &'a Budget,
    progress: Progress,
) -> Local<'a, Inspected> {
    Box::pin(go(job, how, budget, progress))
}

async fn go(
    job: &JobContext<'_>,
    how: (Depth, Tables),
    budget: &Budget,
    progress: Progress,
) -> Result<Inspected, JobError> {
    let witnessed = Witnessed::new(job.store);
    let job = &JobContext { store: &witnessed, ..*job };
    let mut report = Report::default();
    // Records that belong to no client are checked once per round.
    if progress.after.is_none() {
        records::check(job, &mut report).await?;
    }
    // If the last check did not finish the manifests, they and the rest take turns in going first.
    let mut chains = progress.chains;
    let is_last = matches!(chains, Chains::Behind(Link { goes_first: false, .. }));
    if !is_last {
        chains = manifests::check(job, chains, budget, &mut report).await?;
    }
    let nothing = Looked { state: None, is_readable: false, next: progress };
    let looked = match inspect_state(job, how, budget, progress, &mut report).await {
        Err(JobError::StateLost { evidence }) => {
            if !lost::check(job, &mut report).await? {
                report.add(Kind::Missing, "roots/", evidence);
            }
            nothing
        }
        Err(error) => {
            report.blame_once(error)?;
            lost::check(job, &mut report).await?;
            nothing
        }
        Ok(looked) => looked,
    };
    if is_last {
        chains = manifests::check(job, chains, budget, &mut report).await?;
    }
    accepted::mark(job, &mut report).await?;
    witnessed.verdict().await?;
    let Looked { state, is_readable, mut next } = looked;
    next.chains = match chains {
        Chains::Behind(link) => Chains::Behind(Link { goes_first: is_last, ..link }),
        // A round is over once the manifests and all domains are done.
        Chains::Done if next.after.is_none() => Chains::Due,
        chains => chains,
    };
    Ok(Inspected { report, state, is_readable, next })
}

async fn of_share(job: &JobContext<'_>, view: &View, share: Option<Share>) -> Result<BTreeSet<PackId>, JobError> {
    let Some(share) = share else { return Ok(BTreeSet::new()) };
    // Of all lanes, only this check compares tables with the index, so it takes the packs of every lane.
    let share = Share { lane: Lane::ONLY, ..share };
    let (due, share) = data::due(view.state.packs.iter(), share, job.now_to_note().await?);
    Ok(due.into_iter().take(share).map(|(id, _)| id).collect())
}

struct Looked {
    state: Option<(View, Harm)>,
    is_readable: bool,
    next: Progress,
}

/// Examines what the newest root names.
async fn inspect_state(
    job: &JobContext<'_>,
    (depth, tables): (Depth, Tables),
    budget: &Budget,
    progress: Progress,
    report: &mut Report,
) -> Result<Looked, JobError> {
    let mut view = view::read_parts(job.store, &Parts::RECORDS).await?;
    report.root = view.number();
    let is_newest = match progress.after {
        None => chains::check(job, &view, report).await?,
        Some(_) => chains::check_newest(job, &view, report).await?,
    };
    let mut harm = Harm::default();
    let share = match depth {
        Depth::Structure => None,
        Depth::Data { part, parts } => Some(Share { part, parts, order: Order::Longest, lane: Lane::ONLY }),
        Depth::Lane { lane, parts } => Some(Share { part: 1, parts, order: Order::Longest, lane }),
        Depth::Behind { last, parts } => Some(Share { part: 1, parts, order: Order::Behind(last), lane: Lane::ONLY }),
    };
    if let Some(share) = share.filter(|_| progress.owes_rest) {
        data::check(job, &view, share, budget, report, &mut harm).await?;
    }
    let tables = match tables {
        Tables::All => None,
        Tables::Share => Some(of_share(job, &view, share).await?),
    };
    let structure =
        structure::check(job, &mut view, (progress.after, budget), tables.as_ref(), report, &mut harm).await?;
    let mut next = Progress { after: structure.after, ..Progress::default() };
    if let Some(share) = share.filter(|_| !progress.owes_rest) {
        data::check(job, &view, share, budget, report, &mut harm).await?;
        // If the data check was cut short, the next run does it first.
        next.owes_rest = report.packs_left > 0;
    }
    harm.tell_standing(&view, report);
    Ok(Looked { state: Some((view, harm)), is_readable: is_newest && structure.is_readable, next })
}

/// The numbers of the objects with a prefix.
async fn numbers(job: &JobContext<'_>, prefix: &str) -> Result<BTreeSet<u64>, JobError> {
    let listed = objects::list(job.store, prefix).await?;
    Ok(listed.iter().filter_map(|object| layout::trailing_number(object.key.as_str())).collect())
}

fn hash_in(name: &str) -> Option<ObjectHash> {
    ObjectHash::from_hex(name.rsplit('/').next()?).ok()
}

/// The job's name in its notes.
const JOB: &str = "check";
