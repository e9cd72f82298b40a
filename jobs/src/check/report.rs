//! Report: what a check found and how much it read.

use copal_format::id::{PackId, SnapshotId};
use copal_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::error::JobError;

/// What is wrong with something.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The object does not exist.
    Missing,
    /// The object exists and is not what it should be.
    Damaged,
    /// Something present refers to an id that is not there.
    Dangling,
    /// The object is damaged, and nothing current needs it.
    Stale,
    /// A pack that was found harmed before and that no kept snapshot needs any more: its content has other copies, or
    /// went with its snapshots. No damage; a prune forgets it after the grace period.
    Replaced,
    /// A manifest or a change that is missing or damaged, and whose loss the owner has accepted. No damage.
    Accepted,
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
            Kind::Accepted => "accepted",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of harm.
    pub kind: Kind,
    /// The object or id in question.
    pub object: String,
    /// The reason, in words.
    pub why: String,
    /// The kept or guarded snapshots that it harms.
    #[serde(with = "snapshots")]
    pub snapshots: Vec<SnapshotId>,
    /// The pack in question, if it is one.
    #[serde(skip)]
    pub pack: Option<PackId>,
}

impl Finding {
    /// Whether it is about a manifest or a change that is missing or damaged. The owner may accept such a loss.
    pub fn is_acceptable(&self) -> bool {
        let is_lost = matches!(self.kind, Kind::Missing | Kind::Damaged);
        is_lost && ["manifests/", "changes/"].iter().any(|prefix| self.object.starts_with(prefix))
    }

    /// Whether it counts as wrong.
    pub fn is_wrong(&self) -> bool {
        !matches!(self.kind, Kind::Replaced | Kind::Accepted)
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// Packs whose bytes were read.
    pub packs_read: u64,
    /// The bytes of those packs.
    pub bytes_read: u64,
    /// The last pack read that belongs to the share.
    #[serde(skip)]
    pub last_read: Option<PackId>,
    /// The root that was checked.
    pub root: u64,
    /// Packs that were due and not read because the budget was over. The next check begins with them.
    pub packs_left: u64,
    /// Domains whose structure was not examined because the budget was over. The next check begins with them.
    pub domains_left: u64,
    /// Clients whose manifests were not all read because the budget was over. The next check continues with them.
    pub clients_left: u64,
    /// Whether findings may harm further snapshots that they do not list: there are too many, or the budget was over.
    pub has_unnamed: bool,
}

impl Report {
    /// Whether the budget was over before everything due was done.
    pub fn is_unfinished(&self) -> bool {
        self.packs_left + self.domains_left + self.clients_left > 0
    }

    /// Whether nothing is wrong. A replaced pack and an accepted loss do not count as wrong.
    pub fn is_ok(&self) -> bool {
        self.wrong() == 0
    }

    /// How many things are wrong.
    pub fn wrong(&self) -> u64 {
        self.findings.iter().filter(|finding| finding.is_wrong()).count() as u64
    }

    pub(super) fn add(&mut self, kind: Kind, object: impl Into<String>, why: impl core::fmt::Display) {
        let finding = Finding { kind, object: object.into(), why: why.to_string(), snapshots: Vec::new(), pack: None };
        self.findings.push(finding);
    }

    /// Reports the objects of these numbers as missing: each by its name, but after [`NAMED`] findings only the first of
    /// a gap. The numbers may be far apart.
    pub(super) fn add_gap(&mut self, (from, to): (u64, u64), name: impl Fn(u64) -> String) {
        let Some(gone) = to.saturating_add(1).checked_sub(from).filter(|gone| *gone > 0) else { return };
        let named = NAMED.saturating_sub(self.findings.len() as u64).clamp(1, gone);
        (from..from + named).for_each(|number| self.add(Kind::Missing, name(number), "it is not there"));
        if named < gone {
            let name = name(from);
            let all = name.rsplit_once('/').map_or("", |(above, _)| above);
            self.add(Kind::Missing, format!("{all}/"), format_args!("{} more are not there", gone - named));
        }
    }

    /// Like [`Self::add`], unless there is such a finding about the object already.
    pub(super) fn add_once(&mut self, kind: Kind, object: String, why: impl core::fmt::Display) {
        if !self.findings.iter().any(|finding| finding.kind == kind && finding.object == object) {
            self.add(kind, object, why);
        }
    }

    /// Reports the object that an error blames. Fails with the error itself if it blames none.
    pub(super) fn blame(&mut self, error: impl Into<JobError>) -> Result<(), JobError> {
        let (object, why) = error.into().blame()?;
        self.add(Kind::Damaged, object, why);
        Ok(())
    }

    /// Like [`Self::blame`], unless there is such a finding about the object already.
    pub(super) fn blame_once(&mut self, error: impl Into<JobError>) -> Result<(), JobError> {
        let (object, why) = error.into().blame()?;
        self.add_once(Kind::Damaged, object, why);
        Ok(())
    }

    /// Returns what was read. Reports an object that the store has but refuses to give.
    pub(super) fn given<T>(&mut self, read: Result<Option<T>, StoreError>) -> Result<Option<T>, JobError> {
        read.or_else(|error| self.blame(error).map(|()| None))
    }

    pub(super) fn add_pack(&mut self, kind: Kind, object: String, pack: PackId, why: impl core::fmt::Display) {
        self.add(kind, object, why);
        if let Some(finding) = self.findings.last_mut() {
            finding.pack = Some(pack);
        }
    }
}

/// How many missing records a report names.
const NAMED: u64 = 100_000;

mod snapshots {
    use copal_format::id::SnapshotId;
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
