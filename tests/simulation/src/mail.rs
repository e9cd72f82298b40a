//! Mail: the events that tell a service of what clients have written. They are lost, doubled, late and out of order; only
//! the look at everything, now and then, finds what they do not tell.

use std::sync::Mutex;

use copal_format::id::ClientId;
use copal_format::layout;
use copal_tests::kit::Random;

/// What an event hints at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// A client may have written a manifest.
    Client(ClientId),
    /// Somebody may have written a change.
    Decisions,
}

/// Events under way.
#[derive(Default)]
pub(super) struct Mail(Mutex<Vec<(i64, Hint)>>);

impl Mail {
    /// An object was created: the events that come of it.
    pub(super) fn post(&self, name: &str, now: i64, random: &mut Random) {
        let hint = match layout::client_of(name) {
            Some(client) if name.starts_with("manifests/") => Hint::Client(client),
            _ if name.starts_with("changes/") => Hint::Decisions,
            _ => return,
        };
        let copies = *random.pick(&[0, 1, 1, 1, 2, 3]);
        let late = |random: &mut Random| *random.pick(&[0, 0, 0, MINUTE, HOUR, 30 * HOUR]);
        let events = (0..copies).map(|_| (now + late(random), hint)).collect::<Vec<_>>();
        self.lock().extend(events);
    }

    /// Some of the events that have arrived, in any order.
    pub(super) fn take(&self, now: i64, random: &mut Random) -> Vec<Hint> {
        let mut events = self.lock();
        let mut taken = Vec::new();
        let most = 1 + random.below(3);
        while taken.len() < most {
            let arrived: Vec<usize> = (0..events.len()).filter(|&at| events[at].0 <= now).collect();
            if arrived.is_empty() {
                break;
            }
            taken.push(events.swap_remove(*random.pick(&arrived)).1);
        }
        taken
    }

    /// Events that could not be served come again.
    pub(super) fn give_back(&self, hints: Vec<Hint>, now: i64) {
        self.lock().extend(hints.into_iter().map(|hint| (now + MINUTE, hint)));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(i64, Hint)>> {
        self.0.lock().expect("nothing panics while it holds the events")
    }
}

const MINUTE: i64 = 60_000_000_000;
const HOUR: i64 = 60 * MINUTE;
