//! Answers clients that have no rights on the bucket.
#![forbid(unsafe_code)]

fn main() -> Result<(), lambda_runtime::Error> {
    copal_lambda::start::run_gateway()
}
