use jiff::tz::{Offset, TimeZone};

use super::*;
use copal_format::id::{ChunkId, DomainId};

mod properties;

const NOW: &str = "2024-07-01T00:00:00Z";

fn time(text: &str) -> Time {
    Time(text.parse::<Timestamp>().unwrap().as_nanosecond() as i64)
}

fn span(text: &str) -> Span {
    Span::parse(text).unwrap()
}

fn candidate(nth: usize, text: &str) -> Candidate<u64> {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&(nth as u64).to_be_bytes());
    let (id, time) = (SnapshotId(id), time(text));
    Candidate { id, series: 0, time, claimed: time, accepted: time, tags: vec![], pinned: false }
}

fn series(times: &[&str]) -> Vec<Candidate<u64>> {
    times.iter().enumerate().map(|(nth, text)| candidate(nth, text)).collect()
}

/// A snapshot of a series.
pub(super) fn snapshot_of(id: u8, source: u8, accepted: i64) -> SnapshotRecord {
    let (root, source) = (ChunkId([id; 24]), SourceId([source; 16]));
    let record = SnapshotRecord::new(SnapshotId([id; 16]), DomainId([1; 16]), root, source, Time(accepted));
    SnapshotRecord { state_time: Time(0), ..record }
}

/// Snapshots as the state has them, all of one client.
pub(super) fn of_one_client(snapshots: &[SnapshotRecord]) -> impl Iterator<Item = Signed<'_>> {
    snapshots.iter().map(|record| (&(ClientId([1; 16]), 1), record))
}

/// The positions of what is kept.
fn kept(policy: &Policy, candidates: &[Candidate<u64>]) -> Vec<usize> {
    let verdicts = decide(policy, candidates, time(NOW));
    verdicts.iter().enumerate().filter(|(_, verdict)| verdict.keep).map(|(at, _)| at).collect()
}

/// The reasons for each, as people read them.
fn reasons(policy: &Policy, candidates: &[Candidate<u64>]) -> Vec<String> {
    let texts = |verdict: &Verdict| verdict.reasons.iter().map(KeepReason::to_string).collect::<Vec<_>>().join(", ");
    decide(policy, candidates, time(NOW)).iter().map(texts).collect()
}

/// Two snapshots a day for five days, newest first.
fn ten() -> Vec<Candidate<u64>> {
    series(&[
        "2024-06-30T20:30:00Z",
        "2024-06-30T20:10:00Z",
        "2024-06-29T20:00:00Z",
        "2024-06-29T08:00:00Z",
        "2024-06-28T20:00:00Z",
        "2024-06-28T08:00:00Z",
        "2024-06-27T20:00:00Z",
        "2024-06-27T08:00:00Z",
        "2024-06-26T20:00:00Z",
        "2024-06-26T08:00:00Z",
    ])
}

