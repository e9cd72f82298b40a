//! Properties: what holds for any policy and any snapshots.

use core::array;

use proptest::prelude::*;

use super::*;

prop_compose! {
    /// Snapshots of two series over about three years, close enough to share hours and days.
    fn any_series()(made in prop::collection::vec((0..3u8, 0..3u8, 0i64..30_000, 0..8u8), 0..40)) -> Vec<Candidate<u64>> {
        let start = time("2021-06-01T00:00:00Z");
        made.into_iter().enumerate().map(|(nth, (series, tag, hours, pin))| Candidate {
            series: u64::from(series % 2),
            time: Time(start.0 + hours * hours % 26_280 * 3_600_000_000_000),
            tags: vec![TagId([tag; 16])],
            pinned: pin == 0,
            ..candidate(nth, NOW)
        }).collect()
    }
}

fn any_count() -> impl Strategy<Value = Option<Count>> {
    prop_oneof![4 => Just(None), 6 => (0..6u32).prop_map(|n| Some(Count::N(n))), 1 => Just(Some(Count::All))]
}

fn any_span() -> impl Strategy<Value = Option<Span>> {
    let some = (0..3u32, 0..5u32, 0..9u32, 0..30u32);
    let some = some.prop_map(|(years, months, days, hours)| Some(Span { years, months, days, hours }));
    prop_oneof![2 => Just(None), 1 => some]
}

prop_compose! {
    fn any_policy()(
        counts in prop::array::uniform7(any_count()),
        spans in prop::array::uniform8(any_span()),
        tags in prop::collection::vec(prop::collection::vec((0..3u8).prop_map(|tag| TagId([tag; 16])), 1..2), 0..2),
        offset in -12..=12i8,
    ) -> Policy {
        let [spans @ .., floor] = spans;
        Policy { counts, spans, tags, floor, zone: TimeZone::fixed(Offset::constant(offset)) }
    }
}

fn more(base: Option<Count>, other: Option<Count>) -> Option<Count> {
    match (base, other) {
        (Some(Count::N(a)), Some(Count::N(b))) => Some(Count::N(a.max(b))),
        (Some(Count::All), _) | (_, Some(Count::All)) => Some(Count::All),
        (one, other) => one.or(other),
    }
}

/// A policy that asks for at least what the base asks for.
fn extended(base: &Policy, other: Policy) -> Policy {
    Policy {
        counts: array::from_fn(|at| more(base.counts[at], other.counts[at])),
        spans: array::from_fn(|at| effective(base.spans[at]).or(other.spans[at])),
        tags: [base.tags.clone(), other.tags].concat(),
        floor: effective(base.floor).or(other.floor),
        zone: base.zone.clone(),
    }
}

proptest! {
    #[test]
    fn every_snapshot_gets_a_verdict_and_is_kept_exactly_if_there_is_a_reason(
        policy in any_policy(), snapshots in any_series()
    ) {
        let verdicts = decide(&policy, &snapshots, time(NOW));
        prop_assert_eq!(verdicts.len(), snapshots.len());
        for (verdict, snapshot) in verdicts.iter().zip(&snapshots) {
            prop_assert_eq!(verdict.id, snapshot.id);
            prop_assert_eq!(verdict.keep, !verdict.reasons.is_empty());
        }
    }

    #[test]
    fn a_pinned_snapshot_is_never_forgotten(policy in any_policy(), snapshots in any_series()) {
        for (verdict, snapshot) in decide(&policy, &snapshots, time(NOW)).iter().zip(&snapshots) {
            prop_assert!(verdict.keep || !snapshot.pinned);
        }
    }

    #[test]
    fn the_newest_of_each_series_is_kept_by_any_counted_rule(policy in any_policy(), snapshots in any_series()) {
        prop_assume!(policy.counts().next().is_some());
        let kept = kept(&policy, &snapshots);
        for series in [0, 1] {
            let of_series = (0..snapshots.len()).filter(|at| snapshots[*at].series == series);
            let newest = of_series.max_by_key(|at| (snapshots[*at].time, snapshots[*at].id));
            prop_assert!(newest.is_none_or(|at| kept.contains(&at)));
        }
    }

    #[test]
    fn a_policy_that_asks_for_more_keeps_no_snapshot_less(
        base in any_policy(), other in any_policy(), snapshots in any_series()
    ) {
        prop_assume!(!base.is_empty());
        let kept_by_more = kept(&extended(&base, other), &snapshots);
        prop_assert!(kept(&base, &snapshots).iter().all(|at| kept_by_more.contains(at)));
    }

    #[test]
    fn deciding_again_about_what_was_kept_forgets_nothing_more(policy in any_policy(), snapshots in any_series()) {
        let remaining: Vec<_> = kept(&policy, &snapshots).iter().map(|at| snapshots[*at].clone()).collect();
        prop_assert_eq!(kept(&policy, &remaining).len(), remaining.len());
    }

    #[test]
    fn times_and_spans_at_the_ends_of_time_do_no_harm(times: Vec<i64>, now: i64, years: u32, hours: u32) {
        let span = Span { years, hours, months: 1, days: 1 };
        let policy = Policy { floor: Some(span), ..Policy::default() };
        let policy = policy.keeping_within(Period::Last, span).keeping_within(Period::Weekly, span);
        let policy = policy.keeping(Period::Last, Count::N(1));
        let at = |(nth, time): (usize, &i64)| Candidate { time: Time(*time), ..candidate(nth, NOW) };
        let snapshots: Vec<_> = times.iter().enumerate().map(at).collect();
        prop_assert_eq!(decide(&policy, &snapshots, Time(now)).len(), times.len());
    }
}
