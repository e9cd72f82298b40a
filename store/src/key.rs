//! Keys: the names of objects.

use std::borrow::Borrow;
use std::fmt;

/// The name of an object: slash-separated segments of `[A-Za-z0-9._-]`; none is empty, `.` or `..`.
///
/// Ordered by bytes, like listings. A key is safe to use as a path below a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// Checks a name.
    pub fn new(name: impl Into<String>) -> Result<Key, BadKey> {
        let name = name.into();
        if name.len() > LENGTH_MAX {
            return Err(BadKey::Long { length: name.len() });
        }
        if name.split('/').all(is_segment) { Ok(Key(name)) } else { Err(BadKey::Segment { name }) }
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Lets callers search an ordered map of keys by a prefix, which need not be a key.
impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Why a text is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadKey {
    /// It is longer than the limit for all stores.
    #[error("a key of {length} bytes, at most {LENGTH_MAX} are allowed")]
    Long { length: usize },
    /// A segment is empty, `.` or `..`, or has a character outside the alphabet.
    #[error("{name:?} is no key: segments are of letters, digits, dot, dash and underscore")]
    Segment { name: String },
}

/// Whether a text can be a segment of a key.
pub(crate) fn is_segment(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..")
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Whether any key can start like this. Servers differ about other prefixes.
#[cfg(any(feature = "s3", feature = "opendal"))]
pub(crate) fn may_begin_a_key(prefix: &str) -> bool {
    let (whole, last) = prefix.rsplit_once('/').map_or((None, prefix), |(whole, last)| (Some(whole), last));
    // A last segment of dots can be the start of a longer one.
    let is_begun = last.is_empty() || is_segment(&format!("{last}x"));
    is_begun && whole.is_none_or(|whole| whole.split('/').all(is_segment))
}

/// The longest key in bytes.
pub(crate) const LENGTH_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_layout_are_keys() {
        for name in ["copal/1", "packs/00/ab", "reader/ab.wasm", "A-b_c.d", "...", "a/.b"] {
            assert_eq!(Key::new(name).map(|key| key.to_string()), Ok(name.to_owned()));
        }
    }

    #[test]
    fn names_that_could_leave_a_directory_are_refused() {
        for name in ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a b", "a\0", "a\\b", "ä"] {
            assert_eq!(Key::new(name), Err(BadKey::Segment { name: name.to_owned() }));
        }
    }

    #[test]
    fn the_longest_key_has_512_bytes() {
        assert!(Key::new("k".repeat(512)).is_ok());
        assert_eq!(Key::new("k".repeat(513)), Err(BadKey::Long { length: 513 }));
    }

    #[cfg(any(feature = "s3", feature = "opendal"))]
    #[test]
    fn only_what_may_begin_a_key_is_asked_for() {
        for prefix in ["", "a", "a/", "a/b", ".", "..", "a/..", "packs/ab/cd"] {
            assert!(may_begin_a_key(prefix), "{prefix:?}");
        }
        for prefix in ["/", "//", "a//", "../", "a/../", "./", "\0", "a/\u{e4}/", "ä"] {
            assert!(!may_begin_a_key(prefix), "{prefix:?}");
        }
    }
}
