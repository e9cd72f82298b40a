//! Check: whether everything the repository needs is there and whole. Needs no key. Damage is located, noted in the
//! state so that clients heal it, and never hidden; it does not stop the check.

mod chains;
mod data;
mod harm;
mod locate;
mod lost;
mod needed;
mod records;
mod structure;

use std::collections::BTreeSet;

pub use data::{Order, Share, due};
pub use harm::{Harm, note};
pub use needed::Needed;

use copal_engine::id::{ObjectHash, PackId, SnapshotId};
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::error::JobError;
use crate::host::Host;
use crate::progress::{self, Progress};
use crate::view::{self, Parts, View};
use crate::witness::Witnessed;

/// How thorough a check is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Structure: roots, segments, tables, closure, presence and size of packs.
    Structure,
    /// Structure, and the bytes of `part` of `parts` shares of the packs, those not read for longest first.
    Data {
        /// How many shares are read.
        part: u32,
        /// Out of how many.
        parts: u32,
    },
    /// Structure, and the bytes of one of `parts` shares of the packs by their names, those behind `last` first: for who
    /// cannot note in the state which were read.
    Behind {
        /// The last pack that was read before.
        last: Option<PackId>,
        /// Out of how many shares one is read.
        parts: u32,
    },
}

/// What is wrong with something.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is not there.
    Missing,
    /// It is there and not what it should be.
    Damaged,
    /// Something that is there refers to what is not.
    Dangling,
    /// It is damaged, and nothing that stands needs it.
    Stale,
    /// A pack that was found harmed before, and of which nothing kept needs anything any more: what it held has other
    /// copies, or went with its snapshots. No damage; a prune forgets it when the grace period is over.
    Replaced,
}

impl Kind {
    /// The kind's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Damaged => "damaged",
            Kind::Dangling => "dangling",
            Kind::Stale => "stale",
            Kind::Replaced => "replaced",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What is wrong with it.
    pub kind: Kind,
    /// The object, or the id, that it is about.
    pub object: String,
    /// In words.
    pub why: String,
    /// The snapshots it harms, of those that are kept or guarded.
    #[serde(with = "snapshots")]
    pub snapshots: Vec<SnapshotId>,
    /// The pack it is about, if it is one.
    #[serde(skip)]
    pub pack: Option<PackId>,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// Packs whose bytes were read.
    pub packs_read: u64,
    /// Bytes of them.
    pub bytes_read: u64,
    /// The last of them that belongs to the share.
    #[serde(skip)]
    pub last_read: Option<PackId>,
    /// The root that was checked.
    pub root: u64,
    /// Packs that were due and not read because the budget was over. They are the first of the next check.
    pub packs_left: u64,
    /// Domains whose structure was not looked at because the budget was over. The next check begins with them.
    pub domains_left: u64,
    /// Whether findings may harm snapshots that they do not name: there are too many, or the budget was over.
    pub has_unnamed: bool,
}

impl Report {
    /// Whether the budget was over before everything was done that was due.
    pub fn is_unfinished(&self) -> bool {
        self.packs_left + self.domains_left > 0
    }

    /// Whether nothing is wrong. What was replaced is wrong no more.
    pub fn is_ok(&self) -> bool {
        self.wrong() == 0
    }

    /// How many things are wrong.
    pub fn wrong(&self) -> u64 {
        self.findings.iter().filter(|finding| finding.kind != Kind::Replaced).count() as u64
    }

    fn add(&mut self, kind: Kind, object: impl Into<String>, why: impl core::fmt::Display) {
        let finding = Finding { kind, object: object.into(), why: why.to_string(), snapshots: Vec::new(), pack: None };
        self.findings.push(finding);
    }

    /// The same, unless that was said of it before.
    fn add_once(&mut self, kind: Kind, object: String, why: impl core::fmt::Display) {
        if !self.findings.iter().any(|finding| finding.kind == kind && finding.object == object) {
            self.add(kind, object, why);
        }
    }

    fn add_pack(&mut self, kind: Kind, object: String, pack: PackId, why: impl core::fmt::Display) {
        self.add(kind, object, why);
        if let Some(finding) = self.findings.last_mut() {
            finding.pack = Some(pack);
        }
    }
}

/// Checks the newest root and everything that stands beside it, and notes in the state what was lost or healed and which
/// packs were read.
pub async fn check(host: &Host<'_>, depth: Depth) -> Result<Report, JobError> {
    check_until(host, depth, &Budget::unlimited()).await
}

/// The same, until the budget is over. It divides the structure by domains and the data by packs, does at least one of
/// each, and notes where the next check goes on: the time at which each pack was read last is in the state, the last
/// domain in `work/check/`.
pub async fn check_until(host: &Host<'_>, depth: Depth, budget: &Budget) -> Result<Report, JobError> {
    let progress = if budget.is_limited() { progress::last(host, JOB).await? } else { Progress::default() };
    let mut inspected = inspect_from(host, depth, budget, progress).await?;
    // First, for whom it harms may take longer to find out than there is time, and what is noted heals.
    if let Some(harm) = inspected.to_note() {
        note(host, harm).await?;
    }
    inspected.locate(host, budget).await?;
    // Last, so that what was found is never passed by.
    if budget.is_limited() && inspected.next != progress {
        progress::note(host, JOB, &inspected.next).await?;
    }
    Ok(inspected.report)
}

/// Looks at packs that somebody found harmed, or whole again, and notes what is so; gives how many are not whole.
pub async fn look(host: &Host<'_>, packs: &BTreeSet<PackId>) -> Result<u64, JobError> {
    let harm = data::look(host, packs).await?;
    note(host, &harm).await?;
    Ok((harm.missing.len() + harm.damaged.len()) as u64)
}

