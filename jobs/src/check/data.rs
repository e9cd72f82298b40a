//! Data: reads and hashes the bytes of packs, beginning with those not read for the longest time.

use core::time::Duration;
use std::collections::BTreeSet;

use copal_format::id::PackId;
use copal_format::layout;
use copal_format::state::{PackRecord, RunKind};
use copal_format::time::Time;

use super::structure::{self, Trouble};
use super::{Harm, Report};
use crate::budget::Budget;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects::{self, Call, PIECES};
use crate::view::{self, Parts, View};
use crate::witness::Witnessed;

/// Reads these packs, as far as the newest state has them, because a client reports them as harmed or whole again. Only
/// what is found counts, not the client's report. Stops when the budget is over.
pub(super) fn look<'a>(job: &'a JobContext<'_>, packs: &'a BTreeSet<PackId>, budget: &'a Budget) -> Call<'a, Harm> {
    Box::pin(look_at(job, packs, budget))
}

async fn look_at(job: &JobContext<'_>, packs: &BTreeSet<PackId>, budget: &Budget) -> Result<Harm, JobError> {
    let view = view::read_parts(job.store, &PACKS).await?;
    let witnessed = Witnessed::new(job.store);
    let job = &JobContext { store: &witnessed, ..*job };
    let began = job.now_to_note().await?;
    let mut harm = Harm::default();
    let reported = view.state.packs.iter().filter(|(id, _)| packs.contains(id));
    for (id, record) in reported.filter(|(_, record)| is_worth_a_look(record, began)) {
        if budget.is_over() {
            break;
        }
        let found = match read(job, *id, record).await? {
            Ok(()) => structure::read_table(job, *id, record).await?.map(drop),
            Err(trouble) => Err(trouble),
        };
        match found {
            Ok(()) => harm.add_whole(*id, record, job.now().await?),
            Err(trouble) => drop(trouble.note(&mut harm, *id, record)),
        }
    }
    witnessed.verdict().await?;
    Ok(harm)
}

/// Whether a pack is read because a client reports it: it was found harmed before, or was not read for a while.
fn is_worth_a_look(record: &PackRecord, now: Time) -> bool {
    let is_accused = record.is_missing || record.is_damaged;
    // A time in the future comes from a clock that was set back since.
    is_accused || record.read > now || now.since(record.read) >= TRUSTED
}

/// Which packs are read.
#[derive(Copy, Clone)]
pub struct Share {
    /// How many shares are read.
    pub part: u32,
    /// How many shares the packs are divided into.
    pub parts: u32,
    /// Which packs come first.
    pub order: Order,
    /// Which packs are divided into shares.
    pub lane: Lane,
}

/// A part of the packs, by their ids. Checks that run at the same time take a lane each.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    number: u32,
    of: u32,
}

impl Lane {
    /// The only lane: all packs.
    pub const ONLY: Lane = Lane { number: 0, of: 1 };

    /// Lane `number` of `of`, counted from 0; none if there are not so many.
    pub fn new(number: u32, of: u32) -> Option<Self> {
        (number < of).then_some(Self { number, of })
    }

    /// Whether this is the first lane. Only its check examines the structure too.
    pub fn is_first(self) -> bool {
        self.number == 0
    }

    fn has(self, pack: &PackId) -> bool {
        let [a, b, c, d, ..] = pack.0;
        u32::from_be_bytes([a, b, c, d]) % self.of == self.number
    }
}

/// Which packs are read first.
#[derive(Copy, Clone)]
pub enum Order {
    /// Those not read for longest.
    Longest,
    /// Those after this one in the order of their names.
    Behind(Option<PackId>),
}

