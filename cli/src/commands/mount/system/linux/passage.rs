//! Passage: whether the way to a path leads through a directory, however many links are on it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Whether the kernel comes through `directory`, which has no links in its own path, on its way to `path`.
pub(in super::super::super) fn passes_through(path: &Path, directory: &Path) -> bool {
    let Ok(absolute) = std::path::absolute(path) else { return false };
    let mut ahead: VecDeque<OsString> = names(&absolute);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if at == directory {
            return true;
        }
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        let Ok(target) = at.read_link() else { continue };
        links += 1;
        if links > LINKS {
            return false;
        }
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for name in names(&target).into_iter().rev() {
            ahead.push_front(name);
        }
    }
    at == directory
}

/// Whether a path, with its links followed, is a directory or lies in it, by whatever name: bind mounts show a directory at
/// several places.
pub(in super::super::super) fn is_within(path: &Path, directory: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    let Some(sought) = identity(directory) else { return false };
    path.canonicalize().is_ok_and(|path| path.ancestors().any(|above| identity(above) == Some(sought)))
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

/// Links that Linux follows on the way to a path.
const LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_way_is_followed_through_links_and_back() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for directory in ["mount/repository", "beside/repository"] {
            create_dir_all(root.join(directory)).unwrap();
        }
        symlink(root.join("mount/away"), root.join("first")).unwrap();
        symlink("../beside", root.join("mount/away")).unwrap();
        symlink("mount/repository", root.join("direct")).unwrap();
        for (path, passes) in [
            ("mount", true),
            ("mount/repository", true),
            ("mount/not/there/yet", true),
            ("beside/../mount/repository", true),
            ("direct", true),
            ("direct/below", true),
            // It ends beside the mount, and the way leads through it.
            ("first/repository", true),
            ("beside/repository", false),
            ("mounted", false),
        ] {
            assert_eq!(passes_through(&root.join(path), &root.join("mount")), passes, "{path}");
        }
        for (path, directory, is_there) in [
            ("mount/repository", "mount", true),
            ("mount", "mount", true),
            ("direct", "mount", true),
            ("mount/repository", "direct", true),
            ("mount", "mount/repository", false),
            ("beside/repository", "mount", false),
            ("not there", "mount", false),
        ] {
            assert_eq!(is_within(&root.join(path), &root.join(directory)), is_there, "{path} in {directory}");
        }
        symlink("loop", root.join("loop")).unwrap();
        assert!(!passes_through(&root.join("loop"), &root.join("mount")));
    }
}