/// Checks without noting anything. What was learned about packs may be noted afterwards, with what else the caller has
/// learned; none if the newest state cannot be read, and then nothing may be written.
pub async fn inspect(host: &Host<'_>, depth: Depth) -> Result<(Report, Option<Harm>), JobError> {
    let budget = Budget::unlimited();
    let mut inspected = inspect_from(host, depth, &budget, Progress::default()).await?;
    inspected.locate(host, &budget).await?;
    let harm = inspected.to_note().cloned();
    Ok((inspected.report, harm))
}

/// What an inspection came to.
struct Inspected {
    report: Report,
    /// What it looked at, and what was learned about packs; none if the newest state cannot be read.
    state: Option<(View, Harm)>,
    /// Whether all of that state could be read, so that what was learned may be noted.
    is_readable: bool,
    /// Where the next one goes on.
    next: Progress,
}

impl Inspected {
    fn to_note(&self) -> Option<&Harm> {
        self.state.as_ref().filter(|_| self.is_readable).map(|(_, harm)| harm)
    }

    /// Says whom the damage harms, and drops what is none.
    async fn locate(&mut self, host: &Host<'_>, budget: &Budget) -> Result<(), JobError> {
        let report = &mut self.report;
        if let Some((view, harm)) = &mut self.state {
            let witnessed = Witnessed::new(host.store);
            let host = &Host { store: &witnessed, ..*host };
            if let Err(error) = locate::all(host, (view, budget), harm, report).await {
                let (kind, object, why) = match error {
                    JobError::StateLost { evidence } => (Kind::Missing, "roots/".to_owned(), evidence),
                    error => error.blame().map(|(object, why)| (Kind::Damaged, object, why))?,
                };
                report.add_once(kind, object, why);
                self.is_readable = false;
            }
            witnessed.verdict().await?;
        }
        // What is needed is not stale.
        let is_needed = |finding: &&Finding| finding.kind != Kind::Stale;
        let needed: BTreeSet<String> = report.findings.iter().filter(is_needed).map(|of| of.object.clone()).collect();
        report.findings.retain(|finding| finding.kind != Kind::Stale || !needed.contains(&finding.object));
        Ok(())
    }
}

async fn inspect_from(
    host: &Host<'_>,
    depth: Depth,
    budget: &Budget,
    progress: Progress,
) -> Result<Inspected, JobError> {
    let witnessed = Witnessed::new(host.store);
    let host = &Host { store: &witnessed, ..*host };
    let mut report = Report::default();
    // What is not of any domain is looked at once a round.
    if progress.after.is_none() {
        records::check(host, &mut report).await?;
    }
    let nothing = Looked { state: None, is_readable: false, next: progress };
    let looked = match inspect_state(host, depth, budget, progress, &mut report).await {
        Err(JobError::StateLost { evidence }) => {
            if !lost::check(host, &mut report).await? {
                report.add(Kind::Missing, "roots/", evidence);
            }
            nothing
        }
        Err(error) => {
            let (object, why) = error.blame()?;
            report.add_once(Kind::Damaged, object, why);
            lost::check(host, &mut report).await?;
            nothing
        }
        Ok(looked) => looked,
    };
    witnessed.verdict().await?;
    let Looked { state, is_readable, next } = looked;
    Ok(Inspected { report, state, is_readable, next })
}

/// What a look at the newest state came to.
struct Looked {
    state: Option<(View, Harm)>,
    is_readable: bool,
    next: Progress,
}

/// Inspects what the newest root names.
async fn inspect_state(
    host: &Host<'_>,
    depth: Depth,
    budget: &Budget,
    progress: Progress,
    report: &mut Report,
) -> Result<Looked, JobError> {
    let mut view = view::read_parts(host.store, &Parts::RECORDS).await?;
    report.root = view.number();
    let is_newest = match progress.after {
        None => chains::check(host, &view, report).await?,
        Some(_) => chains::check_newest(host, &view, report).await?,
    };
    let mut harm = Harm::default();
    let share = match depth {
        Depth::Structure => None,
        Depth::Data { part, parts } => Some(Share { part, parts, order: Order::Longest }),
        Depth::Behind { last, parts } => Some(Share { part: 1, parts, order: Order::Behind(last) }),
    };
    if let Some(share) = share.filter(|_| progress.owes_rest) {
        data::check(host, &view, share, budget, report, &mut harm).await?;
    }
    let structure = structure::check(host, &mut view, (progress.after, budget), report, &mut harm).await?;
    let mut next = Progress { after: structure.after, owes_rest: false };
    if let Some(share) = share.filter(|_| !progress.owes_rest) {
        data::check(host, &view, share, budget, report, &mut harm).await?;
        // Who was cut short has the next run's time for itself.
        next.owes_rest = report.packs_left > 0;
    }
    harm.tell_standing(&view, report);
    Ok(Looked { state: Some((view, harm)), is_readable: is_newest && structure.is_readable, next })
}

fn hash_in(name: &str) -> Option<ObjectHash> {
    ObjectHash::from_hex(name.rsplit('/').next()?).ok()
}

mod snapshots {
    use copal_engine::id::SnapshotId;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(ids: &[SnapshotId], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(ids.iter().map(ToString::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SnapshotId>, D::Error> {
        let ids = Vec::<String>::deserialize(from)?;
        ids.iter().map(|id| SnapshotId::from_hex(id)).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

/// The job, in the names of what it notes.
const JOB: &str = "check";