/// Reads `part` of `parts` shares of the packs, and as many shares of those found damaged before. Stops when the budget
/// is over, but reads at least one pack.
pub(super) async fn check(
    job: &JobContext<'_>,
    view: &View,
    share: Share,
    budget: &Budget,
    report: &mut Report,
    harm: &mut Harm,
) -> Result<(), JobError> {
    let there = view.state.packs.iter().filter(|(id, _)| !harm.is_told(id));
    let (due, share) = due(there, share, job.now_to_note().await?);
    let mut at = 0;
    while at < due.len() {
        if at > 0 && budget.is_over() {
            report.packs_left = share.saturating_sub(at) as u64;
            break;
        }
        // The first pack is read alone, so that the budget decides about all others.
        let few = &due[at..][..if at > 0 { together(&due[at..]) } else { 1 }];
        let now = job.now_to_note().await?;
        let calls = few.iter().map(|(id, record)| read(job, *id, record));
        for ((id, record), found) in few.iter().zip(objects::join(calls).await?) {
            if at < share {
                report.last_read = Some(*id);
            }
            at += 1;
            if !matches!(found, Err(Trouble::Missing | Trouble::Forbidden(_))) {
                report.packs_read += 1;
                report.bytes_read += record.length;
            }
            match found {
                Ok(()) => harm.add_whole(*id, record, now),
                Err(trouble) => {
                    let (kind, why) = trouble.note(harm, *id, record);
                    report.add_pack(kind, layout::pack(record.place, *id), *id, why);
                }
            }
        }
    }
    Ok(())
}

/// How many packs are read at the same time: small ones together, a large one alone.
fn together(due: &[(PackId, &PackRecord)]) -> usize {
    let ends = due.iter().scan(0u64, |end, (_, record)| {
        *end = end.saturating_add(record.length);
        Some(*end)
    });
    ends.take_while(|end| *end <= TOGETHER).count().max(1)
}

