//! Bucket: lets a burst through, and after it a steady rate.

/// How often something may happen.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rate {
    /// The cost of one.
    pub cost: u32,
    /// What each second gives back.
    pub regained: u32,
    /// How much may be spent at once.
    pub most: u32,
}

/// How much of the burst is used up at a time.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Bucket {
    /// Seconds since 1970.
    since: u64,
    spent: u32,
}

impl Bucket {
    /// Takes one. The error says after how many seconds there is one again.
    pub(super) fn take(&mut self, rate: Rate, now: u64) -> Result<(), u64> {
        self.regain(rate, now);
        let lacking = self.spent.saturating_add(rate.cost).saturating_sub(rate.most);
        if lacking > 0 {
            return Err(lacking.div_ceil(rate.regained).into());
        }
        self.spent += rate.cost;
        Ok(())
    }

    /// Gives one back that was taken for nothing.
    pub(super) fn give_back(&mut self, rate: Rate) {
        self.spent = self.spent.saturating_sub(rate.cost);
    }

    /// Whether all is regained.
    pub(super) fn is_whole(&mut self, rate: Rate, now: u64) -> bool {
        self.regain(rate, now);
        self.spent == 0
    }

    fn regain(&mut self, rate: Rate, now: u64) {
        // Requests take different times to get here, so their times are a little out of order. A time that is earlier
        // by more than that comes from a clock that was set back.
        if now.saturating_add(LATE) < self.since {
            self.since = now;
        }
        let passed = u32::try_from(now.saturating_sub(self.since)).unwrap_or(u32::MAX);
        self.since = now.max(self.since);
        self.spent = self.spent.saturating_sub(passed.saturating_mul(rate.regained));
    }
}

/// The most seconds between the arrival of a request and its turn here: a change arrives within 5 minutes.
const LATE: u64 = 10 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_through_and_after_it_one_each_time_that_it_costs() {
        let rate = Rate { cost: 2, regained: 1, most: 6 };
        let mut bucket = Bucket::default();
        let mut taken = |now| bucket.take(rate, now);
        assert_eq!([taken(100), taken(100), taken(100), taken(100)], [Ok(()), Ok(()), Ok(()), Err(2)]);
        assert_eq!([taken(101), taken(102), taken(102)], [Err(1), Ok(()), Err(2)]);
        assert_eq!(taken(50), Err(2), "a clock that goes back gives nothing");
    }

    #[test]
    fn a_clock_that_is_set_back_far_does_not_stop_it() {
        let rate = Rate { cost: 2, regained: 1, most: 2 };
        let mut bucket = Bucket::default();
        let mut taken = |now| bucket.take(rate, now);
        assert_eq!([taken(10_000), taken(5_000), taken(5_001), taken(5_002)], [Ok(()), Err(2), Err(1), Ok(())]);
    }

    #[test]
    fn what_is_given_back_may_be_taken_again() {
        let rate = Rate { cost: 2, regained: 1, most: 2 };
        let mut bucket = Bucket::default();
        assert_eq!(bucket.take(rate, 100), Ok(()));
        bucket.give_back(rate);
        assert_eq!(bucket.take(rate, 100), Ok(()));
        assert!(!bucket.is_whole(rate, 101) && bucket.is_whole(rate, 102));
    }
}
