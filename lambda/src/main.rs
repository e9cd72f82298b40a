//! The program of all functions; the name of the handler says which one it is.
#![forbid(unsafe_code)]

fn main() -> Result<(), lambda_runtime::Error> {
    copal_lambda::start::run()
}
