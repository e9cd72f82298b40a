//! Compression: Zstandard frames without checksum, content size or dictionary. The block around a frame has checks.
//!
//! The output depends only on input and parameters, not on what was compressed before.

use std::io::Cursor;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, find_frame_compressed_size};

use crate::noise;

/// The strength of the compression.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Zstandard's level; a level out of range counts as the nearest one.
    pub level: i32,
    /// The window's size in bytes as a power of two, instead of the level's default.
    pub window_log: Option<u32>,
    /// The number of cells of the hash table as a power of two, instead of the level's default.
    pub hash_log: Option<u32>,
    /// The same for the chain table, or second hash table.
    pub chain_log: Option<u32>,
}

impl Parameters {
    /// The parameters that Zstandard defines for a level. Up to level 3, the tables for a block of 1 MiB take less than
    /// 1 MiB and so fit the second-level cache of a core.
    pub fn of_level(level: i32) -> Self {
        Self { level, window_log: None, hash_log: None, chain_log: None }
    }
}

/// Compresses blocks: a [`Compressor`], or a host that has one outside of this program.
pub trait Compress: core::fmt::Debug {
    /// Appends the compressed bytes to `out` if they are fewer than the input; returns whether they are.
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool;
}

/// Compresses blocks, one after another. Leaves noise as it is, unless it repeats itself.
pub struct Compressor {
    parameters: Parameters,
    context: CCtx<'static>,
}

impl Compressor {
    /// Prepares to compress with these parameters.
    ///
    /// # Panics
    /// If Zstandard does not accept the size of a table.
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, context: context(parameters) }
    }
}

impl Compress for Compressor {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        if noise::is_noise(raw) && !noise::repeats(raw) {
            return false;
        }
        // Above level 3, Zstandard salts its hashes with what a context compressed before (ZSTD_advanceHashSalt), so a
        // used context may give other bytes than a fresh one.
        if self.parameters.level > 3 {
            self.context = context(self.parameters);
        }
        let start = out.len();
        out.reserve(compress_bound(raw.len()));
        // Writes after the existing bytes, into memory that is not zeroed first.
        let mut end = Cursor::new(&mut *out);
        end.set_position(start as u64);
        let length = self.context.compress2(&mut end, raw).expect("the output has room for the worst case");
        let is_smaller = length < raw.len();
        if !is_smaller {
            out.truncate(start);
        }
        is_smaller
    }
}

impl<C: Compress + ?Sized> Compress for Box<C> {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        (**self).compress(raw, out)
    }
}

impl core::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Compressor({:?})", self.parameters)
    }
}

/// Decompresses blocks, one after another.
pub struct Decompressor(DCtx<'static>);

impl Decompressor {
    /// Prepares to decompress.
    pub fn new() -> Self {
        Self(DCtx::create())
    }

    /// Replaces `raw` by the content of the payload, which must be exactly one frame of `raw_length` bytes. The caller
    /// must have checked `raw_length` against the limits.
    pub fn decompress(&mut self, payload: &[u8], raw_length: usize, raw: &mut Vec<u8>) -> Result<(), DecompressError> {
        raw.clear();
        if find_frame_compressed_size(payload) != Ok(payload.len()) {
            return Err(DecompressError::NotAFrame);
        }
        raw.reserve_exact(raw_length);
        match self.0.decompress(raw, payload) {
            Ok(actual) if actual == raw_length => Ok(()),
            _ => Err(DecompressError::Content { claimed: raw_length }),
        }
    }
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Decompressor(..)")
    }
}

/// Why a payload does not decompress.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DecompressError {
    /// The payload is not exactly one frame.
    #[error("the payload is not one Zstandard frame")]
    NotAFrame,
    /// The frame is malformed, or its content has another length than claimed.
    #[error("the payload does not unpack to {claimed} bytes")]
    Content { claimed: usize },
}

