//! Rules: applies the ignore files of a directory and of the directories above it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Read;
use std::sync::Arc;

use copal_format::path::TreePath;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::marker::open_regular;
use crate::classes::without_slashes;
use crate::system::{AsFd, path_of};

/// The patterns of one ignore file, linked to those of the directories above.
pub(super) struct Rules {
    /// Length of the path of the file's directory, with the slash after it.
    prefix: usize,
    patterns: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Reads the ignore file of an open directory. Problems come back as text; the valid lines are used anyway.
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
        let (patterns, mut problem) = compile(&text);
        if text.len() as u64 == LARGEST {
            problem = Some(format!("only its first {LARGEST} bytes are used"));
        }
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
        if let Err(error) = added {
            problem.get_or_insert(format!("line {}: {error}", index + 1));
        }
    }
    let patterns = builder.build().unwrap_or_else(|error| {
        problem.get_or_insert(error.to_string());
        Gitignore::empty()
    });
    (patterns, problem)
}

/// Rewrites a line so that its character classes match no slash.
fn in_names(line: &str) -> Cow<'_, str> {
    let (sign, body) = line.strip_prefix('!').map_or(("", line), |body| ("!", body));
    match without_slashes(body).filter(|_| !line.starts_with('#')) {
        // The rewritten class holds a slash, which would anchor the pattern at the file's directory: prefix `**/`.
        Some(rewritten) if !body.trim_end().trim_end_matches('/').contains('/') => {
            format!("{sign}**/{rewritten}").into()
        }
        Some(rewritten) => format!("{sign}{rewritten}").into(),
        None => line.into(),
    }
}

/// Only this many bytes of an ignore file are read.
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
}
