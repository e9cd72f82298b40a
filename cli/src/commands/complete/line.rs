//! Line: a half-written command line, and the repository and configuration that it names.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::sync::OnceLock;

use clap::{CommandFactory, FromArgMatches};
use copal_client::backend::Backend;
use copal_client::history::{History, pages};
use copal_client::location::Location;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_format::id::SnapshotId;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::view::{self, Parts};
use zeroize::Zeroizing;

use super::Offer;
use crate::args::global::Global;
use crate::args::look::Narrow;
use crate::args::spec::SnapshotSpec;
use crate::args::{CommandLine, without_empty};
use crate::commands::context::{Context, input};
use crate::commands::known::{Known, of_cache};
use crate::commands::{config, place};
use crate::look::is_directory;
use crate::look::listing::{Depth, Listing};
use crate::pick::{self, Intent};
use crate::report::{Printer, human};
use crate::secrets::Person;

pub(super) struct Line {
    global: Global,
    report: Printer,
    known: OnceLock<Vec<Known>>,
}

impl Line {
    /// Takes the global options from the words written so far, and from the profile that they name.
    pub(super) fn read(words: &[OsString]) -> Self {
        let command = CommandLine::command().mut_args(without_empty).ignore_errors(true);
        let found = command.try_get_matches_from(words).ok();
        let mut global = found.and_then(|found| Global::from_arg_matches(&found).ok()).unwrap_or_default();
        global.quiet = true;
        let report = Printer::new(&global);
        if let Some(name) = global.from.profile.clone().filter(|name| !name.is_empty())
            && let Ok(config) = config::read(&global)
            && let Ok(profile) = config.profile(&name)
        {
            global = config::joined(&Context::new(&global, &report), profile);
        }
        Self { global, report, known: OnceLock::new() }
    }

    fn context(&self) -> Context<'_> {
        Context::new(&self.global, &self.report)
    }

    pub(super) fn profiles(&self) -> Vec<Offer> {
        let config = config::read(&self.global);
        config
            .into_iter()
            .flat_map(|config| config.profiles().map(|of| of.name.clone()).collect::<Vec<_>>())
            .map(Offer::plain)
            .collect()
    }

    pub(super) fn tags(&self) -> Vec<Offer> {
        let tags: BTreeSet<&String> = self.known().iter().flat_map(|known| &known.tags).collect();
        tags.into_iter().cloned().map(Offer::plain).collect()
    }

    /// `latest` and the ids of snapshots, the newest first.
    pub(super) fn snapshots(&self) -> Vec<Offer> {
        let offer = |known: &Known| {
            let words =
                [human::time(Time(known.time)), known.host.clone(), known.paths.join(" "), known.tags.join(" ")];
            let words: Vec<String> =
                words.iter().filter(|word| !word.is_empty()).map(|word| human::text(word)).collect();
            Offer {
                value: SnapshotId::from_hex(&known.id).map(|id| id.short()).unwrap_or_default(),
                help: words.join("  "),
            }
        };
        let latest = Offer { value: "latest".into(), help: "the newest of this machine".into() };
        std::iter::once(latest).chain(self.known().iter().rev().map(offer)).collect()
    }

    /// Snapshots, or after a colon the paths in one.
    pub(super) fn places(&self, begun: &str) -> Vec<Offer> {
        if begun.contains(':') { self.paths(begun).unwrap_or_default() } else { self.snapshots() }
    }

    fn known(&self) -> &[Known] {
        self.known.get_or_init(|| {
            let (context, Ok(places)) = (self.context(), self.context().places()) else { return Vec::new() };
            let caches = context.met().into_iter().map(|id| places.cache().join(id.to_string()));
            let kept: Vec<Known> = caches.flat_map(|cache| of_cache(&cache)).collect();
            self.of_directory(&kept).unwrap_or(kept)
        })
    }

    /// The snapshots of a repository in a directory. Its state has ids and times, which need no key.
    fn of_directory(&self, kept: &[Known]) -> Option<Vec<Known>> {
        let view = wait(view::read_parts(self.directory()?.store().as_ref(), &Parts::RECORDS)).ok()?;
        let is_there = |of: &&SnapshotRecord| of.state == SnapshotState::Kept && !of.partial;
        let known = |record: &SnapshotRecord| {
            let id = record.id.to_string();
            let before = kept.iter().find(|known| known.id == id).cloned();
            before.unwrap_or_else(|| Known { id, time: record.accepted.0, ..Known::default() })
        };
        let mut all: Vec<Known> = view.state.snapshots.values().filter(is_there).map(known).collect();
        all.sort_by_key(|known| known.time);
        Some(all)
    }

    /// The repository's directory; none for other repositories, which may take long to answer.
    fn directory(&self) -> Option<Backend> {
        let location = self.context().location().ok().filter(|at| matches!(at, Location::Directory(_)))?;
        Backend::open(&location, &self.context().backend_options()).ok()
    }

    /// The entries of a directory in a snapshot; none unless an option or a variable gives a key or passphrase.
    fn paths(&self, begun: &str) -> Option<Vec<Offer>> {
        let context = self.context();
        let above = &begun[..begun.rfind(['/', ':'])? + 1];
        let credential = context.secrets().without_questions().existing(&mut Nobody).ok()?;
        let places = context.places().ok()?;
        let backend = self.directory()?;
        let repository = Repository::open(&backend, &input(&credential).ok()?, |id| places.state_of(id)).ok()?;
        let view = wait(view::read(repository.store().as_ref())).ok()?;
        let history = History::read(&repository, &view).ok()?;
        let is_bare = above.ends_with(':');
        let spec = SnapshotSpec::parse(above.trim_end_matches(':').as_bytes()).ok()?;
        let here = context.here(&repository);
        let snapshot = *pick::find(&history, &spec.which, &Narrow::default(), &here, Intent::Read).ok()?.first()?;
        let pages = pages(&repository, &view, snapshot.domain);
        // A path without a slash is tried below what was backed up.
        let directories = match is_bare {
            true => snapshot.sources(),
            false => vec![place::locate(&pages, snapshot, spec.path.as_ref()).ok()?.path().clone()],
        };
        let mut offers = Vec::new();
        for directory in directories {
            let mut listing = Listing::new(&pages, snapshot.root, directory, Depth::Children);
            while let Some(entry) = listing.next_readable().ok()?.filter(|_| offers.len() < PATHS_MOST) {
                let name = entry.path.as_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
                let Ok(name) = std::str::from_utf8(name) else { continue };
                let end = if is_directory(&entry) { "/" } else { "" };
                offers.push(Offer::plain(format!("{above}{name}{end}")));
            }
        }
        Some(offers)
    }
}

struct Nobody;

impl Person for Nobody {
    fn ask(&mut self, _: &str) -> io::Result<Option<Zeroizing<String>>> {
        Ok(None)
    }
}

const PATHS_MOST: usize = 1_000;