fn context(parameters: Parameters) -> CCtx<'static> {
    let Parameters { level, window_log, hash_log, chain_log } = parameters;
    let chosen = [
        window_log.map(CParameter::WindowLog),
        hash_log.map(CParameter::HashLog),
        chain_log.map(CParameter::ChainLog),
        Some(CParameter::CompressionLevel(level)),
        Some(CParameter::ContentSizeFlag(false)),
        Some(CParameter::ChecksumFlag(false)),
        Some(CParameter::DictIdFlag(false)),
    ];
    let mut context = CCtx::create();
    for parameter in chosen.into_iter().flatten() {
        context.set_parameter(parameter).expect("the tables' sizes are within Zstandard's bounds");
    }
    context
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text of words in an order without repetition: compressible, but not trivially.
    fn prose(length: usize, seed: u8) -> Vec<u8> {
        let mut random = blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof();
        let mut text = Vec::with_capacity(length + 16);
        while text.len() < length {
            let mut bytes = [0; 2];
            random.fill(&mut bytes);
            let word = u16::from_le_bytes(bytes);
            text.extend_from_slice(format!("{:x} ", u32::from(word % 3000).wrapping_mul(2_654_435_769)).as_bytes());
        }
        text.truncate(length);
        text
    }

    fn compressed(compressor: &mut Compressor, raw: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        compressor.compress(raw, &mut out);
        out
    }

    #[test]
    fn a_used_compressor_gives_the_bytes_of_a_fresh_one() {
        for level in [-3, 1, 2, 3, 4, 5, 7, 9, 13] {
            let parameters = Parameters::of_level(level);
            let mut used = Compressor::new(parameters);
            for (seed, length) in [300_000, 500_000, 10, 100_000, 20_000, 300_000, 1_000].into_iter().enumerate() {
                let raw = prose(length, seed as u8);
                let fresh = compressed(&mut Compressor::new(parameters), &raw);
                assert_eq!(compressed(&mut used, &raw), fresh, "level {level}, input {seed}");
            }
        }
    }

    #[test]
    fn what_does_not_get_smaller_is_left_out() {
        let mut noise = vec![0; 10_000];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        let mut out = b"before".to_vec();
        let mut compressor = Compressor::new(Parameters::of_level(3));
        assert!(!compressor.compress(&noise, &mut out));
        assert!(!compressor.compress(b"", &mut out));
        assert_eq!(out, b"before");
        assert!(compressor.compress(&[0; 1000], &mut out));
        assert!(out.len() < 30);
    }

    #[test]
    fn the_tables_can_be_chosen() {
        let raw = prose(300_000, 1);
        let parameters =
            Parameters { window_log: Some(14), hash_log: Some(12), chain_log: Some(12), ..Parameters::of_level(3) };
        let (mut small, mut large) = (Vec::new(), Vec::new());
        assert!(Compressor::new(parameters).compress(&raw, &mut small));
        assert!(Compressor::new(Parameters::of_level(3)).compress(&raw, &mut large));
        assert!(large.len() < small.len());
    }

    #[test]
    fn noise_is_left_as_it_is_unless_it_repeats_itself() {
        let noise = |length: usize, seed: u8| {
            let mut bytes = vec![0; length];
            blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut bytes);
            bytes
        };
        // Five versions of one small file, and a photo that has nothing in common with them.
        let versions = (0..5).map(|seed| [noise(300, seed), noise(12_000, 9)].concat()).collect::<Vec<_>>().concat();
        let repeated = [versions, noise(90_000, 11)].concat();
        for level in [1, 3, 19] {
            let mut compressor = Compressor::new(Parameters::of_level(level));
            // Zstandard would make it 4,000 bytes shorter.
            let short = [noise(1 << 20, 3), noise(4_096, 2), noise(4_096, 2)].concat();
            assert_eq!(compressed(&mut compressor, &short), b"before", "level {level}");
            let payload = compressed(&mut compressor, &repeated)[6..].to_vec();
            assert!(payload.len() < repeated.len() - 30_000, "level {level}: {}", payload.len());
            let mut out = Vec::new();
            assert_eq!(Decompressor::new().decompress(&payload, repeated.len(), &mut out), Ok(()));
            assert_eq!(out, repeated);
        }
    }

    #[test]
    fn a_payload_of_another_length_or_with_bytes_after_it_is_refused() {
        let raw = prose(5000, 2);
        let (mut payload, mut out) = (Vec::new(), Vec::new());
        Compressor::new(Parameters::of_level(3)).compress(&raw, &mut payload);
        let mut decompressor = Decompressor::new();
        assert_eq!(decompressor.decompress(&payload, 5000, &mut out), Ok(()));
        assert_eq!(out, raw);
        for claimed in [4999, 5001] {
            assert_eq!(decompressor.decompress(&payload, claimed, &mut out), Err(DecompressError::Content { claimed }));
        }
        let twice = [&payload[..], &payload[..]].concat();
        assert_eq!(decompressor.decompress(&twice, 10_000, &mut out), Err(DecompressError::NotAFrame));
        assert_eq!(decompressor.decompress(b"", 0, &mut out), Err(DecompressError::NotAFrame));
    }

    proptest! {
        #[test]
        fn every_input_reads_back(raw: Vec<u8>, repeat in 1usize..20) {
            let raw = raw.repeat(repeat);
            let (mut payload, mut out) = (Vec::new(), Vec::new());
            if Compressor::new(Parameters::of_level(3)).compress(&raw, &mut payload) {
                prop_assert_eq!(Decompressor::new().decompress(&payload, raw.len(), &mut out), Ok(()));
                prop_assert_eq!(out, raw);
            }
        }

        #[test]
        fn any_bytes_give_the_claimed_length_or_an_error(payload: Vec<u8>, claimed in 0usize..100_000) {
            let mut out = Vec::new();
            let magic = [&[0x28, 0xb5, 0x2f, 0xfd], &payload[..]].concat();
            let _ = Decompressor::new().decompress(&payload, claimed, &mut out);
            let _ = Decompressor::new().decompress(&magic, claimed, &mut out);
        }
    }
}
