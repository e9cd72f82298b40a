//! Clients: the results of `client`. Field names are stable (`docs/cli.md`).

use std::io::{self, Write};

use copal_engine::client::Role;
use copal_engine::id::{ClientId, DomainId, RepositoryId};
use serde::Serialize;

use super::field::{Hex, Stamp};
use super::human::{self, Table};
use super::{Answer, List};

/// What a client may do.
#[derive(Serialize, Copy, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum RoleField {
    /// It may do everything.
    Full,
    /// It may only save.
    WriteOnly,
}

impl RoleField {
    /// The role as text for people.
    pub fn human(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::WriteOnly => "write-only",
        }
    }
}

impl From<Role> for RoleField {
    fn from(role: Role) -> Self {
        match role {
            Role::Full => Self::Full,
            Role::WriteOnly => Self::WriteOnly,
        }
    }
}

/// The client that signed a snapshot or manifest, in a list.
#[derive(Serialize, Clone, Debug)]
pub struct SignerField {
    /// Its id.
    pub client: Hex<ClientId>,
    /// Its name as the owner registered it, or its id without a name.
    pub client_name: String,
    /// What it may do.
    pub role: RoleField,
    /// The host that a write-only client claims to be, if that differs from its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_host: Option<String>,
}

impl SignerField {
    /// The client as text for people.
    pub fn human(&self) -> String {
        let (name, role) = (human::text(&self.client_name), self.role.human());
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
    pub client: Hex<ClientId>,
    /// Its name.
    pub name: &'a str,
    /// What it may do.
    pub role: RoleField,
    /// The domain it will write to.
    pub domain: Hex<DomainId>,
    /// The line for `client join`.
    pub line: &'a str,
    /// The link for a browser, if it was asked for.
    pub link: Option<&'a str>,
}

impl Answer for EnrollmentSummary<'_> {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.link.unwrap_or(self.line))
    }
}

/// The result of `client join`.
#[derive(Serialize, Clone, Debug)]
pub struct JoinSummary {
    /// The id of this machine's client.
    pub client: Hex<ClientId>,
    /// What it may do.
    pub role: RoleField,
    /// The repository.
    pub repository_id: Hex<RepositoryId>,
    /// Its location.
    pub repository: String,
}

impl Answer for JoinSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let (client, repository) = (self.client.short(), human::text(&self.repository));
        writeln!(out, "this machine is now {} client {client} of {repository}", self.role.human())
    }
}

/// A client in a list.
#[derive(Serialize, Clone, Debug)]
pub struct ClientRow {
    /// Its id.
    pub id: Hex<ClientId>,
    /// Its name; empty if unknown.
    pub name: String,
    /// What it may do.
    pub role: Option<RoleField>,
    /// The domain it writes to.
    pub domain: Option<Hex<DomainId>>,
    /// Whether that is the domain that full clients share.
    pub shared: Option<bool>,
    /// Whether it has joined.
    pub joined: Option<bool>,
    /// When this version of its record was made.
    pub created: Option<Stamp>,
    /// The number of the last of its manifests that was accepted.
    pub last_manifest: Option<u64>,
    /// The time of that manifest.
    pub last_time: Option<Stamp>,
    /// The number of the last good manifest of a client that was revoked.
    pub revoked: Option<u64>,
    /// What is wrong with its record.
    pub problem: Option<String>,
}

impl List for ClientRow {
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(&["ID", "Name", "Role", "Data", "State", "Last accepted"]);
        for row in rows {
            let state = match (&row.problem, row.revoked, row.joined) {
                (Some(problem), ..) => format!("damaged: {}", human::text(problem)),
                (None, Some(0), _) => "revoked".to_owned(),
                (None, Some(number), _) => format!("revoked after manifest {number}"),
                (None, None, Some(false)) => "waits to join".to_owned(),
                (None, None, _) => String::new(),
            };
            let data = row.shared.map_or("", |shared| if shared { "shared" } else { "its own" });
            table.row(vec![
                row.id.short(),
                human::text(&row.name),
                row.role.map_or("", RoleField::human).to_owned(),
                data.to_owned(),
                state,
                row.last_time.map_or_else(|| "never".to_owned(), |time| human::time(time.0)),
            ]);
        }
        table.write(out)
    }
}

/// The result of `client revoke`.
#[derive(Serialize, Clone, Debug)]
pub struct RevokeSummary {
    /// The client.
    pub client: Hex<ClientId>,
    /// The number of its last good manifest; 0 if none is good.
    pub last_good: u64,
    /// The version of its record.
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
