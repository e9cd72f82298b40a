//! `schedule`: has systemd or cron run profiles.

mod crontab;
mod system;
mod systemd;

use std::path::{Path, PathBuf};

use copal_client::location::Location;
use copal_client::places::create_private_dir;

use super::config;
use super::context::Context;
use crate::args::schedule::{By, Install, Remove, Schedule, Timer};
use crate::config::{Config, Profile};
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::run::{Removed, Scheduled};
use crate::schedule::{Job, cron};
use crate::system::SCHEDULES;
use system::is_system;

pub(super) fn run(context: &Context<'_>, options: &Schedule) -> Result<Exit, Failure> {
    if !SCHEDULES {
        let why = "this system's timers are not known: have its scheduler run \"copal run PROFILE\" (docs/cli.md)";
        return Err(Failure::Usage(why.into()));
    }
    match options {
        Schedule::Install(options) => install(context, options),
        Schedule::List(by) => list(context, by),
        Schedule::Remove(options) => remove(context, options),
    }
}

fn install(context: &Context<'_>, options: &Install) -> Result<Exit, Failure> {
    let config = config::read_for_timer(context.global)?;
    let jobs = jobs(context, &config, &options.profiles)?;
    let by = timer(&options.by);
    if let Some(directory) = &options.to {
        std::fs::create_dir_all(directory).map_err(|cause| Failure::io("write", directory, cause))?;
        match by {
            Timer::Systemd => jobs.iter().try_for_each(|job| systemd::write(directory, job).map(drop))?,
            Timer::Cron => crontab::write(directory, &jobs)?,
        }
        context.report.note(&format!("written to {}; nothing is started", directory.display()));
        return Ok(Exit::Done);
    }
    for directory in jobs.iter().flat_map(|job| &job.own) {
        // A unit cannot create them in its sandbox.
        create_private_dir(directory)?;
    }
    match by {
        Timer::Systemd => systemd::install(&jobs)?,
        Timer::Cron => crontab::install(&jobs)?,
    }
    if by == Timer::Systemd && !is_system() {
        context
            .report
            .note("timers of a user run while the user is logged in; \"loginctl enable-linger\" lets them always run");
    }
    let rows = jobs.into_iter().map(|job| row(job, by, true, true));
    context.report.list(&rows.collect::<Vec<_>>())?;
    Ok(Exit::Done)
}

fn list(context: &Context<'_>, options: &By) -> Result<Exit, Failure> {
    let by = timer(options);
    // Without a configuration there is still what was installed by an earlier one.
    let wanted = config::read_for_timer(context.global).and_then(|config| jobs(context, &config, &[]));
    let wanted = wanted.inspect_err(|failure| context.report.note(&failure.text())).unwrap_or_default();
    let mut installed = installed(by)?;
    let mut rows = Vec::new();
    for job in wanted {
        let found = installed.iter().position(|(profile, _)| *profile == job.profile).map(|at| installed.remove(at));
        let is_current = match (&found, by) {
            (None, _) => false,
            (Some(_), Timer::Systemd) => systemd::is_current(&job)?,
            (Some((_, line)), Timer::Cron) => cron::line(&job).is_ok_and(|wanted| *line == wanted),
        };
        rows.push(row(job, by, found.is_some(), is_current));
    }
    let left = installed.into_iter();
    rows.extend(left.map(|(profile, at)| Scheduled { profile, by, at, installed: true, current: false }));
    context.report.list(&rows)?;
    Ok(Exit::Done)
}

fn remove(context: &Context<'_>, options: &Remove) -> Result<Exit, Failure> {
    let by = timer(&options.by);
    let installed: Vec<String> = installed(by)?.into_iter().map(|(profile, _)| profile).collect();
    if let Some(strange) = options.profiles.iter().find(|name| !installed.contains(name)) {
        return Err(Failure::Usage(format!("profile {strange:?} has no schedule to remove")));
    }
    let profiles = if options.profiles.is_empty() { installed } else { options.profiles.clone() };
    match by {
        Timer::Systemd => systemd::remove(&profiles)?,
        Timer::Cron => crontab::remove(&profiles)?,
    }
    context.report.confirm(&Removed { profiles })?;
    Ok(Exit::Done)
}

/// The installed profiles, each with its calendar or crontab line.
fn installed(by: Timer) -> Result<Vec<(String, String)>, Failure> {
    match by {
        Timer::Systemd => systemd::installed(),
        Timer::Cron => crontab::installed(),
    }
}

