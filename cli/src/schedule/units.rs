//! Units: a service and a timer of systemd for a profile.

use std::fmt::Write;
use std::path::{Component, Path};

use super::{BadJob, Job, MARK, printed};

/// The name of a profile's units, without `.service` or `.timer`.
pub fn unit(profile: &str) -> String {
    format!("copal-{profile}")
}

pub fn service(job: &Job) -> Result<String, BadJob> {
    let mut text = format!("{MARK}\n[Unit]\nDescription=Copal: profile {}\n", job.profile);
    if job.is_system {
        text.push_str("Wants=network-online.target\nAfter=network-online.target\n");
        // The unit waits for the disks of repositories, and starts also if one is missing: the run then tells of it and
        // uses the others. RequiresMountsFor= would stop it, and systemd before 256 does not know WantsMountsFor=.
        for repository in &job.repositories {
            let mounts: Vec<String> = repository.ancestors().filter_map(mount).collect();
            let mounts = mounts.join(" ");
            writeln!(text, "Wants={mounts}\nAfter={mounts}").expect("memory takes every byte");
        }
    }
    let words: Result<Vec<String>, BadJob> = job.words()?.into_iter().map(|word| quoted(&word, true)).collect();
    text.push_str("\n[Service]\nType=oneshot\nNotifyAccess=main\n");
    writeln!(text, "ExecStart={}", words?.join(" ")).expect("memory takes every byte");
    for (name, value) in &job.variables {
        writeln!(text, "Environment={}", quoted(&format!("{name}={value}"), false)?).expect("memory takes every byte");
    }
    text.push_str(ALWAYS);
    if job.is_unconfined {
        text.push_str("# A sandbox could break the commands that the profile starts, or its watcher: no sandbox.\n");
        return Ok(text);
    }
    text.push_str(CONFINED);
    if job.is_system {
        text.push_str(SYSTEM);
        for directory in job.own.iter().chain(&job.written) {
            // With the `-`, the unit starts even if the directory does not exist yet.
            writeln!(text, "ReadWritePaths=-{}", path(directory)?).expect("memory takes every byte");
        }
    }
    Ok(text)
}

pub fn timer(job: &Job) -> String {
    let (profile, at, jitter) = (&job.profile, &job.schedule.at, job.schedule.jitter.0.as_secs());
    format!(
        "{MARK}\n[Unit]\nDescription=Copal: profile {profile}, by the clock\n\n[Timer]\nOnCalendar={at}\n\
         RandomizedDelaySec={jitter}s\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )
}

/// The unit that mounts this directory, if one does; none for the root directory. The name is what `systemd-escape -p`
/// makes of the path.
fn mount(directory: &Path) -> Option<String> {
    let names = directory.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_encoded_bytes()),
        _ => None,
    });
    let mut unit = String::new();
    for name in names {
        if !unit.is_empty() {
            unit.push('-');
        }
        for &byte in name {
            match byte {
                b'.' if unit.is_empty() => unit.push_str("\\x2e"),
                b':' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => unit.push(byte.into()),
                _ => write!(unit, "\\x{byte:02x}").expect("memory takes every byte"),
            }
        }
    }
    (!unit.is_empty()).then(|| format!("{unit}.mount"))
}

/// A path as it stands in a list of paths.
fn path(path: &Path) -> Result<String, BadJob> {
    quoted(path.to_str().ok_or_else(|| BadJob::Sign(path.display().to_string()))?, false)
}

/// A word as systemd reads it: `%` are specifiers, and in commands `$` are variables.
fn quoted(text: &str, is_command: bool) -> Result<String, BadJob> {
    let text = printed(text.to_owned())?.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let text = if is_command { text.replace('$', "$$") } else { text };
    Ok(format!("\"{text}\""))
}

/// Exit code 3 (unreadable entries) is no failure of the unit. The journal and the report name the entries.
const ALWAYS: &str = "\
SuccessExitStatus=3
Nice=10
IOSchedulingClass=idle
CPUSchedulingPolicy=batch
CPUWeight=20
IOWeight=20
UMask=0077
TimeoutStopSec=30
";

/// Takes away what no backup needs. A user's unit has only these: directives that make a mount namespace would also
/// make a user namespace there, in which the files of others belong to `nobody`.
const CONFINED: &str = "\
NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service
";

/// The machine's unit reads everything and writes to a few directories. So no line hides a file on a disk:
/// ProtectKernelModules= would empty /usr/lib/modules, PrivateTmp= would empty /tmp, and a backup would save that.
/// Taking two capabilities away hides nothing. The unit keeps the others: without CAP_SYS_ADMIN it would not see
/// trusted.* attributes, and would save files without them. RestrictSUIDSGID= would forbid the set-group-id bit of
/// directories in a shared repository.
const SYSTEM: &str = "\
ProtectSystem=strict
ProtectHome=read-only
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
CapabilityBoundingSet=~CAP_SYS_MODULE CAP_SYSLOG
";
