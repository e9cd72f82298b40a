//! Client: commands about the machines that save to the repository.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::values::{BadValue, Span};

#[derive(Subcommand, Debug)]
pub enum Client {
    /// Let another machine join: prints one line, and a QR code, for "client join" there; or a link for a browser.
    ///
    /// Whoever has the line or link first may use it, once. Send it by a way that nobody else reads, or read the QR code off the
    /// screen; with --json or --quiet there is no QR code.
    Add(Add),
    /// Make this machine a client, with the line or link that "client add" printed.
    ///
    /// The line is asked for, or read from standard input or a file. A write-only client needs no passphrase, now or
    /// later; a full one needs it to join, too.
    Join(Join),
    /// List the machines that may save to the repository, or might once.
    List,
    /// Revoke a machine: accept nothing more from it.
    ///
    /// What it saved until then stays, unless --last-good says otherwise. An enrollment that nobody has used is
    /// withdrawn.
    Revoke(Revoke),
}

#[derive(Args, Debug)]
pub struct Add {
    /// Its name in lists.
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub name: String,
    /// What it may do: everything, with the passphrase; or save, and neither read nor forget.
    #[arg(long, value_name = "ROLE", value_enum)]
    pub role: Role,
    /// Whether it shares data with the full clients; a write-only client has data of its own [default: shared for full clients].
    #[arg(long, value_name = "HOW", value_enum)]
    pub dedup: Option<Dedup>,
    /// How long the line or link may be used, at most 90d.
    ///
    /// A client that joins later is accepted by nobody: neither the gateway nor an ingest believes it.
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = open)]
    pub expires: Span,
    /// Print a link instead of the line: it opens the web app that the gateway at this address serves, and joins there [default address: that of the repository, if it is a gateway].
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "")]
    pub page: Option<OsString>,
}

/// How long an enrollment is open: at most 90 days.
fn open(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: BadValue| error.to_string())?;
    let is_possible = !span.0.is_zero() && span.0 <= Duration::from_secs(90 * 86_400);
    if is_possible { Ok(span) } else { Err("an enrollment is open for 90d at most, and not for 0s".into()) }
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Knows the passphrase: may do everything.
    Full,
    /// Saves, and can neither read nor forget; a service, or a full client, accepts what it saves.
    WriteOnly,
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Dedup {
    /// With the full clients that do so too.
    Shared,
    /// With nobody.
    Isolated,
}

#[derive(Args, Debug)]
pub struct Join {
    /// File that holds the line or link; "-" is standard input [default: asked for].
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Revoke {
    /// Its name, or the first digits of its id, at least four.
    #[arg(value_name = "CLIENT")]
    pub client: String,
    /// Number of the last of its manifests that is good [default: the last that was accepted].
    ///
    /// Snapshots of later ones stay listed until they are forgotten, and a rebuilt index leaves them out.
    #[arg(long, value_name = "N")]
    pub last_good: Option<u64>,
    /// Revoke also the client of this machine, which then saves nothing until it joins again.
    #[arg(long)]
    pub own: bool,
}
