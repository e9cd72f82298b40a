//! Filter: patterns that choose entries by path, in the syntax of gitignore.

use copal_format::exclusions::Pattern;
use copal_format::path::TreePath;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::classes::without_slashes;
use crate::system::path_of;

/// Whether a pattern is case-sensitive.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Case {
    /// `*.jpg` does not match `A.JPG`.
    Exact,
    /// `*.jpg` matches `A.JPG`.
    Any,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadPattern {
    /// The pattern is only slashes, spaces and `!`.
    #[error("the pattern {0:?} names nothing")]
    Empty(String),
    #[error("the pattern {pattern:?} is not valid: {problem}")]
    Glob { pattern: String, problem: String },
}

/// Collects patterns; the last one that matches an entry decides.
///
/// `*.o` matches that name anywhere, `a/b` these two names anywhere, `/home/a` from the top only, `cache/` directories
/// only, and `**` any number of names. `!keep.o` cancels an earlier match. Nothing below an excluded directory can be
/// included again, because the directory is not entered.
pub struct FilterBuilder {
    patterns: GitignoreBuilder,
    added: Vec<Pattern>,
    /// The lines that the patterns became.
    lines: Vec<String>,
}

/// Compiled patterns.
#[derive(Clone)]
pub struct Filter {
    patterns: Gitignore,
    /// Each pattern as it was added, behind the line that it became.
    added: Vec<(String, String)>,
}

/// The entries that a command works on: all, or those that `includes` covers, minus those that `excludes` covers.
#[derive(Clone, Default)]
pub struct Selection {
    /// Unless empty: only entries that these match, and everything below them.
    pub includes: Filter,
    /// Not the entries that these match, nor anything below them.
    pub excludes: Filter,
}

impl FilterBuilder {
    /// Starts without patterns.
    pub fn new() -> Self {
        let mut patterns = GitignoreBuilder::new("");
        patterns.allow_unclosed_class(false);
        Self { patterns, added: Vec::new(), lines: Vec::new() }
    }

    /// Adds one pattern.
    pub fn add(&mut self, pattern: &str, case: Case) -> Result<(), BadPattern> {
        let (sign, body) = match pattern.strip_prefix('!') {
            Some(body) => ("!", body),
            None => ("", pattern),
        };
        if body.trim_end().trim_matches('/').is_empty() {
            return Err(BadPattern::Empty(pattern.into()));
        }
        // Git anchors a pattern with an inner slash at the directory of its file. Here that would be the top, where
        // users rarely mean it: let the pattern match anywhere.
        let floats = body.trim_end().trim_end_matches('/').contains('/') && !body.starts_with('/');
        let rewritten = without_slashes(body);
        // The slash that `without_slashes` puts into a class must not anchor the pattern either.
        let is_tied = rewritten.is_some() && !body.contains('/');
        let anywhere = if is_tied || (floats && !body.starts_with("**/")) { "**/" } else { "" };
        let body = rewritten.as_deref().unwrap_or(body);
        let comment = if anywhere.is_empty() && pattern.starts_with('#') { "\\" } else { "" };
        let line = format!("{comment}{sign}{anywhere}{body}");
        let bad = |error: ignore::Error| {
            let problem = match error {
                ignore::Error::Glob { err, .. } => err,
                other => other.to_string(),
            };
            BadPattern::Glob { pattern: pattern.into(), problem }
        };
        self.patterns.case_insensitive(case == Case::Any).map_err(bad)?;
        self.patterns.add_line(None, &line).map_err(bad)?;
        self.lines.push(line);
        self.added.push(Pattern { text: pattern.into(), any_case: case == Case::Any });
        Ok(())
    }

    /// Adds the patterns of a file, one a line. Skips empty lines and lines that start with `#`.
    pub fn add_lines(&mut self, text: &str, case: Case) -> Result<(), BadPattern> {
        let lines = text.trim_start_matches('\u{feff}').lines();
        let patterns = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        patterns.into_iter().try_for_each(|pattern| match pattern.strip_prefix("\\#") {
            Some(rest) => self.add(&format!("#{rest}"), case),
            None => self.add(pattern, case),
        })
    }

    /// The patterns so far, as a snapshot records them.
    pub fn added(&self) -> &[Pattern] {
        &self.added
    }

    /// Compiles the patterns.
    pub fn finish(self) -> Result<Filter, BadPattern> {
        let whole = |error: ignore::Error| BadPattern::Glob { pattern: "(all)".into(), problem: error.to_string() };
        let added = self.lines.into_iter().zip(self.added.into_iter().map(|pattern| pattern.text)).collect();
        Ok(Filter { patterns: self.patterns.build().map_err(whole)?, added })
    }
}

