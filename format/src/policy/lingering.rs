//! Lingering: the floor and hold of a replaced policy stay in force for the floor's age or the grace period, whichever
//! is longer, up to a year. So even a thief with the passphrase gains nothing by first signing a policy without them,
//! or one that would linger for a shorter time.

use core::time::Duration;

use super::SignedPolicy;
use crate::guard::{Floor, Guard, Hold, Lingering};
use crate::time::Time;

impl Lingering {
    /// What lingers once policy `new` replaces `old`; `before` lingered until now. If `new` keeps all that `old` keeps
    /// and would linger for as long, only `before` lingers on.
    pub fn after(before: Option<Self>, old: &SignedPolicy, new: &SignedPolicy, now: Time) -> Option<Self> {
        let before = before.filter(|before| before.lasts(now));
        let (floor, hold) = (old.floor(), old.hold());
        let is_unguarded = floor.is_nothing() && hold.is_none();
        let keeps_all = joined((new.floor(), new.hold()), (floor, hold)) == (new.floor(), new.hold());
        // If `new` lingered for a shorter time, a third policy could end the guard of `old` too early.
        if is_unguarded || keeps_all && lingering_time(new) >= lingering_time(old) {
            return before;
        }
        let until = now + lingering_time(old);
        let Some(before) = before else { return Some(Self { until, floor, hold }) };
        let (floor, hold) = joined((floor, hold), (before.floor, before.hold));
        Some(Self { until: until.max(before.until), floor, hold })
    }

    /// Whether it keeps all that `other` keeps, for at least as long.
    pub fn covers(&self, other: &Self) -> bool {
        let guard = (self.floor, self.hold);
        self.until >= other.until && joined(guard, (other.floor, other.hold)) == guard
    }

    /// The policy with the guard in force at `now`: its own floor and hold, joined with those that linger.
    pub fn join(lingering: Option<Self>, policy: SignedPolicy, now: Time) -> SignedPolicy {
        let Some(lingering) = lingering.filter(|lingering| lingering.lasts(now)) else { return policy };
        let guard = joined((policy.floor(), policy.hold()), (lingering.floor, lingering.hold));
        policy.guarding(guard)
    }
}

/// How long a policy's guard lingers once the policy is replaced.
fn lingering_time(policy: &SignedPolicy) -> Duration {
    policy.floor().age.max(policy.grace()).min(LONGEST)
}

/// The guard that keeps whatever either of two guards keeps.
fn joined((floor, hold): Guard, (other, held): Guard) -> Guard {
    let floor = Floor { last: floor.last.max(other.last), age: floor.age.max(other.age) };
    let strictest = |one: Hold, two: Hold| Hold { share: one.share.min(two.share), least: one.least.min(two.least) };
    (floor, hold.zip(held).map(|(one, two)| strictest(one, two)).or(hold).or(held))
}

