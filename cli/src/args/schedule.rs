//! Schedule: commands about the timers of profiles.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Subcommand, Debug)]
pub enum Schedule {
    /// Have the system run the profiles of the configuration that have a schedule.
    ///
    /// Timers of systemd, or lines of cron where systemd does not run: for the whole machine if root asks for it, else for
    /// this user. Run it again after a change of a schedule, or after the program has moved.
    Install(Install),
    /// List the profiles that the system runs, and those with a schedule that it does not run yet.
    List(By),
    /// End the schedules of profiles.
    Remove(Remove),
}

#[derive(Args, Clone, Debug)]
pub struct By {
    /// Who runs the profiles [default: systemd where it runs, else cron].
    #[arg(long, value_name = "WHO", value_enum)]
    pub by: Option<Timer>,
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// Timers of systemd.
    Systemd,
    /// Lines of a crontab.
    Cron,
}

#[derive(Args, Debug)]
pub struct Install {
    /// Profiles to schedule [default: all that have a schedule and that no other profile uses].
    #[arg(value_name = "PROFILE")]
    pub profiles: Vec<String>,
    #[command(flatten)]
    pub by: By,
    /// Only write the files into this directory; start nothing.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Remove {
    /// Profiles whose schedule ends [default: all].
    #[arg(value_name = "PROFILE")]
    pub profiles: Vec<String>,
    #[command(flatten)]
    pub by: By,
}
