//! Changes: which paths have changed since the last snapshot of each follower. A follower is a series of backups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most paths that are kept. With more, every follower has to look at everything once.
const MOST: usize = 250_000;

/// What has changed, numbered in order.
#[derive(Default)]
pub(super) struct Changes {
    latest: u64,
    /// Each path with the number of its last change.
    paths: BTreeMap<PathBuf, u64>,
    followers: BTreeMap<String, Follower>,
}

struct Follower {
    /// The last change that it was told of.
    asked: u64,
    /// The last change that its newest snapshot has, and that snapshot.
    confirmed: Option<(u64, String)>,
}

impl Changes {
    pub(super) fn add(&mut self, path: PathBuf) {
        self.latest += 1;
        self.paths.insert(path, self.latest);
        if self.paths.len() > MOST {
            self.forget();
        }
    }

    /// Forgets everything, because something was not seen: each follower must look at everything before its next list.
    pub(super) fn forget(&mut self) {
        // Then no follower can confirm an earlier list.
        self.latest += 1;
        self.paths.clear();
        self.followers.clear();
    }

    /// The last change so far; notes that this follower was told of it.
    pub(super) fn asked(&mut self, who: &str) -> u64 {
        let asked = self.latest;
        self.followers.entry(who.to_owned()).or_insert(Follower { asked, confirmed: None }).asked = asked;
        asked
    }

    /// The snapshot that a follower has confirmed, and the paths that have changed since; none if that is not known.
    pub(super) fn since(&self, who: &str) -> Option<(&str, impl Iterator<Item = &Path>)> {
        let (upto, snapshot) = self.followers.get(who)?.confirmed.as_ref()?;
        let later = self.paths.iter().filter(|(_, change)| *change > upto).map(|(path, _)| path.as_path());
        Some((snapshot, later))
    }

    /// Notes that a snapshot has everything up to change `upto`, if that is what the follower was last told of.
    pub(super) fn confirm(&mut self, who: &str, upto: u64, snapshot: String) {
        let Some(follower) = self.followers.get_mut(who).filter(|follower| follower.asked == upto) else { return };
        follower.confirmed = Some((upto, snapshot));
        let needed = |follower: &Follower| follower.confirmed.as_ref().map_or(follower.asked, |(upto, _)| *upto);
        let all_have = self.followers.values().map(needed).min().unwrap_or(0);
        self.paths.retain(|_, change| *change > all_have);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(changes: &Changes, who: &str) -> Option<(String, Vec<String>)> {
        let (snapshot, paths) = changes.since(who)?;
        Some((snapshot.to_owned(), paths.map(|path| path.display().to_string()).collect()))
    }

    fn list(snapshot: &str, paths: &[&str]) -> Option<(String, Vec<String>)> {
        Some((snapshot.to_owned(), paths.iter().map(|path| (*path).to_owned()).collect()))
    }

    #[test]
    fn each_follower_is_told_what_has_changed_since_its_own_last_snapshot() {
        let mut changes = Changes::default();
        changes.add("a".into());
        assert_eq!(told(&changes, "one"), None);
        let first = changes.asked("one");
        changes.add("b".into());
        changes.confirm("one", first, "s1".into());
        let other = changes.asked("two");
        changes.add("c".into());
        changes.confirm("two", other, "t1".into());
        assert_eq!(told(&changes, "one"), list("s1", &["b", "c"]));
        assert_eq!(told(&changes, "two"), list("t1", &["c"]));
        // A path that changes again is told again, and one that both have is kept no longer.
        let (first, other) = (changes.asked("one"), changes.asked("two"));
        changes.add("b".into());
        changes.confirm("one", first, "s2".into());
        changes.confirm("two", other, "t2".into());
        assert_eq!(told(&changes, "one"), list("s2", &["b"]));
        assert_eq!(changes.paths.len(), 1);
    }

    #[test]
    fn a_backup_that_fails_confirms_nothing_and_the_next_is_told_all_of_it() {
        let mut changes = Changes::default();
        let first = changes.asked("one");
        changes.confirm("one", first, "s1".into());
        changes.add("a".into());
        changes.asked("one");
        changes.add("b".into());
        assert_eq!(told(&changes, "one"), list("s1", &["a", "b"]));
    }

    #[test]
    fn an_answer_that_another_has_overtaken_confirms_nothing() {
        let mut changes = Changes::default();
        let early = changes.asked("one");
        changes.add("a".into());
        changes.asked("one");
        changes.confirm("one", early, "s1".into());
        assert_eq!(told(&changes, "one"), None);
    }

    #[test]
    fn nobody_is_told_a_list_across_a_loss() {
        let mut changes = Changes::default();
        let first = changes.asked("one");
        changes.confirm("one", first, "s1".into());
        let second = changes.asked("one");
        changes.forget();
        changes.confirm("one", second, "s2".into());
        assert_eq!(told(&changes, "one"), None);
        // Also if somebody has asked again meanwhile.
        changes.asked("one");
        changes.confirm("one", second, "s2".into());
        assert_eq!(told(&changes, "one"), None);
    }

    #[test]
    fn more_paths_than_are_kept_are_a_loss() {
        let mut changes = Changes::default();
        let first = changes.asked("one");
        changes.confirm("one", first, "s1".into());
        (0..=MOST).for_each(|number| changes.add(PathBuf::from(number.to_string())));
        assert_eq!(told(&changes, "one"), None);
    }
}
