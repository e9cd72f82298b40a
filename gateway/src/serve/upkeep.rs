//! Upkeep: the jobs of the schedule.

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Upkeep {
    Expire,
    Compact,
    Prune,
    Check,
}

impl Upkeep {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Expire => "expire",
            Self::Compact => "compact",
            Self::Prune => "prune",
            Self::Check => "check",
        }
    }
}
