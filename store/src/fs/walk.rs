//! Listings: walks the directories that can hold keys of a prefix, in byte order of the whole key.

use super::cause;
use super::disk::{Disk, Kind, TMP, join};
use crate::key::{LENGTH_MAX, is_segment};
use crate::{Key, ListPage, Listed, Op, StoreError};

/// A page of objects; empty if the directory does not exist.
pub(super) fn list(disk: &Disk, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
    let start = prefix.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut walk = Walk { disk, prefix, after: after.map_or("", Key::as_str), limit, objects: Vec::new() };
    // A prefix with other segments matches no key, and its path could lead out of the root.
    let more = (start.is_empty() || start.split('/').all(is_segment)) && walk.visit(start)?;
    Ok(ListPage { objects: walk.objects, more })
}

struct Walk<'a> {
    disk: &'a Disk,
    prefix: &'a str,
    /// Empty to begin at the first key.
    after: &'a str,
    limit: usize,
    objects: Vec<Listed>,
}

impl Walk<'_> {
    /// Lists everything below a directory; returns whether there is more than fits.
    fn visit(&mut self, directory: &str) -> Result<bool, StoreError> {
        for (path, kind) in self.candidates(directory)? {
            match kind {
                Kind::Directory => {
                    if self.visit(path.trim_end_matches('/'))? {
                        return Ok(true);
                    }
                }
                Kind::File => {
                    let Some(listed) = self.look(path)? else {
                        continue;
                    };
                    if self.objects.len() == self.limit {
                        return Ok(true);
                    }
                    self.objects.push(listed);
                }
                // If this were skipped, everything behind a symbolic link would seem lost.
                Kind::Other => return Err(StoreError::Obstructed { key: path }),
            }
        }
        Ok(false)
    }

    /// The entries that are, or can hold, wanted keys, in the order of keys: as if directory names ended in a slash
    /// (`a-b` before `a/b` before `a0`).
    fn candidates(&self, directory: &str) -> Result<Vec<(String, Kind)>, StoreError> {
        let mut candidates: Vec<_> = self
            .entries(directory)?
            .into_iter()
            .map(|(name, kind)| {
                let path = join(directory, &name);
                (if kind == Kind::Directory { path + "/" } else { path }, kind)
            })
            .filter(|(path, kind)| self.wants(path, *kind))
            .collect();
        candidates.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(candidates)
    }

    /// The entries of a directory. A missing one has none, but only if its parent does not name it. Windows looks the
    /// root up by its path in each call, so a disk that is away for a moment makes everything seem missing.
    fn entries(&self, directory: &str) -> Result<Vec<(String, Kind)>, StoreError> {
        for _ in 0..LOOKS {
            match self.disk.entries(directory) {
                Err(error) if cause::is_absence(&error) => self.disk.check_root()?,
                entries => return entries.map_err(|error| self.disk.explain(Op::List, directory, error)),
            }
        }
        let (parent, name) = directory.rsplit_once('/').unwrap_or(("", directory));
        let is_directory = |(entry, kind): &(String, Kind)| *kind == Kind::Directory && entry == name;
        if !directory.is_empty() && !self.entries(parent)?.iter().any(is_directory) {
            return Ok(Vec::new());
        }
        let source = "a folder vanished while it was listed".into();
        Err(StoreError::Transient { op: Op::List, key: directory.to_owned(), source })
    }

    fn wants(&self, path: &str, kind: Kind) -> bool {
        let holds_after = kind == Kind::Directory && self.after.starts_with(path);
        path.starts_with(self.prefix)
            && path.len() <= LENGTH_MAX
            && (path > self.after || holds_after)
            && path.strip_suffix('/') != Some(TMP)
    }

    fn look(&self, path: String) -> Result<Option<Listed>, StoreError> {
        for _ in 0..LOOKS {
            match self.disk.stat(&path) {
                Err(error) if cause::is_absence(&error) => self.disk.check_root()?,
                stat => {
                    let stat = stat.map_err(|error| self.disk.explain(Op::List, &path, error))?.1;
                    let key = Key::new(path).expect("joined from checked segments, and not too long");
                    return Ok(Some(Listed { key, stat }));
                }
            }
        }
        // Deleted meanwhile.
        Ok(None)
    }
}

/// How often nothing must be found before it counts as missing.
const LOOKS: usize = 2;
