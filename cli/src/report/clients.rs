//! Clients: the results of `client`. Field names are stable; `docs/cli.md` explains each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Duration;

use copal_client::history::Snapshot;
use copal_format::client::Role;
use copal_format::id::{ClientId, DomainId, RepositoryId};
use serde::Serialize;

use super::field::Stamp;
use super::human;
use super::{Answer, Columns};

/// The client that signed a snapshot or manifest, in a list.
#[derive(Serialize, Clone, Debug)]
pub struct SignerField {
    pub client: ClientId,
    pub client_name: String,
    pub role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_host: Option<String>,
}

impl SignerField {
    pub fn of(snapshot: &Snapshot) -> Self {
        let (signer, claimed) = (&snapshot.signer, &snapshot.info.host);
        let is_its_own = signer.role.machine(claimed, &signer.name) == *claimed;
        Self {
            client: signer.id,
            client_name: signer.name.clone(),
            role: signer.role,
            claimed_host: (!is_its_own).then(|| claimed.clone()),
        }
    }

    /// The signers of a list's rows, in their order; each with its id if another one has its name.
    pub fn column<'r>(rows: impl Iterator<Item = &'r Self> + Clone) -> impl Iterator<Item = String> {
        let mut ids: BTreeMap<&str, BTreeSet<ClientId>> = BTreeMap::new();
        for row in rows.clone() {
            ids.entry(&row.client_name).or_default().insert(row.client);
        }
        rows.map(move |row| match ids[row.client_name.as_str()].len() {
            1 => row.human(),
            _ => format!("{} {}", row.human(), row.client.short()),
        })
    }

    pub fn human(&self) -> String {
        let (name, role) = (human::text(&self.client_name), self.role);
        match &self.claimed_host {
            Some(claimed) => format!("{name} ({role}, says it is \"{}\")", human::text(claimed)),
            None => format!("{name} ({role})"),
        }
    }
}

/// An enrollment, shown once.
#[derive(Serialize)]
pub struct EnrollmentSummary<'a> {
    /// The client that waits to be joined.
    pub client: ClientId,
    pub name: &'a str,
    pub role: Role,
    pub domain: DomainId,
    pub expires: Stamp,
    pub line: &'a str,
    pub link: Option<&'a str>,
}

impl Answer for EnrollmentSummary<'_> {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.link.unwrap_or(self.line))
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct JoinSummary {
    pub client: ClientId,
    pub role: Role,
    pub repository_id: RepositoryId,
    pub repository: String,
}

impl Answer for JoinSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let (client, repository) = (self.client.short(), human::text(&self.repository));
        writeln!(out, "this machine is now {} client {client} of {repository}", self.role)
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct ClientRow {
    pub id: ClientId,
    /// Its name; empty if unknown.
    pub name: String,
    pub role: Option<Role>,
    pub domain: Option<DomainId>,
    pub shared: Option<bool>,
    pub joined: Option<bool>,
    pub expires: Option<Stamp>,
    /// The time left to join; none if it may not join any more.
    #[serde(skip)]
    pub left: Option<Duration>,
    pub joined_late: bool,
    pub created: Option<Stamp>,
    pub last_manifest: Option<u64>,
    pub last_time: Option<Stamp>,
    /// Whether an accepted manifest may lie behind many rejected ones.
    #[serde(skip)]
    pub last_is_unknown: bool,
    pub revoked: Option<u64>,
    pub problem: Option<String>,
}

impl ClientRow {
    fn invited(&self) -> String {
        match (self.expires, self.left.map(|left| left.as_secs().div_ceil(3_600))) {
            (None, _) => "invited".to_owned(),
            (Some(_), None) => "invited, expired".to_owned(),
            (Some(_), Some(hours)) if hours > 48 => format!("invited, ends in {} days", hours / 24),
            (Some(_), Some(hours)) if hours > 1 => format!("invited, ends in {hours} hours"),
            (Some(_), Some(_)) => "invited, ends within an hour".to_owned(),
        }
    }
}

impl Columns for ClientRow {
    const COLUMNS: &[&str] = &["ID", "Name", "Role", "Data", "State", "Last accepted"];

    fn cells(&self) -> Vec<String> {
        let state = match (&self.problem, self.revoked, self.joined) {
            (Some(problem), ..) => format!("damaged: {}", human::text(problem)),
            (None, Some(0), _) => "revoked".to_owned(),
            (None, Some(number), _) => format!("revoked after manifest {number}"),
            (None, None, Some(false)) => self.invited(),
            (None, None, _) if self.joined_late => "joined too late: nothing of it counts".to_owned(),
            (None, None, _) => String::new(),
        };
        let last = match (self.last_time, self.last_is_unknown) {
            (Some(time), _) => human::time(time.0),
            (None, true) => "unknown".to_owned(),
            (None, false) => "never".to_owned(),
        };
        let data = self.shared.map_or("", |shared| if shared { "shared" } else { "its own" });
        vec![
            self.id.short(),
            human::text(&self.name),
            self.role.map(|role| role.to_string()).unwrap_or_default(),
            data.to_owned(),
            state,
            last,
        ]
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct RevokeSummary {
    pub client: ClientId,
    /// The number of its last good manifest; 0 if none is good.
    pub last_good: u64,
    pub version: u64,
}

impl Answer for RevokeSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let client = self.client.short();
        match self.last_good {
            0 => writeln!(out, "client {client} is revoked; nothing of it counts"),
            number => writeln!(out, "client {client} is revoked; its manifests up to {number} count"),
        }
    }
}