fn row(job: Job, by: Timer, installed: bool, current: bool) -> Scheduled {
    Scheduled { profile: job.profile, by, at: job.schedule.at, installed, current }
}

/// The timer that runs profiles here. The directory exists only where systemd runs.
fn timer(options: &By) -> Timer {
    options.by.unwrap_or(if Path::new("/run/systemd/system").is_dir() { Timer::Systemd } else { Timer::Cron })
}

/// The jobs of the named profiles, or of all with a schedule.
fn jobs(context: &Context<'_>, config: &Config, names: &[String]) -> Result<Vec<Job>, Failure> {
    let named: Vec<&Profile> = match names {
        [] => config.profiles().filter(|profile| profile.schedule.is_some()).collect(),
        _ => config.to_run(names)?,
    };
    if named.is_empty() {
        return Err(Failure::Usage(format!("no profile in {} has a schedule", config.path.display())));
    }
    let program = std::env::current_exe().map_err(|cause| Failure::io("find", "this program", cause))?;
    let path = config.path.canonicalize().map_err(|cause| Failure::io("read", &config.path, cause))?;
    named.into_iter().map(|profile| job(context, profile, &program, &path)).collect()
}

fn job(context: &Context<'_>, profile: &Profile, program: &Path, config: &Path) -> Result<Job, Failure> {
    let name = &profile.name;
    let missing = || Failure::Usage(format!("profile {name:?} has no table [profiles.{name}.schedule]"));
    let schedule = profile.schedule.clone().ok_or_else(missing)?;
    // The timer will start `copal run` without the options of this command.
    let global = &profile.global;
    if !(global.key_file.is_some() || global.password_file.is_some() || global.password_command.is_some()) {
        context.report.note(&format!(
            "profile {name} names no key-file, password-file or password-command: a timer can ask nobody, so it works only on a write-only machine"
        ));
    }
    let places = Context::new(global, context.report).places()?;
    let named = [global.repository.as_deref(), profile.copy.as_ref().map(|copy| copy.to.to.as_os_str())];
    let locations: Vec<Location> =
        named.into_iter().flatten().filter_map(|at| Location::parse(Some(at)).ok()).collect();
    let begins = |schemes: &[&str]| {
        let addresses = locations.iter().map(ToString::to_string);
        addresses.into_iter().any(|address| schemes.iter().any(|scheme| address.starts_with(scheme)))
    };
    let directory = |location: &Location| match location {
        Location::Directory(path) => Some(path.clone()).filter(|path| path.is_absolute()),
        _ => None,
    };
    let repositories: Vec<PathBuf> = locations.iter().filter_map(directory).collect();
    if begins(&["azblob://", "gcs://", "webdav://"]) {
        context.report.note(&format!(
            "profile {name}: the credentials of a repository are in variables, which a timer does not have; add a \
             drop-in with EnvironmentFile= to its unit, or set them in the crontab"
        ));
    }
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let of_bucket: Vec<&str> = OF_BUCKETS.into_iter().filter(is_set).collect();
    if begins(&["s3://"]) && !of_bucket.is_empty() {
        context.report.note(&format!(
            "profile {name}: this shell has {}, and a timer does not have its variables; add a drop-in with \
             EnvironmentFile= to its unit, set them in the crontab, or write them to ~/.aws",
            of_bucket.join(", ")
        ));
    }
    let mut written = vec![std::env::temp_dir(), PathBuf::from("/tmp")];
    written.extend(repositories.clone());
    written.extend(profile.own.metrics_file.as_deref().and_then(Path::parent).map(Path::to_owned));
    written.dedup();
    let variable = |name: &str| Some((name.to_owned(), std::env::var(name).ok().filter(|value| !value.is_empty())?));
    Ok(Job {
        profile: name.clone(),
        schedule,
        program: program.to_owned(),
        config: config.to_owned(),
        variables: TAKEN_ALONG.iter().filter_map(|name| variable(name)).collect(),
        own: [places.state().to_owned(), places.cache().to_owned()],
        written,
        repositories,
        // ssh may start programs that its configuration names.
        is_unconfined: profile.is_sandbox_in_the_way() || begins(&["ssh://", "sftp://"]),
        is_system: is_system(),
    })
}

/// Variables that say where state and cache lie, and who this machine is.
const TAKEN_ALONG: [&str; 7] =
    ["HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "COPAL_STATE_DIR", "COPAL_CACHE_DIR", "COPAL_HOST", "TMPDIR"];

/// Variables that say how a bucket is reached. What they say may also stand in the files of `~/.aws`.
const OF_BUCKETS: [&str; 12] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];
