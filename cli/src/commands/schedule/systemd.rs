//! Systemd: units of profiles, and their timers.

use std::fs;
use std::path::{Path, PathBuf};

use super::system::{call, delete, is_system, ours, usage, write_open};
use crate::report::Failure;
use crate::schedule::Job;
use crate::schedule::units::{service, timer, unit};

/// Writes the units of a profile; gives the name of its timer.
pub(super) fn write(directory: &Path, job: &Job) -> Result<String, Failure> {
    let name = unit(&job.profile);
    write_open(&directory.join(format!("{name}.service")), &service(job).map_err(usage)?)?;
    write_open(&directory.join(format!("{name}.timer")), &timer(job))?;
    Ok(format!("{name}.timer"))
}

pub(super) fn install(jobs: &[Job]) -> Result<(), Failure> {
    for job in jobs {
        // Before anything is written: a timer with a calendar that systemd does not know would never run.
        call("systemd-analyze", &["calendar", &job.schedule.at], "")?;
    }
    let directory = directory()?;
    fs::create_dir_all(&directory).map_err(|cause| Failure::io("write", &directory, cause))?;
    let before: Vec<String> = installed()?.into_iter().map(|(profile, _)| profile).collect();
    let started = start(&directory, jobs);
    if started.is_err() {
        // Units that never ran would be listed as installed. The first error is the one to tell.
        for job in jobs.iter().filter(|job| !before.contains(&job.profile)) {
            let _ = systemctl(&["disable", "--now", &format!("{}.timer", unit(&job.profile))]);
            let _ = discard(&directory, &job.profile);
        }
        let _ = systemctl(&["daemon-reload"]);
    }
    started
}

fn start(directory: &Path, jobs: &[Job]) -> Result<(), Failure> {
    let timers = jobs.iter().map(|job| write(directory, job)).collect::<Result<Vec<_>, _>>()?;
    systemctl(&["daemon-reload"])?;
    for timer in &timers {
        systemctl(&["enable", timer])?;
        // A timer that is already active takes its new calendar only by a restart.
        systemctl(&["restart", timer])?;
    }
    Ok(())
}

pub(super) fn installed() -> Result<Vec<(String, String)>, Failure> {
    let calendar = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("OnCalendar=")).unwrap_or_default().to_owned()
    };
    let timers = ours(&directory()?, ".timer")?;
    Ok(timers.into_iter().map(|(profile, path)| (profile, calendar(&path))).collect())
}

/// Whether the units are what would be written now.
pub(super) fn is_current(job: &Job) -> Result<bool, Failure> {
    let (directory, name) = (directory()?, unit(&job.profile));
    let read = |kind: &str| fs::read_to_string(directory.join(format!("{name}.{kind}"))).unwrap_or_default();
    Ok(read("timer") == timer(job) && read("service") == service(job).map_err(usage)?)
}

pub(super) fn remove(profiles: &[String]) -> Result<(), Failure> {
    let directory = directory()?;
    for profile in profiles {
        systemctl(&["disable", "--now", &format!("{}.timer", unit(profile))])?;
        discard(&directory, profile)?;
    }
    if profiles.is_empty() { Ok(()) } else { systemctl(&["daemon-reload"]) }
}

fn discard(directory: &Path, profile: &str) -> Result<(), Failure> {
    let file = |kind: &str| directory.join(format!("{}.{kind}", unit(profile)));
    ["timer", "service"].iter().try_for_each(|kind| delete(&file(kind)))
}

fn systemctl(arguments: &[&str]) -> Result<(), Failure> {
    let user: &[&str] = if is_system() { &[] } else { &["--user"] };
    call("systemctl", &[user, arguments].concat(), "").map(drop)
}

fn directory() -> Result<PathBuf, Failure> {
    if is_system() {
        return Ok("/etc/systemd/system".into());
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configuration = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let missing = || Failure::Usage("there is no home directory to keep units in".into());
    Ok(configuration.ok_or_else(missing)?.join("systemd/user"))
}
