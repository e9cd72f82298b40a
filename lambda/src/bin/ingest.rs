//! Decides about what clients have uploaded, when events say so and on a schedule.
#![forbid(unsafe_code)]

use copal_lambda::function::Function;

fn main() -> Result<(), lambda_runtime::Error> {
    copal_lambda::start::run(Function::Ingest)
}
