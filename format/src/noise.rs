//! Noise: bytes that look random, such as most of a film or an archive. Compression does not make them shorter.

/// Whether all parts of the bytes look random, by the frequencies of byte values in a sample of each. Such bytes may
/// still repeat ([`repeats`]). False below 4 KiB: the sample would be too small.
pub fn is_noise(bytes: &[u8]) -> bool {
    let mut parts = bytes.chunks(PART).filter(|part| part.len() >= LEAST);
    bytes.len() >= LEAST && parts.all(looks_random)
}

/// Pearson's chi-squared test for equal frequencies of all byte values. For random bytes its sum is 255 on average, and
/// its standard deviation 23. Bytes of entropy 8 - d bits add 2 ln 2 d for each byte of the sample.
fn looks_random(part: &[u8]) -> bool {
    let mut counts = [0u16; 256];
    let mut sampled = 0;
    // In a whole part that is 9,325 bytes: pieces a page's size apart would all show the same part of a page.
    let step = (part.len() - PIECE) / (PIECES - 1);
    (0..PIECES).all(|number| {
        let piece = &part[number * step..][..PIECE];
        piece.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        sampled += PIECE as u32;
        let squares: u32 = counts.iter().map(|&count| u32::from(count) * u32::from(count)).sum();
        256 * squares <= (MOST + sampled) * sampled
    })
}

/// Whether about a 64th of the bytes or more occurs twice, at whatever distance. In noise one byte in 256 is zero. The
/// test compares the three bytes after each zero with those after an earlier one: in a copy they are equal. Bytes with
/// few zeros might repeat unseen; they count as repeating.
pub fn repeats(bytes: &[u8]) -> bool {
    // Twice as many as there are zeros in noise.
    let slots = (bytes.len() / 128).next_power_of_two().max(256);
    let mut seen = vec![0u32; slots];
    let (mut zeros, mut again) = (0, 0);
    let (words, _) = bytes.as_chunks::<WORD>();
    for (number, word) in words.iter().enumerate() {
        // The highest bit of each byte that is 0, and perhaps of a 1 after it.
        let word = u64::from_le_bytes(*word);
        let mut found = word.wrapping_sub(LOWEST) & !word & HIGHEST;
        while found != 0 {
            let next = number * WORD + found.trailing_zeros() as usize / 8 + 1;
            found &= found - 1;
            let Some(&[a, b, c]) = bytes[next..].first_chunk() else { break };
            let key = u32::from_le_bytes([a, b, c, 0]);
            let slot = &mut seen[(key.wrapping_mul(SPREAD) >> (32 - slots.ilog2())) as usize];
            again += usize::from(*slot == key);
            zeros += 1;
            *slot = key;
        }
    }
    64 * again > zeros || zeros < bytes.len() / 512
}

/// Bytes that are looked at together.
const WORD: usize = 8;
const LOWEST: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = 0x8080_8080_8080_8080;
/// Knuth's multiplier for 32 bits: its high bits depend on all bits of a key.
const SPREAD: u32 = 0x9e37_79b1;
/// The length of a part. Each part gives one sample.
const PART: usize = 64 << 10;
/// The length of the shortest part that gives a sample.
const LEAST: usize = 4 << 10;
/// Pieces of a sample, and bytes of each.
const PIECES: usize = 8;
const PIECE: usize = 256;
/// The largest sum that counts as noise. For a whole sample it is an entropy of 7.91 bits a byte, 1.1 % below 8. Up to
/// level 15 or so Zstandard keeps no block that is not 1.6 % shorter, at level 19 one that is 0.4 % shorter.
const MOST: u32 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn random(length: usize, seed: u8) -> Vec<u8> {
        let mut bytes = vec![0; length];
        blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut bytes);
        bytes
    }

    #[test]
    fn random_bytes_are_noise_from_4_kib_on() {
        for seed in 0..200 {
            assert!(is_noise(&random(70_000, seed)), "{seed}");
        }
        for (length, expected) in [(0, false), (4_095, false), (4_096, true), (65_537, true), (1 << 20, true)] {
            assert_eq!(is_noise(&random(length, 1)), expected, "{length}");
        }
    }

    #[test]
    fn bytes_of_unequal_frequencies_are_not() {
        let text = b"the same words over and over. ".repeat(300);
        let hexadecimal: Vec<u8> =
            random(4_500, 2).iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        let records: Vec<u8> = random(8_000, 3).chunks(8).flat_map(|id| [id, &[0, 0, 0, 1]].concat()).collect();
        for bytes in [text, hexadecimal, records, vec![0; 9_000]] {
            assert!(!is_noise(&bytes));
        }
    }

    #[test]
    fn pages_that_are_full_at_their_beginning_only_are_not() {
        for (page, used) in [(4_096, 600), (8_192, 600), (16_384, 4_096)] {
            let pages: Vec<u8> = (0..64).flat_map(|seed| [random(used, seed), vec![0; page - used]].concat()).collect();
            assert!(!is_noise(&pages), "{page}");
        }
    }

    #[test]
    fn what_stands_there_twice_is_found_at_any_distance_and_offset() {
        for (length, distance) in [(4_096, 0), (20_000, 13), (40_000, 900_000), (40_001, 123_457)] {
            let (piece, other) = (random(length, 5), random(distance, 6));
            let bytes = [&piece[..], &other, &piece, &random(70_001, 7)].concat();
            assert!(repeats(&bytes), "{length} bytes, {distance} between");
        }
        let ids: Vec<u8> = random(65_536, 8).chunks(16).rev().flatten().copied().collect();
        assert!(repeats(&[random(65_536, 8), ids].concat()));
    }

    #[test]
    fn numbers_of_a_small_set_repeat_in_whatever_order_they_stand() {
        // The length of a number, and how many there are: hashes of categories, say. Zstandard halves them at level 3.
        for (length, count) in [(4, 1_000), (6, 1_000), (8, 4_000), (8, 10_000)] {
            let numbers = random(length * count, 12);
            let order = random(4 * 250_000 / length, 13);
            let chosen = order.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes) as usize % count);
            let bytes: Vec<u8> = chosen.flat_map(|which| numbers[which * length..][..length].to_vec()).collect();
            assert!(is_noise(&bytes) && repeats(&bytes), "{count} numbers of {length} bytes");
        }
    }

    #[test]
    fn bytes_without_zeros_may_repeat_for_all_that_is_known() {
        let escaped: Vec<u8> = random(200_000, 14).into_iter().filter(|&byte| byte != 0).collect();
        assert!(is_noise(&escaped) && repeats(&escaped));
    }

    #[test]
    fn noise_and_a_short_repetition_in_much_noise_do_not_repeat() {
        for seed in 0..20 {
            assert!(!repeats(&random(1 << 20, seed)) && !repeats(&random(4_096, seed)), "{seed}");
        }
        assert!(!repeats(&random(8 << 20, 1)));
        assert!(!repeats(&[random(1 << 20, 1), random(4_096, 2), random(4_096, 2)].concat()));
        assert!(!repeats(b"") && !repeats(b"12345678"));
    }

    #[test]
    fn one_part_that_is_none_is_enough() {
        for at in [0, 100_000, 1_000_000] {
            let mut bytes = random(1 << 20, 4);
            bytes[at..at + 40_000].fill(b' ');
            assert!(!is_noise(&bytes), "{at}");
        }
    }
}
