//! Budget: how long a job may run. Jobs ask between steps; the next run does the rest.

use core::fmt;
use std::sync::Arc;

/// Says when a job has to end. The job then ends at its next safe point and notes its progress.
#[derive(Clone, Default)]
pub struct Budget(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Budget {
    /// A budget without an end.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// Ends once `is_over` says so. It is called often, from any thread, and must keep its answer.
    pub fn until(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_over)))
    }

    /// Whether there is an end; if so, a job divides its work.
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
