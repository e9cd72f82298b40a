//! Policy: the policy that the service follows, as a TOML file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use copal_format::id::{DomainId, TagId};
use copal_format::keys::domain::DomainKeys;
use copal_format::policy::{
    BadPolicy, BadSpan, Count, Floor, Hold, Period, Policy, SignedPolicy, Span, USUAL_CHECK_PARTS, USUAL_GRACE,
};
use serde::Deserialize;

use crate::args::values;

/// A policy file. Every key is optional.
#[derive(Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicyFile {
    keep_last: Option<Number>,
    keep_hourly: Option<Number>,
    keep_daily: Option<Number>,
    keep_weekly: Option<Number>,
    keep_monthly: Option<Number>,
    keep_quarterly: Option<Number>,
    keep_yearly: Option<Number>,
    keep_within: Option<String>,
    keep_within_hourly: Option<String>,
    keep_within_daily: Option<String>,
    keep_within_weekly: Option<String>,
    keep_within_monthly: Option<String>,
    keep_within_quarterly: Option<String>,
    keep_within_yearly: Option<String>,
    keep_tags: Vec<Vec<String>>,
    floor: Option<String>,
    floor_last: u32,
    floor_age: Option<String>,
    hold_share: Option<String>,
    hold_from: Option<String>,
    timezone: String,
    grace: Option<String>,
    check_share: Option<String>,
}

/// A number, or `"all"`.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(untagged)]
enum Number {
    N(u32),
    Word(String),
}

#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("the policy cannot be read: {0}")]
    Toml(String),
    #[error("{key} is a number or \"all\"")]
    Number { key: String },
    #[error("{key}: {source}")]
    Span { key: String, source: BadSpan },
    #[error("grace is a length of time, like \"24h\" or \"7d\"")]
    Grace,
    #[error("floor-age is a length of time, like \"14d\"")]
    FloorAge,
    #[error("hold-share is a whole percentage, like \"50%\", or \"off\"")]
    HoldShare,
    #[error("hold-from is a size, like \"64MiB\"")]
    HoldFrom,
    #[error("check-share is the part of all packs that a check reads, like \"1/30\"")]
    Share,
    #[error("{0:?} is no tag's id")]
    Tag(String),
    #[error(transparent)]
    Bad(#[from] BadPolicy),
    /// A set without tags: it would match every snapshot.
    #[error("keep-tags names a set without a tag")]
    EmptySet,
}

impl PolicyFile {
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            PolicyError::Toml(format!("{line}{}", error.message().trim().replace('\n', ", ")))
        })
    }

    /// The names of all tags in the file, each once.
    pub fn tags(&self) -> BTreeSet<&str> {
        let names = self.keep_tags.iter().flatten().map(String::as_str);
        names.filter(|name| !name.starts_with(ID)).collect()
    }

    /// The policy, ready to be signed. Tag ids differ per domain, so a set of names becomes one set of ids per domain.
    pub fn policy(&self, domains: &BTreeMap<DomainId, DomainKeys>) -> Result<SignedPolicy, PolicyError> {
        let mut tags = Vec::new();
        for names in &self.keep_tags {
            if names.is_empty() {
                return Err(PolicyError::EmptySet);
            }
            let mut sets = BTreeSet::new();
            for keys in domains.values() {
                let ids: Result<BTreeSet<TagId>, PolicyError> = names.iter().map(|name| tag(name, keys)).collect();
                sets.insert(ids?);
            }
            tags.extend(sets.into_iter().map(|set| set.into_iter().collect::<Vec<_>>()));
        }
        let counts: [_; Period::ALL.len()] = [
            &self.keep_last,
            &self.keep_hourly,
            &self.keep_daily,
            &self.keep_weekly,
            &self.keep_monthly,
            &self.keep_quarterly,
            &self.keep_yearly,
        ];
        let spans: [_; Period::ALL.len()] = [
            &self.keep_within,
            &self.keep_within_hourly,
            &self.keep_within_daily,
            &self.keep_within_weekly,
            &self.keep_within_monthly,
            &self.keep_within_quarterly,
            &self.keep_within_yearly,
        ];
        let mut rules = Policy { tags, floor: span("floor", &self.floor)?, ..Policy::default() };
        for (at, period) in Period::ALL.into_iter().enumerate() {
            rules.counts[at] = count(&counted(period), counts[at])?;
            rules.spans[at] = span(&within(period), spans[at])?;
        }
        let grace = match &self.grace {
            Some(text) => text.parse::<values::Span>().map_err(|_| PolicyError::Grace)?.0,
            None => USUAL_GRACE,
        };
        let parts = match &self.check_share {
            Some(text) => text.strip_prefix("1/").and_then(|parts| parts.parse().ok()).ok_or(PolicyError::Share)?,
            None => USUAL_CHECK_PARTS,
        };
        Ok(SignedPolicy::new(rules, &self.timezone, grace, parts)?.with_guard(self.floor()?, self.hold()?)?)
    }

    fn floor(&self) -> Result<Floor, PolicyError> {
        let age = self.floor_age.as_deref().map(str::parse::<values::Span>).transpose();
        let age = age.map_err(|_| PolicyError::FloorAge)?.map_or(Duration::ZERO, |span| span.0);
        Ok(Floor { last: self.floor_last, age })
    }

    /// The rule that raises a hold: a share and a least size, with defaults. None if holds are off.
    fn hold(&self) -> Result<Option<Hold>, PolicyError> {
        let share = match self.hold_share.as_deref() {
            Some("off") => return Ok(None),
            Some(text) => text.strip_suffix('%').and_then(|share| share.trim().parse().ok()),
            None => Some(Hold::USUAL.share),
        };
        let least = match &self.hold_from {
            Some(text) => text.parse::<values::Size>().map_err(|_| PolicyError::HoldFrom)?.0,
            None => Hold::USUAL.least,
        };
        Ok(Some(Hold { share: share.ok_or(PolicyError::HoldShare)?, least }))
    }
}

