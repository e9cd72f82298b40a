//! Rules: applies the ignore files of a directory and of the directories above it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Read;
use std::sync::Arc;

use copal_format::path::TreePath;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::marker::open_regular;
use crate::classes::as_in_git;
use crate::system::{AsFd, path_of};

/// The patterns of one ignore file, linked to those of the directories above.
pub(super) struct Rules {
    /// Length of the path of the file's directory, with the slash after it.
    prefix: usize,
    patterns: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Reads the ignore file of an open directory. Problems come back as text, and the valid lines are used anyway. If a
    /// line that begins with `!` is not valid, no line is used: the others could leave out files that it keeps.
    pub(super) fn read(
        directory: impl AsFd,
        path: &TreePath,
        name: &OsStr,
        above: Option<Arc<Rules>>,
    ) -> (Option<Arc<Rules>>, Option<String>) {
        let text = match open_regular(directory, name) {
            Ok(Some(file)) => {
                let mut text = Vec::new();
                match file.take(LARGEST).read_to_end(&mut text) {
                    Ok(_) => text,
                    Err(error) => return (above, Some(error.to_string())),
                }
            }
            Ok(None) => return (above, None),
            Err(error) => return (above, Some(error.to_string())),
        };
        if text.len() as u64 == LARGEST {
            return (above, Some(format!("none of its lines is used, because it is not below {LARGEST} bytes")));
        }
        let (patterns, problem) = compile(&text);
        let prefix = path.as_bytes().len() + usize::from(!path.is_top());
        (Some(Arc::new(Rules { prefix, patterns, above })), problem)
    }

    /// The pattern that excludes an entry, if one does. The nearest directory's rules come first.
    pub(super) fn exclude(&self, path: &TreePath, is_directory: bool) -> Option<&str> {
        let mut rules = Some(self);
        while let Some(at) = rules {
            let below = path_of(path.as_bytes().get(at.prefix..).unwrap_or_default());
            match at.patterns.matched(&below, is_directory) {
                Match::Ignore(glob) => return Some(glob.original()),
                Match::Whitelist(_) => return None,
                Match::None => rules = at.above.as_deref(),
            }
        }
        None
    }
}

fn compile(text: &[u8]) -> (Gitignore, Option<String>) {
    let mut builder = GitignoreBuilder::new("");
    let mut problem = None;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let added = match str::from_utf8(line) {
            Ok(line) => builder.add_line(None, &in_names(line)).map(|_| ()).map_err(|error| error.to_string()),
            Err(_) => Err("not UTF-8".into()),
        };
        match added {
            Err(error) if line.starts_with(b"!") => {
                let why = format!("line {}: {error}; it names what to keep, so no line is used", index + 1);
                return (Gitignore::empty(), Some(why));
            }
            Err(error) => drop(problem.get_or_insert(format!("line {}: {error}", index + 1))),
            Ok(()) => {}
        }
    }
    let patterns = builder.build().unwrap_or_else(|error| {
        problem.get_or_insert(error.to_string());
        Gitignore::empty()
    });
    (patterns, problem)
}

/// Rewrites a line so that its character classes match no slash, and its braces stand for themselves.
fn in_names(line: &str) -> Cow<'_, str> {
    let (sign, body) = line.strip_prefix('!').map_or(("", line), |body| ("!", body));
    match as_in_git(body).filter(|_| !line.starts_with('#')) {
        // A rewritten class holds a slash, which would anchor the pattern at the file's directory: prefix `**/`.
        Some(rewritten) if !body.trim_end().trim_end_matches('/').contains('/') => {
            format!("{sign}**/{rewritten}").into()
        }
        Some(rewritten) => format!("{sign}{rewritten}").into(),
        None => line.into(),
    }
}

/// An ignore file of this many bytes or more is not used.
const LARGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_brackets_is_a_character_of_a_name_and_ties_nothing_to_a_place() {
        let (patterns, problem) = compile(b"build[!s]*\n!/keep[+-9]\n#[!x]\n");
        assert_eq!(problem, None);
        let rules = Rules { prefix: 0, patterns, above: None };
        let is_out = |path: &str| rules.exclude(&TreePath::new(path).unwrap(), false).is_some();
        assert_eq!(["buildx", "a/buildx", "builds", "build/x"].map(is_out), [true, true, false, false]);
        assert!(!is_out("#y") && !is_out("a"));
    }

    #[test]
    fn braces_stand_for_themselves_as_in_git() {
        let (patterns, problem) = compile(b"{a,b}\n*.{log,txt}\n\\{c}\n[{]d\n{e\n");
        assert_eq!(problem, None);
        let rules = Rules { prefix: 0, patterns, above: None };
        let is_out = |path: &str| rules.exclude(&TreePath::new(path).unwrap(), false).is_some();
        for (out, kept) in [("{a,b}", "a"), ("x.{log,txt}", "x.log"), ("{c}", "c"), ("{d", "d"), ("{e", "e")] {
            assert!(is_out(out) && !is_out(kept), "{out}");
        }
    }

    #[test]
    fn no_line_is_used_if_one_that_keeps_files_cannot_be() {
        for unreadable in [&b"!keep-\xe4.o\n"[..], b"![z-a]\n"] {
            let (patterns, problem) = compile(&[b"*.o\n", unreadable].concat());
            assert!(patterns.is_empty() && problem.is_some_and(|text| text.starts_with("line 2: ")));
        }
    }
}
