//! Params: where pages are cut; fixed for a repository by its descriptor.

use crate::limits::PAGE_TARGET;

/// The sizes that decide where pages end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TreeParams {
    leaf_fanout: u32,
    inner_fanout: u32,
    page_min: u32,
    page_max: u32,
    /// Below which a boundary value ends a page: of the lowest level, and of those above.
    thresholds: [u64; 2],
}

/// Sizes that no tree can be cut by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadParams {
    /// With a fan-out below two, levels would not shrink.
    #[error("a fan-out of {0} is below 2")]
    Fanout(u32),
    /// The least size is above the largest, or the largest is zero or above the limit.
    #[error("pages of {min} to {max} bytes: the range is empty or exceeds {PAGE_TARGET} bytes")]
    Sizes {
        /// Bytes a page has at least.
        min: u32,
        /// Bytes at which a page ends.
        max: u32,
    },
}

impl TreeParams {
    /// Checks the sizes; they come from the descriptor, in this order.
    pub fn new(leaf_fanout: u32, inner_fanout: u32, page_min: u32, page_max: u32) -> Result<Self, BadParams> {
        if let Some(&bad) = [leaf_fanout, inner_fanout].iter().find(|&&fanout| fanout < 2) {
            return Err(BadParams::Fanout(bad));
        }
        if page_min > page_max || page_max == 0 || page_max > PAGE_TARGET {
            return Err(BadParams::Sizes { min: page_min, max: page_max });
        }
        // At most half of 2^64, since a fan-out is two at least.
        let thresholds = [leaf_fanout, inner_fanout].map(|fanout| ((1u128 << 64) / u128::from(fanout)) as u64);
        Ok(Self { leaf_fanout, inner_fanout, page_min, page_max, thresholds })
    }

    /// One item in this many ends a page of entries, or of a list's pieces.
    pub fn leaf_fanout(&self) -> u32 {
        self.leaf_fanout
    }

    /// One page in this many ends a page of the levels above.
    pub fn inner_fanout(&self) -> u32 {
        self.inner_fanout
    }

    /// Weight a page has at least, unless it is the last of its level.
    pub fn page_min(&self) -> u32 {
        self.page_min
    }

    /// Weight at which a page ends, whatever follows.
    pub fn page_max(&self) -> u32 {
        self.page_max
    }

    /// Whether a page of this weight ends after an item of this boundary value, which is asked for only if needed.
    pub(super) fn ends(&self, level: u8, weight: usize, boundary: impl FnOnce() -> u64) -> bool {
        let threshold = self.thresholds[usize::from(level > 0)];
        weight >= self.page_max as usize || weight >= self.page_min as usize && boundary() < threshold
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