/// Writes a policy as a file. A tag without a known name is written as its id.
pub fn to_toml(policy: &SignedPolicy, names: &BTreeMap<TagId, String>) -> String {
    let rules = policy.rules();
    let mut text = String::new();
    let mut line = |key: &str, value: String| writeln!(text, "{key} = {value}").expect("memory takes every byte");
    for (period, count) in Period::ALL.into_iter().zip(rules.counts) {
        match count {
            Some(Count::N(count)) => line(&counted(period), count.to_string()),
            Some(Count::All) => line(&counted(period), quoted("all")),
            None => {}
        }
    }
    let spans = Period::ALL.into_iter().zip(rules.spans).map(|(period, span)| (within(period), span));
    for (key, span) in spans.chain([("floor".to_owned(), rules.floor)]) {
        if let Some(span) = span {
            line(&key, quoted(&span.to_string()));
        }
    }
    let name = |tag: &TagId| quoted(&names.get(tag).cloned().unwrap_or_else(|| format!("{ID}{tag}")));
    // One set of names has one set of ids per domain: after translation they are equal, and the set keeps one.
    let sets: BTreeSet<BTreeSet<String>> = rules.tags.iter().map(|set| set.iter().map(name).collect()).collect();
    if !sets.is_empty() {
        let sets = sets.iter().map(|set| format!("[{}]", set.iter().cloned().collect::<Vec<_>>().join(", ")));
        line("keep-tags", format!("[{}]", sets.collect::<Vec<_>>().join(", ")));
    }
    if policy.floor().last > 0 {
        line("floor-last", policy.floor().last.to_string());
    }
    if !policy.floor().age.is_zero() {
        line("floor-age", quoted(&seconds(policy.floor().age)));
    }
    match policy.hold() {
        Some(hold) => {
            line("hold-share", quoted(&format!("{}%", hold.share)));
            line("hold-from", quoted(&bytes(hold.least)));
        }
        None => line("hold-share", quoted("off")),
    }
    line("timezone", quoted(policy.zone()));
    line("grace", quoted(&seconds(policy.grace())));
    line("check-share", quoted(&format!("1/{}", policy.check_parts())));
    text
}

/// The key of a period's counted rule in a file.
fn counted(period: Period) -> String {
    format!("keep-{period}")
}

/// The key of a period's rule that looks back.
fn within(period: Period) -> String {
    if period == Period::Last { "keep-within".to_owned() } else { format!("keep-within-{period}") }
}

fn count(key: &str, number: &Option<Number>) -> Result<Option<Count>, PolicyError> {
    match number {
        None => Ok(None),
        Some(Number::N(count)) => Ok(Some(Count::N(*count))),
        Some(Number::Word(word)) if word == "all" => Ok(Some(Count::All)),
        Some(Number::Word(_)) => Err(PolicyError::Number { key: key.to_owned() }),
    }
}

fn span(key: &str, text: &Option<String>) -> Result<Option<Span>, PolicyError> {
    let wrong = |source| PolicyError::Span { key: key.to_owned(), source };
    text.as_deref().map(Span::parse).transpose().map_err(wrong)
}

