//! Windows: builds `copal.exe`, and tests it under wine beside the command of this machine.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, count, succeed, target, workspace};
use crate::tally::Tally;
use crate::tools;

/// Rust's name of Windows with the runtime of mingw: built from Debian's packages alone.
const TARGET: &str = "x86_64-pc-windows-gnu";

pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up_windows(TARGET)?;
    let program = build()?;
    let mut tests = cargo(&["test", "--workspace", "--all-features", "--test", "windows"]);
    let prefix = folder()?.join("wine");
    count(tests.env("COPAL_EXE", program).env("WINEPREFIX", prefix).env("WINEDEBUG", "-all"))
}

/// Builds the program, and lays it beside what this machine's wine may lack.
fn build() -> Result<PathBuf, String> {
    succeed(&mut cargo(&["build", "--target", TARGET, "--package", "copal-cli", "--bin", "copal"]))?;
    let (built, folder) = (target().join(TARGET).join("debug/copal.exe"), folder()?);
    let program = folder.join("copal.exe");
    std::fs::copy(&built, &program).map_err(|error| format!("{}: {error}", built.display()))?;
    let source = workspace().join("cli/tests/windows/bcryptprimitives.c");
    let library = folder.join("bcryptprimitives.dll");
    let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
    succeed(compiler.args(["-shared", "-O1", "-s", "-o"]).arg(library).arg(source).arg("-ladvapi32"))?;
    Ok(program)
}

fn folder() -> Result<PathBuf, String> {
    let folder = target().join("windows");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
