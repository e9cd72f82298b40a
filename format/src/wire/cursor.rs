//! Cursor: reads fixed-width little-endian fields, one after another.

use super::DecodeError;

/// A read position in bytes.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The offset of the next field.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The number of bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error at the current position.
    pub fn error(&self, what: &'static str) -> DecodeError {
        DecodeError::new(self.at, what)
    }

    /// Reads the next `length` bytes.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| self.error("the bytes end within a field"))?;
        let field = &self.bytes[self.at..end];
        self.at = end;
        Ok(field)
    }

    /// Reads a byte array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a 16-bit number.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Reads a 32-bit number.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads a 64-bit number.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a signed 64-bit number.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Reads bytes that must equal `bytes`; otherwise fails with `what`.
    pub fn expect(&mut self, bytes: &[u8], what: &'static str) -> Result<(), DecodeError> {
        let error = self.error(what);
        if self.take(bytes.len())? == bytes { Ok(()) } else { Err(error) }
    }

    /// Reads `count` bytes that must be zero.
    pub fn zeros(&mut self, count: usize) -> Result<(), DecodeError> {
        let error = self.error("reserved bytes are not zero");
        if self.take(count)?.iter().all(|&b| b == 0) { Ok(()) } else { Err(error) }
    }

    /// Fails if bytes are left.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.remaining() == 0 { Ok(()) } else { Err(self.error("bytes follow the last field")) }
    }
}
