//! Against real servers and the compiled functions.

mod e2e_cloud;
mod e2e_recovery;
mod gateway_s3;
mod lambda_functions;
mod lambda_load;
mod lambda_memory;
mod lambda_runtime;
mod s3_command;
mod s3_conformance;
mod s3_faults;
mod s3_lock;
mod s3_pace;
mod s3_presign;
mod s3_probe;
mod s3_proof;
mod sites;
