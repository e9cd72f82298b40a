//! Varint: LEB128 numbers in their shortest form, and zigzag for signed ones.

use super::DecodeError;
use super::cursor::Cursor;

/// Appends a number.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Reads a number; fails if it is not in its shortest form.
pub fn take(cursor: &mut Cursor<'_>) -> Result<u64, DecodeError> {
    let start = cursor.offset();
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = cursor.u8()?;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            return Err(DecodeError::new(start, "a varint exceeds 64 bits"));
        }
        value |= part << shift;
        if byte < 0x80 {
            let shortest = byte != 0 || shift == 0;
            return if shortest {
                Ok(value)
            } else {
                Err(DecodeError::new(start, "a varint is not in its shortest form"))
            };
        }
    }
    Err(DecodeError::new(start, "a varint exceeds 64 bits"))
}

/// Reads a signed number.
pub fn take_signed(cursor: &mut Cursor<'_>) -> Result<i64, DecodeError> {
    let value = take(cursor)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_reads_back(value: u64, signed: i64) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            put_signed(&mut bytes, signed);
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(take(&mut cursor), Ok(value));
            prop_assert_eq!(take_signed(&mut cursor), Ok(signed));
            prop_assert!(cursor.finish().is_ok());
        }
    }

    #[test]
    fn longer_forms_and_overflow_are_refused() {
        assert!(take(&mut Cursor::new(&[0x80, 0x00])).is_err());
        assert!(take(&mut Cursor::new(&[0xff; 10])).is_err());
        assert!(take(&mut Cursor::new(&[0x80])).is_err());
    }
}
