//! Shown: names and texts in the form shown to people. They cannot control a terminal or turn the direction of writing,
//! and no two names differ only in characters that nobody sees.
//!
//! `Serialize` on a record is for showing it (`copal cat`): it decides no stored byte, and leaves out what is sealed.

use serde::{Serialize, Serializer};

use crate::path::TreePath;

/// A path on one line, without loss: invalid UTF-8 and unseen characters as `\xNN`, `\` as `\\`.
pub fn path(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let escape = |text: &mut String, bytes: &[u8]| bytes.iter().for_each(|byte| *text += &format!("\\x{byte:02x}"));
    for piece in bytes.utf8_chunks() {
        for letter in piece.valid().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                letter if is_unseen(letter) => escape(&mut text, letter.encode_utf8(&mut [0; 4]).as_bytes()),
                letter => text.push(letter),
            }
        }
        escape(&mut text, piece.invalid());
    }
    text
}

/// A text on one line, with unseen characters as `\n`, `\u{202e}` and the like.
pub fn text(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_unseen(letter) {
            true => line.extend(letter.escape_default()),
            false => line.push(letter),
        }
    }
    line
}

/// Whether a character is a control character, turns the direction of writing, or shows nothing. Includes the joiners
/// of some scripts: a name with a joiner must not look like one without.
pub fn is_unseen(letter: char) -> bool {
    letter.is_control() || UNSEEN.binary_search_by(|(first, last)| compare(letter, *first, *last)).is_ok()
}

/// Bytes as hexadecimal digits.
pub fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("/{}", path(self.as_bytes())))
    }
}

pub(crate) fn hex<S: Serializer>(bytes: &impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&digits(bytes.as_ref()))
}

pub(crate) fn name<S: Serializer>(name: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path(name))
}

pub(crate) fn name_if_any<S: Serializer>(name: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
    name.as_deref().map(path).serialize(to)
}

pub(crate) fn paths<S: Serializer>(paths: &[Vec<u8>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|bytes| path(bytes)))
}

pub(crate) fn attributes<S: Serializer>(pairs: &[(Vec<u8>, Vec<u8>)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, value)| (path(name), digits(value))))
}

fn compare(letter: char, first: char, last: char) -> core::cmp::Ordering {
    match letter {
        _ if last < letter => core::cmp::Ordering::Less,
        _ if first > letter => core::cmp::Ordering::Greater,
        _ => core::cmp::Ordering::Equal,
    }
}

/// Unseen characters besides control characters, ascending. `web-demo/src/app/words.ts` has the same list.
const UNSEEN: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_without_loss_and_cannot_speak_to_the_terminal() {
        assert_eq!(path(b"a\x1b[2J\n\\\xff\xc3\xa4"), "a\\x1b[2J\\x0a\\\\\\xff\u{e4}");
        assert_eq!(path("\u{9b}".as_bytes()), "\\xc2\\x9b");
        assert_eq!(path("photo\u{202e}gnp.exe".as_bytes()), "photo\\xe2\\x80\\xaegnp.exe");
    }

    #[test]
    fn texts_carry_no_control_that_turns_the_writing_or_is_not_seen() {
        assert_eq!(text("desk\n\u{1b}"), "desk\\n\\u{1b}");
        for unseen in "\u{202a}\u{202e}\u{2066}\u{2069}\u{200b}\u{200f}\u{61c}\u{feff}\u{ad}\u{2060}\u{e0041}".chars() {
            assert_eq!(text(&format!("a{unseen}b")), format!("a\\u{{{:x}}}b", u32::from(unseen)));
        }
        assert_eq!(text("ä 東京 نام ❤\u{fe0f}"), "ä 東京 نام ❤\u{fe0f}");
        assert!(UNSEEN.windows(2).all(|two| two[0].1 < two[1].0));
    }
}
