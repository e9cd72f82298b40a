//! The program of all functions. The name of the Lambda handler selects the function.
#![forbid(unsafe_code)]

fn main() -> Result<(), lambda_runtime::Error> {
    copal_lambda::start::run()
}
