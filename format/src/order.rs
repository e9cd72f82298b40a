//! Order: sorts with little code, for lists whose sorting time does not matter. The standard library's sorts take some
//! ten kilobytes of WebAssembly for each sorted type.

use core::cmp::Ordering;

/// Sorts like [`slice::sort_by`].
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if items.len() < 2 {
        return;
    }
    let mut order = ordered(items.len(), &|a, b| compare(&items[a], &items[b]));
    for start in 0..items.len() {
        // The items of a cycle move each to its place, and those places are done.
        let mut at = start;
        loop {
            let from = core::mem::replace(&mut order[at], at);
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// Sorts like [`slice::sort`].
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// The numbers up to `count` in the order that `compare` says.
#[inline(never)]
fn ordered(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each item moves by one place, which is one long cycle.
    #[test]
    fn a_list_that_is_turned_by_one_takes_no_longer_than_any_other() {
        let mut items: Vec<u32> = (1..1 << 20).chain([0]).collect();
        sort(&mut items);
        assert!(items.is_sorted());
    }

    proptest! {
        #[test]
        fn it_sorts_as_the_standard_library_does(mut items: Vec<(u8, u16)>) {
            let mut expected = items.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_by(&mut items, |a, b| a.0.cmp(&b.0));
            prop_assert_eq!(&items, &expected);
            expected.sort();
            sort(&mut items);
            prop_assert_eq!(items, expected);
        }
    }
}
