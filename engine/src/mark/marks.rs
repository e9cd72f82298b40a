//! Marks: what the overlay says of each copy, in two bytes and a bit.

use std::collections::BTreeMap;

use super::bits::Bits;
use crate::room::{Column, Scratch};
use crate::time::Time;

/// A copy's overlay, as far as prune needs it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Since when it is flagged, if it is.
    pub flagged: Option<Time>,
    /// Whether somebody who has the data shall upload it again.
    pub wanted: bool,
}

/// The marks of all copies, by number.
#[derive(Debug)]
pub struct Marks {
    /// One more than the position of a time; 0 for what is not flagged.
    since: Column<u16>,
    times: Vec<Time>,
    positions: BTreeMap<Time, u16>,
    wanted: Bits,
}

impl Marks {
    /// No marks of so many copies.
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

    /// The copies that have a mark, and these.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Mark)> + '_ {
        (0..self.since.len() as u32).map(|copy| (copy, self.get(copy))).filter(|(_, mark)| *mark != Mark::default())
    }

    /// Every prune flags at one time, so there are few. If there are too many all the same, what is flagged seems to have
    /// been flagged later than it was, and stays longer.
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
    use crate::room::Memory;

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
