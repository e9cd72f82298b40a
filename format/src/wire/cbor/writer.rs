//! Writer: writes records field by field.

use minicbor::Encoder;

use super::Ignored;
use crate::id::ObjectHash;
use crate::time::Time;

/// Writes CBOR items.
#[derive(Debug)]
pub struct Writer(Encoder<Vec<u8>>);

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// Starts empty.
    pub fn new() -> Self {
        Self(Encoder::new(Vec::new()))
    }

    /// Opens a map of `count` fields; each is a [`Writer::key`], in ascending order, and a value.
    pub fn map(&mut self, count: u64) -> &mut Self {
        self.0.map(count).expect(INFALLIBLE);
        self
    }

    /// Opens an array of `count` items.
    pub fn array(&mut self, count: usize) -> &mut Self {
        self.0.array(count as u64).expect(INFALLIBLE);
        self
    }

    /// Writes a map key; its value follows.
    pub fn key(&mut self, key: u64) -> &mut Self {
        self.uint(key)
    }

    /// Writes an unsigned number.
    pub fn uint(&mut self, value: u64) -> &mut Self {
        self.0.u64(value).expect(INFALLIBLE);
        self
    }

    /// Writes a signed number.
    pub fn int(&mut self, value: i64) -> &mut Self {
        self.0.i64(value).expect(INFALLIBLE);
        self
    }

    /// Writes a time.
    pub fn time(&mut self, value: Time) -> &mut Self {
        self.int(value.0)
    }

    /// Writes a truth value.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.0.bool(value).expect(INFALLIBLE);
        self
    }

    /// Writes a byte string.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.0.bytes(value).expect(INFALLIBLE);
        self
    }

    /// Writes a text.
    pub fn text(&mut self, value: &str) -> &mut Self {
        self.0.str(value).expect(INFALLIBLE);
        self
    }

    /// Writes an array of byte strings, such as ids.
    pub fn byte_strings<T: AsRef<[u8]>>(
        &mut self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    ) -> &mut Self {
        let items = items.into_iter();
        self.array(items.len());
        for item in items {
            self.bytes(item.as_ref());
        }
        self
    }

    /// Writes the number and hash of a record.
    pub fn link(&mut self, (number, hash): (u64, ObjectHash)) -> &mut Self {
        self.array(2).uint(number).bytes(hash.as_bytes())
    }

    /// Writes fields that this version ignored, exactly as they were read. They come last in their map.
    pub fn ignored(&mut self, ignored: &Ignored) -> &mut Self {
        self.0.writer_mut().extend_from_slice(&ignored.items);
        self
    }

    /// The bytes written.
    pub fn finish(self) -> Vec<u8> {
        self.0.into_writer()
    }
}

const INFALLIBLE: &str = "writing to a Vec cannot fail";
