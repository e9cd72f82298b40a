//! Scope: the paths that a backup looks at.

use std::collections::BTreeMap;

use copal_format::path::TreePath;

/// What is looked at where a path leads.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The entry itself, and nothing below it.
    Entry,
    /// The entry and everything below it.
    Whole,
    /// The entry itself, and nothing is saved of what is below it.
    Alone,
    /// Nothing: the entry and everything below it has gone, or is left out.
    Gone,
}

/// The paths that a backup looks at. All others are as the parent snapshot has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    paths: BTreeMap<TreePath, Extent>,
}

impl Scope {
    /// The paths in tree order.
    pub fn iter(&self) -> impl Iterator<Item = (&TreePath, Extent)> {
        self.paths.iter().map(|(path, extent)| (path, *extent))
    }

    /// Adds a path. [`Extent::Entry`] does not replace another extent.
    pub(crate) fn add(&mut self, path: TreePath, extent: Extent) {
        match extent {
            Extent::Entry => drop(self.paths.entry(path).or_insert(extent)),
            Extent::Whole | Extent::Alone | Extent::Gone => drop(self.paths.insert(path, extent)),
        }
    }

    /// The extent of this path, or that of a directory above it that covers it.
    pub(crate) fn over(&self, path: &TreePath) -> Option<(&TreePath, Extent)> {
        let (at, extent) = self.paths.range(..=path).next_back()?;
        (at == path || (*extent != Extent::Entry && path.is_within(at))).then_some((at, *extent))
    }

    /// The extent of exactly this path.
    pub(crate) fn at(&self, path: &TreePath) -> Option<Extent> {
        self.paths.get(path).copied()
    }

    /// Leaves out what lies below a path that is looked at as a whole.
    pub(crate) fn finish(&mut self) {
        let mut within: Option<TreePath> = None;
        self.paths.retain(|path, extent| {
            let is_below = within.as_ref().is_some_and(|directory| path.is_within(directory));
            if !is_below && *extent != Extent::Entry {
                within = Some(path.clone());
            }
            !is_below
        });
    }

    /// Whether this path is looked at, or has gone.
    pub fn decides(&self, path: &TreePath) -> bool {
        self.over(path).is_some()
    }

    /// Whether any path after `after`, up to `through`, may be one of these.
    pub fn touches(&self, after: Option<&TreePath>, through: &TreePath) -> bool {
        let last = self.paths.range(..=through).next_back();
        last.is_some_and(|(at, extent)| {
            after.is_none_or(|after| at > after || (*extent != Extent::Entry && after.is_within(at)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::new(text).unwrap()
    }

    fn scope(paths: &[(&str, Extent)]) -> Scope {
        let mut scope = Scope::default();
        paths.iter().for_each(|(text, extent)| scope.add(path(text), *extent));
        scope.finish();
        scope
    }

    #[test]
    fn an_entry_is_itself_and_a_whole_is_all_below_it() {
        let scope = scope(&[("a", Extent::Entry), ("a/b", Extent::Whole), ("c", Extent::Gone)]);
        for (text, is_decided) in [
            ("a", true),
            ("a/a", false),
            ("a/b", true),
            ("a/b/x/y", true),
            ("a/b.c", false),
            ("a/c", false),
            ("b", false),
            ("c", true),
            ("c/d", true),
            ("c.d", false),
        ] {
            assert_eq!(scope.decides(&path(text)), is_decided, "{text}");
        }
    }

    #[test]
    fn a_range_is_touched_by_what_may_lie_in_it() {
        let scope = scope(&[("b", Extent::Entry), ("d", Extent::Whole)]);
        let touches = |after: &str, through: &str| scope.touches(Some(&path(after)), &path(through));
        assert!(touches("a", "b") && touches("a", "c") && touches("c", "d/x") && touches("d", "d/x"));
        assert!(touches("d/x", "d/y") && touches("d/x", "e"), "there may be more below it");
        assert!(!touches("b", "c") && !touches("b/x", "c") && !touches("d.x", "e") && !touches("e", "f"));
        assert!(scope.touches(None, &path("b")) && !scope.touches(None, &path("a")));
    }

    #[test]
    fn what_lies_below_a_whole_is_not_said_again() {
        let said = [("a", Extent::Whole), ("a/b", Extent::Entry), ("a/c", Extent::Gone), ("b", Extent::Entry)];
        let left = scope(&said);
        assert_eq!(left.iter().collect::<Vec<_>>(), [(&path("a"), Extent::Whole), (&path("b"), Extent::Entry)]);
    }

    #[test]
    fn an_entry_does_not_make_less_of_what_was_said() {
        assert_eq!(scope(&[("a", Extent::Gone), ("a", Extent::Entry)]).at(&path("a")), Some(Extent::Gone));
    }
}
