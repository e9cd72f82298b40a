//! Numbers: rounding, times, and the encodings of numbers.

use core::time::Duration;

use copal_engine::mark::Bits;
use copal_format::block::padme;
use copal_format::chunk::ChunkSizes;
use copal_format::id::ObjectHash;
use copal_format::limits::{CHUNK_BYTES, NUMBER, PAGE_TARGET};
use copal_format::number::reached;
use copal_format::room::Memory;
use copal_format::time::Time;
use copal_format::tree::TreeParams;
use copal_format::wire::cbor::{Reader, Writer};
use copal_format::wire::chain::{Chain, Link};
use copal_format::wire::cursor::Cursor;
use copal_format::wire::varint;

use crate::{Numbers, assume, bytes};

/// A length is rounded up by at most an eighth, and a rounded length stays as it is.
pub(crate) fn padme_rounds_up([length, ..]: &Numbers) {
    let padded = padme(*length);
    assert!(padded >= *length && padded - length <= length / 8);
    assert!(padme(padded) == padded);
}

/// No length is rounded above a longer one.
pub(crate) fn padme_keeps_order([shorter, longer, ..]: &Numbers) {
    assume(shorter <= longer);
    assert!(padme(*shorter) <= padme(*longer));
}

/// A believed number is one of those given or the start, and no number that a step leads to is left out.
pub(crate) fn believed_numbers([from, leap, one, two, ..]: &Numbers) {
    let numbers = [*one, *two];
    let believed = reached(*from, *leap, numbers);
    assert!(believed == *from || (believed > *from && believed <= NUMBER && numbers.contains(&believed)));
    let next = believed.saturating_add(*leap).min(NUMBER);
    assert!(numbers.iter().all(|number| *number <= believed || *number > next));
}

/// Sums and differences of times saturate, and keep the order.
pub(crate) fn times_saturate([time, seconds, other, ..]: &Numbers) {
    let (time, other) = (Time(*time as i64), Time(*other as i64));
    let age = Duration::from_secs(*seconds);
    let (before, after) = (time - age, time + age);
    assert!(before <= time && time <= after);
    assert!(time.since(other).is_zero() == (time <= other));
}

/// A number that is read was written in the only form that writers use.
pub(crate) fn varints_have_one_form(numbers: &Numbers) {
    let bytes: [u8; 12] = bytes(numbers);
    let mut cursor = Cursor::new(&bytes);
    let Ok(value) = varint::take(&mut cursor) else { return };
    let mut written = Vec::with_capacity(10);
    varint::put(&mut written, value);
    assert!(written == bytes[..cursor.offset()]);
}

/// Every signed number reads back.
pub(crate) fn signed_varints_read_back([number, ..]: &Numbers) {
    let mut written = Vec::with_capacity(10);
    varint::put_signed(&mut written, *number as i64);
    let mut cursor = Cursor::new(&written);
    assert!(varint::take_signed(&mut cursor) == Ok(*number as i64));
    assert!(cursor.finish().is_ok());
}

/// A cursor never leaves its bytes, whatever lengths it is asked for, and stays where it is if it refuses one.
pub(crate) fn cursors_stay_inside([one, two, ..]: &Numbers) {
    let bytes = [0; 24];
    let mut cursor = Cursor::new(&bytes);
    for length in [*one as usize, *two as usize] {
        let before = cursor.offset();
        let taken = cursor.take(length).map(<[u8]>::len);
        assert!(taken.is_err() || taken == Ok(length));
        assert!(cursor.offset() == before + taken.unwrap_or(0) && cursor.offset() + cursor.remaining() == 24);
    }
}

/// A number in a record that is read was written in the only form that writers use.
pub(crate) fn cbor_numbers_have_one_form(numbers: &Numbers) {
    let bytes: [u8; 9] = bytes(numbers);
    assume(bytes[0] < 0x20);
    let length = match bytes[0] {
        24..=27 => 1 + (1 << (bytes[0] - 24)),
        _ => 1,
    };
    let Ok(mut reader) = Reader::new(&bytes[..length]) else { return };
    let mut writer = Writer::new();
    writer.uint(reader.wide().expect("no other item starts like this"));
    assert!(writer.finish() == bytes[..length]);
}

/// A string in a record ends inside the record, whatever its length says.
pub(crate) fn cbor_strings_end_inside(numbers: &Numbers) {
    let bytes: [u8; 16] = bytes(numbers);
    assume(bytes[0] >> 5 == 2);
    let Ok(mut reader) = Reader::new(&bytes) else { return };
    assert!(reader.bytes(16).is_ok_and(|string| string.len() == 15));
}

/// Every number reads back, with sign or without; of those above the limit, records hold none.
pub(crate) fn cbor_numbers_read_back([number, is_signed, ..]: &Numbers) {
    let (mut writer, is_signed) = (Writer::new(), is_signed & 1 == 1);
    if is_signed {
        writer.int(*number as i64)
    } else {
        writer.uint(*number)
    };
    let written = writer.finish();
    let mut reader = Reader::new(&written).expect("it was just written");
    if is_signed {
        assert!(reader.int() == Ok(*number as i64));
    } else {
        assert!(reader.uint().ok() == (*number <= NUMBER).then_some(*number));
    }
}

/// A chain continues with the next number only, and never starts again from its end.
pub(crate) fn chains_have_no_gaps([number, next, hash, named, ..]: &Numbers) {
    let of = |number: u64| ObjectHash(core::array::from_fn(|at| if at < 8 { number.to_le_bytes()[at] } else { 7 }));
    let mut chain = Chain::after(*number, of(*hash));
    let accepted = chain.next(Link { number: *next, previous: of(*named), hash: of(1) }).is_ok();
    assert!(accepted == (*number < u64::MAX && *next == number.wrapping_add(1) && hash == named));
    assert!(chain.number() == if accepted { *next } else { *number });
}

/// Accepted sizes of chunks are powers of two, in order and within the limit.
pub(crate) fn chunk_sizes([min, average, max, ..]: &Numbers) {
    let Ok(sizes) = ChunkSizes::new(*min, *average, *max) else { return };
    assert!(sizes.min() >= 256 && sizes.min() <= sizes.average() && sizes.average() <= sizes.max());
    assert!(sizes.max() <= CHUNK_BYTES as usize && sizes.max().is_power_of_two() && sizes.max() as u64 == *max);
}

/// Accepted parameters of trees keep pages within their limits.
pub(crate) fn tree_parameters([fanouts, sizes, ..]: &Numbers) {
    let half = |number: u64| [number as u32, (number >> 32) as u32];
    let ([leaf, inner], [min, max]) = (half(*fanouts), half(*sizes));
    let Ok(parameters) = TreeParams::new(leaf, inner, min, max) else { return };
    assert!(leaf >= 2 && inner >= 2 && parameters.page_min() <= parameters.page_max());
    assert!(parameters.page_max() > 0 && parameters.page_max() <= PAGE_TARGET);
}

/// A set holds the number that was added and not removed, and no other, also none beyond its end.
pub(crate) fn sets_hold_numbers([added, removed, asked, ..]: &Numbers) {
    let [added, removed, asked] = [*added as u32 % 256, *removed as u32 % 256, *asked as u32];
    let mut set = Bits::new(&Memory, 256);
    set.set(added);
    set.unset(removed);
    assert!(set.has(asked) == (asked == added && added != removed));
}
