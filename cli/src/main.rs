//! The `copal` command.
#![forbid(unsafe_code)]

mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    copal_cli::commands::run().into()
}
