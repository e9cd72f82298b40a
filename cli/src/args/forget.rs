//! Forget: commands that change what is kept.

use std::time::Duration;

use clap::{ArgGroup, Args};
use copal_format::policy::{self, Count, Period, Policy};

use super::look::{Choice, Narrow};
use super::spec::{self, Which};
use super::values::{GroupBy, Size, Span};

#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("forgotten").required(true).multiple(true).args([
    "snapshots", "last", "hourly", "daily", "weekly", "monthly", "yearly", "within", "tags_kept",
]))]
#[command(override_usage = "copal forget [OPTIONS] SNAPSHOT...
       copal forget [OPTIONS] --keep-...")]
pub struct Forget {
    /// Snapshots to forget: "latest" or the first digits of an id.
    #[arg(value_name = "SNAPSHOT", value_parser = spec::which(), conflicts_with_all = [
        "last", "hourly", "daily", "weekly", "monthly", "yearly", "within", "tags_kept",
    ])]
    pub snapshots: Vec<Which>,
    /// Apply the rules to each group of snapshots with the same: host, paths, tags, label, or none.
    #[arg(long, value_name = "LIST", default_value = "host,paths,label")]
    pub group_by: GroupBy,
    /// Show what would be forgotten and why the rest is kept; forget nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Run prune afterwards.
    #[arg(long)]
    pub prune: bool,
    /// Whether the run prunes next, so that nobody asks what a prune would free.
    #[arg(skip)]
    pub is_pruned_next: bool,
    #[command(flatten)]
    pub keep: Keep,
    #[command(flatten)]
    pub narrow: Narrow,
    /// The only source whose snapshots are considered; all if none. A profile's rules are for what it saves.
    #[arg(skip)]
    pub source: Option<OneSource>,
}

/// What the snapshots of one profile have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneSource {
    pub host: String,
    /// The paths that are saved, without the leading slash, sorted.
    pub paths: Vec<Vec<u8>>,
    pub label: String,
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "What to keep")]
pub struct Keep {
    /// Keep the newest N snapshots.
    #[arg(id = "last", long = "keep-last", value_name = "N")]
    pub last: Option<u32>,
    /// Keep the newest snapshot of each of the last N hours that have one.
    #[arg(id = "hourly", long = "keep-hourly", value_name = "N")]
    pub hourly: Option<u32>,
    /// Keep the newest snapshot of each of the last N days that have one.
    #[arg(id = "daily", long = "keep-daily", value_name = "N")]
    pub daily: Option<u32>,
    /// Keep the newest snapshot of each of the last N weeks that have one.
    #[arg(id = "weekly", long = "keep-weekly", value_name = "N")]
    pub weekly: Option<u32>,
    /// Keep the newest snapshot of each of the last N months that have one.
    #[arg(id = "monthly", long = "keep-monthly", value_name = "N")]
    pub monthly: Option<u32>,
    /// Keep the newest snapshot of each of the last N years that have one.
    #[arg(id = "yearly", long = "keep-yearly", value_name = "N")]
    pub yearly: Option<u32>,
    /// Keep every snapshot not older than this, like 7d or 1y6mo.
    #[arg(id = "within", long = "keep-within", value_name = "SPAN")]
    pub within: Option<Span>,
    /// Keep every snapshot with this tag; may be repeated: any of them.
    #[arg(id = "tags_kept", long = "keep-tag", value_name = "TAG")]
    pub tags: Vec<String>,
}

impl Keep {
    /// The rules, without those about tags.
    pub fn rules(&self) -> Policy {
        let counts = [
            (Period::Last, self.last),
            (Period::Hourly, self.hourly),
            (Period::Daily, self.daily),
            (Period::Weekly, self.weekly),
            (Period::Monthly, self.monthly),
            (Period::Yearly, self.yearly),
        ];
        let counted = counts.into_iter().filter_map(|(period, count)| Some((period, Count::N(count?))));
        let rules = counted.fold(Policy::default(), |rules, (period, count)| rules.keeping(period, count));
        self.within.iter().fold(rules, |rules, span| rules.keeping_within(Period::Last, hours(span.0)))
    }

    /// Whether the rules keep nothing, such as `--keep-last 0` alone.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.rules().is_empty()
    }
}

/// Converts a duration, rounded up to whole hours, so that a snapshot at the limit is kept.
fn hours(duration: Duration) -> policy::Span {
    let hours = duration.as_secs().div_ceil(3_600);
    let days = u32::try_from(hours / 24).unwrap_or(u32::MAX);
    policy::Span { days, hours: (hours % 24) as u32, ..policy::Span::default() }
}

#[derive(Args, Copy, Clone, Debug, Default)]
pub struct Prune {
    /// Free only what nothing has needed for this long. 0s frees all of it now: only while nobody backs up [default: as the
    /// policy says, else 24h].
    #[arg(long, value_name = "SPAN")]
    pub grace: Option<Span>,
    /// Show what would be freed; free nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Repack at most this many bytes [default: no limit].
    #[arg(long, value_name = "SIZE")]
    pub max_repack: Option<Size>,
    /// Free only what can be freed without a key, as a service does.
    #[arg(long)]
    pub keyless: bool,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("change").required(true).multiple(true).args(["add", "remove"]))]
pub struct Tag {
    /// Add this tag; may be repeated.
    #[arg(long, value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub add: Vec<String>,
    /// Remove this tag; may be repeated.
    #[arg(long, value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub remove: Vec<String>,
    #[command(flatten)]
    pub choice: Choice,
}

#[derive(Args, Debug)]
pub struct Chosen {
    #[command(flatten)]
    pub choice: Choice,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_rounded_up_to_hours() {
        let rounded = |duration| hours(duration).to_string();
        assert_eq!(rounded(Duration::from_secs(24 * 7 * 3_600)), "7d");
        assert_eq!(rounded(Duration::from_secs(25 * 3_600)), "1d1h");
        assert_eq!(rounded(Duration::from_secs(1)), "1h");
        assert_eq!(hours(Duration::MAX).days, u32::MAX);
    }

    #[test]
    fn rules_that_count_nothing_are_no_rules() {
        assert!(Keep::default().is_empty());
        assert!(Keep { last: Some(0), within: Some(Span(Duration::ZERO)), ..Keep::default() }.is_empty());
        assert!(!Keep { tags: vec!["a".into()], ..Keep::default() }.is_empty());
        assert!(!Keep { daily: Some(1), ..Keep::default() }.is_empty());
    }
}