fn tag(name: &str, keys: &DomainKeys) -> Result<TagId, PolicyError> {
    match name.strip_prefix(ID) {
        Some(id) => TagId::from_hex(id).map_err(|_| PolicyError::Tag(name.to_owned())),
        None => Ok(keys.tag_id(name)),
    }
}

/// A duration in the largest unit that fits exactly.
fn seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => "0s".to_owned(),
        _ if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        _ if seconds.is_multiple_of(60) => format!("{}min", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// A size in the largest unit that fits exactly.
fn bytes(size: u64) -> String {
    match size {
        _ if size == 0 || !size.is_multiple_of(1 << 10) => size.to_string(),
        _ if !size.is_multiple_of(1 << 20) => format!("{}KiB", size >> 10),
        _ if !size.is_multiple_of(1 << 30) => format!("{}MiB", size >> 20),
        _ => format!("{}GiB", size >> 30),
    }
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The prefix of a tag id, for a tag without a known name.
const ID: &str = "id:";

#[cfg(test)]
mod tests {
    use copal_format::keys::domain::DomainKey;
    use copal_format::keys::secret::Secret;

    use super::*;

    fn domains() -> BTreeMap<DomainId, DomainKeys> {
        let keys = |seed| DomainKeys::new(&DomainKey::from_secret(Secret::new([seed; 32])));
        [1, 2].map(|seed| (DomainId([seed; 16]), keys(seed))).into()
    }

    fn policy(text: &str) -> Result<SignedPolicy, PolicyError> {
        PolicyFile::parse(text)?.policy(&domains())
    }

    const FULL: &str = r#"keep-last = 3
keep-daily = 7
keep-yearly = "all"
keep-within = "1y2m3d"
keep-within-weekly = "6m"
floor = "14d"
keep-tags = [["a \"b\"", "c"], ["d"]]
floor-last = 3
floor-age = "336h"
hold-share = "40%"
hold-from = "1GiB"
timezone = "CET-1CEST,M3.5.0,M10.5.0/3"
grace = "36h"
check-share = "1/12"
"#;

    #[test]
    fn a_policy_is_shown_as_the_file_that_sets_it() {
        let signed = policy(FULL).unwrap();
        let names = |keys: &DomainKeys| ["a \"b\"", "c", "d"].map(|name| (keys.tag_id(name), name.to_owned()));
        let names = domains().values().flat_map(names).collect();
        assert_eq!(to_toml(&signed, &names), FULL);
        assert_eq!(signed.rules().tags.len(), 4);
        let unnamed = to_toml(&signed, &BTreeMap::new());
        assert!(unnamed.contains("\"id:"), "{unnamed}");
        assert_eq!(to_toml(&policy(&unnamed).unwrap(), &names), FULL);
    }

    #[test]
    fn what_is_left_out_keeps_everything_for_a_day_and_reads_all_in_thirty_checks() {
        let signed = policy("").unwrap();
        assert!(signed.rules().is_empty());
        let hold = "hold-share = \"50%\"\nhold-from = \"64MiB\"\n";
        let rest = "timezone = \"\"\ngrace = \"24h\"\ncheck-share = \"1/30\"\n";
        assert_eq!(to_toml(&signed, &BTreeMap::new()), format!("{hold}{rest}"));
        let off = policy("hold-share = \"off\"").unwrap();
        assert_eq!((off.hold(), off.floor()), (None, Floor::default()));
        assert!(to_toml(&off, &BTreeMap::new()).starts_with("hold-share = \"off\"\ntimezone"));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        let cases = [
            ("floor = \"1d\"\nkeep-dialy = 3", "the policy cannot be read: line 2: unknown field `keep-dialy`"),
            ("keep-daily = \"some\"", "keep-daily is a number"),
            ("keep-within = \"3x\"", "keep-within: the units"),
            ("timezone = \"Europe/Berlin\"", "POSIX"),
            ("grace = \"soon\"", "grace is"),
            ("check-share = \"2/3\"", "check-share is"),
            ("check-share = \"1/0\"", "at least one part"),
            ("keep-tags = [[]]", "without a tag"),
            ("keep-tags = [[\"id:zz\"]]", "no tag's id"),
            ("keep-last 3", "cannot be read"),
            ("floor-age = \"long\"", "floor-age is"),
            ("hold-share = \"half\"", "hold-share is"),
            ("hold-share = \"0%\"", "1 to 100 percent"),
            ("hold-from = \"much\"", "hold-from is"),
        ];
        for (text, words) in cases {
            let error = policy(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
