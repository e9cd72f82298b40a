use copal_format::pack::PackKind;
use copal_format::state::{RunKind, StateDelta, runs_to_fold, write_run};

use super::*;

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

type Changes = BTreeMap<PackId, Option<PackRecord>>;

fn record(domain: u8, length: u64, accepted: i64) -> PackRecord {
    let record = PackRecord::new(DomainId([domain; 16]), PackKind::Data, length, Time::from_unix(accepted, 0));
    PackRecord { is_proven: true, ..record }
}

/// The runs of a repository, the newest first, folded as ingest folds them.
#[derive(Default)]
struct Runs {
    runs: Vec<(Changes, ObjectHash, Arc<PackRun>)>,
    made: u8,
}

impl Runs {
    fn add(&mut self, mut changes: Changes) {
        let old: Vec<u64> = self.runs.iter().map(|(records, ..)| records.len() as u64).collect();
        let folded = runs_to_fold(changes.len() as u64, &old);
        for (older, ..) in self.runs.drain(..folded) {
            for (id, record) in older {
                changes.entry(id).or_insert(record);
            }
        }
        if self.runs.is_empty() {
            changes.retain(|_, record| record.is_some());
        }
        let delta = StateDelta { packs: changes.clone(), ..StateDelta::default() };
        self.made += 1;
        let run = write_run(RunKind::Packs, [self.made; 16], &delta.records(RunKind::Packs));
        let packs = PackRun::of(&RunReader::parse(&run.bytes).unwrap()).unwrap();
        self.runs.insert(0, (changes, run.reference.hash, Arc::new(packs)));
    }

    fn named(&self) -> Vec<(ObjectHash, Arc<PackRun>)> {
        self.runs.iter().map(|(_, hash, run)| (*hash, run.clone())).collect()
    }
}

#[test]
fn sums_are_those_of_all_packs_whatever_became_of_them_between_two_roots() {
    const DAY: i64 = 24 * 3_600;
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let (mut runs, mut packs, mut holdings) = (Runs::default(), BTreeMap::new(), Holdings::default());
        let mut now = 1_800_000_000;
        for _ in 0..30 {
            now += numbers.below(4 * 3_600) as i64;
            // A gateway does not see every root.
            for _ in 0..=numbers.below(3) {
                let mut changes = Changes::new();
                for _ in 0..numbers.below(12) {
                    let id = PackId([numbers.below(60) as u8; 32]);
                    let is_there = numbers.below(3) > 0;
                    let age = 60 * numbers.below(2_000) as i64;
                    let pack = record(numbers.below(2) as u8, numbers.below(1_000), now - age);
                    changes.insert(id, is_there.then_some(pack));
                }
                for (id, change) in &changes {
                    match change {
                        Some(pack) => drop(packs.insert(*id, pack.clone())),
                        None => drop(packs.remove(id)),
                    }
                }
                runs.add(changes);
            }
            holdings = holdings.followed_by(runs.named(), Time::from_unix(now, 0));
            let (since, asked) = (now - DAY, BTreeMap::from([(PackId([numbers.below(60) as u8; 32]), 500)]));
            for domain in 0..3 {
                let of_domain = packs.iter().filter(|(_, pack)| pack.domain == DomainId([domain; 16]));
                let left = of_domain.map(|(id, pack)| {
                    let length = pack.length.saturating_sub(asked.get(id).copied().unwrap_or(0));
                    (length, if pack.accepted.to_unix().0 / 60 >= since / 60 { length } else { 0 })
                });
                let expected = left.fold((0, 0), |sum, (all, new)| (sum.0 + all, sum.1 + new));
                let told = holdings.stored(DomainId([domain; 16]), Time::from_unix(now, 0), &asked);
                assert_eq!(told, expected, "seed {seed}, domain {domain}");
            }
            for id in (0..60).map(|byte| PackId([byte; 32])) {
                assert_eq!(holdings.has(&id), packs.contains_key(&id), "seed {seed}");
            }
        }
    }
}

#[test]
fn what_a_clock_that_was_ahead_has_accepted_does_not_count_for_the_day() {
    const NOW: i64 = 1_800_000_000;
    let accepted = [NOW - 60, NOW + 1_800, NOW + 7_200];
    let mut runs = Runs::default();
    runs.add((0..).zip(accepted).map(|(byte, time)| (PackId([byte; 32]), Some(record(1, 10, time)))).collect());
    let (now, domain) = (Time::from_unix(NOW, 0), DomainId([1; 16]));
    let holdings = Holdings::default().followed_by(runs.named(), now);
    assert_eq!(holdings.stored(domain, now, &BTreeMap::new()), (30, 20), "clocks differ by half an hour");
    assert_eq!(holdings.stored(domain, now, &BTreeMap::from([(PackId([2; 32]), 10)])), (20, 20));
}

#[test]
fn a_run_that_both_roots_have_is_not_read_again() {
    let mut runs = Runs::default();
    runs.add((0..100).map(|byte| (PackId([byte; 32]), Some(record(1, 10, 60)))).collect());
    let first = Holdings::default().followed_by(runs.named(), Time(0));
    let (_, hash, run) = &runs.runs[0];
    assert!(first.run(*hash).is_some_and(|kept| Arc::ptr_eq(&kept, run)));
    assert!(first.run(ObjectHash([0; 32])).is_none());
    runs.add(Changes::from([(PackId([0; 32]), None)]));
    assert_eq!(runs.runs.len(), 2);
    let second = first.followed_by(runs.named(), Time(0));
    assert_eq!(second.stored(DomainId([1; 16]), Time(0), &BTreeMap::new()), (990, 990));
}
