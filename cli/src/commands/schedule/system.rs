//! System: programs and files of the system that are told about profiles.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::commands::open_file;
use crate::report::Failure;
use crate::schedule::{BadJob, MARK};

/// Whether profiles are run for the whole machine.
pub(super) fn is_system() -> bool {
    crate::system::is_root()
}

pub(super) fn usage(error: BadJob) -> Failure {
    Failure::Usage(error.to_string())
}

/// Writes a file that others may read, in one step. One that somebody else wrote is not replaced.
pub(super) fn write_open(path: &Path, text: &str) -> Result<(), Failure> {
    let is_foreign = fs::read_to_string(path).map_or(path.exists(), |old| !is_ours(&old));
    if is_foreign {
        return Err(Failure::Usage(format!("{} is there already, and was not written by copal", path.display())));
    }
    open_file::write(path, text)
}

/// The files in a directory that the program has written, each with the profile in its name.
pub(super) fn ours(directory: &Path, end: &str) -> Result<Vec<(String, PathBuf)>, Failure> {
    let entries = match fs::read_dir(directory) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|cause| Failure::io("read", directory, cause))?,
    };
    let mut found = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let profile = name.to_str().and_then(|name| name.strip_prefix("copal-")?.strip_suffix(end));
        let is_ours = || fs::read_to_string(entry.path()).is_ok_and(|text| is_ours(&text));
        if let Some(profile) = profile.filter(|_| is_ours()) {
            found.push((profile.to_owned(), entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Deletes a file that the program has written.
pub(super) fn delete(path: &Path) -> Result<(), Failure> {
    match fs::read_to_string(path) {
        Ok(text) if is_ours(&text) => fs::remove_file(path).map_err(|cause| Failure::io("delete", path, cause)),
        _ => Ok(()),
    }
}

fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Why a program of the system did not run.
pub(super) fn not_run(program: &str, cause: io::Error) -> Failure {
    match cause.kind() {
        io::ErrorKind::NotFound => Failure::Usage(format!(
            "there is no program {program} here: install it, or have another scheduler run \"copal run PROFILE\""
        )),
        _ => Failure::io("run", program, cause),
    }
}

/// Runs a program of the system, which must succeed; its input is given. Gives what it writes.
pub(super) fn call(program: &str, arguments: &[&str], input: &str) -> Result<String, Failure> {
    let failed = |cause| not_run(program, cause);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end without reading.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(failed(io::Error::other(format!("{:?} failed ({})", arguments.join(" "), output.status))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