/// Limits a floor set by mistake, or by a thief to fill the store, to a year after its replacement.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    const DAY: u64 = 24 * 3600;

    fn policy(last: u32, days: u64, hold: Option<(u8, u64)>) -> SignedPolicy {
        let plain = SignedPolicy::new(Policy::default(), "", Duration::from_secs(DAY), 1).unwrap();
        let floor = Floor { last, age: Duration::from_secs(days * DAY) };
        plain.with_guard(floor, hold.map(|(share, least)| Hold { share, least })).unwrap()
    }

    /// The same policy with a grace period of so many days.
    fn with_grace(days: u64, policy: &SignedPolicy) -> SignedPolicy {
        let plain = SignedPolicy::new(Policy::default(), "", Duration::from_secs(days * DAY), 1).unwrap();
        plain.with_guard(policy.floor(), policy.hold()).unwrap()
    }

    fn day(day: u64) -> Time {
        Time(0) + Duration::from_secs(day * DAY)
    }

    #[test]
    fn a_lowered_floor_stays_for_as_long_as_it_was() {
        let after = Lingering::after(None, &policy(2, 30, None), &policy(0, 0, None), day(100)).unwrap();
        assert_eq!((after.until, after.floor), (day(130), policy(2, 30, None).floor()));
        let floor = |now| Lingering::join(Some(after), policy(5, 1, None), now).floor();
        assert_eq!([floor(day(129)), floor(day(130))], [policy(5, 30, None).floor(), policy(5, 1, None).floor()]);
    }

    #[test]
    fn a_policy_that_guards_as_much_or_more_leaves_nothing_behind() {
        let old = policy(2, 30, Some((50, 1000)));
        for new in [&old, &policy(3, 31, Some((50, 1000))), &policy(2, 30, Some((20, 10)))] {
            assert_eq!(Lingering::after(None, &old, new, day(100)), None);
        }
    }

    #[test]
    fn whatever_is_lowered_lingers() {
        let old = policy(2, 30, Some((50, 1000)));
        let lowered = [(1, 30, Some((50, 1000))), (2, 29, Some((50, 1000))), (2, 30, None), (2, 30, Some((51, 1000)))];
        for (last, days, hold) in lowered.into_iter().chain([(2, 30, Some((50, 1001)))]) {
            let after = Lingering::after(None, &old, &policy(last, days, hold), day(100)).unwrap();
            let joined = Lingering::join(Some(after), policy(last, days, hold), day(100));
            assert_eq!((joined.floor(), joined.hold()), (old.floor(), old.hold()));
        }
    }

    #[test]
    fn several_steps_down_keep_the_first_until_its_own_time_has_passed() {
        let (high, low, none) = (policy(0, 30, None), policy(1, 10, None), policy(0, 0, None));
        let first = Lingering::after(None, &high, &low, day(100));
        let second = Lingering::after(first, &low, &none, day(101)).unwrap();
        assert_eq!((second.until, second.floor), (day(130), Floor { last: 1, ..high.floor() }));
        let late = Lingering::after(first, &low, &none, day(130)).unwrap();
        assert_eq!((late.until, late.floor), (day(140), low.floor()));
    }

    #[test]
    fn setting_policies_again_and_again_makes_nothing_linger_longer() {
        let (high, none) = (policy(0, 30, None), policy(0, 0, None));
        let first = Lingering::after(None, &high, &none, day(100));
        assert_eq!(Lingering::after(first, &none, &none, day(120)), first);
        assert_eq!(Lingering::after(first, &none, &none, day(130)), None);
    }

    #[test]
    fn a_floor_without_an_age_lingers_for_the_grace_period_and_none_longer_than_a_year() {
        let grace = Lingering::after(None, &policy(3, 0, None), &policy(0, 0, None), day(100)).unwrap();
        assert_eq!(grace.until, day(101));
        let century = Lingering::after(None, &policy(0, 36_500, None), &policy(0, 0, None), day(100)).unwrap();
        assert_eq!(century.until, day(466));
    }

    #[test]
    fn a_policy_that_first_loses_its_grace_period_lingers_as_long_as_one_that_is_replaced_at_once() {
        let (guarded, none) = (policy(3, 0, Some((50, 1000))), policy(0, 0, None));
        let (high, low, none) = (with_grace(30, &guarded), with_grace(0, &guarded), with_grace(0, &none));
        let first = Lingering::after(None, &high, &low, day(100));
        let second = Lingering::after(first, &low, &none, day(101)).unwrap();
        assert_eq!(second, Lingering { until: day(130), floor: guarded.floor(), hold: guarded.hold() });
    }

    #[test]
    fn a_grace_period_that_is_shortened_in_many_steps_ends_no_guard_sooner_than_in_one() {
        let steps = [30, 20, 10, 0].map(|days| with_grace(days, &policy(3, 0, None)));
        let replaced = steps.iter().zip(&steps[1..]).zip(100..);
        let shortened = replaced.fold(None, |before, ((old, new), at)| Lingering::after(before, old, new, day(at)));
        let ended = Lingering::after(shortened, &steps[3], &policy(0, 0, None), day(103));
        assert_eq!(ended, Some(Lingering { until: day(130), floor: steps[0].floor(), hold: None }));
        assert_eq!(ended, shortened);
    }

    #[test]
    fn shortening_the_grace_period_again_and_again_prolongs_no_guard_beyond_the_last_policy_that_had_it() {
        let guarded = policy(3, 0, None);
        let (high, low) = (with_grace(30, &guarded), with_grace(0, &guarded));
        let first = Lingering::after(None, &high, &low, day(100));
        assert_eq!(Lingering::after(first, &low, &low, day(120)), first);
        assert_eq!(Lingering::after(first, &low, &low, day(130)), None);
        let raised = Lingering::after(first, &low, &high, day(110));
        assert_eq!(raised, first);
        let again = Lingering::after(raised, &high, &low, day(120)).unwrap();
        assert_eq!((again.until, again.floor), (day(150), guarded.floor()));
    }

    #[test]
    fn a_policy_without_a_guard_leaves_nothing_behind_and_prolongs_nothing_however_short_the_next_grace_period_is() {
        let none = policy(0, 0, None);
        let (long, short) = (with_grace(30, &none), with_grace(0, &none));
        assert_eq!(Lingering::after(None, &long, &short, day(100)), None);
        let before = Some(Lingering { until: day(105), floor: policy(3, 0, None).floor(), hold: None });
        assert_eq!(Lingering::after(before, &long, &short, day(100)), before);
    }

    #[test]
    fn a_shorter_grace_period_leaves_nothing_behind_within_the_floors_age_or_beyond_a_year() {
        for (days, before, after) in [(30, 20, 10), (30, 30, 0), (0, 800, 400), (400, 800, 0)] {
            let guarded = policy(2, days, None);
            let (old, new) = (with_grace(before, &guarded), with_grace(after, &guarded));
            assert_eq!(Lingering::after(None, &old, &new, day(100)), None, "{days} {before} {after}");
        }
        let guarded = policy(2, 0, None);
        let year = Lingering::after(None, &with_grace(800, &guarded), &with_grace(365, &guarded), day(100)).unwrap();
        assert_eq!(year.until, day(466));
    }

    #[test]
    fn a_guard_covers_another_that_keeps_no_more_and_no_longer() {
        let lingering = |until, last, hold| {
            let policy = policy(last, 30, hold);
            Lingering { until: day(until), floor: policy.floor(), hold: policy.hold() }
        };
        let one = lingering(100, 2, Some((50, 1000)));
        for covered in [one, lingering(99, 2, Some((50, 1000))), lingering(100, 1, None)] {
            assert!(one.covers(&covered), "{covered:?}");
        }
        for more in [lingering(101, 2, Some((50, 1000))), lingering(100, 3, None), lingering(100, 2, Some((49, 1000)))]
        {
            assert!(!one.covers(&more), "{more:?}");
        }
    }
}
