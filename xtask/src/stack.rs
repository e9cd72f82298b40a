//! Stack: builds and starts the local stand-in of a deployment in AWS, for a person or for fifty machines that save into it.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::command::{cargo, succeed, target};
use crate::tools;

/// Becomes the stack, which ends with Ctrl-C, or the soak. Returns only if it does not start.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<(), String> {
    tools::set_up()?;
    let programs = ["--package", "copal-lambda", "--package", "copal-cli", "--package", "copal-tests", "--bins"];
    succeed(cargo(&["build"]).args(programs))?;
    let mut stack = Command::new(target().join("debug").join(name));
    let error = stack.args(arguments).env("COPAL_TOOLS", target().join("tools")).exec();
    Err(format!("cannot run the {name}: {error}"))
}
