//! Hook: a program of the user's, before or after an act, or when a profile fails.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::args::profile::Hooks;
use crate::config::Act;
use crate::report::Failure;
use crate::system::{apart, end_all, guarded, kill_all};

/// The JSON object on a hook's standard input. It holds no secret.
#[derive(Serialize)]
pub(super) struct Told<'a, R: Serialize> {
    pub(super) hook: &'a str,
    pub(super) profile: &'a str,
    pub(super) act: Option<Act>,
    /// The exit code of the act or profile; none before it ends.
    pub(super) exit_code: Option<u8>,
    /// The report of the act, or of the profile if it failed.
    pub(super) report: Option<&'a R>,
}

/// Runs a hook to its end, if one is set. An interrupted run gives it a few seconds.
pub(super) fn call(
    hooks: Option<&Hooks>,
    told: &Told<'_, impl Serialize>,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let Some((hooks, words)) = hooks.and_then(|hooks| Some((hooks, hooks.named(told.hook)?))) else { return Ok(()) };
    let failed = |why: String| Failure::Hook { hook: told.hook.to_owned(), why };
    let mut child = spawn(words).map_err(|cause| failed(cause.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        let line = serde_json::to_vec(told).expect("reports have plain fields");
        // The hook may end without reading this, or never read it while it runs.
        std::thread::spawn(move || stdin.write_all(&line));
    }
    match ended(&mut child, hooks.timeout.0, interrupted) {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(failed(status.to_string())),
        Ok(Err(most)) => Err(failed(format!("it took longer than {} s and was ended", most.as_secs()))),
        Err(cause) => Err(failed(cause.to_string())),
    }
}

/// Starts the program in its own process group, without secrets and `NOTIFY_SOCKET` in its environment.
fn spawn(words: &[OsString]) -> std::io::Result<Child> {
    let (program, arguments) = words.split_first().expect("a hook has a program");
    let path = Path::new(program);
    if path.is_absolute() {
        guarded::check(path).map_err(std::io::Error::other)?;
    }
    let mut command = Command::new(program);
    apart(&mut command).args(arguments).stdin(Stdio::piped()).stdout(Stdio::from(std::io::stderr()));
    for name in ["COPAL_PASSWORD", "COPAL_TO_PASSWORD", "NOTIFY_SOCKET"] {
        command.env_remove(name);
    }
    command.spawn()
}

/// Waits for the hook. If it takes too long, ends all processes of its group and returns the limit.
fn ended(child: &mut Child, most: Duration, interrupted: &AtomicBool) -> std::io::Result<Result<ExitStatus, Duration>> {
    let (mut begun, mut most) = (Instant::now(), most);
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if asked.is_none() { Ok(status) } else { Err(most) });
        }
        if most > ON_INTERRUPT && interrupted.load(Ordering::Relaxed) {
            (begun, most) = (Instant::now(), ON_INTERRUPT);
        }
        match asked {
            None if begun.elapsed() > most => {
                end_all(child);
                asked = Some(Instant::now());
            }
            Some(at) if at.elapsed() > UNTIL_KILLED => {
                kill_all(child);
            }
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An interrupted run ends within 8 seconds. This leaves a hook the time to delete a file system snapshot.
const ON_INTERRUPT: Duration = Duration::from_secs(4);
const UNTIL_KILLED: Duration = Duration::from_secs(2);
