//! Faults: mistakes that the simulation plants to prove that it finds them, and time windows it shortens. Without the
//! feature `faults` nothing is planted and the windows are [`Windows::DESIGN`].

use core::time::Duration;

macro_rules! mistakes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A mistake: the code breaks one of the protocol's rules.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mistake {$($(#[$doc])* $name,)*}

        impl Mistake {
            /// All mistakes.
            pub const ALL: [Mistake; [$(Mistake::$name),*].len()] = [$(Mistake::$name),*];
        }
    };
}

mistakes! {
    /// A writer counts its root as the winner without checking its base.
    WinUnchecked,
    /// A reader takes the newest root without checking its base.
    BaseUnchecked,
    /// Prune deletes objects before the root that dooms them is written.
    DeletedFirst,
    /// Prune removes what no kept snapshot reaches, although a page that stays refers to it.
    SecondMarkDropped,
    /// A writer that lost against another one proposes the same changes again.
    ChecksNotRepeated,
    /// A prune clears doomed names although it has not deleted their objects.
    ClearedBlindly,
    /// The copy of an id that stays may be a lost one.
    LostPreferred,
    /// Copies of an id are removed all at once or not at all.
    RemovedById,
    /// Ingest accepts a snapshot without its root page.
    RootPageUnchecked,
    /// Ingest accepts names that are doomed or spent.
    DoomedAccepted,
    /// Ingest believes an expiry without checking the policy.
    ExpiryBelieved,
    /// Ingest writes a rejection before a root decides it.
    RejectedOutside,
    /// Ingest looks references up in an older root than the base.
    OldReferences,
    /// Mark does not follow snapshots that were forgotten and undeleted.
    UndeleteMissed,
    /// Prune deletes orphans without listing them as doomed.
    OrphansNotDoomed,
    /// The floor and the hold of a policy are ignored.
    GuardIgnored,
    /// Prune removes forgotten snapshots although the floor or a hold keeps them.
    ForgottenUnguarded,
    /// A missing pack counts as found although check has not looked for it.
    UnseenAcquitted,
    /// The newest copy of an id counts, whoever has claimed it.
    NewerCopyWins,
    /// A copy displaced by a proven one leaves after the grace period, without waiting for the floor.
    FloorNotAwaited,
    /// The guard of a replaced policy ends with the policy.
    FloorLowered,
    /// Prune moves blocks of unproven packs.
    UnprovenMoved,
    /// Prune believes every state.
    StateBelieved,
    /// Ingest fails for all clients if one has seen a root that does not exist.
    RootUnbounded,
    /// A revoked client's later changes and packs still count.
    RevocationForgets,
    /// Prune deletes what the state lists as doomed without checking that nothing needs it.
    DoomedUnchecked,
    /// Prune writes a decision for a newer root without looking at what that needs.
    RebaseBlind,
    /// Prune writes a decision for a newer root without looking at the segments that others have written.
    RebaseSkips,
}

/// How long things stay, and how many of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// How many of the newest roots always stay.
    pub roots_kept: usize,
    /// Roots younger than this always stay.
    pub roots_age: Duration,
    /// How long an object that no root names is left alone: it may belong to a running job.
    pub orphan_age: Duration,
    /// How old a decision of a prune may be when it is written for a newer root.
    pub decision_age: Duration,
    /// How many segments may cover one id before they are merged.
    pub cover: usize,
    /// How many store calls are made at the same time.
    pub at_once: usize,
    /// Bytes of packs that an ingest reads, to compare their hashes, before one root has enough to decide.
    pub hashed: u64,
}

impl Windows {
    /// The values of the design.
    pub const DESIGN: Self = Self {
        roots_kept: 100,
        roots_age: Duration::from_secs(7 * 24 * 3600),
        orphan_age: Duration::from_secs(7 * 24 * 3600),
        decision_age: Duration::from_secs(6 * 3600),
        cover: 12,
        at_once: 32,
        hashed: 1 << 30,
    };
}

#[cfg(feature = "faults")]
mod planted {
    use std::cell::Cell;

    use super::{Mistake, Windows};

    thread_local! {
        static FAULT: Cell<Option<Mistake>> = const { Cell::new(None) };
        static WINDOWS: Cell<Windows> = const { Cell::new(Windows::DESIGN) };
    }

    /// Plants a fault in this thread, and sets its windows.
    pub fn plant(fault: Option<Mistake>, windows: Windows) {
        FAULT.set(fault);
        WINDOWS.set(windows);
    }

    pub(crate) fn is_planted(fault: Mistake) -> bool {
        FAULT.get() == Some(fault)
    }

    pub(crate) fn windows() -> Windows {
        WINDOWS.get()
    }
}

#[cfg(not(feature = "faults"))]
mod planted {
    use super::{Mistake, Windows};

    pub(crate) const fn is_planted(_: Mistake) -> bool {
        false
    }

    pub(crate) const fn windows() -> Windows {
        Windows::DESIGN
    }
}

#[cfg(feature = "faults")]
pub use planted::plant;
pub(crate) use planted::{is_planted, windows};
