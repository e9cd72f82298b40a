//! Policy: the retention rules and settings that the owner signs, and the parts of a replaced policy that stay in
//! force.

mod lingering;
mod rules;
mod signed;
mod span;

pub use crate::guard::{Floor, Hold, Lingering};
pub use rules::{Count, Period, Periods, Policy, effective};
pub use signed::{BadPolicy, SignedPolicy, USUAL_CHECK_PARTS, USUAL_GRACE};
pub use span::{BadSpan, Span};
