//! Causes: the text of an error and of its causes.

use std::error::Error;

/// An error with its causes, in one line.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
