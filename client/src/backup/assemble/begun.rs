//! Begun: the time that the next backup of a source compares with. Files that changed shortly before it, or later, are
//! read again: their times would not show another write within the same tick of the clock.

use std::path::PathBuf;
use std::time::Duration;

use copal_format::path::TreePath;
use copal_format::time::Time;

use crate::clock::now;
use crate::scan::{Root, ScanOptions, source_of};
use crate::system::{clocks, tree_bytes};

/// Where the times in a source come from.
pub(super) enum Clock {
    /// From this machine.
    Own,
    /// A source that is read at another path may be a file system snapshot from before this run. It is no older than
    /// the newest change in it, and may have old bytes of files that were written shortly before it.
    Snapshot { newest: Option<Time> },
    /// Some from a server, whose clock may be behind this machine's by at most `behind`: the least time, in
    /// nanoseconds, from a change below a directory of `below` until this run saw it. At most an hour is believed,
    /// because this machine's own files are compared with the same time.
    Server { behind: i64, below: Vec<TreePath> },
}

impl Clock {
    pub(super) fn of(options: &ScanOptions) -> Self {
        if options.as_path.is_set() {
            return Self::Snapshot { newest: None };
        }
        let below = served(options.roots.iter().map(Root::path), &clocks());
        if below.is_empty() { Self::Own } else { Self::Server { behind: i64::MAX, below } }
    }

    /// Begins a backup that takes over entries of the parent snapshot without looking at them. None of them has changed later
    /// than `begun` of that snapshot says.
    pub(super) fn follow(&mut self, begun: Time, started: Time) {
        match self {
            Self::Own => {}
            Self::Snapshot { newest } => *newest = Some(begun + DELAYED),
            Self::Server { behind, .. } => *behind = started.0.saturating_sub(begun.0),
        }
    }

    /// Notes when an entry last changed.
    pub(super) fn saw(&mut self, path: &TreePath, ctime: Time, (started, is_moved): (Time, bool)) {
        match self {
            Self::Snapshot { newest } if is_moved && ctime <= started => *newest = (*newest).max(Some(ctime)),
            Self::Server { behind, below } if below.iter().any(|top| path.is_within(top) && path != top) => {
                *behind = (*behind).min(now().0.saturating_sub(ctime.0));
            }
            _ => {}
        }
    }

    /// The time to compare with, of a backup that was started at this time.
    pub(super) fn begun(&self, started: Time) -> Time {
        match self {
            Self::Snapshot { newest: Some(newest) } => *newest - DELAYED,
            Self::Server { behind, .. } if *behind < i64::MAX => {
                started - Duration::from_nanos((*behind).max(0) as u64).min(BEHIND_MOST)
            }
            _ => started,
        }
    }
}

/// The places in a source whose times come from another machine. `mounts` says for each mount point whether its times
/// do.
fn served<'r>(roots: impl Iterator<Item = &'r TreePath>, mounts: &[(PathBuf, bool)]) -> Vec<TreePath> {
    let mut served = Vec::new();
    for root in roots {
        let path = source_of(root);
        let over = mounts.iter().filter(|(at, _)| path.starts_with(at));
        if over.max_by_key(|(at, _)| at.components().count()).is_some_and(|(_, is_served)| *is_served) {
            served.push(root.clone());
        }
        let below = mounts.iter().filter(|(at, is_served)| *is_served && at.starts_with(&path));
        served.extend(below.filter_map(|(at, _)| TreePath::new(&tree_bytes(at)?[..]).ok()));
    }
    served
}

const BEHIND_MOST: Duration = Duration::from_secs(3600);

/// For this long after a write, a file system snapshot may have a file's new times but its old bytes. On btrfs 0.24 s
/// were seen.
const DELAYED: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_server_the_newest_change_tells_how_far_its_clock_may_be_behind() {
        let path = |text: &str| TreePath::new(text).unwrap();
        let (started, hour, minute) = (now(), Duration::from_secs(3600), Duration::from_secs(60));
        let mut clock = Clock::Server { behind: i64::MAX, below: vec![path("mnt/nfs")] };
        let mut begun_after = |at: &str, ctime: Time| {
            clock.saw(&path(at), ctime, (started, false));
            clock.begun(started)
        };
        assert_eq!(begun_after("mnt", started), started, "this machine's own times say nothing of the server's");
        assert_eq!(begun_after("mnt/nfs", started), started, "what is mounted may be a disk of its own");
        let begun = begun_after("mnt/nfs/a", started - 2 * hour);
        assert_eq!(begun, started - hour, "it may be an hour behind, and is not taken to be more");
        let begun = begun_after("mnt/nfs/b", started - minute);
        assert!(begun <= started - minute && begun > started - 2 * minute);
        assert_eq!(begun_after("mnt/nfs/c", started + hour), started, "it is not behind");
    }

    #[test]
    fn the_mount_that_a_path_lies_on_decides_and_those_below_it() {
        let served_in = |root: &str| {
            let mounts = [("/", false), ("/srv", true), ("/srv/disk", false), ("/home/ada/far", true)];
            let mounts = mounts.map(|(at, is_served)| (PathBuf::from(at), is_served));
            served([&TreePath::new(root).unwrap()].into_iter(), &mounts)
                .iter()
                .map(TreePath::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(served_in("srv/data"), ["srv/data"]);
        assert_eq!(served_in("srv/disk/data"), [""; 0]);
        assert_eq!(served_in("home"), ["home/ada/far"]);
    }
}
