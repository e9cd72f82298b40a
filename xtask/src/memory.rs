//! Memory: temporary files of the suite lie in memory, where the system has a folder for that.
//!
//! The tests make and delete hundreds of thousands of small files. For each new file, ext4 without a journal searches past
//! all inodes that were freed within the last five seconds: half of all that the kernel did for the suite.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::command::output;

/// Runs this program's own arguments again with temporary files in memory. `None` if there is no room, or if somebody
/// has chosen a place by `TMPDIR`.
pub(crate) fn again() -> Option<ExitCode> {
    remove_old();
    if std::env::var_os(VARIABLE).is_some() || free()? < LEAST {
        return None;
    }
    let folder = Path::new(FOLDER).join(format!("{NAME}{}", std::process::id()));
    fs::create_dir(&folder).ok()?;
    // Whatever the umask: other users enter it in some tests, and who could write into it would not be trusted.
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).ok()?;
    let status = if takes_attributes(&folder) {
        let mut program = Command::new(std::env::current_exe().ok()?);
        program.args(std::env::args_os().skip(1)).env(VARIABLE, &folder).status().ok()
    } else {
        None
    };
    // Tests that were killed leave something.
    let _ = fs::remove_dir_all(&folder);
    Some(if status?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Gives a command the system's own folder of temporary files: Chromium opens no folder below `/dev` for a page.
pub(crate) fn without_temporary_files(command: &mut Command) {
    let chosen = std::env::var_os(VARIABLE);
    if chosen.is_some_and(|chosen| Path::new(&chosen).parent() == Some(Path::new(FOLDER))) {
        command.env_remove(VARIABLE);
    }
}

/// Removes what an interrupted suite has left: it would take memory until the system starts again.
fn remove_old() {
    for entry in fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(NAME));
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // Another user's stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// How many bytes the folder takes, and the memory has.
fn free() -> Option<u64> {
    let told = output(Command::new("df").args(["--block-size=1", "--output=fstype,avail", FOLDER])).ok()?;
    let (kind, free) = told.lines().nth(1)?.split_once(char::is_whitespace)?;
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available: u64 = available.trim().strip_suffix(" kB")?.parse().ok()?;
    (kind == "tmpfs").then(|| free.trim().parse::<u64>().ok())?.map(|free| free.min(available << 10))
}

/// Whether files there can have attributes: before Linux 6.6 they cannot, and tests of attributes would test nothing.
fn takes_attributes(folder: &Path) -> bool {
    let set = "import os, sys; os.setxattr(sys.argv[1], 'user.copal', b'1')";
    Command::new("python3").args(["-c", set]).arg(folder).status().is_ok_and(|status| status.success())
}

const VARIABLE: &str = "TMPDIR";
const FOLDER: &str = "/dev/shm";
const NAME: &str = "copal-tests-";
/// Some twenty times the most that the command's tests were seen to use, 335 MB: compilers and browsers need memory too.
const LEAST: u64 = 8 << 30;
