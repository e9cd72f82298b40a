//! Shared: how many bytes shares or records take, for quotas. Counts what is stored, and what was allowed and may still
//! come.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use copal_format::id::ClientId;
use copal_jobs::shares::ShareId;
use copal_store::Listed;

use super::age::is_of_today;
use super::problem::{Problem, busy};

/// Bytes of objects: all of them, and those of the last day.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub all: u64,
    pub today: u64,
}

/// The uploads of the last day that were allowed. What was deleted since then counts for the day all the same.
#[derive(Debug, Default)]
pub(super) struct Allowed(Mutex<Vec<Upload>>);

#[derive(Debug)]
struct Upload {
    /// Who asked for it last.
    client: ClientId,
    name: String,
    length: u64,
    /// Seconds since 1970.
    time: u64,
    /// Whether it was seen in the store.
    has_come: bool,
}

impl Taken {
    /// Sums up stored objects. Uploads that were allowed and have not come are left out.
    pub(super) fn of(listed: &[Listed], now: u64) -> Self {
        let new = listed.iter().filter(|object| is_new(object, now));
        Self {
            all: sum(listed.iter().map(|object| object.stat.length)),
            today: sum(new.map(|object| object.stat.length)),
        }
    }

    /// The sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self { all: self.all.saturating_add(other.all), today: self.today.saturating_add(other.today) }
    }
}

impl Allowed {
    /// Notes a client's uploads by name and length. `judge` gets what all others take. Fails if it refuses the uploads, or
    /// if this client has uploaded too many objects within a day.
    pub(super) fn note(
        &self,
        (client, now): (ClientId, u64),
        listed: &[Listed],
        uploads: &[(&str, u64)],
        judge: impl FnOnce(Taken) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let stored: HashMap<&str, u64> =
            listed.iter().map(|object| (object.key.as_str(), object.stat.length)).collect();
        let mut allowed = self.lock();
        allowed.retain(|upload| is_of_today(upload.time, now));
        allowed.iter_mut().for_each(|upload| upload.has_come |= stored.contains_key(upload.name.as_str()));
        let own = allowed.iter().filter(|upload| upload.client == client).count();
        if own + uploads.len() > MOST {
            return Err(busy("too many objects were uploaded within a day"));
        }
        let asked: HashMap<&str, u64> = uploads.iter().copied().collect();
        let others = |name: &str, length: u64| length.saturating_sub(asked.get(name).copied().unwrap_or(0));
        let known: HashSet<&str> = allowed.iter().map(|upload| upload.name.as_str()).collect();
        let coming = allowed.iter().filter(|upload| !upload.has_come && upload.time.saturating_add(COMING) > now);
        let unseen = listed.iter().filter(|object| is_new(object, now) && !known.contains(object.key.as_str()));
        let taken = Taken {
            all: sum(stored.iter().map(|(name, length)| others(name, *length)))
                .saturating_add(sum(coming.map(|upload| others(&upload.name, upload.length)))),
            today: sum(allowed.iter().map(|upload| match upload.is_again(&stored) {
                true => others(&upload.name, upload.length),
                false => upload.length,
            }))
            .saturating_add(sum(unseen.map(|object| others(object.key.as_str(), object.stat.length)))),
        };
        judge(taken)?;
        let mut new = asked;
        for before in allowed.iter_mut().filter(|upload| upload.is_again(&stored)) {
            if let Some(length) = new.remove(before.name.as_str()) {
                // Naming a shorter length for the same object gains nothing.
                (before.client, before.length) = (client, before.length.max(length));
            }
        }
        let upload =
            |(name, length): (&str, u64)| Upload { client, name: name.to_owned(), length, time: now, has_come: false };
        allowed.extend(new.into_iter().map(upload));
        Ok(())
    }