/// One snapshot on the 1st and one on the 15th of each month from January 2022 to June 2024, newest first.
fn months() -> Vec<Candidate<u64>> {
    let mut texts = Vec::new();
    for year in [2022, 2023, 2024] {
        for month in 1..=if year == 2024 { 6 } else { 12 } {
            texts.push(format!("{year}-{month:02}-01T12:00:00Z"));
            texts.push(format!("{year}-{month:02}-15T12:00:00Z"));
        }
    }
    texts.reverse();
    series(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn reasons_are_told_from_spans_of_all_over_counts_to_spans_of_periods() {
    let policy = Policy::default().keeping_within(Period::Daily, span("2d")).keeping(Period::Last, Count::N(1));
    let policy = policy.keeping_within(Period::Last, span("2d"));
    assert_eq!(reasons(&policy, &ten())[0], "within 2d, last 1, daily within 2d");
}

#[test]
fn of_two_snapshots_of_one_time_the_one_that_was_made_later_is_the_newer() {
    let newest = Policy::default().keeping(Period::Last, Count::N(1));
    for ids in [[1, 2], [2, 1]] {
        let mut both = series(&["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]);
        for (candidate, id) in both.iter_mut().zip(ids) {
            candidate.id = SnapshotId([id; 16]);
        }
        both[1].accepted = Time(both[1].time.0 + 1);
        assert_eq!(kept(&newest, &both), [1], "copies of one snapshot: the later one may be the whole one");
        both[0].claimed = Time(both[0].time.0 + 1);
        assert_eq!(kept(&newest, &both), [0]);
    }
}

#[test]
fn a_policy_without_a_rule_keeps_everything() {
    let nothing = Policy { floor: Some(span("3d")), ..Policy::default() }
        .keeping(Period::Last, Count::N(0))
        .keeping_within(Period::Last, Span::default());
    assert!(nothing.is_empty());
    for policy in [Policy::default(), nothing] {
        assert_eq!(kept(&policy, &ten()).len(), 10);
    }
    assert_eq!(reasons(&Policy::default(), &ten())[9], "no rule");
}

#[test]
fn nothing_is_decided_about_no_snapshots() {
    assert_eq!(decide::<u64>(&Policy::default().keeping(Period::Last, Count::N(1)), &[], time(NOW)), []);
}

#[test]
fn last_keeps_the_newest_whatever_the_order_they_come_in() {
    let policy = Policy::default().keeping(Period::Last, Count::N(3));
    assert_eq!(kept(&policy, &ten()), [0, 1, 2]);
    let mut reversed = ten();
    reversed.reverse();
    assert_eq!(kept(&policy, &reversed), [7, 8, 9]);
    assert_eq!(kept(&Policy::default().keeping(Period::Last, Count::N(99)), &ten()).len(), 10);
    assert_eq!(kept(&Policy::default().keeping(Period::Last, Count::All), &ten()).len(), 10);
}

#[test]
fn a_counted_rule_keeps_the_newest_of_each_bucket() {
    let daily = Policy::default().keeping(Period::Daily, Count::N(3));
    assert_eq!(kept(&daily, &ten()), [0, 2, 4]);
    assert_eq!(reasons(&daily, &ten())[..5], ["daily 1", "", "daily 2", "", "daily 3"]);
    let hourly = Policy::default().keeping(Period::Hourly, Count::N(4));
    assert_eq!(kept(&hourly, &ten()), [0, 2, 3, 4]);
}

#[test]
fn days_without_a_snapshot_are_not_counted() {
    let gaps =
        series(&["2024-06-30T00:00:00Z", "2024-05-10T00:00:00Z", "2024-01-02T00:00:00Z", "2023-01-02T00:00:00Z"]);
    assert_eq!(kept(&Policy::default().keeping(Period::Daily, Count::N(3)), &gaps), [0, 1, 2]);
}

#[test]
fn the_oldest_is_kept_while_a_counted_rule_has_buckets_left() {
    let policy = Policy::default().keeping(Period::Daily, Count::N(6));
    assert_eq!(kept(&policy, &ten()), [0, 2, 4, 6, 8, 9]);
    assert_eq!(reasons(&policy, &ten())[9], "oldest for daily");
    let exhausted = Policy::default().keeping(Period::Daily, Count::N(5));
    assert_eq!(kept(&exhausted, &ten()), [0, 2, 4, 6, 8]);
    let all = Policy::default().keeping(Period::Daily, Count::All);
    assert_eq!(kept(&all, &ten()), [0, 2, 4, 6, 8, 9]);
}

#[test]
fn months_quarters_and_years_are_the_calendars() {
    let monthly = Policy::default().keeping(Period::Monthly, Count::N(3));
    assert_eq!(kept(&monthly, &months()), [0, 2, 4]);
    let quarterly = Policy::default().keeping(Period::Quarterly, Count::N(3));
    assert_eq!(kept(&quarterly, &months()), [0, 6, 12]);
    let yearly = Policy::default().keeping(Period::Yearly, Count::N(2));
    assert_eq!(kept(&yearly, &months()), [0, 12]);
    assert_eq!(kept(&Policy::default().keeping(Period::Yearly, Count::N(9)), &months()), [0, 12, 36, 59]);
}

#[test]
fn weeks_start_on_monday_and_may_span_two_years() {
    let around_new_year = series(&[
        "2025-01-06T12:00:00Z",
        "2025-01-05T12:00:00Z",
        "2024-12-31T12:00:00Z",
        "2024-12-30T12:00:00Z",
        "2024-12-29T12:00:00Z",
        "2024-01-01T12:00:00Z",
    ]);
    let policy = Policy::default().keeping(Period::Weekly, Count::N(3));
    assert_eq!(kept(&policy, &around_new_year), [0, 1, 4]);
}

#[test]
fn rules_add_to_each_other() {
    let policy = Policy::default()
        .keeping(Period::Last, Count::N(2))
        .keeping(Period::Daily, Count::N(2))
        .keeping(Period::Monthly, Count::N(2));
    assert_eq!(kept(&policy, &ten()), [0, 1, 2, 9]);
    assert_eq!(reasons(&policy, &ten())[..3], ["last 1, daily 1, monthly 1", "last 2", "daily 2"].map(String::from));
    assert_eq!(reasons(&policy, &ten())[9], "oldest for monthly");
}

#[test]
fn within_looks_back_from_the_newest_snapshot_not_from_now() {
    let policy = Policy::default().keeping_within(Period::Last, span("2d"));
    assert_eq!(kept(&policy, &ten()), [0, 1, 2, 3]);
    let later = decide(&policy, &ten(), time("2034-01-01T00:00:00Z"));
    assert_eq!(later.iter().filter(|verdict| verdict.keep).count(), 4);
    assert_eq!(reasons(&policy, &ten())[3], "within 2d");
}

#[test]
fn within_does_not_keep_what_is_exactly_as_old_as_the_span() {
    let pair = series(&["2024-06-30T12:00:00Z", "2024-06-29T12:00:00Z"]);
    assert_eq!(kept(&Policy::default().keeping_within(Period::Last, span("24h")), &pair), [0]);
    let from_now = series(&[NOW, "2024-06-30T00:00:00Z"]);
    assert_eq!(kept(&Policy::default().keeping_within(Period::Last, span("24h")), &from_now), [0]);
    assert_eq!(kept(&Policy::default().keeping_within(Period::Last, span("25h")), &pair), [0, 1]);
}

#[test]
fn within_looks_back_from_the_newest_snapshot_that_is_not_in_the_future() {
    let mut snapshots = ten();
    snapshots.push(candidate(10, "2099-01-01T00:00:00Z"));
    assert_eq!(kept(&Policy::default().keeping_within(Period::Last, span("2d")), &snapshots), [0, 1, 2, 3, 10]);
}

#[test]
fn periods_within_a_span_keep_the_newest_of_each_bucket_inside_it() {
    let policy = Policy::default().keeping_within(Period::Daily, span("3d"));
    assert_eq!(kept(&policy, &ten()), [0, 2, 4]);
    assert_eq!(reasons(&policy, &ten())[2], "daily within 3d");
    let monthly = Policy::default().keeping_within(Period::Monthly, span("3m"));
    assert_eq!(kept(&monthly, &months()), [0, 2, 4]);
    let all = Policy::default().keeping_within(Period::Yearly, span("9y"));
    assert_eq!(kept(&all, &months()), [0, 12, 36, 59]);
    for rule in [
        Policy::default().keeping_within(Period::Hourly, span("1d")),
        Policy::default().keeping_within(Period::Weekly, span("1d")),
        Policy::default().keeping_within(Period::Quarterly, span("1d")),
    ] {
        assert_eq!(kept(&rule, &ten()), [0]);
    }
}

#[test]
fn a_snapshot_with_all_tags_of_one_set_is_kept() {
    let [a, b] = [TagId([1; 16]), TagId([2; 16])];
    let mut snapshots = series(&["2024-06-04T00:00:00Z", "2024-06-03T00:00:00Z", "2024-06-02T00:00:00Z"]);
    snapshots[1].tags = vec![b, a];
    snapshots[2].tags = vec![b];
    let both = Policy { tags: vec![vec![a, b]], ..Policy::default() };
    assert_eq!(kept(&both, &snapshots), [1]);
    let either = Policy { tags: vec![vec![a], vec![b]], ..Policy::default() };
    assert_eq!(kept(&either, &snapshots), [1, 2]);
    assert_eq!(reasons(&both, &snapshots)[1], "tag");
    assert_eq!(kept(&both.keeping(Period::Last, Count::N(1)), &snapshots), [0, 1]);
}

#[test]
fn a_pinned_snapshot_is_kept_and_counts_like_any_other() {
    let mut snapshots = ten();
    snapshots[0].pinned = true;
    snapshots[7].pinned = true;
    let policy = Policy::default().keeping(Period::Daily, Count::N(2));
    assert_eq!(kept(&policy, &snapshots), [0, 2, 7]);
    assert_eq!(reasons(&policy, &snapshots)[0], "pinned, daily 1");
}

#[test]
fn series_do_not_influence_each_other() {
    let mut snapshots = ten();
    snapshots.iter_mut().skip(4).for_each(|snapshot| snapshot.series = 1);
    assert_eq!(kept(&Policy::default().keeping(Period::Last, Count::N(1)), &snapshots), [0, 4]);
}

#[test]
fn the_floor_keeps_the_newest_and_the_oldest_of_each_day_inside_it() {
    let times = [
        "2024-06-30T20:00:00Z",
        "2024-06-30T12:00:00Z",
        "2024-06-30T04:00:00Z",
        "2024-06-29T20:30:00Z",
        "2024-06-29T20:10:00Z",
        "2024-06-29T19:00:00Z",
    ];
    let policy = Policy { floor: Some(span("1d")), ..Policy::default() }.keeping(Period::Last, Count::N(1));
    assert_eq!(kept(&policy, &series(&times)), [0, 2, 3, 4]);
    let texts = reasons(&policy, &series(&times));
    assert_eq!(texts[2], "oldest of its day in the floor");
    assert_eq!(texts[3], "newest of its day in the floor");
}

#[test]
fn the_policys_zone_decides_where_a_day_begins() {
    let midnight = series(&["2024-06-30T01:00:00Z", "2024-06-29T23:00:00Z", "2024-06-29T21:00:00Z"]);
    let in_zone = |zone| kept(&Policy { zone, ..Policy::default() }.keeping(Period::Daily, Count::N(2)), &midnight);
    assert_eq!(in_zone(TimeZone::UTC), [0, 1]);
    assert_eq!(in_zone(TimeZone::fixed(Offset::constant(2))), [0, 2]);
    assert_eq!(in_zone(TimeZone::fixed(Offset::constant(-12))), [0, 2]);
}

#[test]
fn the_hour_that_clocks_repeat_is_one_hour_and_the_day_they_skip_one_is_one_day() {
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let autumn = series(&["2023-10-29T01:30:00Z", "2023-10-29T00:30:00Z", "2023-10-28T23:30:00Z"]);
    let hourly = |zone| Policy { zone, ..Policy::default() }.keeping(Period::Hourly, Count::N(2));
    assert_eq!(kept(&hourly(zone.clone()), &autumn), [0, 2]);
    assert_eq!(kept(&hourly(TimeZone::UTC), &autumn), [0, 1]);
    let spring = series(&["2024-03-31T21:30:00Z", "2024-03-30T23:30:00Z", "2024-03-30T22:30:00Z"]);
    assert_eq!(kept(&Policy { zone, ..Policy::default() }.keeping(Period::Daily, Count::N(2)), &spring), [0, 2]);
}

#[test]
fn a_full_clients_time_counts_unless_it_is_after_the_stores() {
    let [early, late] = [time("2024-01-01T00:00:00Z"), time("2024-02-01T00:00:00Z")];
    assert_eq!(choose_time(early, late, true), early);
    assert_eq!(choose_time(late, early, true), early);
    assert_eq!(choose_time(early, late, false), late);
}