/// The packs to read, and how many belong to the share. Damaged packs come after the share, in a share of their own
/// that changes each day. They are never noted as read, so in the first share they would always come first and displace
/// sound packs.
pub fn due<'a>(
    packs: impl Iterator<Item = (&'a PackId, &'a PackRecord)>,
    Share { part, parts, order, lane }: Share,
    now: Time,
) -> (Vec<(PackId, &'a PackRecord)>, usize) {
    let share_of = |packs: usize| (packs as u64 * u64::from(part)).div_ceil(u64::from(parts.max(1))) as usize;
    let packs = packs.filter(|(id, _)| lane.has(id)).map(|(id, record)| (*id, record));
    let (mut harmed, mut packs): (Vec<_>, Vec<_>) = packs.partition(|(_, record)| record.is_damaged);
    match order {
        Order::Longest => packs.sort_by_key(|(id, record)| (record.read, *id)),
        Order::Behind(last) => {
            let first = packs.partition_point(|(id, _)| Some(*id) <= last);
            packs.rotate_left(first);
        }
    }
    let (share, also) = (share_of(packs.len()), share_of(harmed.len()));
    let days = now.0.max(0) as u64 / DAY;
    // The start moves by the golden ratio each day, so every damaged pack has its turn at any interval of checks.
    let first = ((u128::from(days.wrapping_mul(GOLDEN)) * harmed.len() as u128) >> 64) as usize;
    harmed.rotate_left(first);
    packs.truncate(share);
    let share = packs.len();
    packs.extend(harmed.into_iter().take(also));
    (packs, share)
}

/// Whether a pack's bytes are whole; otherwise what is wrong.
async fn read(job: &JobContext<'_>, id: PackId, record: &PackRecord) -> Result<Result<(), Trouble>, JobError> {
    let read = objects::hash_ahead(job.store, &layout::pack(record.place, id), record.length, PIECES).await;
    Ok(match read.map_err(JobError::from) {
        Ok(None) => Err(structure::absence(job, id, record).await?.unwrap_or(Trouble::Missing)),
        Ok(Some(hash)) if hash.0 == id.0 => Ok(()),
        Ok(Some(_)) => Err(Trouble::Damaged("its bytes do not have the hash it is named by".to_owned())),
        Err(error) => Err(Trouble::of(error)?),
    })
}

/// How long a pack that was read and found whole is not read again because of a report. Each reading is noted in a
/// root, so reports without end would write roots without end. A day, because a client that checks daily reports real
/// damage again by then.
const TRUSTED: Duration = Duration::from_nanos(DAY);
/// Bytes of packs that are read at the same time. A larger pack is read alone, in pieces that hold as much.
const TOGETHER: u64 = 32 << 20;
/// The golden ratio, as a fraction of 2^64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Nanoseconds per day.
const DAY: u64 = 24 * 3600 * 1_000_000_000;
/// Only the pack records.
pub(super) const PACKS: Parts = Parts { kinds: &[RunKind::Packs], domains: Some(BTreeSet::new()) };

#[cfg(test)]
mod tests {
    use copal_format::id::DomainId;
    use copal_format::pack::PackKind;

    use super::*;

    fn pack(read: Time, is_damaged: bool) -> PackRecord {
        PackRecord { is_damaged, read, ..PackRecord::new(DomainId([1; 16]), PackKind::Data, 1, Time(0)) }
    }

    #[test]
    fn what_stays_damaged_takes_no_sound_packs_place() {
        let records = [pack(PackRecord::FORGED, true), pack(Time(5), false), pack(Time(3), false), pack(Time(0), true)];
        let ids: Vec<PackId> = (0..4).map(|at| PackId([at; 32])).collect();
        let of = |order, day: u64| {
            let share = Share { part: 1, parts: 2, order, lane: Lane::ONLY };
            let (due, share) = due(ids.iter().zip(&records), share, Time((day * DAY) as i64));
            (due.iter().map(|(id, _)| id.0[0]).collect::<Vec<_>>(), share)
        };
        assert_eq!(of(Order::Longest, 0), (vec![2, 0], 1));
        assert_eq!(of(Order::Longest, 1), (vec![2, 3], 1), "another damaged one each day");
        assert_eq!(of(Order::Behind(Some(ids[1])), 0), (vec![2, 0], 1));
        assert_eq!(of(Order::Behind(Some(ids[2])), 0), (vec![1, 0], 1), "round and round");
    }

    #[test]
    fn every_pack_belongs_to_one_lane_and_damaged_ones_too() {
        let packs: Vec<(PackId, PackRecord)> = (0..100u8)
            .map(|at| (PackId(copal_format::id::ObjectHash::of(&[at]).0), pack(Time(0), at % 10 == 0)))
            .collect();
        let of = |lane| {
            let share = Share { part: 1, parts: 1, order: Order::Longest, lane };
            due(packs.iter().map(|(id, of)| (id, of)), share, Time(0)).0.into_iter().map(|(id, _)| id)
        };
        let lanes: Vec<BTreeSet<PackId>> =
            (0..3).filter_map(|at| Lane::new(at, 3)).map(|at| of(at).collect()).collect();
        assert!(lanes.iter().all(|lane| lane.len() > 20), "{lanes:?}");
        assert_eq!(lanes.iter().map(BTreeSet::len).sum::<usize>(), packs.len());
        assert_eq!(lanes.into_iter().flatten().collect::<BTreeSet<_>>(), of(Lane::ONLY).collect());
        assert_eq!((Lane::new(3, 3), Lane::new(0, 0)), (None, None));
    }

    #[test]
    fn every_damaged_pack_has_its_turn_however_many_days_lie_between_checks() {
        for count in [1, 2, 7, 28, 30, 31, 90] {
            let packs: Vec<(PackId, PackRecord)> =
                (0..count).map(|at| (PackId([at; 32]), pack(Time(0), true))).collect();
            let checks = 40 * i64::from(count);
            let steps = [(1, 1), (2, 1), (7, 1), (14, 1), (28, 1), (30, 1), (31, 1), (90, 1), (365, 1), (7, 3)];
            // Times end in the year 2262.
            for (days, part) in steps.into_iter().filter(|(days, _)| checks * days < 80_000) {
                let mut read = BTreeSet::new();
                for check in 0..checks {
                    let share = Share { part, parts: 60, order: Order::Longest, lane: Lane::ONLY };
                    let now = Time((20_000 + check * days) * DAY as i64);
                    read.extend(due(packs.iter().map(|(id, of)| (id, of)), share, now).0.into_iter().map(|(id, _)| id));
                }
                assert_eq!(read.len(), usize::from(count), "{part} of {count}, every {days} days");
            }
        }
    }
}
