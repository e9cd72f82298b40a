//! The `copal` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Entries and blocks are made by one thread and freed by another; the system's allocator has threads wait for each other
/// then (decision 0024).
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    copal_cli::commands::run().into()
}
