//! Room: scratch storage for jobs, for data that grows with a domain. The host provides memory or a mapped file; a
//! mapped file is not the process's own memory, and the kernel can write it out when memory is short.

use core::fmt;
use core::marker::PhantomData;

/// Provides scratch storage.
pub trait Scratch: Send + Sync {
    /// Storage of this many zero bytes.
    fn room(&self, bytes: usize) -> Room;
}

/// Provides memory.
#[derive(Copy, Clone, Debug, Default)]
pub struct Memory;

impl Scratch for Memory {
    fn room(&self, bytes: usize) -> Room {
        Room(Origin::Own(vec![0; bytes]))
    }
}

/// Scratch storage, from memory or from the host.
pub struct Room(Origin);

enum Origin {
    Own(Vec<u8>),
    Lent(Box<dyn Lent>),
}

/// Storage that a host provides from elsewhere, such as a mapped file.
pub trait Lent: Send + Sync {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// The bytes, for writing.
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl Room {
    /// Wraps storage of the host, which must be all zeros.
    pub fn lent(lent: Box<dyn Lent>) -> Self {
        Self(Origin::Lent(lent))
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Origin::Own(bytes) => bytes,
            Origin::Lent(lent) => lent.bytes_mut(),
        }
    }
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Origin::Own(bytes) => bytes,
            Origin::Lent(lent) => lent.bytes(),
        }
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Room({})", self.as_ref().len())
    }
}

/// A value encoded in a fixed number of bytes.
pub trait Row: Copy {
    /// The number of bytes.
    const LEN: usize;
    /// Decodes a value from [`Row::LEN`] bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Encodes the value into [`Row::LEN`] bytes.
    fn write(self, bytes: &mut [u8]);
}

macro_rules! number {
    ($type:ty) => {
        impl Row for $type {
            const LEN: usize = size_of::<$type>();

            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| <$type>::from_le_bytes(*bytes))
            }

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    };
}

number!(u16);
number!(u32);
number!(u64);

/// A fixed number of rows, all zeros at first.
#[derive(Debug)]
pub struct Column<R> {
    room: Room,
    rows: PhantomData<R>,
}

impl<R: Row> Column<R> {
    /// Makes a column of this many rows.
    pub fn new(scratch: &dyn Scratch, rows: usize) -> Self {
        Self { room: scratch.room(rows * R::LEN), rows: PhantomData }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.room.as_ref().len() / R::LEN
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at a position.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, at: usize) -> R {
        R::read(&self.room.as_ref()[at * R::LEN..][..R::LEN])
    }

    /// Replaces the row at a position.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn set(&mut self, at: usize, row: R) {
        row.write(&mut self.room.bytes_mut()[at * R::LEN..][..R::LEN]);
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = R> + '_ {
        self.room.as_ref().chunks_exact(R::LEN).map(R::read)
    }
}

/// A growing list of rows. Each column is twice as large as the previous one, up to 1 MiB, so that no row is ever
/// copied and little storage is unused.
#[derive(Debug)]
pub struct List<R> {
    columns: Vec<Column<R>>,
    len: usize,
    /// Whether the first column is already of the largest size.
    is_even: bool,
}

impl<R> Default for List<R> {
    fn default() -> Self {
        Self { columns: Vec::new(), len: 0, is_even: false }
    }
}

impl<R: Row> List<R> {
    /// Makes a list that will be long: its first column is already of the largest size.
    pub fn long() -> Self {
        Self { is_even: true, ..Self::default() }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a row.
    pub fn push(&mut self, scratch: &dyn Scratch, row: R) {
        let (column, at) = self.place(self.len);
        if column == self.columns.len() {
            let rows = if self.is_even { usize::MAX } else { FIRST << column.min(EVEN) };
            self.columns.push(Column::new(scratch, rows.min(most::<R>())));
        }
        self.columns[column].set(at, row);
        self.len += 1;
    }

    /// The row at a position.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, at: usize) -> R {
        let (column, at) = self.place(at);
        self.columns[column].get(at)
    }

    /// Replaces the row at a position.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn set(&mut self, at: usize, row: R) {
        let (column, at) = self.place(at);
        self.columns[column].set(at, row);
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = R> + '_ {
        self.columns.iter().flat_map(Column::iter).take(self.len)
    }

    /// The column of a row, and the row's position in that column.
    fn place(&self, row: usize) -> (usize, usize) {
        if self.is_even { (row / most::<R>(), row % most::<R>()) } else { place::<R>(row) }
    }
}

/// The same for a list whose columns double in size.
fn place<R: Row>(row: usize) -> (usize, usize) {
    let doubling = (most::<R>() / FIRST).ilog2() as usize;
    let even = FIRST * ((1 << doubling) - 1);
    if row >= even {
        return (doubling + (row - even) / most::<R>(), (row - even) % most::<R>());
    }
    let column = (row / FIRST + 1).ilog2() as usize;
    (column, row - FIRST * ((1 << column) - 1))
}

/// The number of rows in the largest columns of a list.
fn most<R: Row>() -> usize {
    1 << (MOST / R::LEN).ilog2()
}

/// The number of rows in a list's first column, a power of two; and the length of the largest column in bytes.
const FIRST: usize = 1 << 10;
const MOST: usize = 1 << 20;
/// Limits the shift of `FIRST`; columns have reached their largest size before that.
const EVEN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// More than the rows of a largest column.
    const MANY: usize = 700_000;

    #[test]
    fn a_list_gives_back_what_was_pushed_and_set() {
        [List::default(), List::long()].into_iter().for_each(gives_back);
    }

    fn gives_back(mut list: List<u32>) {
        assert!(list.is_empty());
        for number in 0..MANY as u32 {
            list.push(&Memory, number);
        }
        list.set(4_321, 7);
        let expected = |at: usize| if at == 4_321 { 7 } else { at as u32 };
        assert!((0..MANY).all(|at| list.get(at) == expected(at)));
        assert!(list.iter().eq((0..MANY).map(expected)));
        assert_eq!(list.len(), MANY);
        let rows: usize = list.columns.iter().map(Column::len).sum();
        assert!(rows - MANY < MOST / 4, "little is left over");
    }

    proptest! {
        #[test]
        fn a_column_is_an_array(numbers in prop::collection::vec(any::<u64>(), 0..100)) {
            let mut column = Column::new(&Memory, numbers.len());
            prop_assert!(column.iter().all(|number| number == 0u64));
            numbers.iter().enumerate().for_each(|(at, number)| column.set(at, *number));
            prop_assert_eq!(column.len(), numbers.len());
            prop_assert!(numbers.iter().enumerate().all(|(at, number)| column.get(at) == *number));
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn places_follow_each_other(row in prop_oneof![0usize..1 << 20, 0usize..1 << 40]) {
            let size = |column: usize| (FIRST << column.min(EVEN)).min(most::<u32>());
            let ((column, at), next) = (place::<u32>(row), place::<u32>(row + 1));
            prop_assert!(at < size(column));
            prop_assert!(next == (column, at + 1) || (next == (column + 1, 0) && at + 1 == size(column)));
        }
    }
}
