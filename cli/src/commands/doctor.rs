//! `doctor`: checks everything that a backup needs on this machine, and gives a remedy for each fault.

use std::path::Path;
use std::time::Duration;

use copal_client::clock::now;
use copal_client::repository::{Access, LocalClient, Repository, survey_slots};
use copal_client::wait::wait;
use copal_format::id::ClientId;
use copal_format::keys::slot::SlotKind;
use copal_format::state::{PackRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::clients;
use copal_jobs::view::{self, Parts, View};
use copal_store::Store;

use super::context::Context;
use super::failure::FORMAT;
use super::opening::{Opened, Opening};
use crate::exit::Exit;
use crate::report::rows::Finding;
use crate::report::{Failure, human};
use crate::system::open_rights;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let mut visit = Visit { findings: Vec::new(), exit: Exit::Done };
    visit.found("program", Ok(format!("copal {} (format {FORMAT})", env!("CARGO_PKG_VERSION"))));
    match context.places() {
        Ok(places) => {
            visit.directory("state directory", places.state());
            visit.directory("cache directory", places.cache());
            visit.repository(context);
        }
        Err(failure) => visit.found("state directory", Err(failure)),
    }
    context.report.list(&visit.findings)?;
    Ok(visit.exit)
}

struct Visit {
    findings: Vec<Finding>,
    exit: Exit,
}

impl Visit {
    fn found(&mut self, check: &'static str, found: Result<String, Failure>) {
        match found {
            Ok(found) => self.findings.push(Finding { check, ok: true, found, remedy: None }),
            Err(failure) => {
                let remedy = failure.advice().map(str::to_owned);
                self.findings.push(Finding { check, ok: false, found: failure.text(), remedy });
                self.ends(failure.exit());
            }
        }
    }

    fn warn(&mut self, check: &'static str, found: String, remedy: &str) {
        self.findings.push(Finding { check, ok: false, found, remedy: Some(remedy.to_owned()) });
        self.ends(Exit::Failed);
    }

    /// Remembers the worst exit code: damage, else the first failure.
    fn ends(&mut self, exit: Exit) {
        if self.exit == Exit::Done || exit == Exit::Damage {
            self.exit = exit;
        }
    }

    fn directory(&mut self, check: &'static str, path: &Path) {
        let shown = path.display();
        if !path.exists() {
            return self.found(check, Ok(format!("{shown} (made when it is needed)")));
        }
        match tempfile(path).and_then(|()| open_rights(path)) {
            Ok(None) => self.found(check, Ok(shown.to_string())),
            Ok(Some(mode)) => {
                self.warn(
                    check,
                    format!("others may look into {shown} (mode {mode:o})"),
                    &format!("\"chmod 700 {shown}\""),
                );
            }
            Err(cause) => self.found(check, Err(Failure::io("write", path, cause))),
        }
    }

    fn repository(&mut self, context: &Context<'_>) {
        let backend = match context.backend() {
            Ok(backend) => backend,
            Err(failure) => return self.found("repository", Err(failure)),
        };
        self.found("repository", Ok(backend.location().to_string()));
        let rights = match backend.is_behind_gateway() {
            true => Ok("its server decides what this machine may do".to_owned()),
            false => backend.probe().map(|()| "objects can be created and never replaced".to_owned()),
        };
        self.found("rights", rights.map_err(Failure::from));
        let opened = Opening::find(context, &backend).and_then(|opening| opening.open(context, &backend));
        let opened = match opened {
            Ok(opened) => opened,
            Err(failure) => return self.found("key", Err(failure)),
        };
        self.opened(context, &opened).unwrap_or_else(|failure| self.found("state", Err(failure)));
    }

    fn opened(&mut self, context: &Context<'_>, opened: &Opened) -> Result<(), Failure> {
        let (access, client) = match opened {
            Opened::Owner(repository) => {
                self.keys(repository)?;
                (Access::Owner(repository), LocalClient::id_in(repository.state_dir()))
            }
            Opened::WriteOnly(enrolled) => {
                let client = enrolled.credentials.client;
                self.found("key", Ok(format!("this machine is write-only, client {}", client.short())));
                (Access::WriteOnly(enrolled), Some(client))
            }
        };
        let record = client.map(|client| wait(clients::read(&access.job(), client))).transpose();
        let record = record.map(Option::flatten).unwrap_or_else(|error| {
            self.found("client", Err(error.into()));
            None
        });
        if let Some(revoked) = record.filter(|record| record.revoked.is_some()) {
            let remedy = "if this machine is to save again, let it join again: \"copal client add\", then \"copal client join\" here";
            self.warn(
                "client",
                format!("client {} of this machine is revoked: it saves nothing", revoked.client.short()),
                remedy,
            );
        }
        let store = access.store().as_ref();
        let time = self.clock(store)?;
        let view = wait(view::read_parts(store, &Parts::RECORDS))?;
        let (store, state_dir, clients) = opened.met(context)?;
        let older = context.older(store, &state_dir, &view, &clients)?.into_iter().next();
        let state = format!("as new as this machine has ever seen it (root {})", view.number());
        self.found("state", older.map_or(Ok(state), |(object, why)| Err(Failure::Older { object, why })));
        self.packs(&view, time, matches!(opened, Opened::Owner(_)));
        self.backup(&view, time, client);
        Ok(())
    }

