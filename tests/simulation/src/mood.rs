//! Mood: how likely is what in a world.

use copal_jobs::faults::Mistake;
use copal_tests::kit::Random;

use super::actors::Habits;

/// How likely is what.
pub(super) struct Mood {
    pub(super) tick: u32,
    pub(super) crash: u32,
    pub(super) sleep: u32,
    pub(super) naps: u32,
    pub(super) stale: u32,
    pub(super) rebuild: u32,
    pub(super) damage: u32,
    pub(super) steps: usize,
    /// Whether only those take part without whom nothing happens.
    pub(super) is_small: bool,
    /// Whether nobody forgets and nobody checks, so that roots follow each other fast and little else is written.
    pub(super) is_bare: bool,
    /// Whether what a policy does not keep expires.
    pub(super) expires: bool,
    /// Whether segments are merged.
    pub(super) compacts: bool,
    /// Whether somebody has stolen a write-only client's keys.
    pub(super) robs_one: bool,
    /// Whether somebody has stolen a full client's keys, but no passphrase.
    pub(super) robs_all: bool,
    /// How soon the owner revokes clients whose keys are stolen.
    pub(super) revoke: u32,
    pub(super) habits: Habits,
}

impl Mood {
    /// A mood by chance. A planted mistake is looked for where it can show: one about damage in worlds with damage, one
    /// that needs a snapshot to be forgotten and removed in long ones.
    pub(super) fn of(fault: Option<Mistake>, random: &mut Random) -> Self {
        let mut mood = Self {
            tick: *random.pick(&[5, 10, 25]),
            crash: *random.pick(&[0, 2, 6]),
            sleep: *random.pick(&[2, 8, 20]),
            naps: *random.pick(&[0, 0, 20, 60]),
            stale: *random.pick(&[0, 100, 300]),
            rebuild: *random.pick(&[0, 0, 1]),
            damage: *random.pick(&[0, 0, 1]),
            steps: *random.pick(&[1500, 3000, 5000]),
            is_small: random.chance(250),
            is_bare: false,
            expires: random.chance(400),
            compacts: random.chance(300),
            robs_one: random.chance(250),
            robs_all: random.chance(150),
            revoke: *random.pick(&[0, 0, 2]),
            habits: Habits {
                mails: random.chance(400),
                hurries: random.chance(400),
                skews: random.chance(300),
                guards: random.chance(400),
                is_lasting: false,
                has_passphrase: random.chance(200),
            },
        };
        // A full client's thief does so much harm of its own that another mistake would be lost in it.
        mood.robs_all &= fault.is_none();
        match fault {
            Some(Mistake::LostPreferred | Mistake::UnseenAcquitted) => mood.damage = 3,
            // Two must sleep beside one root, and all runs of what the one makes must still be there when the other wakes.
            Some(Mistake::BaseUnchecked) => {
                (mood.tick, mood.steps, mood.naps, mood.sleep) = (5, 6000, 120, 0);
                (mood.is_small, mood.is_bare, mood.crash, mood.stale) = (false, true, 0, 0);
                (mood.rebuild, mood.damage) = (0, 0);
            }
            // The policy must change between an expiry and the root that folds it in.
            Some(Mistake::ExpiryBelieved) => {
                (mood.expires, mood.naps, mood.steps, mood.is_small) = (true, 20, 6000, true);
                (mood.rebuild, mood.damage) = (0, 0);
            }
            // Others must write between the decision to remove something and the root that removes it.
            Some(Mistake::RebaseBlind | Mistake::RebaseSkips) => {
                (mood.tick, mood.steps, mood.naps, mood.stale) = (25, 8000, 60, 300);
                (mood.rebuild, mood.damage, mood.crash, mood.robs_one) = (0, 0, 0, false);
            }
            // Time must pass beside thieves.
            Some(Mistake::NewerCopyWins | Mistake::UnprovenMoved) => {
                (mood.robs_one, mood.robs_all) = (true, random.chance(500));
                mood.be_long();
            }
            // Only who knows the passphrase displaces anything, and the floor must be long enough to notice.
            Some(Mistake::FloorNotAwaited | Mistake::FloorLowered) => {
                (mood.robs_all, mood.habits.has_passphrase) = (true, true);
                (mood.habits.guards, mood.habits.is_lasting) = (true, true);
                mood.revoke = 0;
                mood.be_long();
            }
            // A thief must go on after the owner has found it out.
            Some(Mistake::RevocationForgets) => {
                (mood.robs_one, mood.robs_all) = (true, random.chance(500));
                mood.be_long();
                mood.revoke = 2;
            }
            Some(Mistake::StateBelieved | Mistake::DoomedUnchecked) => {
                mood.be_long();
                mood.rebuild = 3;
            }
            Some(Mistake::RootUnbounded) => mood.robs_all = true,
            Some(Mistake::GuardIgnored) => (mood.expires, mood.habits.guards) = (true, true),
            Some(
                Mistake::SecondMarkDropped
                | Mistake::RootPageUnchecked
                | Mistake::UndeleteMissed
                | Mistake::OldReferences
                | Mistake::ForgottenUnguarded,
            ) => {
                mood.habits.guards |= fault == Some(Mistake::ForgottenUnguarded);
                mood.stale = 300;
                mood.be_long();
            }
            _ => {}
        }
        mood
    }

    /// A long life of few, whom little disturbs.
    fn be_long(&mut self) {
        (self.tick, self.steps, self.is_small) = (20, 6000, true);
        (self.naps, self.sleep, self.rebuild, self.damage) = (0, 2, 0, 0);
    }

    /// Whether not all packs hold what they say.
    pub(super) fn has_thief(&self) -> bool {
        self.robs_one || self.robs_all
    }
}
