//! Holes: where the data and the holes of a file begin.

use std::ops::Range;

use fuser::Errno;

/// The next data or hole of a file. The holes ascend.
pub(super) fn seek(size: u64, holes: &[Range<u64>], from: u64, whence: i32) -> Result<u64, Errno> {
    if from >= size {
        return Err(Errno::ENXIO);
    }
    let behind = &holes[holes.partition_point(|hole| hole.end <= from)..];
    match (whence, behind.first()) {
        (SEEK_DATA, Some(hole)) if hole.contains(&from) => {
            // Holes that touch each other are one.
            let mut end = from;
            for hole in behind {
                if !hole.contains(&end) {
                    break;
                }
                end = hole.end;
            }
            if end < size { Ok(end) } else { Err(Errno::ENXIO) }
        }
        (SEEK_DATA, _) => Ok(from),
        (SEEK_HOLE, hole) => Ok(hole.map_or(size, |hole| hole.start.max(from))),
        _ => Err(Errno::EINVAL),
    }
}

/// What `lseek` looks for.
const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn data_and_holes_are_found_behind_any_place() {
        let holes = [2..4, 4..5, 8..10];
        let found = |whence| (0..10).map(|from| seek(10, &holes, from, whence).ok()).collect::<Vec<_>>();
        let data = [0, 1, 5, 5, 5, 5, 6, 7].map(Some).into_iter().chain([None, None]);
        assert_eq!(found(SEEK_DATA), data.collect::<Vec<_>>());
        assert_eq!(found(SEEK_HOLE), [2, 2, 2, 3, 4, 8, 8, 8, 8, 9].map(Some));
        assert!(seek(10, &holes, 10, SEEK_HOLE).is_err() && seek(10, &holes, 0, 7).is_err());
        let many: Vec<_> = (0..200_000).map(|at| 2 * at..2 * at + 1).collect();
        let (mut at, started) = (0, Instant::now());
        while let Ok(data) = seek(400_000, &many, at, SEEK_DATA) {
            at = seek(400_000, &many, data, SEEK_HOLE).unwrap_or(400_000);
        }
        assert!(at == 400_000 && started.elapsed() < Duration::from_secs(20), "{at} {:?}", started.elapsed());
    }
}
