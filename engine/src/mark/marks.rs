//! Marks: the overlay's marks of all copies, in two bytes and a bit each.

use std::collections::BTreeMap;

use super::bits::Bits;
use copal_format::room::{Column, Scratch};
use copal_format::time::Time;

/// The mark of a copy, as far as prune needs it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// When it was flagged, if it is.
    pub flagged: Option<Time>,
    /// Whether a client that has the data should upload it again.
    pub wanted: bool,
}

/// The marks of all copies, by number.
#[derive(Debug)]
pub struct Marks {
    /// One more than the position of the time in `times`; 0 for copies that are not flagged.
    since: Column<u16>,
    times: Vec<Time>,
    positions: BTreeMap<Time, u16>,
    wanted: Bits,
}

impl Marks {
    /// Starts with no marks for this many copies.
    pub fn new(scratch: &dyn Scratch, copies: usize) -> Self {
        let (since, wanted) = (Column::new(scratch, copies), Bits::new(scratch, copies));
        Self { since, times: Vec::new(), positions: BTreeMap::new(), wanted }
    }

    /// Replaces the mark of a copy.
    pub fn set(&mut self, copy: u32, mark: Mark) {
        let since = mark.flagged.map_or(0, |time| self.position(time));
        self.since.set(copy as usize, since);
        if mark.wanted { self.wanted.set(copy) } else { self.wanted.unset(copy) }
    }

    /// The mark of a copy.
    pub fn get(&self, copy: u32) -> Mark {
        let since = self.since.get(copy as usize).checked_sub(1);
        let flagged = since.and_then(|at| self.times.get(usize::from(at))).copied();
        Mark { flagged, wanted: self.wanted.has(copy) }
    }

    /// All copies with a mark, and their marks.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Mark)> + '_ {
        (0..self.since.len() as u32).map(|copy| (copy, self.get(copy))).filter(|(_, mark)| *mark != Mark::default())
    }

    /// Each prune flags all copies with one time, so there are few times. If there are too many, a copy gets a later
    /// time than its own, and so stays longer.
    fn position(&mut self, time: Time) -> u16 {
        if let Some(position) = self.positions.get(&time) {
            return *position;
        }
        if self.times.len() + 1 < usize::from(u16::MAX) {
            self.times.push(time);
            let position = self.times.len() as u16;
            self.positions.insert(time, position);
            return position;
        }
        if let Some((_, position)) = self.positions.range(time..).next() {
            return *position;
        }
        let position = self.positions.pop_last().map_or(1, |(_, position)| position);
        self.times[usize::from(position) - 1] = time;
        self.positions.insert(time, position);
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::room::Memory;

    #[test]
    fn marks_read_back_and_go() {
        let mut marks = Marks::new(&Memory, 3);
        let mark = Mark { flagged: Some(Time(7)), wanted: true };
        marks.set(2, mark);
        marks.set(0, Mark { flagged: Some(Time(5)), wanted: false });
        assert_eq!(marks.get(2), mark);
        assert_eq!(marks.iter().count(), 2);
        marks.set(2, Mark::default());
        assert_eq!(marks.iter().map(|(copy, _)| copy).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn with_more_times_than_there_is_room_for_nothing_seems_older_than_it_is() {
        let copies = 70_000;
        let mut marks = Marks::new(&Memory, copies as usize);
        for copy in 0..copies {
            marks.set(copy, Mark { flagged: Some(Time(i64::from(copy))), wanted: false });
        }
        assert!((0..copies).all(|copy| marks.get(copy).flagged >= Some(Time(i64::from(copy)))));
    }
}
