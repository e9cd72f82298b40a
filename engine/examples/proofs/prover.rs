//! Prover: what it knows of the processor, and planted properties that are wrong or cannot be proven. It must say so of each
//! planted one (`PLANTED` in `tests/proofs/prove.py`).

use std::hint::black_box;

use copal_engine::mark::Bits;
use copal_format::block::padme;
use copal_format::room::Memory;
use copal_format::wire::cursor::Cursor;
use copal_format::wire::varint;

use crate::{Numbers, assume, bytes};

/// The flags say the same of 64 and 32 bits without sign as twice as many bits.
pub(crate) fn unsigned_overflow([one, two, ..]: &Numbers) {
    let (one, two) = (*one, *two);
    let wide = |number: u64| black_box(u128::from(number));
    assert!(one.checked_add(two).map(u128::from) == black_box(wide(one) + wide(two)).try_into().ok().map(wide));
    assert!(one.checked_sub(two).is_some() == (wide(one) >= wide(two)));
    assert!(one.checked_mul(two).is_some() == (black_box(u128::from(one) * u128::from(two)) >> 64 == 0));
    let (short, other) = (one as u32, two as u32);
    assert!(short.checked_mul(other).is_some() == (black_box(u64::from(short) * u64::from(other)) >> 32 == 0));
    assert!(short.checked_add(other).is_some() == (black_box(u64::from(short) + u64::from(other)) >> 32 == 0));
}

/// The same with sign.
pub(crate) fn signed_overflow([one, two, ..]: &Numbers) {
    let (one, two) = (*one as i64, *two as i64);
    let fits = |wide: i128| i64::try_from(black_box(wide)).is_ok();
    assert!(one.checked_add(two).is_some() == fits(i128::from(one) + i128::from(two)));
    assert!(one.checked_sub(two).is_some() == fits(i128::from(one) - i128::from(two)));
    assert!(one.checked_mul(two).is_some() == fits(i128::from(one) * i128::from(two)));
    assert!(one.checked_neg().is_some() == (one != i64::MIN));
}

/// Shifts are as wide as they say, and the highest and lowest bits are where they are said to be.
pub(crate) fn bits_and_shifts([number, by, ..]: &Numbers) {
    assume(*number > 0);
    let (high, low) = (number.ilog2(), number.trailing_zeros());
    assert!(number >> high == 1 && number >> low << low == *number && (number >> low) & 1 == 1);
    assert!(number.checked_shr(*by as u32).is_some() == (*by as u32 <= 63));
}

/// Planted: the sum may overflow.
pub(crate) fn unchecked_sum([offset, length, ..]: &Numbers) {
    assume(*length < 1 << 20);
    assert!(offset + length >= *offset);
}

/// Planted: the difference may.
pub(crate) fn unchecked_difference([end, start, ..]: &Numbers) {
    assume(*end as u32 != 0);
    assert!(*end as u32 - *start as u32 <= *end as u32);
}

/// Planted: the product may.
pub(crate) fn unchecked_product([start, count, ..]: &Numbers) {
    assume(*count < 1 << 53);
    assert!(start % 8 != 0 || count * 48 % 8 == 0);
    assert!(black_box(start * count) % 2 <= 1);
}

/// Planted: the product with sign may.
pub(crate) fn unchecked_seconds([seconds, ..]: &Numbers) {
    assert!(black_box(*seconds as i64 * 1_000_000_000) % 10 == 0);
}

/// Planted: wrong for few lengths.
pub(crate) fn rounded_beyond([length, ..]: &Numbers) {
    assume((1 << 20..1 << 30).contains(length));
    assert!(padme(*length) - length < length / 33);
}

/// Planted: reads a slot behind the last one.
pub(crate) fn wrong_slot([slot, ..]: &Numbers) {
    assume(*slot <= 256);
    Bits::new(&Memory, 256).set(*slot as u32);
}

/// Planted: believes a length that somebody else wrote.
pub(crate) fn borrowed_length(numbers: &Numbers) {
    let bytes: [u8; 12] = bytes(numbers);
    let Ok(length) = varint::take(&mut Cursor::new(&bytes)) else { return };
    assert!(!bytes[..length as usize].is_empty() || length == 0);
}

/// Planted: says nothing, because no number is left.
pub(crate) fn never_reached([number, other, ..]: &Numbers) {
    assume(number < other && number > other);
    assert!(number + 1 == *other);
}

/// Planted: counts further than anybody can follow.
pub(crate) fn endless_count([number, ..]: &Numbers) {
    let mut left = *number;
    while left > 0 {
        left = black_box(left - 1);
    }
}
