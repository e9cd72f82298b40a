//! The jobs of the service as AWS Lambda functions: `ingest`, `compact`, `prune`, `check` and the gateway, all of them one
//! program. Each is thin: what the function is invoked with is converted, the job of the service is called, its result
//! converted back.
//!
//! The functions hold no key of the repository. Whose it is they read from its descriptor, which must be that of the owner
//! whose fingerprint stands in the [`environment`].
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
