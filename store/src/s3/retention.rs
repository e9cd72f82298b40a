//! Retention: S3 Object Lock, which protects a version of an object from deletion for a time.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::types::ObjectLockMode;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

/// The lock of new packs and manifests, in a bucket with Object Lock. Written as mode and days: `GOVERNANCE:30` or
/// `COMPLIANCE:30`. A deletion then only hides the object; its locked version stays until the time is over.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    mode: LockMode,
    days: u32,
}

/// Who may remove a lock early.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// A user with the right `s3:BypassGovernanceRetention`.
    Governance,
    /// Nobody.
    Compliance,
}

/// A text that is not a retention.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a mode and days, like GOVERNANCE:30 or COMPLIANCE:30")]
pub struct BadRetention(String);

impl Retention {
    /// `None` for 0 days, or for more than a hundred years, which S3 refuses.
    pub fn new(mode: LockMode, days: u32) -> Option<Retention> {
        (1..=DAYS_MOST).contains(&days).then_some(Retention { mode, days })
    }

    /// Whether objects of this name are locked: those that a restore needs and no rebuild can make, and that are never
    /// replaced. Roots, index and state are replaced often and can be rebuilt from them.
    pub(super) fn is_of(key: &str) -> bool {
        LOCKED.iter().any(|folder| key.starts_with(folder))
    }

    pub(super) fn mode(self) -> ObjectLockMode {
        match self.mode {
            LockMode::Governance => ObjectLockMode::Governance,
            LockMode::Compliance => ObjectLockMode::Compliance,
        }
    }

    /// The end of the lock of an object written now. This machine's clock is good enough for that, because S3 refuses
    /// requests whose date is more than 15 minutes off.
    pub(super) fn until(self, now: SystemTime) -> DateTime {
        let end = now + Duration::from_secs(u64::from(self.days) * DAY);
        // Whole seconds, because servers round fractions differently.
        DateTime::from_secs(DateTime::from(end).secs())
    }

    /// The new end of a lock that ends at `end`; `None` if at least half of the time is left.
    pub(super) fn renewed(self, end: Option<&DateTime>, now: SystemTime) -> Option<DateTime> {
        let half = DateTime::from(now + Duration::from_secs(u64::from(self.days) * DAY / 2));
        end.is_none_or(|end| *end < half).then(|| self.until(now))
    }

    /// The headers of a PUT.
    pub(super) fn headers(self, now: SystemTime) -> [(&'static str, String); 2] {
        let until = self.until(now).fmt(Format::DateTime).expect("it is at most a hundred years ahead");
        [("x-amz-object-lock-mode", self.mode().as_str().to_owned()), ("x-amz-object-lock-retain-until-date", until)]
    }
}

impl FromStr for Retention {
    type Err = BadRetention;

    fn from_str(text: &str) -> Result<Retention, BadRetention> {
        let bad = || BadRetention(text.to_owned());
        let (mode, days) = text.split_once(':').ok_or_else(bad)?;
        let mode = match mode {
            "GOVERNANCE" => LockMode::Governance,
            "COMPLIANCE" => LockMode::Compliance,
            _ => return Err(bad()),
        };
        Retention::new(mode, days.parse().map_err(|_| bad())?).ok_or_else(bad)
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.mode().as_str(), self.days)
    }
}

const LOCKED: [&str; 3] = ["packs/", "moved/", "manifests/"];
const DAYS_MOST: u32 = 36_500;
const DAY: u64 = 24 * 3600;

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_retention_is_a_mode_and_days() {
        for text in ["GOVERNANCE:1", "COMPLIANCE:36500"] {
            assert_eq!(text.parse::<Retention>().map(|of| of.to_string()).as_deref(), Ok(text));
        }
        for text in [
            "",
            "GOVERNANCE",
            "governance:1",
            "GOVERNANCE:",
            "GOVERNANCE:0",
            "GOVERNANCE:-1",
            "COMPLIANCE:36501",
            "NONE:1",
        ] {
            assert_eq!(text.parse::<Retention>(), Err(BadRetention(text.to_owned())));
        }
    }

    #[test]
    fn a_lock_lasts_for_its_days_from_now_on() {
        let retention: Retention = "COMPLIANCE:2".parse().expect("a retention");
        let headers = retention.headers(UNIX_EPOCH + Duration::from_millis(1_700_000_000_700));
        let wanted = ["COMPLIANCE", "2023-11-16T22:13:20Z"];
        assert_eq!(headers.map(|(_, value)| value), wanted);
    }

    #[test]
    fn a_lock_is_renewed_once_half_of_its_time_is_over() {
        let retention: Retention = "GOVERNANCE:10".parse().expect("a retention");
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let ending = |days: i64| DateTime::from_secs(1_700_000_000 + days * DAY.cast_signed());
        for end in [None, Some(ending(-1)), Some(ending(4))] {
            assert_eq!(retention.renewed(end.as_ref(), now), Some(ending(10)), "{end:?}");
        }
        for end in [ending(5), ending(10), ending(100)] {
            assert_eq!(retention.renewed(Some(&end), now), None, "{end:?}");
        }
    }

    #[test]
    fn locked_are_packs_and_manifests() {
        assert!(["packs/ab/1", "moved/ab/1", "manifests/c/1"].into_iter().all(Retention::is_of));
        let others = ["roots/1", "index/1", "state/1", "keys/a/a", "tmp/1", "reports/check/1", "packs", "receipts/c/1"];
        assert!(!others.into_iter().any(Retention::is_of));
    }
}
