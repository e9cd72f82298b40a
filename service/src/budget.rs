//! Budget: how long a job may go on. It is asked between steps; what is left over, the next run does.

use core::fmt;
use std::sync::Arc;

/// Says when a job has to come to an end. The job then ends at its next safe point, with what it has done noted.
#[derive(Clone, Default)]
pub struct Budget(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Budget {
    /// No end.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// Ends once this says so. It is asked often, from any thread, and stays with its answer.
    pub fn until(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_over)))
    }

    /// Whether there is an end: then a job divides its work.
    pub fn is_limited(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the job has to end.
    pub fn is_over(&self) -> bool {
        self.0.as_ref().is_some_and(|is_over| is_over())
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Budget(limited)" } else { "Budget(unlimited)" })
    }
}