    /// Notes that no allowed upload of this share is still to come.
    pub(super) fn revoked(&self, id: &ShareId) {
        let mut allowed = self.lock();
        let own = allowed.iter_mut().filter(|upload| ShareId::of(&upload.name).as_ref() == Some(id));
        own.for_each(|upload| upload.has_come = true);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Upload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upload {
    /// Whether another upload of this name stores nothing more: it is there, or still to come.
    fn is_again(&self, stored: &HashMap<&str, u64>) -> bool {
        !self.has_come || stored.contains_key(self.name.as_str())
    }
}

/// Whether the object was stored today.
fn is_new(object: &Listed, now: u64) -> bool {
    let created = u64::try_from(object.stat.created.0.div_euclid(1_000_000_000)).unwrap_or(0);
    is_of_today(created, now)
}

fn sum(lengths: impl Iterator<Item = u64>) -> u64 {
    lengths.fold(0, u64::saturating_add)
}

/// Seconds in which an allowed upload may still come: an address is valid for 15 minutes, and a body takes its time.
pub(super) const COMING: u64 = 20 * 60;
/// Uploads of one client within a day: 1 TiB in whole objects.
const MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use copal_store::{Key, Stat, StoreTime};

    use super::super::age::{AHEAD, DAY};
    use super::*;

    const NOW: u64 = 1_000_000;
    const OWN: ClientId = ClientId([1; 16]);

    fn listed(names: &[(&str, u64)]) -> Vec<Listed> {
        let created = StoreTime(NOW as i64 * 1_000_000_000);
        let object = |(name, length): &(&str, u64)| Listed {
            key: Key::new(*name).unwrap(),
            stat: Stat { length: *length, created, sha256: None },
        };
        names.iter().map(object).collect()
    }

    /// What all others take when this is asked for.
    fn asked(allowed: &Allowed, now: u64, listed: &[Listed], uploads: &[(&str, u64)]) -> (u64, u64) {
        let mut told = Taken::default();
        allowed
            .note((OWN, now), listed, uploads, |taken| {
                told = taken;
                Ok(())
            })
            .unwrap();
        (told.all, told.today)
    }

    #[test]
    fn what_was_allowed_counts_before_it_is_there_and_once() {
        let allowed = Allowed::default();
        assert_eq!(asked(&allowed, NOW, &[], &[("a", 10)]), (0, 0));
        assert_eq!(asked(&allowed, NOW, &[], &[("b", 5)]), (10, 10));
        assert_eq!(asked(&allowed, NOW, &[], &[("a", 10)]), (5, 5), "the same upload again");
        let there = listed(&[("a", 10), ("c", 7)]);
        assert_eq!(asked(&allowed, NOW, &there, &[]), (22, 22), "c came another way");
        assert_eq!(asked(&allowed, NOW + COMING, &there, &[]), (17, 22), "b did not come");
        assert_eq!(asked(&allowed, NOW + DAY, &there, &[]), (17, 0));
    }

    #[test]
    fn who_asks_for_as_many_objects_as_a_day_allows_holds_up_no_other() {
        let allowed = Allowed::default();
        let names: Vec<String> = (0..MOST).map(|number| number.to_string()).collect();
        let all: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        asked(&allowed, NOW, &[], &all);
        let ask = |client, now| allowed.note((client, now), &[], &[("more", 1)], |_| Ok(()));
        assert!(ask(OWN, NOW).is_err());
        ask(ClientId([2; 16]), NOW).unwrap();
        ask(OWN, NOW + DAY).unwrap();
    }

    #[test]
    fn what_a_clock_that_was_ahead_has_dated_does_not_count_for_the_day() {
        let (allowed, there) = (Allowed::default(), listed(&[("a", 10), ("c", 7)]));
        asked(&allowed, NOW, &[], &[("a", 10)]);
        assert_eq!(asked(&allowed, NOW - AHEAD, &there, &[]), (17, 17), "clocks differ by as much");
        assert_eq!(asked(&allowed, NOW - AHEAD - 1, &there, &[]), (17, 0));
    }

    #[test]
    fn what_is_deleted_again_counts_for_the_day() {
        let allowed = Allowed::default();
        for round in 0..3 {
            assert_eq!(asked(&allowed, NOW, &[], &[("a", 10)]), (0, 10 * round));
            assert_eq!(asked(&allowed, NOW, &listed(&[("a", 10)]), &[]), (10, 10 * (round + 1)));
        }
    }

    #[test]
    fn what_was_revoked_before_anybody_saw_it_takes_no_room_but_counts_for_the_day() {
        let allowed = Allowed::default();
        let id = ShareId::parse(&"a".repeat(32)).unwrap();
        asked(&allowed, NOW, &[], &[(id.data(1).as_str(), 10)]);
        allowed.revoked(&id);
        assert_eq!(asked(&allowed, NOW, &[], &[("b", 1)]), (0, 10));
    }
}
