//! The `copal` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

// Large buffers come and go with every block and file: the system's allocator gives their pages back and takes them again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    copal_cli::commands::run().into()
}