    /// Compares the clocks; returns the time by the store's.
    fn clock(&mut self, store: &dyn Store) -> Result<Time, Failure> {
        let there = match wait(store.now()) {
            Err(error) if error.refuses_writes() => {
                self.found("clock", Ok("not known: the repository takes no writes from here".into()));
                return Ok(now());
            }
            there => Time(there?.0),
        };
        let off = now().0.saturating_sub(there.0);
        let by = human::duration(off.unsigned_abs() as f64 / 1e9);
        match off.unsigned_abs() <= CLOCK_OFF.as_nanos() as u64 {
            true => self.found("clock", Ok(format!("{by} off the repository's"))),
            false => {
                let side = if off > 0 { "ahead of" } else { "behind" };
                self.warn("clock", format!("{by} {side} the repository's"), "set this machine's clock");
            }
        }
        Ok(there)
    }

    fn keys(&mut self, repository: &Repository) -> Result<(), Failure> {
        let slots = survey_slots(repository.store().as_ref())?;
        let kinds: Vec<SlotKind> = slots.iter().filter_map(|slot| Some(slot.slot.as_ref()?.kind())).collect();
        let of = |kind| kinds.iter().filter(|&&other| other == kind).count() as u64;
        let found = [
            human::things(of(SlotKind::Passphrase), "passphrase", "passphrases"),
            human::things(of(SlotKind::KeyFile), "key file", "key files"),
            human::things(of(SlotKind::RecoveryCode), "recovery code", "recovery codes"),
        ];
        let found = found.join(", ");
        if let Some((object, why)) = slots.iter().flat_map(|slot| &slot.faults).next() {
            let cause = why.to_string().into();
            self.found("key", Err(Failure::Damaged { object: object.clone(), cause }));
        } else if of(SlotKind::RecoveryCode) == 0 {
            self.warn("key", found, "\"copal key recovery\" makes a recovery code, for when the passphrase is lost");
        } else {
            self.found("key", Ok(found));
        }
        Ok(())
    }

    /// Reports what checks found in the packs, and how long ago they were read.
    fn packs(&mut self, view: &View, now: Time, is_owner: bool) {
        let packs = || view.state.packs.values();
        let harmed = packs().filter(|pack| pack.is_missing || pack.is_damaged).count() as u64;
        if harmed > 0 {
            let found = human::things(harmed, "pack is missing or damaged", "packs are missing or damaged");
            self.warn("packs", found, "\"copal check --full\" says which files that hits and what to do");
            return self.ends(Exit::Damage);
        }
        let seen = |pack: &PackRecord| pack.read.0.max(pack.accepted.0);
        let late = packs().filter(|pack| age(now, Time(seen(pack))) > UNREAD).count() as u64;
        let all = human::things(packs().count() as u64, "pack", "packs");
        match late {
            0 => self.found("packs", Ok(format!("{all}, each written or read within {} days", days(UNREAD)))),
            _ if !is_owner => self.found("packs", Ok(all)),
            late => {
                let found = format!("{} of {all} not read for {} days", human::count(late), days(UNREAD));
                self.warn("packs", found, "\"copal check --read-data-share 1/30\" each day reads all in a month");
            }
        }
    }

    fn backup(&mut self, view: &View, now: Time, client: Option<ClientId>) {
        let snapshots = view.state.snapshots.iter();
        let own = snapshots
            .filter(|(key, record)| Some(key.0) == client && record.state == SnapshotState::Kept && !record.partial);
        match own.map(|(_, record)| record.accepted).max() {
            None => self.warn("backup", "this machine has made no snapshot".into(), "run \"copal backup\""),
            Some(last) => {
                let found = format!("the newest of this machine is of {}", human::time(last));
                match age(now, last) <= STALE {
                    true => self.found("backup", Ok(found)),
                    false => self.warn("backup", found, "run \"copal backup\", and see why no schedule does"),
                }
            }
        }
    }
}

fn tempfile(directory: &Path) -> std::io::Result<()> {
    let path = directory.join(format!(".doctor-{}", std::process::id()));
    // Does not follow a link that another user may have put there.
    std::fs::File::create_new(&path)?;
    std::fs::remove_file(path)
}

fn age(now: Time, time: Time) -> Duration {
    Duration::from_nanos(now.0.saturating_sub(time.0).max(0) as u64)
}

fn days(span: Duration) -> u64 {
    span.as_secs() / 86_400
}

/// A gateway refuses a clock that is off by more than a minute.
const CLOCK_OFF: Duration = Duration::from_secs(60);
/// A machine should back up at least this often.
const STALE: Duration = Duration::from_secs(7 * 86_400);
/// A pack should be read at least this often.
const UNREAD: Duration = Duration::from_secs(90 * 86_400);
