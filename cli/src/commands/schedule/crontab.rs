//! Crontab: a file in `/etc/cron.d` for each profile of the machine, a line in the crontab of a user.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::system::{call, delete, is_system, not_run, ours, usage, write_open};
use crate::report::Failure;
use crate::schedule::cron::{line, mark};
use crate::schedule::{Job, MARK};

/// Writes a file for each job into the directory; none if a job cannot be written as a line.
pub(super) fn write(directory: &Path, jobs: &[Job]) -> Result<(), Failure> {
    let lines = lines(jobs)?;
    jobs.iter().zip(lines).try_for_each(|(job, line)| {
        write_open(&directory.join(format!("copal-{}", job.profile)), &format!("{MARK}\n{line}\n"))
    })
}

pub(super) fn install(jobs: &[Job]) -> Result<(), Failure> {
    if is_system() {
        return write(&directory(), jobs);
    }
    let profiles: Vec<String> = jobs.iter().map(|job| job.profile.clone()).collect();
    let lines = lines(jobs)?.join("\n");
    replace(&format!("{}{lines}\n", others(&crontab()?, &profiles)))
}

fn lines(jobs: &[Job]) -> Result<Vec<String>, Failure> {
    jobs.iter().map(line).collect::<Result<_, _>>().map_err(usage)
}

pub(super) fn installed() -> Result<Vec<(String, String)>, Failure> {
    if is_system() {
        let last =
            |path: &Path| fs::read_to_string(path).unwrap_or_default().lines().last().unwrap_or_default().to_owned();
        return Ok(ours(&directory(), "")?.into_iter().map(|(profile, path)| (profile, last(&path))).collect());
    }
    let crontab = crontab()?;
    let own = crontab.lines().filter_map(|line| Some((line.rsplit_once(&mark(""))?.1.to_owned(), line.to_owned())));
    Ok(own.collect())
}

pub(super) fn remove(profiles: &[String]) -> Result<(), Failure> {
    if is_system() {
        return profiles.iter().try_for_each(|profile| delete(&directory().join(format!("copal-{profile}"))));
    }
    if profiles.is_empty() { Ok(()) } else { replace(&others(&crontab()?, profiles)) }
}

/// A crontab without the lines of these profiles.
fn others(crontab: &str, profiles: &[String]) -> String {
    let is_other = |line: &&str| !profiles.iter().any(|profile| line.ends_with(&format!(" {}", mark(profile))));
    crontab.lines().filter(is_other).map(|line| format!("{line}\n")).collect()
}

/// The user's crontab; empty if there is none. Fails if `crontab -l` fails or gives anything but UTF-8, because the caller
/// writes the whole crontab back.
fn crontab() -> Result<String, Failure> {
    let failed = |cause| not_run("crontab", cause);
    let output = Command::new("crontab").arg("-l").env("LC_ALL", "C").output().map_err(failed)?;
    let told = String::from_utf8_lossy(&output.stderr);
    match String::from_utf8(output.stdout) {
        Ok(text) if output.status.success() => Ok(text),
        Ok(_) if !output.status.success() && told.contains("no crontab for") => Ok(String::new()),
        Ok(_) => Err(failed(io::Error::other(format!("\"crontab -l\" failed: {}", told.trim())))),
        Err(_) => Err(failed(io::Error::other("the crontab is not UTF-8; writing it back would damage it"))),
    }
}

fn replace(text: &str) -> Result<(), Failure> {
    call("crontab", &["-"], text).map(drop)
}

fn directory() -> PathBuf {
    "/etc/cron.d".into()
}
