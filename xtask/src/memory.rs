//! Memory: temporary files of the suite lie in memory, where the system has a folder for that.
//!
//! The tests make and delete hundreds of thousands of small files. On ext4 without a journal, each new file first looks
//! through the inodes that were freed within five seconds: half of all that the kernel did for the suite.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::command::output;

/// Runs this program's own arguments again with temporary files in memory. `None` if there is no room, or if somebody
/// has chosen a place.
pub(crate) fn again() -> Option<ExitCode> {
    if std::env::var_os(VARIABLE).is_some() || free()? < LEAST {
        return None;
    }
    let folder = Path::new(FOLDER).join(format!("copal-tests-{}", std::process::id()));
    std::fs::create_dir(&folder).ok()?;
    let mut program = Command::new(std::env::current_exe().ok()?);
    let status = program.args(std::env::args_os().skip(1)).env(VARIABLE, &folder).status();
    // Tests that were killed leave something.
    let _ = std::fs::remove_dir_all(&folder);
    Some(if status.ok()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many bytes the folder takes.
fn free() -> Option<u64> {
    let told = output(Command::new("df").args(["--block-size=1", "--output=fstype,avail", FOLDER])).ok()?;
    let (kind, free) = told.lines().nth(1)?.split_once(char::is_whitespace)?;
    (kind == "tmpfs").then(|| free.trim().parse().ok())?
}

const VARIABLE: &str = "TMPDIR";
const FOLDER: &str = "/dev/shm";
/// Some times what the tests have been seen to need.
const LEAST: u64 = 8 << 30;
