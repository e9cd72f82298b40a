//! The jobs of the service as AWS Lambda functions.
#![forbid(unsafe_code)]