impl Filter {
    /// Compiles the patterns that a snapshot has recorded.
    pub fn of_recorded(patterns: &[Pattern]) -> Result<Self, BadPattern> {
        let mut builder = FilterBuilder::new();
        for pattern in patterns {
            builder.add(&pattern.text, if pattern.any_case { Case::Any } else { Case::Exact })?;
        }
        builder.finish()
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether the patterns match this entry itself; for walks that do not enter excluded directories.
    pub fn excludes(&self, path: &TreePath, is_directory: bool) -> bool {
        !path.is_top() && self.patterns.matched(path_of(path.as_bytes()), is_directory).is_ignore()
    }

    /// The pattern that excludes this entry itself, as it was added.
    pub fn excluding(&self, path: &TreePath, is_directory: bool) -> Option<&str> {
        let Match::Ignore(glob) = self.patterns.matched(path_of(path.as_bytes()), is_directory) else { return None };
        let added = self.added.iter().rev().find(|(line, _)| line.trim_end() == glob.original());
        Some(added.map_or(glob.original(), |(_, text)| text))
    }

    /// True if a walk that does not enter excluded directories leaves the entry out.
    pub fn leaves_out(&self, path: &TreePath, is_directory: bool) -> bool {
        let mut above = path.parent();
        while let Some(directory) = above {
            if self.excludes(&directory, true) {
                return true;
            }
            above = directory.parent();
        }
        self.excludes(path, is_directory)
    }

    /// Whether the patterns match the entry or a directory above it; the nearest match decides.
    pub fn covers(&self, path: &TreePath, is_directory: bool) -> bool {
        !path.is_top() && self.patterns.matched_path_or_any_parents(path_of(path.as_bytes()), is_directory).is_ignore()
    }
}

impl Selection {
    /// Whether there are no patterns: everything is selected.
    pub fn is_everything(&self) -> bool {
        self.includes.is_empty() && self.excludes.is_empty()
    }

    /// Whether the selection contains the entry.
    pub fn selects(&self, path: &TreePath, is_directory: bool) -> bool {
        let included = self.includes.is_empty() || self.includes.covers(path, is_directory);
        included && !self.excludes.covers(path, is_directory)
    }
}

impl Default for FilterBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self { patterns: Gitignore::empty(), added: Vec::new() }
    }
}

/// For tests: a filter of these patterns.
#[cfg(test)]
pub(crate) fn excluding(patterns: &[&str]) -> Filter {
    let mut builder = FilterBuilder::new();
    patterns.iter().for_each(|pattern| builder.add(pattern, Case::Exact).unwrap());
    builder.finish().unwrap()
}

#[cfg(test)]
mod tests {
    use super::excluding as filter;
    use super::*;

    fn path(bytes: &[u8]) -> TreePath {
        TreePath::new(bytes).unwrap()
    }

    #[test]
    fn patterns_mean_what_the_manual_says() {
        for (patterns, excluded, kept) in [
            (&["*.o"][..], &["a.o", "x/y/b.o"][..], &["a.c", "o", "a.o/b"][..]),
            (&["/home/a"], &["home/a"], &["x/home/a", "home/ab", "home/a/b"]),
            (&["/home/*/tmp"], &["home/a/tmp"], &["home/tmp", "home/a/b/tmp"]),
            (&["a/b"], &["a/b", "x/a/b"], &["a/x/b", "b", "xa/b"]),
            (&["a/**/b"], &["a/b", "a/x/b", "z/a/x/y/b"], &["b", "ab"]),
            (&["/a/**"], &["a/b", "a/b/c"], &["a", "b/a/c"]),
            (&["cache/"], &[], &["cache", "x/cache"]),
            (&["*.o", "!keep.o"], &["a.o"], &["keep.o", "x/keep.o"]),
            (&["!keep.o", "*.o"], &["a.o", "keep.o"], &[]),
            (&["#x"], &["#x", "a/#x"], &["x"]),
            (&["#a/b"], &["#a/b", "x/#a/b"], &["a/b"]),
            (&["build[!s]*"], &["buildx", "x/buildx"], &["builds", "build/x"]),
            (&["a[+-9]b"], &["a5b", "x/a+b"], &["a/b"]),
            (&["/a[!s]"], &["ab"], &["x/ab", "as"]),
            (&["\\!x"], &["!x"], &["x"]),
            (&["[ab]?"], &["a1", "x/b2"], &["a", "c1", "a12"]),
            (&["{a,b}.txt"], &["a.txt", "b.txt"], &["c.txt"]),
            (&["a b"], &["a b"], &["a"]),
            (&[], &[], &["a"]),
        ] {
            let filter = filter(patterns);
            for entry in excluded {
                assert!(filter.excludes(&path(entry.as_bytes()), false), "{patterns:?} must exclude {entry}");
            }
            for entry in kept {
                assert!(!filter.excludes(&path(entry.as_bytes()), false), "{patterns:?} must keep {entry}");
            }
        }
    }

