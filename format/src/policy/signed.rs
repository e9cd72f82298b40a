//! Signed policy: the policy that the owner signs for the service, and its encoding.

use core::time::Duration;

use jiff::tz::TimeZone;

use super::{Count, Period, Periods, Policy, Span};
use crate::guard::{Floor, Guard, Hold, SHARES, floor_of, hold_of, put_floor, put_hold};
use crate::id::TagId;
use crate::limits::{POLICY_BYTES, POLICY_SETS, ZONE_BYTES};
use crate::order;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// The policy that the service follows: which snapshots to keep, and the settings of its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedPolicy {
    rules: Policy,
    zone: String,
    grace: Duration,
    check_parts: u32,
    floor: Floor,
    hold: Option<Hold>,
}

/// A policy that cannot be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPolicy {
    /// Not a time zone in POSIX form.
    #[error("{0:?} is not a time zone as POSIX writes it, such as CET-1CEST,M3.5.0,M10.5.0/3")]
    Zone(String),
    /// A set of tags is empty, or there are too many.
    #[error("a policy has at most {POLICY_SETS} sets of tags, none of them empty")]
    Tags,
    /// The number of check parts is zero.
    #[error("a check reads one of at least one part")]
    CheckParts,
    /// A hold's share is not a percentage from 1 to 100.
    #[error("a hold is raised by 1 to 100 percent")]
    Share,
    /// The encoded policy is too long.
    #[error("a policy of {0} bytes is longer than the format allows")]
    Length(usize),
}

impl SignedPolicy {
    /// Makes a policy of these rules. Days and longer periods begin in `zone`, in POSIX form, which needs no zone
    /// tables. `grace` is how long prune keeps unreferenced data. Each check reads one of `check_parts` parts of the
    /// packs.
    pub fn new(rules: Policy, zone: &str, grace: Duration, check_parts: u32) -> Result<Self, BadPolicy> {
        let known = zone_of(zone).ok_or_else(|| BadPolicy::Zone(zone.to_owned()))?;
        let mut rules = Policy { zone: known, ..rules };
        rules.tags.iter_mut().for_each(|set| {
            order::sort(set);
            set.dedup();
        });
        if rules.tags.len() > POLICY_SETS || rules.tags.iter().any(Vec::is_empty) {
            return Err(BadPolicy::Tags);
        }
        if check_parts == 0 {
            return Err(BadPolicy::CheckParts);
        }
        let grace = Duration::from_secs(grace.as_secs());
        let zone = zone.to_owned();
        Self { rules, zone, grace, check_parts, floor: Floor::default(), hold: None }.bounded()
    }

    /// The same policy with a floor and a hold.
    pub fn with_guard(self, floor: Floor, hold: Option<Hold>) -> Result<Self, BadPolicy> {
        if hold.is_some_and(|hold| !SHARES.contains(&hold.share)) {
            return Err(BadPolicy::Share);
        }
        let floor = Floor { age: Duration::from_secs(floor.age.as_secs()), ..floor };
        Self { floor, hold, ..self }.bounded()
    }

    /// The same policy with another guard, for decisions only: it is not signed, so it may exceed the format's length.
    pub(super) fn guarding(self, (floor, hold): Guard) -> Self {
        Self { floor, hold, ..self }
    }

    fn bounded(self) -> Result<Self, BadPolicy> {
        let length = self.encode().len();
        if length > POLICY_BYTES { Err(BadPolicy::Length(length)) } else { Ok(self) }
    }

    /// The rules that say which snapshots to keep.
    pub fn rules(&self) -> &Policy {
        &self.rules
    }

    /// The time zone in which days begin, in POSIX form; empty for UTC.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// The grace period: how long prune keeps unreferenced data, in whole seconds.
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// The number of parts of all packs, of which each check reads one.
    pub fn check_parts(&self) -> u32 {
        self.check_parts
    }

    /// The least that every series keeps, whatever the rules say.
    pub fn floor(&self) -> Floor {
        self.floor
    }

    /// When a snapshot is suspicious; none if no snapshot ever is.
    pub fn hold(&self) -> Option<Hold> {
        self.hold
    }

