//! The address of a directory that ssh reaches, and the ssh program that goes there.

use std::ffi::OsString;
use std::fmt;
use std::process::Command;

/// `[USER@]HOST[:PORT]/PATH`, as in an `ssh://` or `sftp://` address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    /// `host` or `user@host`.
    pub host: String,
    /// The port, if not ssh's own.
    pub port: Option<u16>,
    /// The directory there.
    pub path: String,
}

impl SshAddress {
    /// Parses what follows `ssh://`.
    pub fn parse(rest: &str) -> Option<Self> {
        let (authority, path) = rest.split_once('/')?;
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (authority, None),
        };
        // ssh would take a name that begins with a dash for an option.
        let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
        let is_sound = |text: &str| !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace);
        let is_complete = is_sound(host) && is_sound(name) && !path.is_empty();
        is_complete.then(|| Self { host: host.to_owned(), port, path: format!("/{path}") })
    }

    /// The ssh program with the port; the caller adds the host and what to run there.
    pub fn command(&self) -> Command {
        let mut command = Command::new(program());
        if let Some(port) = self.port {
            command.arg("-p").arg(port.to_string());
        }
        command
    }
}

/// What follows `ssh://`.
impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)
    }
}

/// `COPAL_SSH`, or `ssh`: the user's keys, known hosts and configuration count.
pub fn program() -> OsString {
    std::env::var_os("COPAL_SSH").filter(|program| !program.is_empty()).unwrap_or_else(|| "ssh".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_machine_and_a_directory() {
        let parse = |text| SshAddress::parse(text);
        let address =
            |host: &str, port, path: &str| Some(SshAddress { host: host.to_owned(), port, path: path.to_owned() });
        assert_eq!(parse("host/srv/backup"), address("host", None, "/srv/backup"));
        assert_eq!(parse("me@host:2222/b"), address("me@host", Some(2222), "/b"));
        assert_eq!(parse("me@host:2222/b").expect("an address").to_string(), "me@host:2222/b");
        for wrong in ["host", "host/", "/path", "host:x/path", "-oProxyCommand=x/path", "me@-x/path", "a b/path"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
