//! Params: the parameters that decide where pages end, fixed by the repository's descriptor.

use crate::limits::PAGE_TARGET;

/// The checked parameters that decide where pages end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TreeParams {
    leaf_fanout: u32,
    inner_fanout: u32,
    page_min: u32,
    page_max: u32,
    /// A boundary value below the threshold ends a page: one for the lowest level, one for the levels above.
    thresholds: [u64; 2],
}

/// Why parameters cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadParams {
    /// With a fan-out below two, levels would not shrink.
    #[error("a fan-out of {0} is below 2")]
    Fanout(u32),
    /// The smallest size is above the largest, or the largest is zero or above the limit.
    #[error("pages of {min} to {max} bytes: the range is empty or exceeds {PAGE_TARGET} bytes")]
    Sizes { min: u32, max: u32 },
}

impl TreeParams {
    /// Checks the parameters, which come from the descriptor.
    pub fn new(leaf_fanout: u32, inner_fanout: u32, page_min: u32, page_max: u32) -> Result<Self, BadParams> {
        if let Some(&bad) = [leaf_fanout, inner_fanout].iter().find(|&&fanout| fanout < 2) {
            return Err(BadParams::Fanout(bad));
        }
        if page_min > page_max || page_max == 0 || page_max > PAGE_TARGET {
            return Err(BadParams::Sizes { min: page_min, max: page_max });
        }
        // At most half of 2^64, because a fan-out is at least 2.
        let thresholds = [leaf_fanout, inner_fanout].map(|fanout| ((1u128 << 64) / u128::from(fanout)) as u64);
        Ok(Self { leaf_fanout, inner_fanout, page_min, page_max, thresholds })
    }

    /// On average, one item in this many ends a page of entries or pieces.
    pub fn leaf_fanout(&self) -> u32 {
        self.leaf_fanout
    }

    /// On average, one link in this many ends a page of the levels above.
    pub fn inner_fanout(&self) -> u32 {
        self.inner_fanout
    }

    /// The smallest weight of a page, except the last one of a level.
    pub fn page_min(&self) -> u32 {
        self.page_min
    }

    /// The weight at which a page always ends.
    pub fn page_max(&self) -> u32 {
        self.page_max
    }

    /// Whether a page of this weight ends after the item. Computes the item's boundary value only if needed.
    pub(super) fn ends(&self, level: u8, weight: usize, boundary: impl FnOnce() -> u64) -> bool {
        weight >= self.page_max as usize || weight >= self.page_min as usize && self.may_end(level, boundary())
    }

    /// Whether an item with this boundary value ends every page that is heavy enough.
    pub(super) fn may_end(&self, level: u8, boundary: u64) -> bool {
        boundary < self.thresholds[usize::from(level > 0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_boundary_value_in_as_many_as_the_fanout_ends_a_page() {
        let params = TreeParams::new(2, 3, 5, 9).unwrap();
        let ends = |level, weight, boundary: u64| params.ends(level, weight, || boundary);
        assert!(ends(0, 5, (1 << 63) - 1) && !ends(0, 5, 1 << 63));
        assert!(ends(1, 5, u64::MAX / 3 - 1) && !ends(1, 5, u64::MAX / 3));
        assert!(!ends(0, 4, 0) && ends(0, 9, u64::MAX));
    }

    #[test]
    fn sizes_that_would_never_end_a_tree_are_refused() {
        assert_eq!(TreeParams::new(1, 2, 0, 1), Err(BadParams::Fanout(1)));
        assert_eq!(TreeParams::new(2, 0, 0, 1), Err(BadParams::Fanout(0)));
        assert!(TreeParams::new(2, 2, 2, 1).is_err());
        assert!(TreeParams::new(2, 2, 0, 0).is_err());
        assert!(TreeParams::new(2, 2, 0, u32::MAX).is_err());
    }
}