    /// Encodes the policy as a change holds it.
    pub fn encode(&self) -> Vec<u8> {
        let rules = &self.rules;
        let mut writer = Writer::new();
        let optional = [rules.floor.is_some(), !self.floor.is_nothing(), self.hold.is_some()];
        writer.map(6 + optional.into_iter().map(u64::from).sum::<u64>());
        writer.key(0);
        put_present(&mut writer, &rules.counts, |writer, count| {
            writer.uint(match count {
                Count::N(count) => u64::from(*count),
                Count::All => EVERY_ONE,
            });
        });
        writer.key(1);
        put_present(&mut writer, &rules.spans, put_span);
        writer.key(2).array(rules.tags.len());
        for set in &rules.tags {
            writer.byte_strings(set);
        }
        if let Some(floor) = &rules.floor {
            put_span(writer.key(3), floor);
        }
        writer.key(4).text(&self.zone).key(5).uint(self.grace.as_secs()).key(6).uint(self.check_parts.into());
        put_floor(&mut writer, 7, &self.floor);
        put_hold(&mut writer, 8, self.hold.as_ref());
        writer.finish()
    }

    /// Decodes the policy of a change.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > POLICY_BYTES {
            return Err(DecodeError::new(0, "a policy is longer than the format allows"));
        }
        Reader::record(bytes, |fields| {
            let counts = present(fields.required(0)?, count)?;
            let spans = present(fields.required(1)?, span)?;
            let tags = fields.required(2)?.list(POLICY_SETS, tags)?;
            let floor = fields.optional(3)?.map(span).transpose()?;
            let reader = fields.required(4)?;
            let unknown = reader.error("a time zone that is not written as POSIX does");
            let zone = reader.text(ZONE_BYTES)?.to_owned();
            let known = zone_of(&zone).ok_or(unknown)?;
            Ok(Self {
                rules: Policy { counts, spans, tags, floor, zone: known },
                zone,
                grace: Duration::from_secs(fields.required(5)?.uint()?),
                check_parts: fields
                    .required(6)?
                    .checked("a check that reads nothing", Reader::narrow, |parts| *parts != 0)?,
                floor: fields.optional(7)?.map(floor_of).transpose()?.unwrap_or_default(),
                hold: fields.optional(8)?.map(hold_of).transpose()?,
            })
        })
    }
}

/// Writes a map of the values that are present, keyed by position.
fn put_present<T>(writer: &mut Writer, values: &Periods<T>, put: impl Fn(&mut Writer, &T)) {
    writer.map(values.iter().flatten().count() as u64);
    for (at, value) in values.iter().enumerate() {
        if let Some(value) = value {
            put(writer.key(at as u64), value);
        }
    }
}

fn present<'a, T>(
    reader: &mut Reader<'a>,
    read: impl Fn(&mut Reader<'a>) -> Result<T, DecodeError>,
) -> Result<Periods<T>, DecodeError> {
    reader.fields(|fields| {
        let mut values = [const { None }; Period::ALL.len()];
        for (at, value) in values.iter_mut().enumerate() {
            *value = fields.optional(at as u64)?.map(&read).transpose()?;
        }
        Ok(values)
    })
}

fn count(reader: &mut Reader<'_>) -> Result<Count, DecodeError> {
    let count = reader.narrow()?;
    Ok(if u64::from(count) == EVERY_ONE { Count::All } else { Count::N(count) })
}

fn put_span(writer: &mut Writer, span: &Span) {
    writer.array(4);
    for number in [span.years, span.months, span.days, span.hours] {
        writer.uint(number.into());
    }
}

fn span(reader: &mut Reader<'_>) -> Result<Span, DecodeError> {
    reader.tuple(4)?;
    Ok(Span { years: reader.narrow()?, months: reader.narrow()?, days: reader.narrow()?, hours: reader.narrow()? })
}

fn tags(reader: &mut Reader<'_>) -> Result<Vec<TagId>, DecodeError> {
    reader.checked(
        "a set of tags that is empty or does not ascend",
        |reader| reader.ids(POLICY_BYTES / TagId::LEN),
        |tags: &Vec<TagId>| !tags.is_empty() && tags.is_sorted_by(|one, next| one < next),
    )
}

fn zone_of(text: &str) -> Option<TimeZone> {
    if text.len() > ZONE_BYTES {
        return None;
    }
    if text.is_empty() { Some(TimeZone::UTC) } else { TimeZone::posix(text).ok() }
}

/// How long prune keeps unreferenced data unless a policy says otherwise.
pub const USUAL_GRACE: Duration = Duration::from_secs(24 * 3600);
/// The parts of all packs, of which each check reads one, unless a policy says otherwise.
pub const USUAL_CHECK_PARTS: u32 = 30;
/// Encodes an unlimited count.
const EVERY_ONE: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests;
