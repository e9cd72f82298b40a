//! The jobs of the service as AWS Lambda functions: `ingest`, `compact`, `prune`, `check` and the gateway, all in one
//! program. Each function only converts the payload, calls the job in `jobs`, and converts the result.
//!
//! The functions hold no key of the repository. They read its descriptor, which must be signed by the owner whose
//! fingerprint is in the [`environment`].
#![forbid(unsafe_code)]

pub mod environment;
pub mod deadline;
pub mod metrics;
pub mod log;
pub mod failure;
pub mod services;
pub mod event;
pub mod ingest;
pub mod compact;
pub mod prune;
pub mod check;
pub mod function;
pub mod gateway;
pub mod start;
