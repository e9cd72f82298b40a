//! Faults: mistakes that the simulation plants to show that it finds them, and time windows it makes short enough to
//! live through. Without the feature `faults` nothing is planted and the windows are what the design says.

use core::time::Duration;

/// A mistake: one of the protocol's rules is not followed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A writer takes its root for the next one without looking for its base.
    WinUnchecked,
    /// A reader takes the newest root without looking for its base.
    BaseUnchecked,
    /// What a root is going to doom is deleted before that root is written.
    DeletedFirst,
    /// What pages that stay refer to is removed if no kept snapshot reaches it.
    SecondMarkDropped,
    /// Who lost against another writer proposes the same again.
    ChecksNotRepeated,
    /// Doomed names are cleared by who has not deleted them.
    ClearedBlindly,
    /// Of several copies a lost one may be the one that stays.
    LostPreferred,
    /// Copies of an id leave all at once or not at all.
    RemovedById,
    /// A snapshot is accepted without its root page.
    RootPageUnchecked,
    /// Names that are doomed or spent are accepted.
    DoomedAccepted,
    /// An expiry is believed without asking the policy.
    ExpiryBelieved,
    /// A rejection is answered before a root decides it.
    RejectedOutside,
    /// References are looked up in an older root than the one that becomes the base.
    OldReferences,
    /// Marking does not go on from what was forgotten and brought back.
    UndeleteMissed,
    /// Objects that no root names are deleted without having been listed as doomed.
    OrphansNotDoomed,
    /// The floor and the hold of a policy are not read.
    GuardIgnored,
    /// What was forgotten is removed although the floor or a hold keeps it.
    ForgottenUnguarded,
    /// A missing pack that a check has not looked for counts as there.
    UnseenAcquitted,
    /// Of several copies the newest one counts, whoever has claimed it.
    NewerCopyWins,
    /// What a proven copy displaces leaves after the grace period, whatever the floor.
    FloorNotAwaited,
    /// What a policy guarded ends with the policy.
    FloorLowered,
    /// Blocks of packs that nobody has proven are moved.
    UnprovenMoved,
    /// A prune believes whatever state it finds.
    StateBelieved,
    /// A root that a full client says it has seen, and that is not there, stops everybody.
    RootUnbounded,
}

impl Fault {
    /// All mistakes.
    pub const ALL: [Fault; 24] = [
        Fault::WinUnchecked,
        Fault::BaseUnchecked,
        Fault::DeletedFirst,
        Fault::SecondMarkDropped,
        Fault::ChecksNotRepeated,
        Fault::ClearedBlindly,
        Fault::LostPreferred,
        Fault::RemovedById,
        Fault::RootPageUnchecked,
        Fault::DoomedAccepted,
        Fault::ExpiryBelieved,
        Fault::RejectedOutside,
        Fault::OldReferences,
        Fault::UndeleteMissed,
        Fault::OrphansNotDoomed,
        Fault::GuardIgnored,
        Fault::ForgottenUnguarded,
        Fault::UnseenAcquitted,
        Fault::NewerCopyWins,
        Fault::FloorNotAwaited,
        Fault::FloorLowered,
        Fault::UnprovenMoved,
        Fault::StateBelieved,
        Fault::RootUnbounded,
    ];
}

/// How long things stay, and how many.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// So many roots always stay.
    pub roots_kept: usize,
    /// Younger roots always stay.
    pub roots_age: Duration,
    /// An object that no root lists is left alone for so long: it may belong to a run that is under way.
    pub orphan_age: Duration,
    /// So many segments may cover one id before they are merged.
    pub cover: usize,
    /// So many calls of the store are made at the same time.
    pub together: usize,
}

impl Windows {
    /// What the design says.
    pub const DESIGN: Self = Self {
        roots_kept: 100,
        roots_age: Duration::from_secs(7 * 24 * 3600),
        orphan_age: Duration::from_secs(7 * 24 * 3600),
        cover: 12,
        together: 32,
    };
}

#[cfg(feature = "faults")]
mod planted {
    use std::cell::Cell;

    use super::{Fault, Windows};

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
        static WINDOWS: Cell<Windows> = const { Cell::new(Windows::DESIGN) };
    }

    /// Plants a mistake in this thread, and sets its windows.
    pub fn plant(fault: Option<Fault>, windows: Windows) {
        FAULT.set(fault);
        WINDOWS.set(windows);
    }

    pub(crate) fn is_planted(fault: Fault) -> bool {
        FAULT.get() == Some(fault)
    }

    pub(crate) fn windows() -> Windows {
        WINDOWS.get()
    }
}

#[cfg(not(feature = "faults"))]
mod planted {
    use super::{Fault, Windows};

    pub(crate) const fn is_planted(_: Fault) -> bool {
        false
    }

    pub(crate) const fn windows() -> Windows {
        Windows::DESIGN
    }
}

#[cfg(feature = "faults")]
pub use planted::plant;
pub(crate) use planted::{is_planted, windows};
