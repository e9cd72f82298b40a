//! Policy: the retention rules.

use core::fmt;

use jiff::civil;
use jiff::tz::TimeZone;

use super::Span;
use crate::id::TagId;

/// The rules for each series. A rule that is absent or zero has no effect; without any effective rule, all is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Counted rules. `Last` keeps the newest N snapshots. Any other period keeps the newest snapshot of each of the
    /// newest N hours, days and so on that have one.
    pub counts: Periods<Count>,
    /// Rules that look back. `Last` keeps all snapshots not older than this. Any other period keeps the newest of each
    /// hour, day and so on, if not older than this.
    pub spans: Periods<Span>,
    /// Keeps snapshots that have all tags of one of these sets.
    pub tags: Vec<Vec<TagId>>,
    /// A bound rather than a rule: of snapshots not older than this, the newest and the oldest of each day are kept.
    pub floor: Option<Span>,
    /// The zone in which hours, days and longer periods begin; UTC by default.
    pub zone: TimeZone,
}

/// A rule for each period, in the order of [`Period::ALL`].
pub type Periods<T> = [Option<T>; Period::ALL.len()];

impl Default for Policy {
    fn default() -> Self {
        Self {
            counts: Periods::default(),
            spans: Periods::default(),
            tags: Vec::new(),
            floor: None,
            zone: TimeZone::UTC,
        }
    }
}

impl Policy {
    /// The same policy with a counted rule.
    pub fn keeping(mut self, period: Period, count: Count) -> Self {
        self.counts[period as usize] = Some(count);
        self
    }

    /// The same policy with a rule that looks back.
    pub fn keeping_within(mut self, period: Period, span: Span) -> Self {
        self.spans[period as usize] = Some(span);
        self
    }

    /// Whether no rule has an effect, so that everything is kept.
    pub fn is_empty(&self) -> bool {
        self.counts().next().is_none() && self.spans().next().is_none() && self.tags.is_empty()
    }

    /// The counted rules that have an effect.
    pub fn counts(&self) -> impl Iterator<Item = (Period, Count)> {
        let rules = Period::ALL.into_iter().zip(self.counts);
        rules.filter_map(|(period, count)| Some((period, count.filter(|count| *count != Count::N(0))?)))
    }

    /// The rules that look back and have an effect.
    pub fn spans(&self) -> impl Iterator<Item = (Period, Span)> {
        let rules = Period::ALL.into_iter().zip(self.spans);
        rules.filter_map(|(period, span)| Some((period, effective(span)?)))
    }
}

/// The number of buckets that a rule keeps.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// This many.
    N(u32),
    /// All of them.
    All,
}

impl Count {
    /// Whether the count is greater than `used`.
    pub fn exceeds(self, used: u32) -> bool {
        match self {
            Self::N(count) => used < count,
            Self::All => true,
        }
    }
}

/// The buckets of a rule.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Period {
    /// Each snapshot is a bucket.
    Last,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Quarterly,
    Yearly,
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last => "last",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Quarterly => "quarterly",
            Self::Yearly => "yearly",
        })
    }
}

impl Period {
    /// All periods, by their stored keys: new ones are appended (`docs/format.md`).
    pub const ALL: [Self; 7] =
        [Self::Last, Self::Hourly, Self::Daily, Self::Weekly, Self::Monthly, Self::Quarterly, Self::Yearly];

    /// The key of a bucket: equal for two snapshots of one bucket.
    pub fn bucket(self, local: civil::DateTime) -> [i16; 4] {
        let (year, month) = (local.year(), i16::from(local.month()));
        match self {
            Self::Last | Self::Hourly => [year, month, local.day().into(), local.hour().into()],
            Self::Daily => [year, month, local.day().into(), 0],
            Self::Weekly => {
                let week = local.date().iso_week_date();
                [week.year(), week.week().into(), 0, 0]
            }
            Self::Monthly => [year, month, 0, 0],
            Self::Quarterly => [year, (month - 1) / 3, 0, 0],
            Self::Yearly => [year, 0, 0, 0],
        }
    }
}

/// A span that has an effect: not a zero one.
pub fn effective(span: Option<Span>) -> Option<Span> {
    span.filter(|span| !span.is_zero())
}
