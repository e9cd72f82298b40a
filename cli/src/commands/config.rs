//! `config`: reads the configuration, and hands its options to commands.

use super::context::Context;
use crate::args::global::Global;
use crate::args::run::Configuration;
use crate::args::{Command, CommandLine};
use crate::config::{Config, Profile, example};
use crate::exit::Exit;
use crate::report::run::{Checked, CheckedProfile, Shown};
use crate::report::{Failure, Printer};
use crate::system::home;

pub(super) fn run(context: &Context<'_>, options: &Configuration) -> Result<Exit, Failure> {
    match options {
        Configuration::Check => {
            let config = read(context.global)?;
            let profiles =
                config.profiles().map(|profile| CheckedProfile { name: profile.name.clone(), acts: profile.acts() });
            context.report.answer(&Checked {
                path: config.path.display().to_string(),
                profiles: profiles.collect(),
                missing: config.missing()?.into_iter().collect(),
            })?;
        }
        Configuration::Show(options) => {
            let config = read(context.global)?;
            let profiles = config.shown(&options.profiles)?;
            let profiles = profiles.into_iter().map(|(name, toml)| (name.to_owned(), toml)).collect();
            context.report.answer(&Shown { path: config.path.display().to_string(), profiles })?;
        }
        Configuration::Example => context.report.bytes(example::example().as_bytes())?,
    }
    Ok(Exit::Done)
}

/// Reads the configuration that the options name, or the usual one.
pub(super) fn read(global: &Global) -> Result<Config, Failure> {
    read_with(global, true)
}

/// The same for a timer, which does not have the variables of this process.
pub(super) fn read_for_timer(global: &Global) -> Result<Config, Failure> {
    read_with(global, false)
}

fn read_with(global: &Global, by_variables: bool) -> Result<Config, Failure> {
    Ok(Config::read(global.from.config.clone(), home(), by_variables)?)
}

/// The options of a command line, with those of the profile that it names.
pub(super) fn with_profile(line: &CommandLine, report: &Printer) -> Result<Global, Failure> {
    let name = line.global.from.profile.as_deref().filter(|name| !name.is_empty());
    let Some(name) =
        name.filter(|_| !matches!(line.command, Command::Run(_) | Command::Config(_) | Command::Schedule(_)))
    else {
        return Ok(line.global.clone());
    };
    let config = read(&line.global)?;
    Ok(joined(&Context::new(&line.global, report), config.profile(name)?))
}

/// The options of this command line, and of the profile where it gives none. A secret given by an option or a variable
/// replaces everything that the profile says about secrets.
pub(super) fn joined(context: &Context<'_>, profile: &Profile) -> Global {
    match context.secrets().is_given() {
        true => context.global.or(&profile.global.without_secret()),
        false => context.global.or(&profile.global),
    }
}
