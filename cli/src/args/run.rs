//! Run: commands that follow the configuration file.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub struct Run {
    /// Profiles to run, in this order [default: all with an act that no other profile uses, by name].
    #[arg(value_name = "PROFILE")]
    pub profiles: Vec<String>,
    /// Show what would be saved, copied, forgotten and freed; change nothing, check nothing, tell nobody.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

#[derive(Subcommand, Debug)]
pub enum Configuration {
    /// Read the configuration and say what "copal run" would do.
    Check,
    /// Show profiles with all that they take from others.
    Show(Show),
    /// Print an example with every key, explained.
    Example,
}

#[derive(Args, Debug)]
pub struct Show {
    /// Profiles to show [default: all].
    #[arg(value_name = "PROFILE")]
    pub profiles: Vec<String>,
}

/// The configuration file and profile from which a command takes options that its command line lacks.
#[derive(Args, Debug, Clone, Default, PartialEq, Eq)]
#[command(next_help_heading = "Global options")]
pub struct From {
    /// The configuration [default: ~/.config/copal/copal.toml, else /etc/copal/copal.toml].
    #[arg(long, value_name = "FILE", env = "COPAL_CONFIG", global = true)]
    pub config: Option<PathBuf>,
    /// Take the options of all commands (repository, keys, limits) from this profile of the configuration.
    #[arg(long, value_name = "PROFILE", env = "COPAL_PROFILE", global = true)]
    pub profile: Option<String>,
}
