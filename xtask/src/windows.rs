//! Windows: builds `copal.exe` as a release has it, and tests it under wine beside the command of this machine.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{count, linting, succeed, target, workspace};
use crate::dist::zig;
use crate::tally::Tally;
use crate::{files, tools};

/// Rust's name of Windows with the runtime of mingw, which zig brings along.
const TARGET: &str = "x86_64-pc-windows-gnu";

pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up_windows(TARGET)?;
    let program = build()?;
    let prefix = folder()?.join("wine");
    // Programs that start at once in a new prefix are in each other's way.
    let mut boot = Command::new("wineboot");
    succeed(boot.arg("--init").env("WINEPREFIX", &prefix).env("WINEDEBUG", "-all"))?;
    let mut tests = linting(&["test", "--workspace", "--all-features", "--test", "windows"]);
    count(tests.env("COPAL_EXE", program).env("WINEPREFIX", prefix).env("WINEDEBUG", "-all"))
}

/// Builds the program, and lays it beside what this machine's wine may lack.
fn build() -> Result<PathBuf, String> {
    succeed(&mut zig(&["zigbuild", "--locked", "--target", TARGET, "--package", "copal-cli", "--bin", "copal"])?)?;
    let (built, folder) = (target().join(TARGET).join("debug/copal.exe"), folder()?);
    let program = folder.join("copal.exe");
    files::copy(&built, &program)?;
    let source = workspace().join("cli/tests/windows/bcryptprimitives.c");
    let library = folder.join("bcryptprimitives.dll");
    let mut compiler = zig(&["zig", "cc", "--", "-target", "x86_64-windows-gnu", "-shared", "-O1", "-s", "-o"])?;
    succeed(compiler.arg(library).arg(source).arg("-ladvapi32"))?;
    Ok(program)
}

fn folder() -> Result<PathBuf, String> {
    let folder = target().join("windows");
    files::make(&folder)?;
    Ok(folder)
}
