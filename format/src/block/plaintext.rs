//! Block plaintext: chunk lengths and compressed chunks, padded so that the stored length reveals little.

use core::ops::Range;

use crate::compress::{Compress, DecompressError, Decompressor};
use crate::limits::{BLOCK_BYTES, BLOCK_ENTRIES, CHUNK_BYTES};
use crate::wire::DecodeError;
use crate::wire::cursor::Cursor;

/// Replaces `plaintext` by the encoding of chunks of these lengths, which follow each other in `raw`.
pub(super) fn encode(lengths: &[u32], raw: &[u8], compressor: &mut dyn Compress, plaintext: &mut Vec<u8>) {
    plaintext.clear();
    plaintext.resize(HEAD, 0);
    lengths.iter().for_each(|length| plaintext.extend_from_slice(&length.to_le_bytes()));
    let start = plaintext.len();
    let codec = if compressor.compress(raw, plaintext) { Codec::Zstd } else { Codec::Raw };
    if codec == Codec::Raw {
        plaintext.extend_from_slice(raw);
    }
    let payload = plaintext.len() - start;
    plaintext[0] = codec as u8;
    plaintext[1..5].copy_from_slice(&(raw.len() as u32).to_le_bytes());
    plaintext[5..9].copy_from_slice(&(payload as u32).to_le_bytes());
    plaintext[9..13].copy_from_slice(&(lengths.len() as u32).to_le_bytes());
    plaintext.resize(padded(plaintext.len(), lengths.len()), 0);
}

/// The parsed parts of a plaintext, checked to be consistent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) codec: Codec,
    pub(super) raw_length: usize,
    pub(super) lengths: Vec<u32>,
    pub(super) payload: Range<usize>,
}

impl Parts {
    pub(super) fn parse(plaintext: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(plaintext);
        let codec = match cursor.u8()? {
            0 => Codec::Raw,
            1 => Codec::Zstd,
            _ => return Err(DecodeError::new(0, "a codec this version does not know")),
        };
        let raw_length = cursor.u32()?;
        let payload = cursor.u32()? as usize;
        let count = cursor.u32()?;
        if raw_length > BLOCK_BYTES || !(1..=BLOCK_ENTRIES).contains(&count) {
            return Err(cursor.error("a block is larger than allowed or has no chunk"));
        }
        let lengths = cursor.take(4 * count as usize)?.chunks_exact(4);
        let lengths: Vec<u32> = lengths.map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect();
        let sum: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        if sum != u64::from(raw_length) || lengths.iter().any(|&length| length > CHUNK_BYTES) {
            return Err(cursor.error("chunk lengths do not add up or exceed the limit"));
        }
        let start = cursor.offset();
        cursor.take(payload)?;
        if codec == Codec::Raw && payload != raw_length as usize {
            return Err(cursor.error("a raw payload is not as long as it says"));
        }
        if plaintext.len() != padded(cursor.offset(), lengths.len()) {
            return Err(cursor.error("padding of another length than it must have"));
        }
        let payload = start..cursor.offset();
        cursor.zeros(cursor.remaining())?;
        Ok(Self { codec, raw_length: raw_length as usize, lengths, payload })
    }

    /// Replaces `raw` by the decompressed payload.
    pub(super) fn decompress(
        &self,
        plaintext: &[u8],
        decompressor: &mut Decompressor,
        raw: &mut Vec<u8>,
    ) -> Result<(), DecompressError> {
        decompressor.decompress(&plaintext[self.payload.clone()], self.raw_length, raw)
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Raw = 0,
    Zstd = 1,
}

/// Rounds a length up by at most 12 % so that it reveals only its order of magnitude (Padmé). Larger results become the
/// largest number.
pub fn padme(x: u64) -> u64 {
    if x < 2 {
        return x;
    }
    let exponent = x.ilog2();
    let kept = exponent.ilog2() + 1;
    let mask = (1 << (exponent - kept)) - 1;
    x.checked_add(mask).map_or(u64::MAX, |sum| sum & !mask)
}

/// The padded length of a plaintext. Padmé for a lone chunk, whose length the store could otherwise infer.
fn padded(length: usize, chunks: usize) -> usize {
    if chunks == 1 { padme(length as u64) as usize } else { length.next_multiple_of(256) }
}

const HEAD: usize = 13;
