//! Config: `copal.toml`, the profiles that `copal run` follows.
//!
//! A table of the file is a list of options: its keys are the long names of a command's options, and clap reads the
//! values. So an option and its key are one field, with one explanation and one check.

mod error;
pub mod example;
mod section;
mod keys;
mod profile;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use crate::args::forget::Forget;
use crate::args::profile::Notify;
use crate::system::guarded::{self, NotGuarded};
use crate::system::{own_configuration, system_configuration};

pub use error::ConfigError;
pub use keys::Missing;
pub use profile::{Act, Profile};
use section::{Lines, Reading, Section};

#[derive(Debug)]
pub struct Config {
    pub path: PathBuf,
    /// What `~` stands for.
    home: Option<PathBuf>,
    /// Every profile, with all keys that it takes from others.
    resolved: BTreeMap<String, Section>,
    /// The profiles that can be run or named: those that no other profile uses.
    profiles: BTreeMap<String, Profile>,
    /// The tables [notify.NAME], by name.
    notify: BTreeMap<String, Notify>,
}

impl Config {
    /// Reads the file that an option names, or the first that exists at the usual paths. `~` in the file means `home`.
    /// With `by_variables`, an environment variable overrides the key of the same option.
    pub fn read(named: Option<PathBuf>, home: Option<PathBuf>, by_variables: bool) -> Result<Self, ConfigError> {
        let (path, text) = read(named, home.as_deref())?;
        Self::parse(path, &text, home, by_variables)
    }

    pub fn parse(path: PathBuf, text: &str, home: Option<PathBuf>, by_variables: bool) -> Result<Self, ConfigError> {
        let reading = Reading { path, home, by_variables };
        let lines = Lines::of(text);
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| lines.line(span.start));
            reading.wrong(line, error.message().trim().replace('\n', ", "))
        })?;
        let mut top = Section::of(&reading, &lines, table.get_ref(), 1)?;
        let given = top.take_sections(&reading, "profiles")?;
        let told = top.take_sections(&reading, "notify")?;
        top.must_be_empty(&reading, "the file", &["profiles", "notify"])?;
        let mut notify = BTreeMap::new();
        for (name, section) in &told {
            keys::NOTIFY.refuse_strange(&reading, &format!("[notify.{name}]"), section, &[])?;
            notify.insert(name.clone(), keys::NOTIFY.read(&reading, name, section)?);
        }
        for (name, section) in &given {
            if !is_name(name) {
                let why = format!("{name:?} is no name of a profile: letters, digits, \"-\" and \"_\", at most 64");
                return Err(reading.wrong(section.line, why));
            }
            keys::known(&reading, name, section)?;
        }
        let mut joining =
            Joining { reading: &reading, given: &given, used: BTreeSet::new(), done: BTreeMap::new(), taken: 0 };
        for name in given.keys() {
            joining.join(name, &mut Vec::new())?;
        }
        let Joining { used, done, .. } = joining;
        let resolved: BTreeMap<String, Section> = done.into_iter().map(|(name, (_, whole))| (name, whole)).collect();
        let mut profiles = BTreeMap::new();
        for (name, section) in resolved.iter().filter(|(name, _)| !used.contains(*name)) {
            let mut profile = Profile::of(&reading, name, section)?;
            let is_unbounded = |forget: &Forget| profile.backup.is_none() && !forget.narrow.names_series();
            if profile.forget.as_ref().is_some_and(is_unbounded) {
                // An inherited `forget` is for the profile's own backups. This profile makes none, so the table is dropped.
                if let Some(own) = given[name].section(&reading, "forget")? {
                    let why = format!(
                        "[profiles.{name}.forget] would reach the snapshots of all machines, because the profile saves nothing: say whose with host, client, path or label"
                    );
                    return Err(reading.wrong(own.line, why));
                }
                profile.forget = None;
            }
            if profile.forget.as_ref().is_some_and(|forget| forget.keep.is_empty()) {
                let line = section.section(&reading, "forget")?.map_or(section.line, |forget| forget.line);
                return Err(
                    reading.wrong(line, format!("[profiles.{name}.forget] keeps nothing: all would be forgotten"))
                );
            }
            if let Some(strange) = profile.own.notify.iter().find(|name| !notify.contains_key(*name)) {
                let line = section.get("notify").map_or(section.line, |entry| entry.line);
                return Err(reading.wrong(line, format!("there is no table [notify.{strange}]")));
            }
            profiles.insert(name.clone(), profile);
        }
        Ok(Self { path: reading.path, home: reading.home, resolved, profiles, notify })
    }

    /// The files and paths that the keys of profiles name and that are not there, by line.
    pub fn missing(&self) -> Result<BTreeSet<Missing>, ConfigError> {
        let reading = Reading { path: self.path.clone(), home: self.home.clone(), by_variables: false };
        let mut missing = BTreeSet::new();
        for name in self.profiles.keys() {
            keys::missing(&reading, &self.resolved[name], &mut missing)?;
        }
        Ok(missing)
    }

    /// The profiles of these names; without names all that have something to do.
    pub fn to_run(&self, names: &[String]) -> Result<Vec<&Profile>, ConfigError> {
        if names.is_empty() {
            let all: Vec<&Profile> = self.profiles.values().filter(|profile| !profile.acts().is_empty()).collect();
            return if all.is_empty() { Err(ConfigError::Nothing { path: self.path.clone() }) } else { Ok(all) };
        }
        let mut wanted: Vec<&Profile> = Vec::new();
        for name in names {
            let profile = self.profile(name)?;
            if profile.acts().is_empty() {
                return Err(ConfigError::Idle { path: self.path.clone(), name: name.clone() });
            }
            if !wanted.iter().any(|other| other.name == *name) {
                wanted.push(profile);
            }
        }
        Ok(wanted)
    }

    /// The profiles that no other uses.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }

    /// The notifications of a profile.
    pub fn notify_of<'c>(&'c self, profile: &'c Profile) -> impl Iterator<Item = (&'c str, &'c Notify)> {
        profile.own.notify.iter().filter_map(|name| Some((name.as_str(), self.notify.get(name)?)))
    }

    pub fn profile(&self, name: &str) -> Result<&Profile, ConfigError> {
        let (path, name) = (self.path.clone(), name.to_owned());
        match self.profiles.get(&name) {
            Some(profile) => Ok(profile),
            None if self.resolved.contains_key(&name) => Err(ConfigError::Used { path, name }),
            None => Err(ConfigError::NoProfile { path, name }),
        }
    }

    /// Profiles as TOML, with all that they take from others; all if none is named.
    pub fn shown(&self, names: &[String]) -> Result<BTreeMap<&str, String>, ConfigError> {
        if let Some(name) = names.iter().find(|name| !self.resolved.contains_key(*name)) {
            return Err(ConfigError::NoProfile { path: self.path.clone(), name: name.clone() });
        }
        let is_wanted = |name: &String| names.is_empty() || names.contains(name);
        let wanted = self.resolved.iter().filter(|(name, _)| is_wanted(name));
        Ok(wanted.map(|(name, section)| (name.as_str(), section.shown(&format!("profiles.{name}")))).collect())
    }
}

