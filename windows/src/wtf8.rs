//! WTF-8: the text of Windows, which is UTF-16 and may hold half of a surrogate pair, as bytes. Text that is valid UTF-16
//! becomes UTF-8; half of a pair becomes the three bytes that UTF-8 would give it.

/// The bytes of some UTF-16. Any input has bytes, and [`decode`] gives the input back.
pub fn encode(units: impl IntoIterator<Item = u16>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for character in char::decode_utf16(units) {
        match character {
            Ok(character) => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(half) => {
                let half = half.unpaired_surrogate();
                bytes.extend([0xE0 | (half >> 12) as u8, 0x80 | (half >> 6 & 0x3F) as u8, 0x80 | (half & 0x3F) as u8]);
            }
        }
    }
    bytes
}

/// The UTF-16 of some bytes; none if they are neither UTF-8 nor WTF-8. A pair of halves that stands as two times three
/// bytes is not WTF-8: it would come back as other bytes.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<u16>> {
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut ends_in_first_half = false;
    while !bytes.is_empty() {
        let valid = match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
        };
        units.extend(valid.encode_utf16());
        ends_in_first_half &= valid.is_empty();
        bytes = &bytes[valid.len()..];
        let Some((half, rest)) = bytes.split_at_checked(3) else {
            return bytes.is_empty().then_some(units);
        };
        let [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF] = *half else { return None };
        let is_second_half = second >= 0xB0;
        if is_second_half && ends_in_first_half {
            return None;
        }
        units.push(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F));
        ends_in_first_half = !is_second_half;
        bytes = rest;
    }
    Some(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_utf8() {
        let text = "Grüße, 日本, 🦀";
        assert_eq!(encode(text.encode_utf16()), text.as_bytes());
        assert_eq!(decode(text.as_bytes()), Some(text.encode_utf16().collect()));
    }

    #[test]
    fn halves_of_pairs_become_three_bytes_each() {
        assert_eq!(encode([0x61, 0xD83E, 0x62]), b"a\xED\xA0\xBEb");
        assert_eq!(encode([0xDD80]), b"\xED\xB6\x80");
        // The second half before the first one is no pair.
        assert_eq!(encode([0xDD80, 0xD83E]), b"\xED\xB6\x80\xED\xA0\xBE");
    }

    #[test]
    fn any_three_units_come_back() {
        let interesting = [0x41, 0xE9, 0x20AC, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF];
        for number in 0..1000 {
            let units = [number / 100, number / 10 % 10, number % 10].map(|at| interesting[at]);
            assert_eq!(decode(&encode(units)), Some(units.to_vec()), "{units:x?}");
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in
            [&b"\xFF"[..], b"a\xE9", b"\xED\xA0", b"\xED\xA0\xBE\xED\xB6\x80", b"\xC0\xAF", b"\xF4\x90\x80\x80"]
        {
            assert_eq!(decode(bytes), None, "{bytes:x?}");
        }
    }
}
