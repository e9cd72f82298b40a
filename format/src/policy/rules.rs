//! Policy: the retention rules.

use core::fmt;

use jiff::civil;
use jiff::tz::TimeZone;

use super::Span;
use crate::id::TagId;

/// The rules for each series. A rule that is absent or zero has no effect; without any effective rule, all is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Keeps the newest snapshots.
    pub last: Option<Count>,
    /// Keeps the newest snapshot of each of this many hours that have one. The next fields do so for other periods.
    pub hourly: Option<Count>,
    /// As [`Policy::hourly`].
    pub daily: Option<Count>,
    /// As [`Policy::hourly`]; weeks start on Monday.
    pub weekly: Option<Count>,
    /// As [`Policy::hourly`].
    pub monthly: Option<Count>,
    /// As [`Policy::hourly`].
    pub quarterly: Option<Count>,
    /// As [`Policy::hourly`].
    pub yearly: Option<Count>,
    /// Keeps all snapshots not older than this.
    pub within: Option<Span>,
    /// Keeps the newest snapshot of each hour, if not older than this. The next fields do so for other periods.
    pub within_hourly: Option<Span>,
    /// As [`Policy::within_hourly`].
    pub within_daily: Option<Span>,
    /// As [`Policy::within_hourly`].
    pub within_weekly: Option<Span>,
    /// As [`Policy::within_hourly`].
    pub within_monthly: Option<Span>,
    /// As [`Policy::within_hourly`].
    pub within_quarterly: Option<Span>,
    /// As [`Policy::within_hourly`].
    pub within_yearly: Option<Span>,
    /// Keeps snapshots that have all tags of one of these sets.
    pub tags: Vec<Vec<TagId>>,
    /// A bound rather than a rule: of snapshots not older than this, the newest and the oldest of each day are kept.
    pub floor: Option<Span>,
    /// The zone in which hours, days and longer periods begin; UTC by default.
    pub zone: TimeZone,
}

impl Policy {
    /// Whether no rule has an effect, so that everything is kept.
    pub fn is_empty(&self) -> bool {
        self.counts().next().is_none()
            && self.spans().next().is_none()
            && effective(self.within).is_none()
            && self.tags.is_empty()
    }

    /// The counted rules that have an effect.
    pub fn counts(&self) -> impl Iterator<Item = (Period, Count)> {
        let rules = [
            (Period::Last, self.last),
            (Period::Hourly, self.hourly),
            (Period::Daily, self.daily),
            (Period::Weekly, self.weekly),
            (Period::Monthly, self.monthly),
            (Period::Quarterly, self.quarterly),
            (Period::Yearly, self.yearly),
        ];
        rules.into_iter().filter_map(|(period, count)| Some((period, count.filter(|c| *c != Count::N(0))?)))
    }

    /// The rules of a period within a span that have an effect.
    pub fn spans(&self) -> impl Iterator<Item = (Period, Span)> {
        let rules = [
            (Period::Hourly, self.within_hourly),
            (Period::Daily, self.within_daily),
            (Period::Weekly, self.within_weekly),
            (Period::Monthly, self.within_monthly),
            (Period::Quarterly, self.within_quarterly),
            (Period::Yearly, self.within_yearly),
        ];
        rules.into_iter().filter_map(|(period, span)| Some((period, effective(span)?)))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            last: None,
            hourly: None,
            daily: None,
            weekly: None,
            monthly: None,
            quarterly: None,
            yearly: None,
            within: None,
            within_hourly: None,
            within_daily: None,
            within_weekly: None,
            within_monthly: None,
            within_quarterly: None,
            within_yearly: None,
            tags: Vec::new(),
            floor: None,
            zone: TimeZone::UTC,
        }
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

/// The buckets of a counted rule.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Period {
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
