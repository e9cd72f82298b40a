//! Compression: how hard a backup tries to make blocks smaller. Readers need not know.

use copal_format::compress::{Compress, Compressor, Parameters};

/// How hard a backup tries to make blocks smaller.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// As the repository's parameters say.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// At this level of Zstandard.
    Level(u8),
}

impl Compression {
    /// The compressor for blocks, in a repository with this level.
    pub fn compressor(self, of_repository: i32) -> Box<dyn Compress> {
        match self {
            Self::Auto => Box::new(Compressor::new(Parameters::of_level(of_repository))),
            Self::Off => Box::new(Nothing),
            Self::Level(level) if level <= SLOW => Box::new(Compressor::new(Parameters::of_level(level.into()))),
            Self::Level(level) => Box::new(Patient {
                quick: Compressor::new(Parameters::of_level(1)),
                thorough: Compressor::new(Parameters::of_level(level.into())),
            }),
        }
    }
}

/// Compresses nothing.
#[derive(Debug)]
struct Nothing;

impl Compress for Nothing {
    fn compress(&mut self, _: &[u8], _: &mut Vec<u8>) -> bool {
        false
    }
}

/// Compresses thoroughly where a sample shows that it is worth it. High levels need as long for noise as for text.
#[derive(Debug)]
struct Patient {
    quick: Compressor,
    thorough: Compressor,
}

impl Compress for Patient {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        if self.is_worth_it(raw) { self.thorough.compress(raw, out) } else { self.quick.compress(raw, out) }
    }
}

impl Patient {
    /// Whether a piece of the input gets smaller by a sixteenth, quickly compressed.
    fn is_worth_it(&mut self, raw: &[u8]) -> bool {
        let step = (raw.len() / PIECES).max(PIECE);
        let mut out = Vec::with_capacity(2 * PIECE);
        raw.chunks(step).any(|part| {
            let piece = &part[..part.len().min(PIECE)];
            out.clear();
            self.quick.compress(piece, &mut out) && out.len() < piece.len() - piece.len() / 16
        })
    }
}

/// Above this level Zstandard is slow enough that a sample pays.
const SLOW: u8 = 3;
/// Pieces of a sample, and bytes of each.
const PIECES: usize = 8;
const PIECE: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(compression: Compression, raw: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        compression.compressor(3).compress(raw, &mut out).then_some(out)
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn a_level_is_what_it_says_and_auto_is_the_repositorys() {
        let text: Vec<u8> = (0..60_000_u32).flat_map(|n| format!("{:x} ", n.wrapping_mul(n)).into_bytes()).collect();
        let size = |compression| compressed(compression, &text).unwrap().len();
        assert_eq!(size(Compression::Auto), size(Compression::Level(3)));
        assert!(size(Compression::Level(19)) < size(Compression::Level(3)));
        assert!(size(Compression::Level(3)) < size(Compression::Level(1)));
        assert_eq!(compressed(Compression::Off, &text), None);
    }

    #[test]
    fn a_sample_tells_noise_from_what_is_worth_the_time() {
        let mut patient = Patient {
            quick: Compressor::new(Parameters::of_level(1)),
            thorough: Compressor::new(Parameters::of_level(19)),
        };
        let mut raw = noise(1 << 20);
        assert!(!patient.is_worth_it(&raw) && !patient.is_worth_it(b""));
        assert_eq!(compressed(Compression::Level(19), &raw), None);
        // A part of the block is text.
        raw[500_000..700_000].fill(b'a');
        assert!(patient.is_worth_it(&raw));
    }
}
