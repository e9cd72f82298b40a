//! Failure: why an invocation ends in an error, so that its retry, its dead-letter queue and its alarm see it.

use std::any::Any;

use copal_jobs::error::JobError;
use copal_store::StoreError;
use lambda_runtime::Diagnostic;

use crate::deadline::Expired;
use crate::event::BadEvent;

/// Why an invocation ended in an error.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The function does not understand the event.
    #[error(transparent)]
    Event(#[from] BadEvent),
    /// The bucket has no descriptor.
    #[error("there is no repository: it has no descriptor")]
    NoRepository,
    /// The newest descriptor is not the owner's or is invalid. An older one is not used in its place.
    #[error(transparent)]
    Owner(JobError),
    /// The job failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The job panicked.
    #[error("it panicked, which is a mistake of Copal: {0}")]
    Panicked(String),
    /// The time was over.
    #[error(transparent)]
    Expired(#[from] Expired),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Job(error.into())
    }
}

impl Failure {
    /// The failure for a panic, with its message.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Failure::Panicked(text.unwrap_or("without a word").to_owned())
    }

    /// A name for alarms and for readers of the log.
    pub fn name(&self) -> &'static str {
        match self {
            Failure::Event(_) => "BadEvent",
            // A failing store says nothing about the owner.
            Failure::Owner(JobError::Store(_)) => "Store",
            Failure::NoRepository | Failure::Owner(_) => "Owner",
            Failure::Job(JobError::Store(_)) => "Store",
            Failure::Job(JobError::Damaged { .. }) => "Damaged",
            Failure::Job(JobError::StateLost { .. }) => "StateLost",
            Failure::Job(JobError::Contradicted { .. }) => "Contradicted",
            Failure::Job(JobError::Contended { .. }) => "Contended",
            Failure::Job(_) => "Job",
            Failure::Panicked(_) => "Panicked",
            Failure::Expired(_) => "Expired",
        }
    }

    /// The error and its causes, in one line.
    pub fn chain(&self) -> String {
        chain(self)
    }
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Diagnostic { error_type: failure.name().to_owned(), error_message: failure.chain() }
    }
}

/// An error and its causes, in one line.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_store::{Key, Op};

    #[test]
    fn a_failure_is_told_with_its_causes() {
        let key = Key::new("roots/1").unwrap().as_str().to_owned();
        let failure = Failure::from(StoreError::Transient { op: Op::Read, key, source: "reset by peer".into() });
        assert_eq!(failure.name(), "Store");
        assert_eq!(failure.chain(), "cannot read roots/1 for now: reset by peer");
    }
}
