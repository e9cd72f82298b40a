//! Sparse: the maps of sparse files, in the four forms that GNU tar has written.

use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;

use super::header::{BLOCK, Header, sparse_part};
use super::records::{Records, number};
use super::{Archive, ArchiveError, Stretch};

/// The map of a sparse file: which ranges of the file have stored bytes.
pub(super) struct Map {
    /// Bytes of the file with its holes.
    pub(super) size: u64,
    /// Offset and length of each part that is stored.
    parts: Vec<(u64, u64)>,
}

impl<R: Read> Archive<R> {
    /// The map of a sparse file; none for other files. Reads a map that precedes the content.
    pub(super) fn sparse_map(&mut self, header: &Header, records: &mut Records) -> Result<Option<Map>, ArchiveError> {
        let bad = |archive: &Self| archive.malformed("its map of holes is not well formed");
        let told = |records: &mut Records, key| records.number(key).map_err(|why| self.malformed(why));
        let major = told(records, "GNU.sparse.major")?;
        let real_size = told(records, "GNU.sparse.realsize")?;
        let size = told(records, "GNU.sparse.size")?;
        let map = records.remove("GNU.sparse.map");
        let pairs = records.remove_all(["GNU.sparse.offset", "GNU.sparse.numbytes"]);
        let parts = match (major, map) {
            (Some(1), _) => self.map_before_content()?,
            (_, Some(map)) => {
                let numbers: Option<Vec<u64>> = map.split(|&byte| byte == b',').map(number).collect();
                parts_of(&numbers.ok_or_else(|| bad(self))?).ok_or_else(|| bad(self))?
            }
            _ if !pairs.is_empty() => {
                let is_paired = pairs.chunks(2).all(|pair| matches!(pair, [(true, _), (false, _)]));
                let numbers: Option<Vec<u64>> = pairs.iter().map(|(_, value)| number(value)).collect();
                let parts = numbers.filter(|_| is_paired).and_then(|numbers| parts_of(&numbers));
                parts.ok_or_else(|| bad(self))?
            }
            _ if header.kind() == b'S' => self.old_map(header)?,
            _ => return Ok(None),
        };
        let size = real_size.or(size).or_else(|| header.real_size().filter(|_| header.kind() == b'S'));
        let size = size.filter(|size| i64::try_from(*size).is_ok()).ok_or_else(|| bad(self))?;
        Ok(Some(Map { size, parts }))
    }

    /// The map of an old GNU header, and of the blocks that follow it.
    fn old_map(&mut self, header: &Header) -> Result<Vec<(u64, u64)>, ArchiveError> {
        let mut parts: Vec<(u64, u64)> = (0..4).map_while(|at| header.sparse_part(at)).collect();
        let mut has_more = header.has_more_parts();
        while has_more {
            let mut block = [0; BLOCK];
            self.fill(&mut block)?;
            // The content begins after the last block of the map, however long the map is.
            if parts.len() <= PARTS_MAX {
                parts.extend((0..21).map_while(|at| sparse_part(&block, 24 * at)));
            }
            has_more = block[504] != 0;
        }
        if parts.len() > PARTS_MAX { Err(self.malformed("its map of holes is too long")) } else { Ok(parts) }
    }

    /// The map in front of the content: lines of decimal numbers, the first is how many parts there are.
    fn map_before_content(&mut self) -> Result<Vec<(u64, u64)>, ArchiveError> {
        let mut numbers: Vec<u64> = Vec::new();
        let mut digits = Vec::new();
        let mut wanted = 1;
        while numbers.len() < wanted {
            let mut block = [0; BLOCK];
            let left = self.content.front_mut().map(|stretch| &mut stretch.bytes);
            match left {
                Some(left) if *left >= BLOCK as u64 => *left -= BLOCK as u64,
                _ => return Err(self.malformed("its map of holes is not well formed")),
            }
            self.fill(&mut block)?;
            for &byte in &block {
                match byte {
                    _ if numbers.len() == wanted => break,
                    b'\n' => {
                        let bad = || self.malformed("its map of holes is not well formed");
                        numbers.push(number(&std::mem::take(&mut digits)).ok_or_else(bad)?);
                        if numbers.len() == 1 {
                            let parts = usize::try_from(numbers[0]).ok().filter(|parts| *parts <= PARTS_MAX);
                            wanted = 1 + 2 * parts.ok_or_else(|| self.malformed("its map of holes is too long"))?;
                        }
                    }
                    byte if digits.len() < 20 => digits.push(byte),
                    _ => return Err(self.malformed("its map of holes is not well formed")),
                }
            }
        }
        Ok(parts_of(&numbers[1..]).unwrap_or_default())
    }
}

impl Map {
    /// The holes of the file, and how its content follows from what is stored. Holes after the first [`HOLES_MAX`] become
    /// zeros.
    pub(super) fn place(&self, stored: u64) -> Result<(VecDeque<Stretch>, Vec<Range<u64>>), &'static str> {
        const BAD: &str = "its map of holes does not fit its size";
        let (mut stretches, mut holes) = (VecDeque::new(), Vec::new());
        let (mut at, mut bytes, mut filled): (u64, u64, u64) = (0, 0, 0);
        for &(start, length) in self.parts.iter().chain([&(self.size, 0)]) {
            let end = start.checked_add(length).filter(|end| start >= at && *end <= self.size).ok_or(BAD)?;
            let mut zeros = 0;
            if start > at && holes.len() < HOLES_MAX {
                holes.push(at..start);
            } else {
                zeros = start - at;
            }
            filled = filled.saturating_add(zeros);
            stretches.push_back(Stretch { zeros, bytes: length });
            bytes = bytes.checked_add(length).ok_or(BAD)?;
            at = end;
        }
        match bytes == stored {
            true if filled > FILLED_MAX => Err("it has more holes than a snapshot can hold"),
            true => Ok((stretches, holes)),
            false => Err(BAD),
        }
    }
}

/// Pairs of an offset and a length.
fn parts_of(numbers: &[u64]) -> Option<Vec<(u64, u64)>> {
    let (pairs, rest) = numbers.as_chunks::<2>();
    (rest.is_empty() && pairs.len() <= PARTS_MAX)
        .then(|| pairs.iter().map(|&[start, length]| (start, length)).collect())
}

/// Parts of one sparse file.
const PARTS_MAX: usize = 1 << 20;
/// Holes that a backup records of one file.
const HOLES_MAX: usize = 16 << 10;
/// Bytes of holes that may become zeros.
const FILLED_MAX: u64 = 1 << 40;
