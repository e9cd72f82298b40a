//! Frees what the policy does not keep, on a schedule.
#![forbid(unsafe_code)]

use copal_lambda::function::Function;

fn main() -> Result<(), lambda_runtime::Error> {
    copal_lambda::start::run(Function::Prune)
}
