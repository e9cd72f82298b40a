//! Names: one name of a tree as Windows keeps it, and back.
//!
//! Windows keeps no name with `\ : * ? " < > |` or a control character. Such a character is kept as the private character
//! U+F000 above it, as Cygwin, WSL and Samba do, and comes back as itself. No name of Windows is changed by that: it has
//! none of these characters, and a private one in it goes there and back, too.

use crate::wtf8;

/// A name of the tree as Windows keeps it; none if it cannot: its bytes are no text, or it is too long.
pub fn to_disk(name: &[u8]) -> Option<Vec<u16>> {
    let mut units = wtf8::decode(name)?;
    for unit in &mut units {
        if is_refused(*unit) {
            *unit += PRIVATE;
        }
    }
    (units.len() <= LONGEST).then_some(units)
}

/// A name that Windows keeps, as the tree holds it.
pub fn from_disk(units: &[u16]) -> Vec<u8> {
    wtf8::encode(units.iter().map(|&unit| match unit.checked_sub(PRIVATE) {
        Some(character) if is_refused(character) => character,
        _ => unit,
    }))
}

fn is_refused(unit: u16) -> bool {
    matches!(unit, 1..=31) || br#"\:*?"<>|"#.iter().any(|&refused| u16::from(refused) == unit)
}

const PRIVATE: u16 = 0xF000;
/// Units of the longest name.
const LONGEST: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn what_windows_refuses_is_kept_as_a_private_character_and_comes_back() {
        assert_eq!(to_disk(b"what?"), Some(units("what\u{f03f}")));
        for byte in (1..=127).filter(|byte| *byte != b'/') {
            let name = [b'a', byte, b'.'];
            let disk = to_disk(&name).unwrap();
            assert!(!disk.iter().any(|unit| is_refused(*unit)), "{byte}");
            assert_eq!(from_disk(&disk), name, "{byte}");
        }
    }

    #[test]
    fn every_name_of_windows_comes_back() {
        // Every unit that may stand in a name, between two others.
        for unit in (1..=u16::MAX).filter(|unit| !is_refused(*unit) && *unit != u16::from(b'/')) {
            let name = [0x61, unit, 0x62];
            assert_eq!(to_disk(&from_disk(&name)), Some(name.to_vec()), "{unit:x}");
        }
    }

    #[test]
    fn names_have_these_bytes_for_ever() {
        for (units, bytes) in [
            (&[0x47, 0x72, 0xFC, 0xDF, 0x65][..], &b"Gr\xC3\xBC\xC3\x9Fe"[..]),
            (&[0xD83E, 0xDD80], b"\xF0\x9F\xA6\x80"),
            (&[0xD83E], b"\xED\xA0\xBE"),
            (&[0x61, 0xF03A, 0x62], b"a:b"),
            (&[0xF01F, 0xF05C], b"\x1F\\"),
            // No character that Windows refuses is below these.
            (&[0xF020, 0xF041, 0xF080], b"\xEF\x80\xA0\xEF\x81\x81\xEF\x82\x80"),
        ] {
            assert_eq!(from_disk(units), bytes, "{units:x?}");
            assert_eq!(to_disk(bytes).as_deref(), Some(units), "{bytes:x?}");
        }
    }

    #[test]
    fn a_name_that_leads_elsewhere_on_windows_is_one_plain_name() {
        for hostile in [r"..\..\evil", r"C:\evil", "file:stream", r"\\server\share"] {
            let disk = String::from_utf16(&to_disk(hostile.as_bytes()).unwrap()).unwrap();
            assert!(!disk.contains(['\\', ':']), "{disk}");
        }
    }

    #[test]
    fn names_that_are_no_text_or_too_long_are_refused() {
        assert_eq!(to_disk(b"caf\xE9"), None);
        assert_eq!(to_disk(&[b'a'; 256]), None);
        assert!(to_disk(&[b'a'; 255]).is_some());
    }
}