/// Profiles, joined with those that they use: each once, however many use it.
struct Joining<'a> {
    reading: &'a Reading,
    given: &'a BTreeMap<String, Section>,
    used: BTreeSet<String>,
    /// Joined profiles, each with the length of the longest chain below it.
    done: BTreeMap<String, (usize, Section)>,
    /// The bytes that profiles have taken from others.
    taken: usize,
}

impl Joining<'_> {
    /// A profile with the keys of those that it uses: later ones override earlier ones, and its own keys override all.
    fn join(&mut self, name: &str, above: &mut Vec<String>) -> Result<(), ConfigError> {
        if self.done.contains_key(name) {
            return Ok(());
        }
        let section = &self.given[name];
        let (mut length, mut whole) = (1, Section::empty(section.line));
        above.push(name.to_owned());
        if let Some(uses) = section.get("use") {
            for other in uses.texts() {
                let wrong = |why: String| Err(self.reading.wrong(uses.line, why));
                if !self.given.contains_key(other) {
                    return wrong(format!("there is no profile {other:?} to use"));
                }
                if above.iter().any(|one| one == other) {
                    return wrong(format!("{other:?} uses itself: {}", above.join(", ")));
                }
                self.used.insert(other.to_owned());
                if above.len() < CHAIN_MOST {
                    self.join(other, above)?;
                }
                let Some((below, other)) = self.done.get(other).filter(|(below, _)| *below < CHAIN_MOST) else {
                    return wrong(format!("profiles use each other in a chain of more than {CHAIN_MOST}"));
                };
                length = length.max(below + 1);
                self.taken += other.weight();
                if self.taken > TAKEN_MOST {
                    return wrong(format!("profiles take more than {} MiB from each other", TAKEN_MOST >> 20));
                }
                whole.take_from(other);
            }
        }
        above.pop();
        whole.take_from(section);
        whole.remove("use");
        self.done.insert(name.to_owned(), (length, whole));
        Ok(())
    }
}

/// The paths at which the program looks for a configuration if no option names one.
fn places(home: Option<&Path>) -> Vec<PathBuf> {
    let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = configuration.or_else(|| own_configuration(home));
    own.into_iter().chain(system_configuration()).map(|path| path.join("copal/copal.toml")).collect()
}

/// Reads the file that is named, or the first of the usual ones. It decides what is run, with whose rights, and what is
/// forgotten, so only root and this user may be able to change it.
fn read(named: Option<PathBuf>, home: Option<&Path>) -> Result<(PathBuf, String), ConfigError> {
    let looked = places(home);
    let path = match named {
        Some(path) => path,
        None => looked.iter().find(|path| path.exists()).cloned().ok_or(ConfigError::Missing { looked })?,
    };
    match guarded::read(&path, LONGEST) {
        Ok(text) => Ok((path, text)),
        Err(NotGuarded::Writable(place)) => Err(ConfigError::Writable { path, place }),
        Err(NotGuarded::Io(cause)) => Err(ConfigError::Unreadable { path, cause }),
    }
}

/// Names go into file names and names of units.
fn is_name(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
    (1..=64).contains(&name.len()) && name.chars().all(is_sign) && !name.starts_with('-')
}

const LONGEST: u64 = 1 << 20;
const CHAIN_MOST: usize = 16;
const TAKEN_MOST: usize = 16 << 20;

#[cfg(test)]
mod tests;
