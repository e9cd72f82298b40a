//! Stack: builds and starts the local stand-in of a deployment in AWS.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::command::{cargo, succeed, target};
use crate::tools;

/// Becomes the stack, which ends with Ctrl-C. Returns only if it does not start.
pub(crate) fn run() -> Result<(), String> {
    tools::set_up()?;
    let programs = ["--package", "copal-lambda", "--package", "copal-cli", "--package", "copal-tests", "--bins"];
    succeed(cargo(&["build"]).args(programs))?;
    let mut stack = Command::new(target().join("debug/stack"));
    Err(format!("cannot run the stack: {}", stack.env("COPAL_TOOLS", target().join("tools")).exec()))
}