    #[test]
    fn a_final_slash_means_directories_only() {
        let filter = filter(&["cache/", "/a/b/"]);
        for directory in ["cache", "x/cache", "a/b"] {
            assert!(filter.excludes(&path(directory.as_bytes()), true), "{directory}");
            assert!(!filter.excludes(&path(directory.as_bytes()), false), "{directory}");
        }
    }

    #[test]
    fn each_pattern_has_its_own_case() {
        let mut builder = FilterBuilder::new();
        builder.add("*.JPG", Case::Any).unwrap();
        builder.add("*.Tmp", Case::Exact).unwrap();
        let filter = builder.finish().unwrap();
        for (name, excluded) in [("a.jpg", true), ("a.Jpg", true), ("a.Tmp", true), ("a.tmp", false)] {
            assert_eq!(filter.excludes(&path(name.as_bytes()), false), excluded, "{name}");
        }
    }

    #[test]
    fn names_need_not_be_utf8() {
        let filter = filter(&["*.o", "/a/?"]);
        assert!(filter.excludes(&path(b"\xff\xfe.o"), false));
        assert!(filter.excludes(&path(b"\xff/\xfe.o"), false));
        assert!(!filter.excludes(&path(b"\xff\xfe.c"), false));
    }

    #[test]
    fn lines_of_a_file_may_be_empty_or_comments() {
        let mut builder = FilterBuilder::new();
        builder.add_lines("\u{feff}# objects\n*.o\r\n\n   \n\\#x\n!keep.o\n", Case::Exact).unwrap();
        let filter = builder.finish().unwrap();
        for (name, excluded) in [("a.o", true), ("#x", true), ("keep.o", false), ("# objects", false)] {
            assert_eq!(filter.excludes(&path(name.as_bytes()), false), excluded, "{name}");
        }
    }

    #[test]
    fn a_bad_pattern_is_refused_with_its_text() {
        let mut builder = FilterBuilder::new();
        for empty in ["", "/", "!", "!//", " "] {
            assert_eq!(builder.add(empty, Case::Exact), Err(BadPattern::Empty(empty.into())));
        }
        for broken in ["[a", "a{b", "[z-a]"] {
            let error = builder.add(broken, Case::Exact).unwrap_err();
            assert!(matches!(&error, BadPattern::Glob { pattern, .. } if pattern == broken), "{error}");
        }
    }

    #[test]
    fn the_top_directory_is_never_excluded() {
        let filter = filter(&["*", "**"]);
        assert!(!filter.excludes(&TreePath::TOP, true) && !filter.covers(&TreePath::TOP, true));
    }

    #[test]
    fn nothing_below_an_excluded_directory_is_walked_and_recorded_patterns_mean_the_same() {
        let mut builder = FilterBuilder::new();
        builder.add("build", Case::Exact).unwrap();
        builder.add_lines("!build/keep\n\\#X\n", Case::Any).unwrap();
        let recorded = Filter::of_recorded(builder.added()).unwrap();
        for filter in [builder.finish().unwrap(), recorded] {
            for (entry, is_out) in
                [("a/build/keep", true), ("a/build/keep/x", true), ("build", true), ("#x", true), ("a", false)]
            {
                assert_eq!(filter.leaves_out(&path(entry.as_bytes()), false), is_out, "{entry}");
            }
        }
        let broken = Pattern { text: "[a".into(), any_case: false };
        assert!(Filter::of_recorded(&[broken]).is_err());
    }

    #[test]
    fn a_selection_reaches_below_what_it_names() {
        let selection = Selection { includes: filter(&["/home/a"]), excludes: filter(&["*.o", "cache/"]) };
        for (entry, selected) in [
            ("home/a", true),
            ("home/a/b/c", true),
            ("home/b", false),
            ("home", false),
            ("home/a/x.o", false),
            ("home/a/cache/x", false),
        ] {
            assert_eq!(selection.selects(&path(entry.as_bytes()), false), selected, "{entry}");
        }
        assert!(Selection::default().selects(&path(b"anything"), false));
    }
}
